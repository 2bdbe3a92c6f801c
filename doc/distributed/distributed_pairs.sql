-- All near-duplicate pairs of texts that are spread over the workers of Citus, or over several servers, by one command
-- that may be cancelled, fail or crash at any point and is then called again. For psql, on the coordinator:
--
--   \i doc/distributed/distributed_pairs.sql
--   CALL lsh_distributed_pairs('letters', 'letter_no', 'mh', 'letter_pairs');
--
-- doc/distributed/more-than-one-server.md says what it costs, doc/distributed/how-servers-share-work.md how it works. It is SQL and PL/pgSQL,
-- yours to read and to change, and runs with the rights and along the search_path of whoever calls it. A later version
-- of this file is loaded over an earlier one.
--
-- A job fills the table of pairs (target) in steps. A step is one transaction on each server. It fills one table of the
-- schema "<target>_job" from others, its inputs, and notes how many rows it wrote. Before a step runs, its inputs must
-- have as many rows as noted, or the steps that fill them run again: a crash empties unlogged tables without an error.
-- Where ids are integers and no keys are kept, keys and candidates are moved as blocks of many, in few rows.
\set ON_ERROR_STOP on
SET citus.enable_ddl_propagation = off; -- all of it stays on the coordinator

CREATE TABLE IF NOT EXISTS lsh_distributed_jobs (
    target text PRIMARY KEY,
    arguments jsonb NOT NULL,
    run int NOT NULL,
    is_first boolean NOT NULL, -- whether this run compares all texts, not new ones with those before
    is_finished boolean NOT NULL,
    words jsonb,               -- what the words in templates stand for, from when the job's tables were made
    kept jsonb                 -- how many rows the tables had that the last finished run kept
);

CREATE TABLE IF NOT EXISTS lsh_distributed_steps (
    target text NOT NULL REFERENCES lsh_distributed_jobs ON DELETE CASCADE,
    run int NOT NULL,
    step text NOT NULL,
    row_count bigint NOT NULL,
    seconds numeric NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (target, run, step)
);

