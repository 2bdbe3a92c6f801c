-- If a query just scans a table, workers read the table's blocks, too. The answers are the same, in the same order, as
-- if one process had read the rows alone, which it does without workers and for all other queries.
CREATE TABLE blocks (id int, dropped text DEFAULT 'x', body text, key text, lang text, good int, sig minhash_signature);
INSERT INTO blocks (id, body, key, lang, good)
    SELECT n, string_agg(md5(concat(n / 3, word)), ' ') || CASE WHEN n % 7 = 0 THEN '' ELSE n % 3 / 2 || '' END,
        nullif('key ' || n % 1000 * 7, 'key 35'), nullif((ARRAY['de', 'en', 'fr'])[n % 4], ''), nullif(n % 50, 0)
    FROM generate_series(1, 3600) n, generate_series(1, 30) word GROUP BY n ORDER BY n;
UPDATE blocks SET body = CASE id % 3 WHEN 0 THEN ' ' WHEN 1 THEN '' END WHERE id % 97 = 0;
UPDATE blocks SET id = NULL WHERE id % 211 = 0;
DELETE FROM blocks WHERE id % 13 = 0; -- dead rows, and blocks with free space
INSERT INTO blocks (id, body, key, lang)
    SELECT n, string_agg(md5(concat(n / 3, word)), ' ') || n % 3 / 2, 'new ' || n, 'it'
    FROM generate_series(4001, 4100) n, generate_series(1, 30) word GROUP BY n ORDER BY n;
UPDATE blocks SET good = 7 WHERE id % 10 = 0;
ALTER TABLE blocks DROP COLUMN dropped, ADD COLUMN added text DEFAULT 'no row has stored this', ADD COLUMN uuid uuid;
UPDATE blocks SET uuid = md5(id::text)::uuid WHERE id < 2000;
ALTER TABLE blocks ALTER COLUMN sig SET STORAGE MAIN; -- some stay in the table
UPDATE blocks SET sig = minhash(body, 1024) WHERE body <> ' ' OR id % 2 = 0;
UPDATE blocks SET sig = minhash('', 1024) WHERE id % 101 = 0;
-- Some texts and keys are compressed, some are out of line, and some of those are near each other.
INSERT INTO blocks (id, body, key)
    SELECT n, repeat('long and easily compressed ', 300) || n, repeat('key', 3000) || n
    FROM generate_series(5001, 5010) n;
ALTER TABLE blocks ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN key SET STORAGE EXTERNAL;
INSERT INTO blocks (id, body, key)
    SELECT n, repeat(E' \n', 100) || string_agg(md5((part / 2 * n % 3)::text), ' '), string_agg(md5(n::text), '')
    FROM generate_series(5011, 5019) n, generate_series(1, 150) part GROUP BY n ORDER BY n;
CREATE TABLE small AS SELECT id, body, lang FROM blocks WHERE id < 100;
CREATE VIEW seen AS SELECT id * 2 AS id, body, upper(lang) AS lang FROM blocks WHERE good % 3 <> 1;
ANALYZE blocks, small;
SELECT pg_table_size('blocks') > 18000000 AS large; -- there is work for workers

