-- The operator class gin_minhash_ops. Through an index of this class, % finds the similar rows that share a band key
-- with the query.

SET minhash_lsh.recall_notice = 0;
SET jit = off;
SELECT amvalidate(oid) AS valid, opcdefault AS default, opckeytype::regtype AS keys FROM pg_opclass
    WHERE opcname = 'gin_minhash_ops';

-- 300 texts of 40 words. The last 200 are copies of the first 100 with some words changed. In addition there are an
-- exact copy, empty texts, NULL and short texts.
CREATE TABLE documents (id int PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body))
    STORED);
INSERT INTO documents
SELECT id, string_agg(CASE WHEN id > 100 AND ('x' || left(md5(id || 'change' || word), 2))::bit(8)::int < id / 10
    THEN md5(id || 'new' || word)::text ELSE left(md5(id % 100 || ' ' || word), 4 + word % 5) END, ' ' ORDER BY word)
FROM generate_series(1, 300) id, generate_series(1, 40) word GROUP BY id;
INSERT INTO documents SELECT 301, body FROM documents WHERE id = 7;
INSERT INTO documents VALUES (302, ''), (303, '   '), (304, NULL), (305, 'cat'), (306, 'Cat'), (307, 'dog'), (308, '');
ANALYZE documents;

-- All pairs whose signatures have an equal slot, found without an index.
CREATE TABLE pairs AS SELECT a.id AS a, b.id AS b, minhash_similarity(a.sig, b.sig) AS similarity FROM documents a,
    documents b WHERE minhash_similarity(a.sig, b.sig) > 0;
ANALYZE pairs;

-- Tells whether the plan of a query uses an index on signatures. (Complete plans differ between PostgreSQL versions.)
CREATE FUNCTION uses_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        IF line ~ 'Index Cond: .* % ' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Joins with % through an index on the second table. Compares the pairs found with those expected: pairs that are
-- similar enough and share a band key.
CREATE FUNCTION compare(threshold float8, num_bands int DEFAULT 13, num_rows int DEFAULT 7,
    relation regclass DEFAULT 'documents',
    OUT by_index boolean, OUT alike bigint, OUT sharing_a_key bigint, OUT returned bigint, OUT missing bigint,
    OUT wrong bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    query text := format('SELECT a.id AS a, b.id AS b FROM documents a JOIN %s b ON b.sig %% a.sig', relation);
BEGIN
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true);
    by_index := uses_index(query);
    EXECUTE format($query$
        WITH alike AS MATERIALIZED (SELECT a, b, lsh_band_keys(x.sig, $2, $3) && lsh_band_keys(y.sig, $2, $3) AS shared
                                    FROM pairs JOIN documents x ON x.id = a JOIN documents y ON y.id = b
                                    WHERE similarity >= $1),
        found AS MATERIALIZED (%s)
        SELECT count(a.a), count(*) FILTER (WHERE shared), count(f.a), count(*) FILTER (WHERE shared AND f.a IS NULL),
        count(f.a) FILTER (WHERE shared IS NOT true)
        FROM alike a FULL JOIN found f USING (a, b)
        $query$, query) INTO alike, sharing_a_key, returned, missing, wrong USING threshold, num_bands, num_rows;
END $$;

-- An index without options uses 13 bands of 7 rows for signatures of 128 hashes.
CREATE INDEX documents_sig ON documents USING gin (sig);
SELECT threshold, c.* FROM unnest(ARRAY[1, 0.9, 0.8, 0.7, 0.5, 0.1, 0]) threshold, compare(threshold) c;

