-- All near-duplicate pairs of texts that are spread over the workers of Citus, or over several servers, by one command
-- that may be cancelled, fail or crash at any point and is then called again. For psql, on the coordinator:
--
--   \i doc/examples/distributed_pairs.sql
--   CALL lsh_distributed_pairs('letters', 'letter_no', 'mh', 'letter_pairs');
--
-- doc/more-than-one-server.md says what it costs, doc/how-servers-share-work.md how it works. It is SQL and PL/pgSQL,
-- yours to read and to change, and runs with the rights and along the search_path of whoever calls it.
--
-- A job fills the table of pairs (target) in steps. A step is one transaction on each server. It fills one table of the
-- schema "<target>_job" from others, its inputs, and notes how many rows it wrote. Before a step runs, its inputs must
-- have as many rows as noted, or the steps that fill them run again: a crash empties unlogged tables without an error.
\set ON_ERROR_STOP on
SET citus.enable_ddl_propagation = off; -- all of it stays on the coordinator

CREATE TABLE lsh_distributed_jobs (
    target text PRIMARY KEY,
    arguments jsonb NOT NULL,
    run int NOT NULL,
    is_first boolean NOT NULL, -- whether this run compares all texts, not new ones with those before
    is_finished boolean NOT NULL,
    words jsonb                -- what the words in templates stand for, from when the job's tables were made
);

CREATE TABLE lsh_distributed_steps (
    target text NOT NULL REFERENCES lsh_distributed_jobs ON DELETE CASCADE,
    run int NOT NULL,
    step text NOT NULL,
    row_count bigint NOT NULL,
    seconds numeric NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (target, run, step)
);

