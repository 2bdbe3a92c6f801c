-- Maintenance of lsh indexes: writing and merging runs, VACUUM, all kinds of tables and indexes, lsh_check().

SET jit = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common

-- With signatures of 1024 hashes, a page has room for 7 rows, so that a few hundred rows make a run. Texts with the
-- same n % 400 are near-duplicates.
CREATE FUNCTION pg_temp.some_signature(n int) RETURNS minhash_signature
    LANGUAGE sql AS $$SELECT minhash(repeat(md5((n % 400)::text), 3) || n, 1024)$$;
CREATE TABLE many (id int PRIMARY KEY, sig minhash_signature) WITH (autovacuum_enabled = false);
CREATE INDEX many_sig ON many USING lsh (sig);
-- Looks each row up through the index and returns how many rows are not found. Identical signatures are always found.
CREATE FUNCTION pg_temp.lost() RETURNS bigint
    LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET minhash_lsh.similarity_threshold = 0.9
    AS $$
DECLARE
    lost bigint;
BEGIN
    SELECT count(*) FILTER (WHERE a.id <> ALL (ARRAY(SELECT b.id FROM many b WHERE b.sig % a.sig))) INTO lost
        FROM many a WHERE a.id % 10 = 0;
    RETURN lost;
END $$;
CREATE FUNCTION pg_temp.state(index text DEFAULT 'many_sig', OUT records bigint, OUT dead bigint, OUT tail bigint,
    OUT runs int) LANGUAGE sql AS $$
    SELECT records, dead, in_tail, runs FROM lsh_check(index::regclass, heap => true)
$$;
-- Tells whether a newly created index has the same contents as many_sig.
CREATE FUNCTION pg_temp.as_new() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    kept bigint := (SELECT contents FROM lsh_check('many_sig'));
BEGIN
    CREATE INDEX many_new ON many USING lsh (sig);
    PERFORM lsh_check('many_new', heap => true);
    RETURN kept = (SELECT contents FROM lsh_check('many_new'));
END $$;

-- As rows are inserted, runs are written and merged.
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(1, 200) n;
SELECT * FROM pg_temp.state();
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(201, 500) n;
SELECT * FROM pg_temp.state();
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(501, 2000) n;
SELECT * FROM pg_temp.state();
SELECT pg_temp.lost();
-- VACUUM writes the tail into a run. Pages of merged runs are reused, so the index is hardly larger than a new one.
SELECT pg_relation_size('many_sig') AS size \gset
VACUUM many;
SELECT * FROM pg_temp.state();
SELECT pg_temp.as_new();
SELECT pg_relation_size('many_new') AS new_size \gset
DROP INDEX many_new;
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(2001, 2200) n;
SELECT :size < 1.1 * :new_size AS pages_are_used_again;
-- If less than a fifth of the rows are dead, VACUUM marks them as dead. If more are dead, it writes the run again.
DELETE FROM many WHERE id % 10 = 1;
VACUUM (INDEX_CLEANUP ON) many;
SELECT * FROM pg_temp.state();
DELETE FROM many WHERE id % 10 IN (2, 3);
VACUUM many;
SELECT * FROM pg_temp.state();
SELECT pg_temp.lost(), pg_temp.as_new();
DROP INDEX many_new;
-- If rows are updated again and again, the index does not grow.
DO $$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE many SET sig = pg_temp.some_signature(id + round);
    END LOOP;
END $$;
VACUUM many;
SELECT pg_relation_size('many_sig') AS size \gset
UPDATE many SET sig = pg_temp.some_signature(id + 4);
VACUUM many;
UPDATE many SET sig = pg_temp.some_signature(id + 5);
VACUUM many;
UPDATE many SET sig = pg_temp.some_signature(id + 6);
VACUUM many;
SELECT pg_relation_size('many_sig') <= :size AS size_stays;
SELECT * FROM pg_temp.state();
SELECT pg_temp.lost();
-- Delete all rows and insert others.
DELETE FROM many;
VACUUM many;
SELECT * FROM pg_temp.state();
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(1, 600) n;
SELECT * FROM pg_temp.state();
SELECT pg_temp.lost(), pg_temp.as_new();
DROP INDEX many_new;
TRUNCATE many;
SELECT * FROM pg_temp.state();
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(1, 300) n;
-- With little memory, a build sorts in parts and merges them.
SET maintenance_work_mem = '1MB';
CREATE TABLE several AS SELECT n AS id, minhash(md5(n::text), 16) AS sig FROM generate_series(1, 70000) n;
CREATE INDEX several_sig ON several USING lsh (sig);
SELECT * FROM pg_temp.state('several_sig');
RESET maintenance_work_mem;
DROP TABLE several;

-- The next VACUUM removes rows that were rolled back. After that, commands rewrite the table or the index.
BEGIN;
INSERT INTO many SELECT n, pg_temp.some_signature(n) FROM generate_series(301, 700) n;
ROLLBACK;
SELECT * FROM pg_temp.state();
VACUUM many;
SELECT * FROM pg_temp.state();
CLUSTER many USING many_pkey;
SELECT * FROM pg_temp.state();
VACUUM FULL many;
SELECT * FROM pg_temp.state();
REINDEX INDEX CONCURRENTLY many_sig;
SELECT * FROM pg_temp.state();
CREATE INDEX CONCURRENTLY many_second ON many USING lsh (sig) WHERE id > 100;
SELECT * FROM pg_temp.state('many_second');
DROP TABLE many;