-- A hash of the rows of a call, in their order.
CREATE FUNCTION answer(call text, workers int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
    EXECUTE format('SELECT concat(count(*), '' '', md5(string_agg(c::text, '','' ))) FROM %s c', call) INTO result;
    RETURN result;
END $$;
-- Returns how many rows a call has, and which numbers of workers change the answer.
CREATE FUNCTION compare(call text, OUT rows int, OUT changed text) LANGUAGE sql AS $$
    WITH alone AS MATERIALIZED (SELECT answer(call, 0) AS answer)
    SELECT (SELECT split_part(answer, ' ', 1)::int FROM alone),
        (SELECT string_agg(n::text, ',') FROM unnest(ARRAY[1, 4]) n, alone WHERE answer(call, n) <> alone.answer)
$$;
SET client_min_messages = warning; -- no notices of NULLs and empty texts
SET max_parallel_workers_per_gather = 0; -- the planner must not use workers of its own
SELECT call, compare.* FROM unnest(ARRAY[
    $$lsh_pairs('SELECT id, body FROM blocks')$$,
    $$lsh_pairs('SELECT id, body FROM blocks', threshold => 0.5, verify => 'estimate')$$,
    $$lsh_pairs('SELECT id, body FROM blocks', 0.6, num_hashes => 128, bands => 25, rows => 4)$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id % 5 <> 2 AND lang > ''d''')$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id % 100 = 1')$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id < 0')$$,
    $$lsh_pairs('SELECT -id, body FROM blocks')$$,
    $$lsh_pairs('SELECT id::smallint, body FROM blocks')$$,
    $$lsh_pairs('SELECT id, body, lang AS scope FROM blocks')$$,
    $$lsh_pairs('SELECT id, body, length(body) % 3 AS scope FROM blocks')$$,
    $$lsh_pairs('SELECT key, body FROM blocks', NULL::text)$$,
    $$lsh_pairs('SELECT uuid, body FROM blocks', NULL::uuid)$$,
    $$lsh_pairs('SELECT key || lang, body FROM blocks', NULL::text)$$,
    $$lsh_pairs('SELECT id, added FROM blocks WHERE id < 40')$$,
    $$lsh_pairs('SELECT id, sig FROM blocks')$$,
    $$lsh_pairs('SELECT id, sig, lang AS scope FROM blocks', threshold => 0.4)$$,
    $$lsh_pairs('SELECT id, body FROM seen')$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id % 2 = 0',
        other_query => 'SELECT id, body FROM blocks WHERE id % 2 = 1')$$,
    $$lsh_pairs('SELECT id, body, lang AS scope FROM small',
        other_query => 'SELECT id, body, lang AS scope FROM blocks')$$,
    $$lsh_pairs('SELECT id, body FROM blocks', other_query => 'SELECT id, body FROM small')$$,
    $$lsh_pairs('SELECT id, body FROM blocks', apart => 'SELECT id, id + 1 FROM blocks WHERE id % 6 = 0')$$,
    $$lsh_pairs('SELECT id, body FROM blocks', weight => 'idf')$$,
    $$lsh_contained('SELECT id, body FROM blocks')$$,
    $$lsh_contained('SELECT id, body FROM small', other_query => 'SELECT id, body FROM blocks')$$,
    $$lsh_clusters('SELECT id, body FROM blocks')$$,
    $$lsh_clusters('SELECT id, body, good AS rank, lang AS scope FROM blocks', near_representative => true)$$,
    $$lsh_clusters('SELECT id, body, key AS rank FROM blocks WHERE good IS NOT NULL', singletons => true)$$,
    $$lsh_clusters('SELECT id, sig, -id AS rank FROM blocks', singletons => true)$$,
    $$lsh_evaluate('SELECT id, body, lang AS scope FROM blocks', anchors => 900)$$,
    $$lsh_evaluate('SELECT key, lower(body) FROM blocks', 0.6)$$,
    -- The query computes its values.
    $$lsh_pairs('SELECT id, body || lang FROM blocks')$$,
    $$lsh_pairs('SELECT id, coalesce(key, '''') || '' '' || body FROM blocks', verify => 'estimate')$$,
    $$lsh_pairs('SELECT id, lower(body) FROM blocks WHERE id % 3 < 2', 0.6, bands => 25, rows => 4)$$,
    $$lsh_pairs('SELECT id, jsonb_build_array(body)->>0, lang AS scope FROM blocks')$$,
    $$lsh_pairs('SELECT id, CASE WHEN good > 9 THEN body ELSE key END FROM blocks')$$,
    $$lsh_pairs('SELECT id, minhash(body, 100) FROM blocks')$$,
    $$lsh_pairs('SELECT id, minhash_compress(minhash(nullif(body, '' ''), 33), 8), lang AS scope
        FROM blocks')$$,
    $$lsh_pairs('SELECT id, minhash_compress(sig, 8) FROM blocks WHERE good < 20')$$,
    $$lsh_pairs('SELECT id, ''the same text for all'' FROM blocks WHERE id < 60')$$,
    $$lsh_pairs('SELECT id, lower(body) FROM small', other_query => 'SELECT id, body FROM blocks')$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id % 2 = 0',
        other_query => 'SELECT id, upper(body) FROM blocks WHERE id % 2 = 1')$$,
    $$lsh_pairs('SELECT id, body || lang FROM blocks', weight => 'idf')$$,
    $$lsh_contained('SELECT id, lower(body) FROM small', other_query => 'SELECT id, lower(body) FROM blocks')$$,
    $$lsh_clusters('SELECT id, body || lang, key AS rank FROM blocks', singletons => true)$$,
    -- read by one process
    $$lsh_pairs('SELECT id, body FROM blocks ORDER BY key')$$,
    $$lsh_pairs('SELECT id, body FROM blocks LIMIT 5000')$$,
    $$lsh_pairs('SELECT max(id), body FROM blocks GROUP BY body ORDER BY 1')$$,
    $$lsh_pairs('SELECT id, body FROM blocks WHERE id > (SELECT min(id) FROM small)')$$,
    $$lsh_pairs('SELECT id, body FROM blocks TABLESAMPLE system (100)')$$]) WITH ORDINALITY c (call, n),
    compare(call) ORDER BY n;

