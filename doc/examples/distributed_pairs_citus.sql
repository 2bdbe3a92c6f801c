-- distributed_pairs.sql for Citus: where its tables are. Each statement of a step stays on its shards or is a repartition,
-- so that nothing passes through the coordinator but ids of texts that are gone.

-- Makes the tables of a job. Citus can move them with the texts when a node is added, as all have a primary key, or all
-- columns for their identity.
CREATE FUNCTION _lsh_create_on_citus(job lsh_distributed_jobs) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    source regclass := job.arguments->>'source';
    id name := job.arguments->>'id';
    schema text := _lsh_schema_of(job.target, '_job');
    qualified text;
    id_type text;
    scheme jsonb;
    words jsonb;
    made record;
BEGIN
    SET LOCAL citus.enable_schema_based_sharding = off;
    SET LOCAL citus.multi_shard_modify_mode = 'sequential'; -- or no table can be made after the first query
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = source AND partmethod = 'h'
                   AND column_to_column_name(logicalrelid, partkey) = id) THEN
        RAISE EXCEPTION '% is not distributed by its column %', source, id USING ERRCODE = 'wrong_object_type',
            HINT = 'Of a table that is distributed by tenant, the pairs within tenants are one plain query.';
    ELSIF NOT EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                      WHERE indrelid = source AND indisunique AND indnkeyatts = 1 AND attname = id) THEN
        RAISE EXCEPTION 'column % of % has no unique index', id, source USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT format('%I.%I', nspname, relname), format_type(atttypid, atttypmod) INTO qualified, id_type
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_attribute ON attrelid = c.oid
    WHERE c.oid = source AND attname = id;
    EXECUTE format('SELECT to_jsonb(minhash_scheme(%1$I)) FROM %2$s WHERE %1$I IS NOT NULL LIMIT 1',
                   job.arguments->>'signature', qualified) INTO scheme;
    words := _lsh_words(job, qualified, id_type, scheme);
    words := words || jsonb_build_object('pairs', job.target,
        'pair_columns', format('left_id %1$s NOT NULL, right_id %1$s NOT NULL', id_type), 'pair', 'left_id, right_id',
        'candidate', 'least(ids[i], ids[j]), greatest(ids[i], ids[j])', 'arrays', '', 'all_gone', schema || '.gone',
        'all_orphans', schema || '.orphans',
        'keys', _lsh_filled('SELECT key, {id} FROM {source} AS s{of_fresh} CROSS JOIN LATERAL {keys_of_text}', words),
        'candidates_of_left', schema || '.candidates', 'halves_of_right', schema || '.halves',
        'near_of_left', schema || '.near', 'bodies_of_right', schema || '.bodies',
        'text', format('id %s NOT NULL', id_type));
    PERFORM set_config('citus.shard_count', (SELECT count(*)::text FROM pg_dist_shard WHERE logicalrelid = source), true);
    PERFORM _lsh_drop_on_citus(job);
    EXECUTE 'CREATE SCHEMA ' || schema;
    FOR made IN SELECT format('%s.%I', schema, name) AS table_name, * FROM _lsh_tables(job, words) LOOP
        EXECUTE made.definition;
        PERFORM create_distributed_table(made.table_name, made.key, colocate_with =>
            CASE WHEN made.name = 'bands' THEN 'none' WHEN made.key = 'key' THEN schema || '.bands' ELSE qualified END);
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

-- Runs the statements of a step and counts the rows that they insert.
CREATE FUNCTION _lsh_run_on_citus(statements text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    statement text;
    inserted bigint;
    total bigint := 0;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
        GET DIAGNOSTICS inserted = ROW_COUNT;
        total := total + CASE WHEN statement LIKE 'INSERT %' THEN inserted ELSE 0 END;
    END LOOP;
    RETURN total;
END $$;

-- Drops what the next run does not need.
CREATE FUNCTION _lsh_clean_up_on_citus(job lsh_distributed_jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (job.arguments->'keep')::boolean THEN
        EXECUTE (SELECT format('TRUNCATE %s', string_agg(format('%s.%I', job.words->>'schema', name), ', '))
                 FROM _lsh_tables(job, job.words) WHERE name NOT IN ('bands', 'done'));
    ELSE
        PERFORM _lsh_drop_on_citus(job);
    END IF;
END $$;

CREATE FUNCTION _lsh_drop_on_citus(job lsh_distributed_jobs) RETURNS void LANGUAGE plpgsql
SET client_min_messages = warning AS $$
BEGIN
    EXECUTE format('DROP SCHEMA IF EXISTS %s CASCADE', _lsh_schema_of(job.target, '_job'));
END $$;