-- Expression and partial indexes.
CREATE INDEX documents_text ON documents USING lsh (minhash(body, 64)) WHERE body <> 'dog';
SET enable_seqscan = off;
SELECT pg_temp.scans('SELECT id FROM documents WHERE minhash(body, 64) % minhash(''cat'', 64) AND body <> ''dog''');
SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash(body, 64) % minhash('cat', 64) AND body <> 'dog';
SELECT id FROM documents WHERE body <> 'dog' ORDER BY minhash(body, 64) <%> minhash('dog', 64), id LIMIT 1;
-- A query without a condition on signatures cannot use the index, even if it has the index's predicate.
RESET enable_seqscan;
SELECT pg_temp.scans('SELECT count(*) FROM documents WHERE body <> ''dog''');
SET enable_seqscan = off;
SELECT * FROM pg_temp.state('documents_text');
INSERT INTO documents VALUES (250000, 'cat'), (250001, 'dog');
SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash(body, 64) % minhash('cat', 64) AND body <> 'dog';
SELECT * FROM pg_temp.state('documents_text');

-- pg_stat_progress_create_index counts the rows read, one whole page at a time. A function in the index's expression
-- shows this during the build.
CREATE FUNCTION show_progress(id int, body text) RETURNS minhash_signature IMMUTABLE LANGUAGE plpgsql
SET search_path = public AS $$
BEGIN
    IF id % 100 = 0 THEN
        PERFORM pg_stat_clear_snapshot();
        RAISE NOTICE 'row %: % done, %', id, (SELECT tuples_done FROM pg_stat_progress_create_index),
            (SELECT phase FROM pg_stat_progress_create_index);
    END IF;
    RETURN minhash(body, 512);
END $$;
CREATE INDEX documents_progress ON documents USING lsh (show_progress(id, body)) WHERE id <= 300;
DROP INDEX documents_progress;
DROP FUNCTION show_progress;

-- Unlogged, temporary and partitioned tables.
CREATE UNLOGGED TABLE unlogged AS SELECT id, sig FROM documents;
CREATE INDEX unlogged_sig ON unlogged USING lsh (sig);
INSERT INTO unlogged SELECT id + 1000000, sig FROM documents;
DELETE FROM unlogged WHERE id % 2 = 0;
VACUUM unlogged;
SELECT * FROM pg_temp.state('unlogged_sig');
ALTER TABLE unlogged SET LOGGED;
SELECT * FROM pg_temp.state('unlogged_sig');
DROP TABLE unlogged;
CREATE TEMP TABLE short_lived AS SELECT id, sig FROM documents;
CREATE INDEX short_lived_sig ON short_lived USING lsh (sig);
INSERT INTO short_lived SELECT id + 1000000, sig FROM documents, generate_series(1, 10);
DELETE FROM short_lived WHERE id % 3 <> 0;
VACUUM short_lived;
SELECT * FROM pg_temp.state('short_lived_sig');
DROP TABLE short_lived;
CREATE TABLE parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (150);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (150) TO (1000);
CREATE INDEX parts_sig ON parts USING lsh (sig);
INSERT INTO parts SELECT id, sig FROM documents WHERE id < 1000;
SELECT array_agg(id ORDER BY id) FROM parts WHERE sig % (SELECT sig FROM documents WHERE id = 7);
SELECT array_agg(id) FROM (SELECT id FROM parts ORDER BY sig <%> (SELECT sig FROM documents WHERE id = 7), id
    LIMIT 4) s;
SELECT * FROM pg_temp.state('parts_low_sig_idx');
SELECT * FROM pg_temp.state('parts_high_sig_idx');
-- PostgreSQL refuses to change the options of a partitioned index.
SELECT pg_temp.error_of('ALTER INDEX parts_sig SET (threshold = 0.5)') IS NOT NULL AS refused;

-- HOT updates: if only columns that are not in the index change, the row's single record in the index stays and leads
-- to the new version.
CREATE TABLE hot (id int, note text, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9))
    WITH (fillfactor = 20, autovacuum_enabled = false);
INSERT INTO hot SELECT n, 'old', minhash(md5(n::text), 16) FROM generate_series(1, 40) n;
CREATE FUNCTION pg_temp.hot_rows(OUT found bigint, OUT rows bigint, OUT note text)
    LANGUAGE sql SET enable_seqscan = off SET minhash_lsh.similarity_threshold = 1 AS $$
    SELECT count(*), count(DISTINCT b.id), string_agg(DISTINCT b.note, ' ')
    FROM (SELECT sig FROM hot OFFSET 0) a, LATERAL (SELECT id, note FROM hot WHERE sig % a.sig OFFSET 0) b