-- The index's options can set any bands and rows that fit the number of hashes. The index's definition shows them.
DROP INDEX documents_sig;
CREATE INDEX documents_sig ON documents USING gin (sig gin_minhash_ops (bands = 25, rows = 5));
SELECT pg_get_indexdef('documents_sig'::regclass);
SELECT threshold, c.* FROM unnest(ARRAY[0.9, 0.7, 0.5]) threshold, compare(threshold, 25, 5) c;
DROP INDEX documents_sig;
CREATE INDEX documents_sig ON documents USING gin (sig gin_minhash_ops (rows = 1, bands = 128));
SELECT threshold, c.* FROM unnest(ARRAY[0.9, 0.01]) threshold, compare(threshold, 128, 1) c;
DROP INDEX documents_sig;
CREATE INDEX documents_sig ON documents USING gin (sig gin_minhash_ops (bands = 1, rows = 128));
SELECT threshold, c.* FROM unnest(ARRAY[0.9, 0.1]) threshold, compare(threshold, 1, 128) c;
DROP INDEX documents_sig;

-- Look up one text, given as a constant, a parameter or a subquery. The empty text and NULL find nothing.
CREATE INDEX documents_sig ON documents USING gin (sig);
SET enable_seqscan = off;
SELECT uses_index('SELECT id FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 7)');
SELECT id, round((sig <%> (SELECT sig FROM documents WHERE id = 7))::numeric, 2) AS distance FROM documents
    WHERE sig % (SELECT sig FROM documents WHERE id = 7) ORDER BY distance, id;
PREPARE look_up(text) AS SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash($1) % sig;
EXECUTE look_up('CAT');
EXECUTE look_up('');
EXECUTE look_up(NULL);
EXECUTE look_up('nowhere to be found');
SET plan_cache_mode = force_generic_plan;
EXECUTE look_up('CAT');
EXECUTE look_up('');
EXECUTE look_up(NULL);
RESET plan_cache_mode;
SELECT count(*) FROM documents WHERE sig % ANY (ARRAY[minhash('cat'), minhash('dog'), minhash(''), NULL]);
SELECT count(*) FROM documents WHERE sig % minhash('cat') AND sig % minhash('CAT') OR sig % minhash('dog');
-- Signatures of different schemes share no key, so the index finds nothing. A sequential scan raises an error that says
-- why.
SELECT count(*) FROM documents WHERE sig % minhash('cat', seed => 43);
SET enable_seqscan = on;
SET enable_bitmapscan = off;
SELECT count(*) FROM documents WHERE sig % minhash('cat', seed => 43);
RESET enable_bitmapscan;
SET enable_seqscan = off;

-- The index follows inserts, updates and deletes in the table, whether committed or rolled back.
BEGIN;
INSERT INTO documents SELECT 400 + id, upper(body) FROM documents WHERE id <= 10;
SELECT count(*) FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 8);
ROLLBACK;
SELECT count(*) FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 8);
UPDATE documents SET body = 'a horse' WHERE id = 305;
EXECUTE look_up('cat');
EXECUTE look_up('a horse');
DELETE FROM documents WHERE id = 306;
EXECUTE look_up('cat');
VACUUM documents;
INSERT INTO documents VALUES (306, 'Cat');
UPDATE documents SET body = 'cat' WHERE id = 305;
EXECUTE look_up('cat');
UPDATE documents SET body = '' WHERE id = 305;
EXECUTE look_up('cat');
UPDATE documents SET body = 'cat' WHERE id = 305;
SELECT * FROM compare(0.7);
-- The same pairs are found whether keys are in the pending list or in the index proper.
SELECT gin_clean_pending_list('documents_sig') > 0 AS had_pending_pages;
SELECT * FROM compare(0.7);
ALTER INDEX documents_sig SET (fastupdate = off);
UPDATE documents SET body = body || ' ' WHERE id BETWEEN 1 AND 50;
SELECT gin_clean_pending_list('documents_sig') AS pending_pages;
SELECT * FROM compare(0.7);
REINDEX INDEX documents_sig;
SELECT * FROM compare(0.7);
-- An index keeps the options with which it was created. ALTER INDEX cannot change them, and renaming, REINDEX and LIKE
-- keep them.
ALTER INDEX documents_sig SET (bands = 3);
DROP INDEX documents_sig;
CREATE INDEX CONCURRENTLY documents_sig ON documents
    USING gin (sig gin_minhash_ops (bands = 9, rows = 8)) WITH (fastupdate = off, gin_pending_list_limit = 64);