-- With little memory, and where the table is larger than memory.
SET maintenance_work_mem = '1MB';
SELECT * FROM compare($$lsh_pairs('SELECT id, body, lang AS scope FROM blocks')$$);
SELECT * FROM compare($$lsh_clusters('SELECT key, body, key AS rank FROM blocks', NULL::text, singletons => true)$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, lower(body), lang AS scope FROM blocks')$$);
SELECT * FROM compare($$lsh_clusters('SELECT key, body || lang, key AS rank FROM blocks', NULL::text)$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, minhash(body) FROM blocks')$$);
RESET maintenance_work_mem;
SET effective_cache_size = '8kB';
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, body || lang FROM blocks')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks WHERE id % 2 = 0',
    other_query => 'SELECT id, upper(body) FROM blocks WHERE id % 2 = 1')$$); -- some are read again, some kept
RESET effective_cache_size;

-- Rows that the transaction itself has written, and then changed in the same transaction.
BEGIN;
INSERT INTO blocks (id, body) SELECT id + 10000, body FROM blocks WHERE id % 3 = 1;
SAVEPOINT more;
UPDATE blocks SET id = id + 10000, body = body || 'x' WHERE id % 5 = 2;
DELETE FROM blocks WHERE id % 11 = 1;
UPDATE blocks SET good = 1 WHERE id > 10000;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks')$$);
ROLLBACK TO more;
DELETE FROM blocks WHERE id % 11 = 2;
SELECT * FROM compare($$lsh_clusters('SELECT id, body FROM blocks')$$);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks')$$);
COMMIT;