-- A template with each {word} replaced that is among the words.
CREATE OR REPLACE FUNCTION _lsh_filled(template text, words jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(CASE WHEN part[1] ~ '^\{\w+\}$' THEN coalesce(words->>trim(part[1], '{}'), part[1])
        ELSE part[1] END,
                      '' ORDER BY place)
    FROM regexp_matches(template, '\{\w+\}|[^{]+|\{', 'g') WITH ORDINALITY AS m(part, place)
$$;

-- A name with its schema, as it is to be written in SQL.
CREATE OR REPLACE FUNCTION _lsh_qualified(name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%I.%I', CASE WHEN cardinality(parts) > 1 THEN parts[1] ELSE current_schema() END,
        parts[cardinality(parts)])
    FROM parse_ident(name) AS parts
$$;

-- The schemas of a job's tables, "<target>_job", and of the pairs on several servers, "<target>_parts". The target is
-- qualified. Unless it is a plain name in the schema public, its schema is part of the name, with any quotes, so that no
-- two targets have the same schema.
CREATE OR REPLACE FUNCTION _lsh_schema_of(target text, suffix text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT quote_ident(CASE WHEN parts[1] = 'public' AND quote_ident(parts[2]) = parts[2] THEN parts[2] ELSE target END
        || suffix)
    FROM parse_ident(target) AS parts
$$;

-- Statements that drop a schema of a job, and that make it. A schema that no job of this target has made is not dropped.
CREATE OR REPLACE FUNCTION _lsh_mark(target text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('made by lsh_distributed_pairs() for %s', target)
$$;
CREATE OR REPLACE FUNCTION _lsh_drop_schema(schema text, target text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('DO $lsh$ BEGIN
        IF to_regnamespace(%1$L) IS NOT NULL
            AND obj_description(to_regnamespace(%1$L), ''pg_namespace'') IS DISTINCT FROM %2$L THEN
            RAISE EXCEPTION ''schema %% already exists, and no job of %% has made it'', %1$L, %3$L
                USING ERRCODE = ''duplicate_schema'', HINT = ''Choose another name for the target.'';
        END IF;
    END $lsh$; DROP SCHEMA IF EXISTS %4$s CASCADE', schema, _lsh_mark(target), target, schema)
$$;
CREATE OR REPLACE FUNCTION _lsh_create_schema(schema text, target text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('CREATE SCHEMA IF NOT EXISTS %1$s; COMMENT ON SCHEMA %1$s IS %2$L', schema, _lsh_mark(target))
$$;

-- The words that both kinds of templates have: from what the caller gave, the type of ids, minhash_scheme() of a
-- signature. The last may be the reply of another server, so nothing of it enters a statement but as a literal, and
-- numbers only as what they are here. Where more than star_above texts share a key, each is compared with the first of
-- them only. The first is min(id); types without it, such as uuid, have a text.
CREATE OR REPLACE FUNCTION _lsh_words(job lsh_distributed_jobs, source text, id_type text, scheme jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given jsonb := job.arguments;
    threshold float8 := given->'threshold';
    num_hashes int := scheme->'num_hashes';
    bits int := least((scheme->'bits')::int, 16);
    shingle_size int := scheme->>'shingle_size';
    fold boolean := scheme->>'fold';
    bag boolean := scheme->>'bag';
    chosen record := lsh_params(threshold, num_hashes, recall => CASE WHEN given->>'body' IS NULL THEN 0.95
        ELSE 0.99 END);
    id text := 's.' || quote_ident(given->>'id');
    sig text := 's.' || quote_ident(given->>'signature');
    has_min boolean := EXISTS (SELECT FROM pg_proc WHERE proname = 'min' AND proargtypes[0] = id_type::regtype);
    -- Servers may sort texts by different rules, but all of them by bytes in the same way.
    by_bytes text := CASE WHEN (SELECT typcollation <> 0 FROM pg_type WHERE oid = id_type::regtype)
        THEN ' COLLATE "C"' ELSE '' END;
BEGIN
    IF scheme IS NULL THEN
        RAISE EXCEPTION '% has no signatures', source USING ERRCODE = 'no_data_found';
    END IF;
    RETURN jsonb_build_object('schema', _lsh_schema_of(job.target, '_job'), 'source', source, 'id', id, 'sig', sig,
        'id_type', id_type, 'body', 's.' || quote_ident(given->>'body'), 'threshold', threshold,
        'small', CASE WHEN bits < (scheme->'bits')::int THEN format('minhash_compress(%s, %s)', sig, bits) ELSE sig END,
        'hash', format('hash_record_extended(ROW(%s), 0)', sig),
        -- An estimate more than four standard errors below the threshold spares a text its way.
        'near', round((threshold - 4 * minhash_standard_error(threshold, num_hashes, bits))::numeric, 3),
        'banding', format('%s, %s, %s', sig, coalesce((given->>'bands')::int, chosen.bands),
                          coalesce((given->>'rows')::int, chosen.rows)),
        'shingles', format('shingle_size => %L, unit => %L, fold => %L, bag => %L', shingle_size, scheme->>'unit',
                           fold, bag),
        'by_bytes', by_bytes, 'has_min', has_min,
        'first', CASE WHEN has_min THEN format('min(id%s)', by_bytes) ELSE format('min(id::text COLLATE "C")::%s',
            id_type) END,
        'is_in_blocks', id_type IN ('smallint', 'integer', 'bigint') AND NOT (given->'keep')::boolean,
        'star_above', coalesce(given->>'star_above', 'NULL'),
        'is_star', coalesce('cardinality(ids) > ' || (given->>'star_above'), 'false'),
        'of_fresh', CASE WHEN (given->'keep')::boolean
            THEN format(' JOIN %s.fresh f ON f.id = %s AND f.hash = hash_record_extended(ROW(%s), 0)',
                        _lsh_schema_of(job.target, '_job'), id, sig) ELSE '' END);
END $$;

-- The tables of a job, and the column that Citus distributes each by. What is kept between runs is always logged,
-- and what says of which texts a run is: made again, it might have others.
--
-- Blocks are from one place, a server or a shard, and go to another, both given by an id that belongs there. On Citus a
-- step writes them to "outgoing" first, in the place where they are made.
CREATE OR REPLACE FUNCTION _lsh_tables(job lsh_distributed_jobs, words jsonb)
RETURNS TABLE (name text, definition text, key text) LANGUAGE sql STABLE AS $$
    SELECT name, _lsh_filled(format('CREATE %s {schema}.%s (%s)', CASE WHEN (job.arguments->'unlogged')::boolean
            AND NOT (is_kept AND (job.arguments->'keep')::boolean) THEN 'UNLOGGED TABLE' ELSE 'TABLE' END, name, columns) ||
        -- Keys and signatures do not compress, and trying to takes long.
        CASE WHEN columns = blocks THEN replace('; ALTER TABLE {schema}.%s ALTER block SET STORAGE EXTERNAL,
            ALTER left_ids SET STORAGE EXTERNAL, ALTER right_ids SET STORAGE EXTERNAL,
            ALTER right_places SET STORAGE EXTERNAL, ALTER sigs SET STORAGE EXTERNAL', '%s', name) ELSE '' END, words), key
    FROM (SELECT (job.arguments->'keep')::boolean AS keeps, job.arguments->>'body' IS NOT NULL AS is_exact,
              (words->'is_in_blocks')::boolean AS is_in_blocks, 'here {id_type}, place {id_type}, n bigint, block bytea,
              left_ids bigint[], right_ids bigint[], right_places bigint[], stars bigint, sigs minhash_signature[],
              bodies text[]' AS blocks) AS run,
    LATERAL (VALUES
        (is_in_blocks AND job.arguments->>'servers' IS NULL, 'outgoing', false, blocks, 'here'),
        (is_in_blocks, 'bands', false, blocks, 'place'),
        (is_in_blocks, 'candidates', false, blocks, 'place'),
        (is_in_blocks, 'halves', false, blocks, 'place'),
        (is_in_blocks AND is_exact, 'near', false, blocks, 'place'),
        (is_in_blocks AND is_exact, 'bodies', false, blocks, 'place'),
        (NOT is_in_blocks, 'bands', true, 'key bigint NOT NULL, {text}', 'key'),
        (NOT is_in_blocks AND keeps, 'new_bands', false, 'key bigint NOT NULL, {text}', 'key'),
        (NOT is_in_blocks, 'candidates', false, '{pair_columns}, PRIMARY KEY (left_id, right_id)', 'left_id'),
        (NOT is_in_blocks, 'halves', false, '{pair_columns}, sig minhash_signature NOT NULL', 'right_id'),
        (NOT is_in_blocks AND is_exact, 'near', false, '{pair_columns}', 'left_id'),
        (NOT is_in_blocks AND is_exact, 'bodies', false, '{pair_columns}, body text NOT NULL', 'right_id'),
        (keeps, 'done', true, 'id {id_type} PRIMARY KEY, hash bigint NOT NULL', 'id'),
        (keeps, 'fresh', true, 'id {id_type} PRIMARY KEY, hash bigint NOT NULL', 'id'),
        (keeps, 'gone', true, 'id {id_type} PRIMARY KEY', 'id'),
        (keeps, 'orphans', true, 'id {id_type} PRIMARY KEY', 'id')) AS t(is_part, name, is_kept, columns, key)
    WHERE is_part
$$;

-- The same for blocks. {out} is what a step fills in the place that runs it, {me} the place's number, {places} an id
-- that belongs to each, {of_bands} and so on the blocks that came here. Many pairs that go to one place are one row.
CREATE OR REPLACE FUNCTION _lsh_block_steps(job lsh_distributed_jobs)
RETURNS TABLE (step text, inputs text[], statements text[])
LANGUAGE sql STABLE AS $$
    SELECT step, inputs, ARRAY['TRUNCATE {out}', statement]
    FROM (VALUES
    (true, 'bands', '{}'::text[], 'INSERT INTO {out} (here, place, n, block)
        SELECT {places}[{me} + 1], {places}[part + 1], entries, block FROM _lsh_scatter({keys_query}, {me},
            {place_count})'),
    (true, 'candidates', '{bands}', 'INSERT INTO {out} (here, place, n, left_ids, right_ids, right_places, stars)
        SELECT {places}[{me} + 1], {places}[place + 1], cardinality(left_ids), left_ids, right_ids, right_places, stars
        FROM _lsh_gather({blocks_query}, {place_count}, {star_above})'),
    -- The same pair comes from each place that has one of its keys.
    (true, 'halves', '{candidates}', 'INSERT INTO {out} (here, place, n, left_ids, right_ids, sigs)
        SELECT {places}[{me} + 1], {places}[right_place + 1], count(*), array_agg(p.left_id), array_agg(p.right_id),
            array_agg({small})
        FROM (SELECT *, row_number() OVER (PARTITION BY right_place) / 1000 AS chunk
              FROM (SELECT DISTINCT p.* FROM {of_candidates} AS c,
                    unnest(left_ids, right_ids, right_places) AS p(left_id, right_id, right_place)) AS once) AS p
            JOIN {source} AS s ON {id} = p.left_id
        GROUP BY p.right_place, p.chunk'),
    (job.arguments->>'body' IS NOT NULL, 'near', '{halves}', 'INSERT INTO {out} (here, place, n, left_ids, right_ids)
        SELECT {places}[{me} + 1], here, count(*), array_agg(left_id), array_agg(right_id)
        FROM (SELECT h.here, p.left_id, p.right_id, row_number() OVER (PARTITION BY h.here) / 10000 AS chunk
              FROM {of_halves} AS h, unnest(left_ids, right_ids, sigs) AS p(left_id, right_id, sig)
                  JOIN {source} AS s ON {id} = p.right_id
              WHERE minhash_similarity(p.sig, {small}) >= {near}) AS p
        GROUP BY here, chunk'),
    -- A row has some four megabytes of texts, or one text.
    (job.arguments->>'body' IS NOT NULL, 'bodies', '{near}', 'INSERT INTO {out} (here, place, n, left_ids, right_ids,
        bodies)
        SELECT {places}[{me} + 1], here, count(*), array_agg(left_id), array_agg(right_id), array_agg(body)
        FROM (SELECT n.here, p.left_id, p.right_id, {body} AS body,
                  sum(octet_length({body})) OVER (PARTITION BY n.here ROWS UNBOUNDED PRECEDING) / 4000000 AS chunk
              FROM {of_near} AS n, unnest(left_ids, right_ids) AS p(left_id, right_id)
                  JOIN {source} AS s ON {id} = p.left_id) AS p
        GROUP BY here, chunk'),
    (job.arguments->>'body' IS NOT NULL, 'pairs', '{bodies}', 'INSERT INTO {out} SELECT * FROM (
            SELECT p.left_id, p.right_id, shingle_jaccard(p.body, {body}, {shingles}) AS similarity
            FROM {of_bodies} AS b, unnest(left_ids, right_ids, bodies) AS p(left_id, right_id, body)
                JOIN {source} AS s ON {id} = p.right_id
            OFFSET 0) AS compared
        WHERE similarity >= {threshold} ON CONFLICT DO NOTHING'),
    (job.arguments->>'body' IS NULL, 'pairs', '{halves}', 'INSERT INTO {out} SELECT * FROM (
            SELECT p.left_id, p.right_id, minhash_similarity(p.sig, {small}) AS similarity
            FROM {of_halves} AS h, unnest(left_ids, right_ids, sigs) AS p(left_id, right_id, sig)
                JOIN {source} AS s ON {id} = p.right_id
            OFFSET 0) AS compared
        WHERE similarity >= {threshold} ON CONFLICT DO NOTHING')
    ) AS t(is_part, step, inputs, statement) WHERE is_part
$$;

-- The words of the job, and those that differ from place to place.
CREATE OR REPLACE FUNCTION _lsh_words_here(words jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT words || jsonb_build_object(
        'keys_query', quote_literal(_lsh_filled('SELECT {id}::bigint, lsh_band_keys({banding}) FROM {source} AS s',
            words)),
        'blocks_query', quote_literal(_lsh_filled('SELECT block FROM {of_bands} AS b', words)))
$$;

-- The steps of a job in their order, with their inputs and the templates of their statements. A step fills the table of
-- its name; "pairs" the target. Each can be repeated: on several servers it may have been done on some of them.
CREATE OR REPLACE FUNCTION _lsh_steps(job lsh_distributed_jobs)
RETURNS TABLE (place bigint, step text, inputs text[], statements text[])
LANGUAGE sql STABLE AS $$
    SELECT row_number() OVER (), step, inputs,
        CASE WHEN step IN ('forget', 'keep', 'remember') OR step = 'pairs' AND NOT job.is_first THEN ARRAY[]::text[]
            WHEN step = 'pairs' THEN ARRAY['TRUNCATE {pairs}']
                ELSE ARRAY['TRUNCATE {schema}.' || step] END || statements
    FROM (SELECT job.is_first, (job.arguments->'keep')::boolean AS is_kept,
        job.arguments->>'body' IS NOT NULL AS is_exact,
              CASE WHEN job.is_first THEN 'bands' ELSE 'new_bands' END AS bands) AS run,
    LATERAL (VALUES
    -- A text is gone if its row was deleted or its signature has changed. It may have been the first of a star, whose
    -- other texts were compared with it alone. So texts whose only pairs were with texts that are gone are compared
    -- once more, like new ones.
    (NOT is_first, 'gone', '{}'::text[], ARRAY['INSERT INTO {schema}.gone SELECT d.id FROM {schema}.done d
        WHERE NOT EXISTS (SELECT FROM {source} AS s WHERE {id} = d.id AND {hash} = d.hash AND {sig} IS NOT NULL)']),
    (NOT is_first, 'orphans', '{gone}', ARRAY['INSERT INTO {schema}.orphans SELECT right_id FROM {pairs}
        WHERE left_id IN (SELECT id FROM {all_gone}) ON CONFLICT DO NOTHING'] ||
        -- Of types without min() the first of a star may be the right one.
        CASE WHEN (job.words->'has_min')::boolean THEN ARRAY[]::text[] ELSE ARRAY['INSERT INTO {schema}.orphans
            SELECT left_id FROM {pairs} WHERE right_id IN (SELECT id FROM {all_gone}) ON CONFLICT DO NOTHING'] END),
    (NOT is_first, 'forget', '{gone,orphans}', ARRAY[
        'DELETE FROM {schema}.bands WHERE id IN (SELECT id FROM {all_gone} UNION ALL SELECT id FROM {all_orphans})',
        'DELETE FROM {pairs} WHERE left_id IN (SELECT id FROM {all_gone}) OR right_id IN (SELECT id FROM {all_gone})',
        'DELETE FROM {schema}.done WHERE id IN (SELECT id FROM {schema}.gone UNION ALL
            SELECT id FROM {all_orphans})']),
    -- New are texts that are not done: so one that another transaction commits late is new whenever it comes. What a
    -- run sees is written down before it reads signatures, which may change meanwhile.
    (is_kept, 'fresh', '{}', ARRAY['INSERT INTO {schema}.fresh SELECT {id}, {hash} FROM {source} AS s
        WHERE {sig} IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.done d WHERE d.id = {id})']),
    (true, bands, CASE WHEN is_kept THEN '{fresh}'::text[] ELSE '{}' END, ARRAY[
        'INSERT INTO {schema}.' || bands || ' {keys}']),
    -- Of each key the array of its texts: its memory does not grow with the square of a bucket, as that of a join does.
    -- i and j are places in the array; of a star, i is that of the first.
    (true, 'candidates', ARRAY[bands], ARRAY['INSERT INTO {schema}.candidates
        SELECT {candidate} FROM (
            SELECT key, {first} AS first, array_agg(id) AS ids{arrays}' || CASE WHEN is_first THEN '' ELSE ',
                array_agg(is_new) AS are_new' END || ' FROM ' || CASE WHEN is_first THEN '{schema}.bands' ELSE
                '(SELECT n.*, true AS is_new FROM {schema}.new_bands n UNION ALL SELECT b.*, false FROM {schema}.bands b
                  JOIN (SELECT DISTINCT key FROM {schema}.new_bands) n ON n.key = b.key) AS both_bands' END || '
            GROUP BY key HAVING count(*) > 1) AS bucket,
        LATERAL generate_series(CASE WHEN {is_star} THEN array_position(ids, first) ELSE 1 END,
                                CASE WHEN {is_star} THEN array_position(ids, first)
                                    ELSE cardinality(ids) - 1 END) AS x(i),
        LATERAL generate_series(CASE WHEN {is_star} THEN 1 ELSE i + 1 END, cardinality(ids)) AS y(j)
        WHERE ids[i] <> ids[j]' || CASE WHEN is_first THEN '' ELSE ' AND (are_new[i] OR are_new[j])' END ||
        ' ON CONFLICT DO NOTHING']),
    (true, 'halves', '{candidates}', ARRAY['INSERT INTO {schema}.halves
        SELECT p.*, {small} FROM {candidates_of_left} p JOIN {source} AS s ON {id} = left_id']),
    (is_exact, 'near', '{halves}', ARRAY['INSERT INTO {schema}.near
        SELECT {pair} FROM {halves_of_right} p JOIN {source} AS s ON {id} = right_id
        WHERE minhash_similarity(p.sig, {small}) >= {near}']),
    (is_exact, 'bodies', '{near}', ARRAY['INSERT INTO {schema}.bodies
        SELECT p.*, {body} FROM {near_of_left} p JOIN {source} AS s ON {id} = left_id']),
    (is_exact, 'pairs', '{bodies}', ARRAY['INSERT INTO {pairs}
        SELECT left_id, right_id, similarity FROM {bodies_of_right} p JOIN {source} AS s ON {id} = right_id,
            LATERAL (SELECT shingle_jaccard(p.body, {body}, {shingles}) AS similarity OFFSET 0) AS compared
        WHERE similarity >= {threshold} ON CONFLICT DO NOTHING']),
    (NOT is_exact, 'pairs', '{halves}', ARRAY['INSERT INTO {pairs}
        SELECT left_id, right_id, minhash_similarity(p.sig, {small})
        FROM {halves_of_right} p JOIN {source} AS s ON {id} = right_id
        WHERE minhash_similarity(p.sig, {small}) >= {threshold} ON CONFLICT DO NOTHING']),
    (NOT is_first, 'keep', '{new_bands}', ARRAY[
        'DELETE FROM {schema}.bands WHERE id IN (SELECT id FROM {schema}.new_bands)',
        'INSERT INTO {schema}.bands SELECT * FROM {schema}.new_bands']),
    (is_kept, 'remember', '{fresh}', ARRAY[
        'INSERT INTO {schema}.done SELECT id, hash FROM {schema}.fresh ON CONFLICT DO NOTHING'])
    ) AS t(is_part, step, inputs, statements) WHERE is_part AND NOT (job.words->'is_in_blocks')::boolean
    UNION ALL SELECT row_number() OVER (), b.* FROM _lsh_block_steps(job) AS b
        WHERE (job.words->'is_in_blocks')::boolean
$$;

\ir distributed_pairs_citus.sql
\ir distributed_pairs_servers.sql

-- Two sessions never work for one target at once. The lock ends with the transaction, that is, with a step. The next
-- step reads again how far the job is, so a session that comes in between continues the same job.
CREATE OR REPLACE FUNCTION _lsh_lock_job(target text) RETURNS lsh_distributed_jobs LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('lsh_distributed_pairs ' || target, 0)) THEN
        RAISE EXCEPTION 'another session is at work on %', target USING ERRCODE = 'object_in_use';
    END IF;
    SELECT * INTO job FROM lsh_distributed_jobs AS j WHERE j.target = _lsh_lock_job.target;
    RETURN job;
END $$;

CREATE OR REPLACE FUNCTION _lsh_is_on_citus(job lsh_distributed_jobs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT job.arguments->>'servers' IS NULL
$$;

-- How many rows a step has made, or how many keys, pairs or texts are in its blocks; the sum over all servers.
CREATE OR REPLACE FUNCTION _lsh_count_of(job lsh_distributed_jobs, step text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    query text := CASE WHEN step = 'pairs' THEN _lsh_filled('SELECT count(*) FROM {pairs}', job.words)
        ELSE format('SELECT %s FROM %s.%I', CASE WHEN (job.words->'is_in_blocks')::boolean THEN 'coalesce(sum(n), 0)'
                    ELSE 'count(*)' END, job.words->>'schema', step) END;
BEGIN
    RETURN _lsh_counted(job, query);
END $$;

-- The sum over all servers of what a query counts.
CREATE OR REPLACE FUNCTION _lsh_counted(job lsh_distributed_jobs, query text, OUT total bigint) LANGUAGE plpgsql AS $$
BEGIN
    IF _lsh_is_on_citus(job) THEN
        EXECUTE query INTO total;
    ELSE
        SELECT sum(s.reply::bigint) INTO total FROM _lsh_on_servers(_lsh_servers_of(job), query) AS s;
    END IF;
END $$;

-- How many rows the tables have that are kept between runs; NULL if none are.
CREATE OR REPLACE FUNCTION _lsh_count_kept(job lsh_distributed_jobs) RETURNS jsonb LANGUAGE sql AS $$
    SELECT CASE WHEN (job.arguments->'keep')::boolean
        THEN jsonb_build_object('bands', _lsh_count_of(job, 'bands'), 'done', _lsh_count_of(job, 'done')) END
$$;

-- Begins a job, or its next run, or goes on with a run that did not end.
CREATE OR REPLACE FUNCTION _lsh_begin_job(target text, arguments jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(target);
    is_kept boolean := arguments->'keep';
    counted jsonb;
BEGIN
    -- Citus makes no table after a query in the same transaction, unless queries are sequential.
    PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true) WHERE arguments->>'servers' IS NULL;
    IF job.target IS NULL THEN
        IF to_regclass(target) IS NOT NULL THEN
            RAISE EXCEPTION 'relation % already exists, and no job has made it', target
                USING ERRCODE = 'duplicate_table', HINT = 'Drop it, or choose another name for the target.';
        END IF;
    ELSIF job.arguments <> arguments AND (is_kept OR (job.arguments->'keep')::boolean OR NOT job.is_finished) THEN
        RAISE EXCEPTION '% was begun with other arguments', target USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('They are %s.', job.arguments),
            HINT = format('Call with these, or forget what has been done: CALL lsh_drop_distributed_pairs(%L).',
                target);
    ELSIF NOT job.is_finished THEN
        RAISE NOTICE '%, run %: goes on after % steps', target, job.run,
            (SELECT count(*) FROM lsh_distributed_steps AS s WHERE (s.target, s.run) = (job.target, job.run));
        RETURN;
    ELSIF is_kept THEN
        -- A standby that was promoted may lack rows which the last run wrote.
        counted := _lsh_count_kept(job);
        IF counted <> job.kept THEN
            RAISE NOTICE '%: what was kept has % rows instead of %, and all texts are compared again', target,
                counted, job.kept;
        END IF;
    END IF;
    INSERT INTO lsh_distributed_jobs AS j VALUES (target, arguments, 1, true, false)
    ON CONFLICT ON CONSTRAINT lsh_distributed_jobs_pkey
        DO UPDATE SET arguments = excluded.arguments, run = j.run + 1, is_finished = false,
            is_first = NOT is_kept OR counted IS DISTINCT FROM j.kept
    RETURNING * INTO job;
    IF job.is_first THEN
        job.words := CASE WHEN _lsh_is_on_citus(job) THEN _lsh_create_on_citus(job)
            ELSE _lsh_create_on_servers(job) END;
        UPDATE lsh_distributed_jobs AS j SET words = job.words WHERE j.target = job.target;
    END IF;
END $$;

-- The first step that is not done, after those whose inputs are lost are made again; NULL if none is left, and then the
-- run is finished.
CREATE OR REPLACE FUNCTION _lsh_find_step(job lsh_distributed_jobs) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    next record;
    input record;
    counted bigint;
    is_lost boolean := true;
BEGIN
    WHILE is_lost LOOP
        is_lost := false;
        SELECT * INTO next FROM _lsh_steps(job) AS s WHERE NOT EXISTS (SELECT FROM lsh_distributed_steps AS d
            WHERE (d.target, d.run, d.step) = (job.target, job.run, s.step)) ORDER BY place LIMIT 1;
        FOR input IN SELECT step, row_count FROM lsh_distributed_steps AS d
            WHERE (d.target, d.run) = (job.target, job.run) AND step = ANY (next.inputs)
        LOOP
            counted := _lsh_count_of(job, input.step);
            IF counted <> input.row_count THEN
                RAISE NOTICE '%, run %: % has % rows instead of %, and is made again', job.target, job.run,
                    input.step, counted,
                    input.row_count;
                DELETE FROM lsh_distributed_steps AS d WHERE (d.target, d.run, d.step) = (job.target, job.run,
                    input.step);
                is_lost := true;
            END IF;
        END LOOP;
    END LOOP;
    IF next IS NULL THEN
        UPDATE lsh_distributed_jobs AS j SET is_finished = true, kept = _lsh_count_kept(job)
            WHERE j.target = job.target;
        PERFORM CASE WHEN _lsh_is_on_citus(job) THEN _lsh_clean_up_on_citus(job) ELSE _lsh_clean_up_on_servers(job) END;
    END IF;
    RETURN next.step;
END $$;

-- A bucket of more texts than star_above, each of which was compared with the first only.
CREATE OR REPLACE FUNCTION _lsh_has_stars(job lsh_distributed_jobs) RETURNS boolean LANGUAGE sql AS $$
    SELECT job.arguments->>'star_above' IS NOT NULL AND 0 < _lsh_counted(job, _lsh_filled(
        CASE WHEN (job.words->'is_in_blocks')::boolean THEN 'SELECT coalesce(sum(stars), 0) FROM {schema}.candidates'
            ELSE 'SELECT count(*) FROM (SELECT FROM {schema}.candidates
                GROUP BY left_id HAVING count(*) >= {star_above}) AS large'
        END, job.words))
$$;

-- Runs the first step that is not done; NULL if none is left.
CREATE OR REPLACE FUNCTION _lsh_next_step(target text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(target);
    started timestamptz := clock_timestamp();
    name text;
    next record;
    result bigint;
BEGIN
    IF job.target IS NULL OR job.is_finished THEN
        RETURN NULL;
    END IF;
    IF _lsh_is_on_citus(job) THEN
        PERFORM _lsh_limit_connections(job.words->>'source');
    END IF;
    name := _lsh_find_step(job);
    IF name IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT *, (SELECT count(*) FROM _lsh_steps(job)) AS of INTO next FROM _lsh_steps(job) AS s WHERE s.step = name;
    RAISE NOTICE '%, run %: step % of %, %', target, job.run, next.place, next.of, next.step;
    PERFORM set_config('application_name', left(format('step %s of %s, %s: %s', next.place, next.of, next.step,
        target), 63), true);
    result := CASE WHEN NOT _lsh_is_on_citus(job) THEN _lsh_run_on_servers(job, next.step, next.statements)
        WHEN (job.words->'is_in_blocks')::boolean THEN _lsh_run_on_shards(job, next.step, next.statements)
        ELSE _lsh_run_on_citus(job, next.statements) END;
    -- Before the next step, the rows of the table are counted again. So they are also counted here, or an error in a
    -- statement above could make a job repeat this step for ever.
    IF (job.words->'is_in_blocks')::boolean OR next.step NOT IN ('forget', 'pairs', 'keep', 'remember') THEN
        result := _lsh_count_of(job, next.step);
    END IF;
    IF next.step = 'candidates' AND _lsh_has_stars(job) THEN
        RAISE NOTICE 'there are texts with % candidates or more', job.arguments->>'star_above'
            USING DETAIL = 'Where more texts share a key, each is compared with the first of them only.',
                HINT = 'star_above => NULL compares each with every other one.';
    END IF;
    INSERT INTO lsh_distributed_steps (target, run, step, row_count, seconds)
    VALUES (target, job.run, next.step, result, round(extract(epoch FROM clock_timestamp() - started), 2));
    RETURN format('%s, run %s: %s, %s rows, %s s', target, job.run, next.step, result,
                  round(extract(epoch FROM clock_timestamp() - started), 1));
END $$;

CREATE OR REPLACE FUNCTION _lsh_unquoted(name name) RETURNS name LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN name ~ '^".+"$' THEN replace(substr(name, 2, length(name) - 2), '""', '"') ELSE name END
$$;

CREATE OR REPLACE PROCEDURE lsh_distributed_pairs(
    source text,                   -- the table of texts; with servers, as each of them names it
    id name,                       -- its unique column, of any type that has an order and can be hashed
    signature name,                -- its column of signatures
    target text,                   -- the table of (left_id, right_id, similarity) to make
    threshold float8 DEFAULT 0.8,
    bands int DEFAULT NULL,        -- without them: those of lsh_params() for 95% of the pairs, 99% with body
    rows int DEFAULT NULL,
    body name DEFAULT NULL,        -- the column of texts: compare them exactly, instead of their signatures
    servers name[] DEFAULT NULL,   -- foreign servers that have the texts; without them, the workers of Citus
    keep boolean DEFAULT false,    -- keep the keys: the next call treats texts that are new, changed or gone
    unlogged boolean DEFAULT false,
    star_above int DEFAULT 500     -- compare each of more texts of one key with the first of them only; NULL: never
) LANGUAGE plpgsql AS $$
DECLARE
    qualified text := _lsh_qualified(target);
    message text;
BEGIN
    IF source IS NULL OR id IS NULL OR signature IS NULL OR target IS NULL OR threshold IS NULL OR keep IS NULL
        OR unlogged IS NULL OR (bands IS NULL) <> (rows IS NULL) THEN
        RAISE EXCEPTION 'an argument that must be given is NULL, or one of bands and rows'
            USING ERRCODE = 'null_value_not_allowed';
    ELSIF (SELECT octet_length(quote_ident(parts[1]) || quote_ident(parts[cardinality(parts)])) > 55
           FROM parse_ident(qualified) AS parts) THEN
        RAISE EXCEPTION 'the name of % is too long', target USING ERRCODE = 'name_too_long';
    ELSIF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = (parse_ident(qualified))[1]) THEN
        RAISE EXCEPTION 'schema "%" does not exist', (parse_ident(qualified))[1]
            USING ERRCODE = 'invalid_schema_name';
    ELSIF servers IS NULL AND to_regclass('pg_catalog.pg_dist_shard') IS NULL THEN
        RAISE EXCEPTION 'this database has no Citus, and no servers are given' USING ERRCODE = 'undefined_object',
            HINT = 'Name the foreign servers that have the texts, for example servers => ''{server_0, server_1}''.';
    ELSIF cardinality(servers) = 0 OR cardinality(servers) > (SELECT count(DISTINCT name) FROM unnest(servers) AS name
            JOIN pg_foreign_server ON srvname = name) THEN
        RAISE EXCEPTION 'servers must be different foreign servers of this database'
            USING ERRCODE = 'undefined_object', DETAIL = format('They are %s.', servers),
                HINT = 'See pg_foreign_server for the names of servers.';
    END IF;
    -- Users may put double quotes around the name of a column, as in SQL.
    id := _lsh_unquoted(id);
    signature := _lsh_unquoted(signature);
    body := _lsh_unquoted(body);
    PERFORM _lsh_begin_job(qualified, jsonb_build_object('source', source, 'id', id, 'signature', signature,
        'threshold', threshold, 'bands', bands, 'rows', rows, 'body', body, 'servers', servers, 'keep', keep,
        'unlogged', unlogged, 'star_above', star_above));
    COMMIT;
    LOOP
        message := _lsh_next_step(qualified);
        COMMIT;
        EXIT WHEN message IS NULL;
        RAISE NOTICE '%', message;
    END LOOP;
END $$;

-- Forgets a job and drops its tables. The table of pairs stays on Citus; on several servers it goes.
CREATE OR REPLACE PROCEDURE lsh_drop_distributed_pairs(target text) LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(_lsh_qualified(target));
BEGIN
    IF job.target IS NULL THEN
        RAISE EXCEPTION 'no job has made %', target USING ERRCODE = 'undefined_object';
    END IF;
    PERFORM CASE WHEN _lsh_is_on_citus(job) THEN _lsh_drop_on_citus(job) ELSE _lsh_drop_on_servers(job) END;
    DELETE FROM lsh_distributed_jobs AS j WHERE j.target = job.target;
END $$;

-- The clusters that these pairs make, in the table target (id, cluster_id, size) of the coordinator: pairs are few next
-- to texts. The pairs are in "<target>_pairs". Others see the clusters of the last call until all of the new ones are
-- there.
CREATE OR REPLACE PROCEDURE lsh_distributed_clusters(
    source text, id name, signature name, target text, threshold float8 DEFAULT 0.8, bands int DEFAULT NULL,
    rows int DEFAULT NULL, body name DEFAULT NULL, servers name[] DEFAULT NULL, keep boolean DEFAULT false,
    unlogged boolean DEFAULT false, star_above int DEFAULT 500
) LANGUAGE plpgsql AS $$
DECLARE
    qualified text := _lsh_qualified(target);
    parts text[] := parse_ident(qualified);
    pairs text := format('%I.%I', parts[1], parts[2] || '_pairs');
    mark text := 'clusters of ' || pairs || ', made by lsh_distributed_clusters()';
    id_type text;
BEGIN
    IF to_regclass(qualified) IS NOT NULL AND obj_description(to_regclass(qualified), 'pg_class') IS DISTINCT
        FROM mark THEN
        RAISE EXCEPTION 'relation % already exists, and this procedure has not made it', target
            USING ERRCODE = 'duplicate_table';
    END IF;
    CALL lsh_distributed_pairs(source, id, signature, pairs, threshold, bands, rows, body, servers, keep, unlogged,
        star_above);
    SELECT format_type(atttypid, atttypmod) INTO id_type FROM pg_attribute WHERE attrelid = pairs::regclass
        AND attname = 'left_id';
    IF to_regclass(qualified) IS NULL THEN
        EXECUTE format('CREATE TABLE %s (id %2$s PRIMARY KEY, cluster_id %2$s NOT NULL, size bigint NOT NULL)',
            qualified, id_type);
        EXECUTE format('COMMENT ON TABLE %s IS %L', qualified, mark);
    END IF;
    EXECUTE format('LOCK TABLE %1$s IN SHARE ROW EXCLUSIVE MODE; DELETE FROM %1$s;
        INSERT INTO %1$s SELECT id, cluster_id, size FROM lsh_components(%2$L, NULL::%3$s)',
        qualified, 'SELECT left_id, right_id FROM ' || pairs, id_type);
END $$;

RESET citus.enable_ddl_propagation;