ALTER INDEX documents_sig RENAME TO renamed;
REINDEX INDEX CONCURRENTLY renamed;
SELECT pg_get_indexdef('renamed'::regclass);
SELECT * FROM compare(0.8, 9, 8);
CREATE TABLE copied (LIKE documents INCLUDING ALL);
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'copied'::regclass AND NOT indisprimary;
DROP TABLE copied;
DROP INDEX renamed;

-- Indexes on an expression, partial indexes, multicolumn indexes and indexes on partitions.
CREATE INDEX documents_body ON documents USING gin (minhash(body));
SELECT uses_index('SELECT id FROM documents WHERE minhash(body) % (SELECT sig FROM documents WHERE id = 7)');
SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash(body) % (SELECT sig FROM documents WHERE id = 7);
DROP INDEX documents_body;
CREATE INDEX documents_part ON documents USING gin (sig) WHERE id > 100;
SELECT array_agg(id ORDER BY id) FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 7) AND id > 100;
SELECT uses_index('SELECT FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 7) AND id > 100');
DROP INDEX documents_part;
ALTER TABLE documents ADD tags bigint[];
UPDATE documents SET tags = ARRAY[id % 2, id % 3 + 10];
CREATE INDEX documents_columns ON documents USING gin (tags, sig gin_minhash_ops (bands = 20, rows = 6),
    (minhash(body, 64)));
SELECT * FROM compare(0.7, 20, 6);
SELECT array_agg(id ORDER BY id) FROM documents WHERE tags @> ARRAY[1, 11]::bigint[]
    AND sig % (SELECT sig FROM documents WHERE id = 7);
SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash(body, 64) % minhash('cat', 64) AND sig % minhash('cat')
    AND tags @> ARRAY[10]::bigint[];
SELECT uses_index('SELECT FROM documents WHERE tags @> ARRAY[1, 11]::bigint[]
    AND sig % (SELECT sig FROM documents WHERE id = 7)');
DROP INDEX documents_columns;
CREATE TABLE parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100);
CREATE INDEX parts_sig ON parts USING gin (sig gin_minhash_ops (bands = 10, rows = 6));
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (MAXVALUE);
INSERT INTO parts SELECT id, sig FROM documents;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ('parts'::regclass, 'parts_low'::regclass,
    'parts_high'::regclass) ORDER BY 1;
SELECT * FROM compare(0.7, 10, 6, 'parts');
DROP TABLE parts;