$$;
BEGIN;
UPDATE hot SET note = 'new';
UPDATE hot SET note = 'newer';
SELECT pg_stat_get_xact_tuples_hot_updated('hot'::regclass);
COMMIT;
SELECT * FROM pg_temp.hot_rows(), pg_temp.state('hot_sig_excl');
VACUUM (INDEX_CLEANUP ON) hot;
UPDATE hot SET note = 'newest';
SELECT * FROM pg_temp.hot_rows(), pg_temp.state('hot_sig_excl');
REINDEX INDEX hot_sig_excl;
SELECT * FROM pg_temp.hot_rows(), pg_temp.state('hot_sig_excl');
-- If a row has several versions in a HOT chain, an index that is created later has only the last version.
ALTER TABLE hot DROP CONSTRAINT hot_sig_excl;
UPDATE hot SET note = 'changed', sig = minhash(md5((id + 20)::text), 16);
CREATE INDEX hot_sig ON hot USING lsh (sig);
CREATE INDEX CONCURRENTLY hot_sig_later ON hot USING lsh (sig);
SELECT * FROM pg_temp.hot_rows(), pg_temp.state('hot_sig');
SELECT * FROM pg_temp.state('hot_sig_later');
DROP TABLE hot;

-- A build extends the file by several pages at once. Later insertions use the pages that are left over.
CREATE TABLE longer AS SELECT i AS id, minhash(md5(i::text), 1024) AS sig FROM generate_series(1, 3000) i;
CREATE INDEX longer_sig ON longer USING lsh (sig);
SELECT pg_relation_size('longer_sig') AS longer_bytes, pg_relation_size('longer_sig', 'fsm') > 0 AS some_left \gset
INSERT INTO longer SELECT id + 10000, sig FROM longer WHERE id <= 8;
SELECT :'some_left' AS some_left, pg_relation_size('longer_sig') = :longer_bytes AS same_size;
SELECT records, dead, in_tail, runs FROM lsh_check('longer_sig', heap => true);
DROP TABLE longer;

-- If a scan finds that a row is dead, later scans leave it out, even before VACUUM. (The function below waits, because
-- other sessions may still see such rows for a while.)
CREATE TABLE dying (id int, sig minhash_signature) WITH (autovacuum_enabled = false);
INSERT INTO dying SELECT i, minhash(CASE WHEN i % 2 = 0 THEN 'one text' ELSE i::text END)
FROM generate_series(1, 20000) i;
CREATE INDEX dying_sig ON dying USING lsh (sig);
ANALYZE dying;
DELETE FROM dying WHERE id % 200 <> 0;
CREATE FUNCTION pg_temp.pages_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
CREATE FUNCTION pg_temp.are_left_out(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first int := pg_temp.pages_of(query);
BEGIN
    FOR try IN 1..100 LOOP
        EXIT WHEN pg_temp.pages_of(query) < 0.7 * first;
        PERFORM pg_sleep(0.1);
    END LOOP;
    RETURN pg_temp.pages_of(query) < 0.7 * first;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT pg_temp.are_left_out('SELECT id FROM dying WHERE sig % minhash(''one text'')');
SELECT count(*) FROM dying WHERE sig % minhash('one text');
INSERT INTO dying SELECT i, minhash('one text') FROM generate_series(1, 50) i;
SELECT count(*) FROM dying WHERE sig % minhash('one text');
SELECT count(*) FROM (SELECT FROM dying ORDER BY sig <%> minhash('one text')) s;
VACUUM dying;
INSERT INTO dying SELECT i, minhash('one text') FROM generate_series(1, 5000) i;
SELECT count(*) FROM dying WHERE sig % minhash('one text');
SELECT records, dead FROM lsh_check('dying_sig', heap => true);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE dying;

-- Calls of lsh_check() that are refused.
CREATE INDEX documents_gin ON documents USING gin (sig);
CREATE VIEW documents_view AS SELECT * FROM documents;
SELECT pg_temp.error_of(format('SELECT lsh_check(%L)', relation)) FROM unnest(ARRAY['documents', 'documents_pkey',
    'documents_gin', 'documents_view', 'parts_sig', 'pg_class']) relation;
DROP VIEW documents_view;
SELECT pg_temp.error_of('SELECT lsh_check(0)');
SELECT lsh_check(NULL);
CREATE ROLE lsh_index_stranger;
SET ROLE lsh_index_stranger;
SELECT pg_temp.error_of('SELECT lsh_check(''documents_text'')');
RESET ROLE;
DROP ROLE lsh_index_stranger;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'documents_text'::regclass;
SELECT pg_temp.error_of('SELECT lsh_check(''documents_text'')');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'documents_text'::regclass;
-- lsh_check() with heap notices a row that is missing from the index.
UPDATE pg_index SET indisready = false WHERE indexrelid = 'documents_text'::regclass;
INSERT INTO documents VALUES (250002, 'cat');
UPDATE pg_index SET indisready = true WHERE indexrelid = 'documents_text'::regclass;
SELECT pg_temp.error_of('SELECT lsh_check(''documents_text'')');
SELECT regexp_replace(pg_temp.error_of('SELECT lsh_check(''documents_text'', heap => true)'), '\(\d+,\d+\)', '(x,y)');
DROP TABLE documents, parts;