-- Partitions, and tables joined by UNION ALL, are read one after another.
CREATE TABLE parts (good int, body text, id int, lang text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (2500);
CREATE TABLE parts_2 (id int, good int, lang text, body text);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (2500) TO (5000);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (5000) TO (6000) PARTITION BY LIST (lang);
CREATE TABLE parts_3_none PARTITION OF parts_3 FOR VALUES IN (NULL);
CREATE TABLE parts_empty PARTITION OF parts DEFAULT;
INSERT INTO parts (id, body, lang, good) SELECT id, body, lang, good FROM blocks WHERE id IS NOT NULL;
CREATE INDEX parts_id ON parts (id);
CREATE VIEW of_parts AS SELECT id + 7 AS id, body, lang AS scope FROM parts WHERE lang IS NOT NULL
    UNION ALL SELECT id, body, lang FROM small;
ANALYZE parts;
SET blocks.most = 4000;
SELECT call, compare.* FROM unnest(ARRAY[
    $$lsh_pairs('SELECT id, body FROM parts WHERE id < 2500')$$,
    $$lsh_pairs('SELECT id, body FROM parts WHERE id > 2500')$$,
    $$lsh_pairs('SELECT id, body FROM parts')$$,
    $$lsh_pairs('SELECT id, body, lang AS scope FROM parts')$$,
    $$lsh_pairs('SELECT tableoid::regclass || '' '' || id, body FROM parts', NULL::text)$$,
    $$lsh_clusters('SELECT id, body, -id AS rank, good AS scope FROM parts')$$,
    $$lsh_pairs('SELECT id, body FROM small', other_query => 'SELECT id, body FROM parts')$$,
    $$lsh_pairs('SELECT id, body FROM parts', other_query => 'SELECT id, body FROM blocks')$$,
    $$lsh_contained('SELECT id, body FROM parts')$$,
    $$lsh_pairs('SELECT id, body FROM small UNION ALL SELECT id, body FROM blocks')$$,
    $$lsh_pairs('SELECT id, body, ''b'' AS scope FROM blocks UNION ALL SELECT id + 1, body, ''s'' FROM small')$$,
    $$lsh_pairs('TABLE of_parts')$$,
    $$lsh_pairs('SELECT id, body FROM parts WHERE id % 2 = 0 UNION ALL SELECT id, body FROM parts WHERE id % 2 = 1')$$,
    $$lsh_pairs('SELECT id, body || lang FROM parts')$$,
    $$lsh_pairs('SELECT id, minhash(body, 1024) FROM parts
        UNION ALL SELECT id, sig FROM blocks WHERE sig <> minhash(''x'')')$$,
    $$lsh_pairs('SELECT id, body FROM small UNION ALL SELECT -id, lower(body) FROM blocks')$$,
    -- read by one process
    $$lsh_pairs('SELECT id, body FROM small UNION ALL SELECT 1, ''a text of no table''')$$,
    $$lsh_pairs('SELECT id, body FROM parts WHERE id < current_setting(''blocks.most'')::int')$$,
    $$lsh_pairs('SELECT id, body FROM parts ORDER BY id')$$]) WITH ORDINALITY c (call, n),
    compare(call) ORDER BY n;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM parts WHERE id < 4000')$$);
RESET enable_seqscan;
RESET enable_bitmapscan;
SET effective_cache_size = '2MB'; -- less than all partitions, more than each
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM parts')$$);
RESET effective_cache_size;
-- As if one process had read and kept the values.
SELECT query, answer(format('lsh_pairs(%L)', query), 4)
    = answer(format('lsh_pairs(%L)', query || ' LIMIT 1e6'), 0) AS same
FROM unnest(ARRAY['SELECT id, body FROM parts', 'SELECT id, body || lang FROM parts', 'SELECT id, body FROM blocks',
    'SELECT id, body || lang FROM blocks', 'SELECT id, minhash(body) FROM blocks']) query;
-- PostgreSQL would read with workers of its own, which brings rows in any order.
BEGIN;
CREATE FUNCTION has_gather(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan::text ~ 'Gather';
END $$;
CREATE TEMPORARY TABLE gathered AS
    SELECT query, format('lsh_pairs(%L)', query) AS call, answer(format('lsh_pairs(%L)', query), 0) AS alone
    FROM unnest(ARRAY['SELECT id, body FROM blocks WHERE cardinality(shingles(body)) > 9',
        'SELECT id, minhash(body) FROM blocks', 'SELECT id, minhash(body) FROM parts']) query;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_setup_cost = 0;
SELECT query, has_gather(query), answer(call, 1) = alone AS one_more, answer(call, 4) = alone AS four_more
FROM gathered;
ROLLBACK;
-- Many partitions, and too many.
CREATE TABLE many (id int, body text) PARTITION BY RANGE (id);
DO $$ BEGIN
    FOR i IN 0 .. 519 LOOP
        EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10);
    END LOOP;
END $$;
INSERT INTO many SELECT id, body FROM blocks WHERE id < 5100;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM many WHERE id < 5100')$$);
SELECT * FROM compare($$lsh_clusters('SELECT id, body FROM many')$$);
DROP TABLE many;
CREATE TEMPORARY TABLE of_session AS SELECT id, body FROM blocks;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM of_session')$$);

-- Row security: workers apply the policies of the call's user.
CREATE ROLE regress_blocks;
GRANT SELECT ON blocks TO regress_blocks;
ALTER TABLE blocks ENABLE ROW LEVEL SECURITY;
CREATE POLICY no_french ON blocks USING (lang <> 'fr' AND id % 4 <> 1);
SET ROLE regress_blocks;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks WHERE lang = ''fr''')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, lower(body) FROM blocks')$$);
RESET ROLE;
ALTER TABLE blocks DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON blocks FROM regress_blocks;
GRANT SELECT ON parts, of_parts TO regress_blocks; -- not on any partition, nor on the table small
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
CREATE POLICY no_french ON parts USING (lang <> 'fr' AND id % 4 <> 1);
SET ROLE regress_blocks;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM parts')$$);
SELECT * FROM compare($$lsh_pairs('TABLE of_parts')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM parts UNION ALL SELECT id, body FROM small')$$);
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM parts_1')$$);
RESET ROLE;
ALTER TABLE parts DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON parts, of_parts FROM regress_blocks;
DROP ROLE regress_blocks;

-- Who evaluates a query's expressions? The session's process sleeps, so that workers get blocks.
SELECT set_config('blocks.session', pg_backend_pid()::text, false) = pg_backend_pid()::text AS noted;
CREATE FUNCTION by_worker(number int) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_backend_pid() <> current_setting('blocks.session')::int THEN
        RAISE EXCEPTION 'a worker has read a row' USING DETAIL = 'It could.', HINT = 'So it did.', ERRCODE = 'XX123';
    END IF;
    PERFORM pg_sleep(0.01);
    RETURN true;
END $$;
CREATE FUNCTION error_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
    context text;
BEGIN
    EXECUTE 'SELECT count(*) FROM ' || call;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
    RETURN concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''),
        substring(context FROM 'SQL statement "SELECT i[^"]*"'));
END $$;
SET max_parallel_maintenance_workers = 2;
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_clusters('SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, sig FROM blocks WHERE id < 0 OR by_worker(id)')$$);
SELECT error_of($$lsh_contained('SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_evaluate('SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM parts WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM small UNION ALL SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM parts UNION ALL SELECT id, body FROM parts WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM small',
    other_query => 'SELECT id, body FROM blocks WHERE by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body || by_worker(id) FROM blocks')$$);
SELECT error_of($$lsh_clusters('SELECT id, minhash(CASE WHEN by_worker(id) THEN body END) FROM blocks')$$);
-- Any process meets this error.
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id / (good * 0) = 1')$$);
SELECT error_of($$lsh_pairs('SELECT 1 / (id * 0), body FROM blocks')$$);
SELECT error_of($$lsh_pairs('SELECT id, body || 1 / (id * 0) FROM blocks')$$);
SET max_parallel_maintenance_workers = 0;
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id / (good * 0) = 1')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 40 AND by_worker(id)')$$);
SET max_parallel_maintenance_workers = 2;
-- The call goes on in the same transaction after an error in a worker.
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 1000')$$);
-- No worker can be started.
SET max_parallel_workers = 0;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM small', other_query => 'SELECT id, body FROM blocks')$$);
RESET max_parallel_workers;
-- Functions that are volatile, or not safe in workers, are called by one process alone.
ALTER FUNCTION by_worker VOLATILE;
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 20 AND by_worker(id)')$$);
SELECT error_of($$lsh_pairs('SELECT id, body || by_worker(id) FROM blocks WHERE id < 20')$$);
ALTER FUNCTION by_worker STABLE PARALLEL RESTRICTED;
SELECT error_of($$lsh_pairs('SELECT id, body || by_worker(id) FROM blocks WHERE id < 20')$$);
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 20 AND by_worker(id)')$$);
-- If one of two queries cannot be shared, neither is.
ALTER FUNCTION by_worker PARALLEL SAFE;
CREATE FUNCTION writes(number int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO small VALUES (number, 'written by a query');
    RETURN number;
END $$;
BEGIN;
SELECT error_of($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 20 AND by_worker(id)',
    other_query => 'SELECT writes(id), body FROM blocks WHERE id < 20')$$);
SELECT count(*) FROM small WHERE body = 'written by a query';
ROLLBACK;
-- Signatures of different schemes, and a cancelled call.
BEGIN;
UPDATE blocks SET sig = minhash(body, 64) WHERE id = 3333;
SELECT error_of($$lsh_pairs('SELECT id, sig FROM blocks')$$);
ROLLBACK;
CREATE FUNCTION waits(number int) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    PERFORM pg_sleep(0.02);
    RETURN true;
END $$;
SET statement_timeout = '300ms';
\set VERBOSITY terse
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM blocks WHERE waits(id)');
\set VERBOSITY default
RESET statement_timeout;
SELECT * FROM compare($$lsh_pairs('SELECT id, body FROM blocks WHERE id < 1000')$$);
RESET client_min_messages;
RESET max_parallel_workers_per_gather;
RESET max_parallel_maintenance_workers;
DROP VIEW seen, of_parts;
DROP TABLE blocks, parts, small, of_session;
DROP FUNCTION answer, compare, by_worker, error_of, writes, waits;
