-- distributed_pairs.sql for Citus: where its tables are. Each statement of a step stays on its shards or is a
-- repartition, so that nothing passes through the coordinator but ids of texts that are gone.

-- Makes the tables of a job. Citus can move them with the texts when a node is added, as all have a primary key, or all
-- columns for their identity.
CREATE OR REPLACE FUNCTION _lsh_create_on_citus(job lsh_distributed_jobs) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    source regclass := job.arguments->>'source';
    id name := job.arguments->>'id';
    schema text := _lsh_schema_of(job.target, '_job');
    qualified text;
    id_type text;
    scheme jsonb;
    words jsonb;
    made record;
    shards int := (SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = source);
BEGIN
    SET LOCAL citus.enable_schema_based_sharding = off;
    -- While Citus moves shards, new tables wait for the end of the move, which in turn waits for this transaction.
    SET LOCAL lock_timeout = '30s';
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = source AND partmethod = 'h'
                   AND column_to_column_name(logicalrelid, partkey) = id) THEN
        RAISE EXCEPTION '% is not distributed by its column %', source, id USING ERRCODE = 'wrong_object_type',
            HINT = 'Of a table that is distributed by tenant, the pairs within tenants are one plain query.';
    ELSIF NOT EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                      WHERE indrelid = source AND indisunique AND indnkeyatts = 1 AND attname = id) THEN
        RAISE EXCEPTION 'column % of % has no unique index', id, source
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT format('%I.%I', nspname, relname), format_type(atttypid, atttypmod) INTO qualified, id_type
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_attribute ON attrelid = c.oid
    WHERE c.oid = source AND attname = id;
    EXECUTE format('SELECT to_jsonb(minhash_scheme(%1$I)) FROM %2$s WHERE %1$I IS NOT NULL LIMIT 1',
                   job.arguments->>'signature', qualified) INTO scheme;
    words := _lsh_words(job, qualified, id_type, scheme);
    words := words || jsonb_build_object('pairs', job.target,
        'pair_columns', format('left_id %1$s NOT NULL, right_id %1$s NOT NULL', id_type), 'pair', 'left_id, right_id',
        'candidate', _lsh_filled('least(ids[i]{by_bytes}, ids[j]{by_bytes}), greatest(ids[i]{by_bytes},
            ids[j]{by_bytes})', words), 'arrays', '', 'all_gone', schema || '.gone',
        'all_orphans', schema || '.orphans',
        'keys', _lsh_filled('SELECT key, {id} FROM {source} AS s{of_fresh} CROSS JOIN LATERAL lsh_bands({banding})',
            words),
        'candidates_of_left', schema || '.candidates', 'halves_of_right', schema || '.halves',
        'near_of_left', schema || '.near', 'bodies_of_right', schema || '.bodies',
        'text', format('id %s NOT NULL', id_type), 'place_count', shards,
        'places', CASE WHEN (words->'is_in_blocks')::boolean THEN (SELECT format('(%L::%s[])',
            array_agg(an_id ORDER BY place), id_type)
            FROM (SELECT DISTINCT ON (shard) shard, an_id FROM (SELECT an_id,
                get_shard_id_for_distribution_column(source, an_id)
                  FROM generate_series(1, 50 * shards) AS an_id) AS tried(an_id, shard)) AS found
            JOIN (SELECT shardid, row_number() OVER (ORDER BY shardminvalue::int) FROM pg_dist_shard
                WHERE logicalrelid = source)
                AS s(shardid, place) ON shardid = shard) END);
    PERFORM set_config('citus.shard_count', shards::text, true);
    PERFORM _lsh_drop_on_citus(job);
    EXECUTE _lsh_create_schema(schema, job.target);
    FOR made IN SELECT format('%s.%I', schema, name) AS table_name, * FROM _lsh_tables(job, words) LOOP
        EXECUTE made.definition;
        PERFORM create_distributed_table(made.table_name, made.key, colocate_with =>
            CASE WHEN made.key <> 'key' THEN qualified WHEN made.name = 'bands' THEN 'none'
                ELSE schema || '.bands' END);
        IF made.definition NOT LIKE '%PRIMARY KEY%' THEN
            EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', made.table_name);
        END IF;
    END LOOP;
    IF to_regclass(job.target) IS NULL THEN
        EXECUTE format('CREATE TABLE %s (%s, similarity float8 NOT NULL, PRIMARY KEY (left_id, right_id))',
                       job.target, words->>'pair_columns');
        PERFORM create_distributed_table(job.target, 'right_id', colocate_with => qualified);
    END IF;
    RETURN words;
END $$;