-- A template with each {word} replaced that is among the words.
CREATE FUNCTION _lsh_filled(template text, words jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(CASE WHEN part[1] ~ '^\{\w+\}$' THEN coalesce(words->>trim(part[1], '{}'), part[1]) ELSE part[1] END,
                      '' ORDER BY place)
    FROM regexp_matches(template, '\{\w+\}|[^{]+|\{', 'g') WITH ORDINALITY AS m(part, place)
$$;

-- A name with its schema, as it is to be written in SQL.
CREATE FUNCTION _lsh_qualified(name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%I.%I', CASE WHEN cardinality(parts) > 1 THEN parts[1] ELSE current_schema() END, parts[cardinality(parts)])
    FROM parse_ident(name) AS parts
$$;

-- The schemas of a job's tables, "<target>_job", and of the pairs on several servers, "<target>_parts".
CREATE FUNCTION _lsh_schema_of(target text, suffix text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT quote_ident(parts[cardinality(parts)] || suffix) FROM parse_ident(target) AS parts
$$;

-- The words that both kinds of templates have: from what the caller gave, the type of ids, minhash_scheme() of a
-- signature. Where more than star_above texts share a key, each is compared with the first of them only. The first is
-- min(id); types without it, such as uuid, have a text.
CREATE FUNCTION _lsh_words(job lsh_distributed_jobs, source text, id_type text, scheme jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given jsonb := job.arguments;
    threshold float8 := given->'threshold';
    num_hashes int := scheme->'num_hashes';
    bits int := least((scheme->'bits')::int, 16);
    chosen record := lsh_params(threshold, num_hashes, recall => CASE WHEN given->>'body' IS NULL THEN 0.95 ELSE 0.99 END);
    id text := 's.' || quote_ident(given->>'id');
    sig text := 's.' || quote_ident(given->>'signature');
    has_min boolean := EXISTS (SELECT FROM pg_proc WHERE proname = 'min' AND proargtypes[0] = id_type::regtype);
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
        'keys_of_text', format('lsh_bands(%s, %s, %s)', sig, coalesce((given->>'bands')::int, chosen.bands),
                               coalesce((given->>'rows')::int, chosen.rows)),
        'shingles', format('shingle_size => %s, unit => %L, fold => %s, bag => %s', scheme->>'shingle_size',
                           scheme->>'unit', scheme->>'fold', scheme->>'bag'),
        'first', CASE WHEN has_min THEN 'min(id)' ELSE format('min(id::text)::%s', id_type) END,
        'is_star', coalesce('cardinality(ids) > ' || (given->>'star_above'), 'false'),
        'of_fresh', CASE WHEN (given->'keep')::boolean
            THEN format(' JOIN %s.fresh f ON f.id = %s AND f.hash = hash_record_extended(ROW(%s), 0)',
                        _lsh_schema_of(job.target, '_job'), id, sig) ELSE '' END);
END $$;

-- The tables of a job, and the column that Citus distributes each by. What is kept between runs is always logged,
-- and what says of which texts a run is: made again, it might have others.
CREATE FUNCTION _lsh_tables(job lsh_distributed_jobs, words jsonb) RETURNS TABLE (name text, definition text, key text)
LANGUAGE sql STABLE AS $$
    SELECT name, _lsh_filled(format('CREATE %s {schema}.%s (%s)', CASE WHEN (job.arguments->'unlogged')::boolean
        AND NOT (is_kept AND (job.arguments->'keep')::boolean) THEN 'UNLOGGED TABLE' ELSE 'TABLE' END, name, columns), words), key
    FROM (VALUES
        ('bands', true, 'key bigint NOT NULL, {text}', 'key'),
        ('new_bands', false, 'key bigint NOT NULL, {text}', 'key'),
        ('candidates', false, '{pair_columns}, PRIMARY KEY (left_id, right_id)', 'left_id'),
        ('halves', false, '{pair_columns}, sig minhash_signature NOT NULL', 'right_id'),
        ('near', false, '{pair_columns}', 'left_id'),
        ('bodies', false, '{pair_columns}, body text NOT NULL', 'right_id'),
        ('done', true, 'id {id_type} PRIMARY KEY, hash bigint NOT NULL', 'id'),
        ('fresh', true, 'id {id_type} PRIMARY KEY, hash bigint NOT NULL', 'id'),
        ('gone', true, 'id {id_type} PRIMARY KEY', 'id'),
        ('orphans', true, 'id {id_type} PRIMARY KEY', 'id')) AS t(name, is_kept, columns, key)
$$;

-- The steps of a job in their order, with their inputs. A step fills the table of its name; "pairs" the target. Each can
-- be repeated: on several servers it may have been done on some of them.
CREATE FUNCTION _lsh_steps(job lsh_distributed_jobs) RETURNS TABLE (place bigint, step text, inputs text[], statements text[])
LANGUAGE sql STABLE AS $$
    SELECT row_number() OVER (), step, inputs, ARRAY(SELECT _lsh_filled(s, job.words) FROM unnest(
        CASE WHEN step IN ('forget', 'keep', 'remember') OR step = 'pairs' AND NOT job.is_first THEN ARRAY[]::text[]
            WHEN step = 'pairs' THEN ARRAY['TRUNCATE {pairs}'] ELSE ARRAY['TRUNCATE {schema}.' || step] END || statements)
        WITH ORDINALITY AS u(s, n) ORDER BY n)
    FROM (SELECT job.is_first, (job.arguments->'keep')::boolean AS is_kept, job.arguments->>'body' IS NOT NULL AS is_exact,
              CASE WHEN job.is_first THEN 'bands' ELSE 'new_bands' END AS bands) AS run,
    LATERAL (VALUES
    -- Gone are texts that are not there any more, or with another signature. Texts that only had a pair with one that is
    -- gone are treated anew, as it may have been the first of a star.
    (NOT is_first, 'gone', '{}'::text[], ARRAY['INSERT INTO {schema}.gone SELECT d.id FROM {schema}.done d
        WHERE NOT EXISTS (SELECT FROM {source} AS s WHERE {id} = d.id AND {hash} = d.hash AND {sig} IS NOT NULL)']),
    (NOT is_first, 'orphans', '{gone}', ARRAY['INSERT INTO {schema}.orphans SELECT right_id FROM {pairs}
        WHERE left_id IN (SELECT id FROM {all_gone}) ON CONFLICT DO NOTHING']),
    (NOT is_first, 'forget', '{gone,orphans}', ARRAY[
        'DELETE FROM {schema}.bands WHERE id IN (SELECT id FROM {all_gone} UNION ALL SELECT id FROM {all_orphans})',
        'DELETE FROM {pairs} WHERE left_id IN (SELECT id FROM {all_gone}) OR right_id IN (SELECT id FROM {all_gone})',
        'DELETE FROM {schema}.done WHERE id IN (SELECT id FROM {schema}.gone UNION ALL SELECT id FROM {schema}.orphans)']),
    -- New are texts that are not done: so one that another transaction commits late is new whenever it comes. What a run
    -- sees is written down before it reads signatures, which may change meanwhile.
    (is_kept, 'fresh', '{}', ARRAY['INSERT INTO {schema}.fresh SELECT {id}, {hash} FROM {source} AS s
        WHERE {sig} IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.done d WHERE d.id = {id})']),
    (true, bands, CASE WHEN is_kept THEN '{fresh}'::text[] ELSE '{}' END, ARRAY['INSERT INTO {schema}.' || bands || ' {keys}']),
    -- Of each key the array of its texts: its memory does not grow with the square of a bucket, as that of a join does.
    -- i and j are places in the array; of a star, i is that of the first.
    (true, 'candidates', ARRAY[bands], ARRAY['INSERT INTO {schema}.candidates
        SELECT {candidate} FROM (
            SELECT key, {first} AS first, array_agg(id) AS ids{arrays}' || CASE WHEN is_first THEN '' ELSE ', array_agg(is_new) AS are_new' END || ' FROM ' || CASE WHEN is_first THEN '{schema}.bands' ELSE
                '(SELECT n.*, true AS is_new FROM {schema}.new_bands n UNION ALL SELECT b.*, false FROM {schema}.bands b
                  JOIN (SELECT DISTINCT key FROM {schema}.new_bands) n ON n.key = b.key) AS both_bands' END || '
            GROUP BY key HAVING count(*) > 1) AS bucket,
        LATERAL generate_series(CASE WHEN {is_star} THEN array_position(ids, first) ELSE 1 END,
                                CASE WHEN {is_star} THEN array_position(ids, first) ELSE cardinality(ids) - 1 END) AS x(i),
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
    ) AS t(is_part, step, inputs, statements) WHERE is_part
$$;

\ir distributed_pairs_citus.sql
\ir distributed_pairs_servers.sql

-- Two sessions never work for one target at once. The lock ends with the transaction, so with a step, and the next step
-- reads anew how far the job is: whoever comes in between goes on with the same job.
CREATE FUNCTION _lsh_lock_job(target text) RETURNS lsh_distributed_jobs LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('lsh_distributed_pairs ' || target, 0)) THEN
        RAISE EXCEPTION 'another session is at work on %', target USING ERRCODE = 'object_in_use';
    END IF;
    SELECT * INTO job FROM lsh_distributed_jobs AS j WHERE j.target = _lsh_lock_job.target;
    RETURN job;
END $$;

CREATE FUNCTION _lsh_is_on_citus(job lsh_distributed_jobs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT job.arguments->>'servers' IS NULL
$$;

-- The sum over all servers of what a query counts.
CREATE FUNCTION _lsh_counted(job lsh_distributed_jobs, query text, OUT total bigint) LANGUAGE plpgsql AS $$
BEGIN
    IF _lsh_is_on_citus(job) THEN
        EXECUTE query INTO total;
    ELSE
        SELECT sum(s.reply::bigint) INTO total FROM _lsh_on_servers(_lsh_servers_of(job), query) AS s;
    END IF;
END $$;

-- Begins a job, or its next run, or goes on with a run that did not end.
CREATE FUNCTION _lsh_begin_job(target text, arguments jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(target);
    is_kept boolean := arguments->'keep';
BEGIN
    IF job.target IS NULL THEN
        IF to_regclass(target) IS NOT NULL THEN
            RAISE EXCEPTION 'relation % already exists, and no job has made it', target USING ERRCODE = 'duplicate_table';
        END IF;
    ELSIF job.arguments <> arguments AND (is_kept OR (job.arguments->'keep')::boolean OR NOT job.is_finished) THEN
        RAISE EXCEPTION '% was begun with other arguments', target USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('They are %s.', job.arguments),
            HINT = format('Call with these, or forget what has been done: CALL lsh_drop_distributed_pairs(%L).', target);
    ELSIF NOT job.is_finished THEN
        RAISE NOTICE '%, run %: goes on after % steps', target, job.run,
            (SELECT count(*) FROM lsh_distributed_steps AS s WHERE (s.target, s.run) = (job.target, job.run));
        RETURN;
    END IF;
    INSERT INTO lsh_distributed_jobs AS j VALUES (target, arguments, 1, true, false)
    ON CONFLICT ON CONSTRAINT lsh_distributed_jobs_pkey
        DO UPDATE SET arguments = excluded.arguments, run = j.run + 1, is_first = NOT is_kept, is_finished = false
    RETURNING * INTO job;
    IF job.is_first THEN
        job.words := CASE WHEN _lsh_is_on_citus(job) THEN _lsh_create_on_citus(job) ELSE _lsh_create_on_servers(job) END;
        UPDATE lsh_distributed_jobs AS j SET words = job.words WHERE j.target = job.target;
    END IF;
END $$;

-- Runs the first step that is not done, and says so; NULL if none is left.
CREATE FUNCTION _lsh_next_step(target text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(target);
    started timestamptz := clock_timestamp();
    next record;
    input record;
    counted bigint;
    result bigint;
    is_lost boolean := true;
BEGIN
    IF job.target IS NULL OR job.is_finished THEN
        RETURN NULL;
    END IF;
    WHILE is_lost LOOP
        is_lost := false;
        SELECT * INTO next FROM _lsh_steps(job) AS s WHERE NOT EXISTS (SELECT FROM lsh_distributed_steps AS d
            WHERE (d.target, d.run, d.step) = (job.target, job.run, s.step)) ORDER BY place LIMIT 1;
        IF next IS NULL THEN
            PERFORM CASE WHEN _lsh_is_on_citus(job) THEN _lsh_clean_up_on_citus(job) ELSE _lsh_clean_up_on_servers(job) END;
            UPDATE lsh_distributed_jobs AS j SET is_finished = true WHERE j.target = job.target;
            RETURN NULL;
        END IF;
        FOR input IN SELECT step, row_count FROM lsh_distributed_steps AS d
            WHERE (d.target, d.run) = (job.target, job.run) AND step = ANY (next.inputs)
        LOOP
            counted := _lsh_counted(job, format('SELECT count(*) FROM %s.%I', job.words->>'schema', input.step));
            IF counted <> input.row_count THEN
                RAISE NOTICE '%, run %: % has % rows instead of %, and is made again', target, job.run, input.step, counted,
                    input.row_count;
                DELETE FROM lsh_distributed_steps AS d WHERE (d.target, d.run, d.step) = (job.target, job.run, input.step);
                is_lost := true;
            END IF;
        END LOOP;
    END LOOP;
    result := CASE WHEN _lsh_is_on_citus(job) THEN _lsh_run_on_citus(next.statements)
                   ELSE _lsh_run_on_servers(job, next.statements) END;
    IF next.step = 'candidates' AND job.arguments->>'star_above' IS NOT NULL AND 0 < _lsh_counted(job, _lsh_filled(
        'SELECT count(*) FROM (SELECT FROM {schema}.candidates GROUP BY left_id HAVING count(*) >= {star_above}) AS large',
        job.words || job.arguments))
    THEN
        RAISE NOTICE 'there are texts with % candidates or more', job.arguments->>'star_above'
            USING DETAIL = 'Where more texts share a key, each is compared with the first of them only.',
                HINT = 'star_above => NULL compares each with each.';
    END IF;
    INSERT INTO lsh_distributed_steps (target, run, step, row_count, seconds)
    VALUES (target, job.run, next.step, result, round(extract(epoch FROM clock_timestamp() - started), 2));
    RETURN format('%s, run %s: %s, %s rows, %s s', target, job.run, next.step, result,
                  round(extract(epoch FROM clock_timestamp() - started), 1));
END $$;

CREATE PROCEDURE lsh_distributed_pairs(
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
    ELSIF (SELECT length(parts[cardinality(parts)]) > 50 FROM parse_ident(target) AS parts) THEN
        RAISE EXCEPTION 'the name of % is too long', target USING ERRCODE = 'name_too_long';
    END IF;
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
CREATE PROCEDURE lsh_drop_distributed_pairs(target text) LANGUAGE plpgsql AS $$
DECLARE
    job lsh_distributed_jobs := _lsh_lock_job(_lsh_qualified(target));
BEGIN
    IF job.target IS NULL THEN
        RAISE EXCEPTION 'no job has made %', target USING ERRCODE = 'undefined_object';
    END IF;
    PERFORM CASE WHEN _lsh_is_on_citus(job) THEN _lsh_drop_on_citus(job) ELSE _lsh_drop_on_servers(job) END;
    DELETE FROM lsh_distributed_jobs AS j WHERE j.target = job.target;
END $$;

RESET citus.enable_ddl_propagation;