-- Without options, the index uses the bands and rows that lsh_params() chooses for the number of hashes.
ALTER TABLE documents DROP sig;
CREATE FUNCTION compare_hashes(hashes int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE documents DROP IF EXISTS sig,
        ADD sig minhash_signature(%s) GENERATED ALWAYS AS (minhash(body, %s)) STORED', hashes, hashes);
    CREATE INDEX ON documents USING gin (sig);
    TRUNCATE pairs;
    INSERT INTO pairs SELECT a.id, b.id, minhash_similarity(a.sig, b.sig) FROM documents a, documents b
        WHERE minhash_similarity(a.sig, b.sig) > 0;
    ANALYZE pairs;
    RETURN QUERY SELECT bands, rows, c.* FROM lsh_params(0.8, hashes), compare(0.8, bands, rows) c;
END $$;
SET client_min_messages = warning;
SELECT hashes, c.* FROM unnest(ARRAY[16, 17, 64, 100, 256, 400]) hashes,
    compare_hashes(hashes) c (bands int, rows int, by_index boolean, alike bigint, sharing_a_key bigint,
    returned bigint, missing bigint, wrong bigint);
RESET client_min_messages;

-- If the index is likely to find only a small share of the rows at the threshold, there is a notice. It comes once per
-- statement, and only if the index is used.
RESET minhash_lsh.recall_notice;
ALTER TABLE documents DROP sig, ADD sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
CREATE INDEX documents_sig ON documents USING gin (sig);
\set cat 'SELECT count(*) FROM documents WHERE sig % minhash(\'cat\')'
:cat;
SET minhash_lsh.similarity_threshold = 0.77;
:cat;
SET minhash_lsh.similarity_threshold = 0.7;
:cat;
EXPLAIN :cat \g /dev/null
SET enable_seqscan = on;
SET enable_bitmapscan = off;
:cat;
RESET enable_bitmapscan;
SET enable_seqscan = off;
-- How often the notice comes in a join, in a loop, and if one statement scans the index twice.
SELECT count(*) > 300 FROM documents a JOIN documents b ON a.sig % b.sig;
DO $$
BEGIN
    FOR number IN 1..3 LOOP
        PERFORM FROM documents WHERE sig % minhash('cat' || number);
    END LOOP;
END $$;
SELECT count(*) FROM (SELECT FROM documents WHERE sig % minhash('cat') UNION ALL SELECT FROM documents
    WHERE sig % minhash('dog')) both_texts;
-- The notice comes if the expected share is below the setting recall_notice.
SET minhash_lsh.recall_notice = 0.65;
:cat;
SET minhash_lsh.similarity_threshold = 0.5;
:cat;
SET minhash_lsh.recall_notice = 0;
:cat;
SET minhash_lsh.recall_notice = 1;
SET minhash_lsh.similarity_threshold = 0.9;
:cat;
RESET minhash_lsh.recall_notice;
-- The notice also comes if a parallel worker scans the index (test/tap/120_parallel.pl has more tests). Planning alone
-- never gives a notice.
SET minhash_lsh.similarity_threshold = 0.5;
SELECT set_config(name, 'regress', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*) FROM documents WHERE sig % minhash('cat');
EXPLAIN SELECT count(*) FROM documents WHERE sig % minhash('cat') \g /dev/null
SELECT set_config(name, 'off', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- An index of one band gives the notice even if no row has the query's key.
DROP INDEX documents_sig;
CREATE INDEX documents_sig ON documents USING gin (sig gin_minhash_ops (bands = 1, rows = 7));
SELECT count(*) FROM documents WHERE sig % minhash('nothing like any of them');
SELECT count(*) FROM documents WHERE sig % minhash('cat');
EXPLAIN SELECT count(*) FROM documents WHERE sig % minhash('cat') \g /dev/null
DROP INDEX documents_sig;
CREATE INDEX documents_sig ON documents USING gin (sig);
-- No bands and rows suit every threshold. If the query matches all rows and a sequential scan is allowed, the planner
-- does not use the index.
SET minhash_lsh.similarity_threshold = 0.01;
:cat;
SET minhash_lsh.similarity_threshold = 0;
:cat;
SET enable_seqscan = on;
:cat;
RESET minhash_lsh.similarity_threshold;

-- Indexes and options that are refused.
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 20, rows = 7));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 0, rows = 7));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 4097, rows = 1));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 13));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (rows = 7));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 'many', rows = 7));
CREATE INDEX ON documents USING gin (sig gin_minhash_ops (bands = 13, rows = 7, size = 5));
CREATE INDEX ON documents USING gin (body gin_minhash_ops);
-- Rows and queries whose signatures have too few hashes for the index's bands and rows.
DROP INDEX documents_sig;
CREATE TABLE later (sig minhash_signature);
CREATE INDEX ON later USING gin (sig gin_minhash_ops (bands = 13, rows = 7));
INSERT INTO later VALUES (minhash('enough'));
INSERT INTO later VALUES (minhash('too few', 64));
SET enable_seqscan = off;
SELECT count(*) FROM later WHERE sig % minhash('too few', 64);
DROP TABLE later;

DROP FUNCTION compare_hashes, compare, uses_index;
DROP TABLE documents, pairs;