-- How many connections a step opens to each worker: one for each 64 megabytes of texts there, as opening one costs as
-- much as some thousand texts; at most what the session allows. They are kept for the next step.
CREATE OR REPLACE FUNCTION _lsh_limit_connections(source text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    workers bigint := (SELECT count(*) FROM pg_dist_node WHERE shouldhaveshards);
    connections text := least(current_setting('citus.max_adaptive_executor_pool_size')::bigint,
                              1 + citus_relation_size(source::regclass) / (workers * 67108864));
BEGIN
    PERFORM set_config('citus.max_adaptive_executor_pool_size', connections, true),
        set_config('citus.max_cached_conns_per_worker', connections, true);
    RETURN connections;
END $$;

-- Runs the statements of a step and counts the rows that they insert.
CREATE OR REPLACE FUNCTION _lsh_run_on_citus(job lsh_distributed_jobs, statements text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    statement text;
    inserted bigint;
    total bigint := 0;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE _lsh_filled(statement, job.words);
        GET DIAGNOSTICS inserted = ROW_COUNT;
        total := total + CASE WHEN statement LIKE 'INSERT%' THEN inserted ELSE 0 END;
    END LOOP;
    RETURN total;
END $$;

-- Runs the statements of a step on each shard, in a transaction of its own, and moves the blocks that they make to
-- where they belong.
CREATE OR REPLACE FUNCTION _lsh_run_on_shards(job lsh_distributed_jobs, step text, statements text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    body text := array_to_string(statements, '; ') || ';';
    connections int := _lsh_limit_connections(job.words->>'source');
    out text := CASE WHEN step = 'pairs' THEN 'pairs' ELSE 'outgoing' END;
    failed text;
BEGIN
    WITH relations AS (
        SELECT name, (job.words->>name)::regclass AS relation FROM unnest(ARRAY['source', 'pairs']) AS name
        UNION ALL SELECT CASE WHEN name = 'outgoing' THEN name ELSE 'of_' || name END, format('%s.%I',
            job.words->>'schema', name)::regclass
        FROM _lsh_tables(job, job.words)
    ), places AS (
        SELECT me, nodename, nodeport, jsonb_object_agg(name, shard_name(relation, shardid)) AS names
        FROM (SELECT *, dense_rank() OVER (ORDER BY shardminvalue::int) - 1 AS me
              FROM relations JOIN pg_dist_shard ON logicalrelid = relation) AS shards
                  JOIN pg_dist_shard_placement USING (shardid)
        GROUP BY me, nodename, nodeport
    ), commands AS (
        SELECT nodename, nodeport, format('DO %L', format('BEGIN SET LOCAL citus.enable_manual_changes_to_shards = on;
            PERFORM set_config(''search_path'', %L, true); ', current_setting('search_path')) ||
            string_agg(_lsh_filled(body, _lsh_words_here(job.words || names ||
                jsonb_build_object('me', me, 'out', names->out))), ' ') || ' END') AS command
        FROM (SELECT *, row_number() OVER (PARTITION BY nodename, nodeport) % connections AS connection
            FROM places) AS p
        GROUP BY nodename, nodeport, connection
    )
    SELECT min(result) FILTER (WHERE NOT success) INTO failed
    FROM (SELECT array_agg(nodename::text) AS names, array_agg(nodeport::int) AS ports, array_agg(command) AS commands
          FROM commands) AS c, master_run_on_worker(names, ports, commands, true);
    IF failed IS NOT NULL THEN
        RAISE EXCEPTION 'step % failed on a shard of %', step, job.target USING DETAIL = failed;
    END IF;
    IF step <> 'pairs' THEN
        EXECUTE _lsh_filled('TRUNCATE {schema}.' || step, job.words);
        EXECUTE _lsh_filled('INSERT INTO {schema}.' || step || ' SELECT * FROM {schema}.outgoing', job.words);
    END IF;
    RETURN NULL;
END $$;

-- Drops what the next run does not need.
CREATE OR REPLACE FUNCTION _lsh_clean_up_on_citus(job lsh_distributed_jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (job.arguments->'keep')::boolean THEN
        EXECUTE (SELECT format('TRUNCATE %s', string_agg(format('%s.%I', job.words->>'schema', name), ', '))
                 FROM _lsh_tables(job, job.words) WHERE name NOT IN ('bands', 'done'));
    ELSE
        PERFORM _lsh_drop_on_citus(job);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _lsh_drop_on_citus(job lsh_distributed_jobs) RETURNS void LANGUAGE plpgsql
SET client_min_messages = warning AS $$
BEGIN
    EXECUTE _lsh_drop_schema(_lsh_schema_of(job.target, '_job'), job.target);
END $$;
