-- The access method lsh. One index serves % at every threshold, and returns the nearest rows first.

SET jit = off;
SELECT amvalidate(oid) AS valid, opcdefault AS default FROM pg_opclass WHERE opcname = 'lsh_minhash_ops';
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common

-- Compares the pairs of a join by % with and without the index.
CREATE FUNCTION pg_temp.compare(threshold float8, OUT alike bigint, OUT missing bigint, OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT a.id AS a, b.id AS b FROM documents a JOIN documents b ON b.sig % a.sig';
BEGIN
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true);
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_indexscan = on;
    EXECUTE 'CREATE TEMP TABLE through AS ' || query;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_seqscan = on;
    EXECUTE 'CREATE TEMP TABLE without AS ' || query;
    SELECT count(w), count(*) FILTER (WHERE t IS NULL), count(*) FILTER (WHERE w IS NULL) INTO alike, missing, wrong
    FROM through t FULL JOIN without w ON t = w;
    DROP TABLE through, without;
END $$;

CREATE INDEX documents_sig ON documents USING lsh (sig);
SELECT records, dead, in_tail, runs FROM lsh_check('documents_sig', heap => true);
SET enable_seqscan = off;
SELECT pg_temp.scans('SELECT a.id AS a, b.id AS b FROM documents a JOIN documents b ON b.sig % a.sig');
SET enable_indexscan = off;
SELECT pg_temp.scans('SELECT id FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 7)');
SELECT array_agg(id ORDER BY id) FROM documents WHERE sig % (SELECT sig FROM documents WHERE id = 7);
RESET enable_indexscan;
-- At the threshold 0, a search finds every row, except those whose signature is NULL or is the signature of the empty
-- set.
SELECT threshold, c.* FROM unnest(ARRAY[1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3, 0.1,
    0]) threshold, pg_temp.compare(threshold) c;

-- Look up one text, given as a constant, a parameter or a subquery. The empty text and NULL find nothing.
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
SELECT count(*) FROM documents WHERE sig % minhash('cat') AND sig % minhash('CAT') OR sig % minhash('dog');
SELECT count(*) FROM documents WHERE sig % minhash('cat') AND sig % minhash('dog');
SELECT count(*) FROM documents WHERE sig % minhash('cat') AND sig % NULL;

-- minhash_similar() has the threshold as an argument.
SELECT pg_temp.scans('SELECT id FROM documents WHERE minhash_similar(sig, minhash(''cat''), 0.6)');
SELECT t, count(*), count(*) FILTER (WHERE minhash_similar(sig, q, t)) FROM documents, unnest(ARRAY[0.3, 0.6, 0.9]) t,
    (SELECT sig AS q FROM documents WHERE id = 107) s
WHERE id IN (SELECT d.id FROM documents d WHERE minhash_similar(d.sig, q, t)) GROUP BY t ORDER BY t;
SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash_similar(sig, minhash('cat'), 0.6);
-- A rough query also finds all of them, and few others, whether the index is scanned or makes a bitmap.
CREATE FUNCTION pg_temp.roughly(threshold float8, OUT missed bigint, OUT few_more boolean) LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(*) FILTER (WHERE is_near AND NOT is_found), count(*) FILTER (WHERE is_found AND NOT is_near) <= 3
    INTO missed, few_more
    FROM (SELECT minhash_similar(d.sig, q.sig, threshold) AS is_near, d.id IN (SELECT o.id FROM documents AS o
              WHERE _minhash_roughly_similar(o.sig, q.sig, threshold)) AS is_found
          FROM documents AS d, (SELECT sig FROM documents WHERE id IN (7, 107, 304)) AS q) AS s;
END $$;
SET enable_bitmapscan = off;
SELECT pg_temp.scans('SELECT id FROM documents WHERE _minhash_roughly_similar(sig, minhash(''cat''), 0.6)');
SELECT t, r.* FROM unnest(ARRAY[0.3, 0.6, 0.9, 1]) AS t, pg_temp.roughly(t) AS r;
RESET enable_bitmapscan;
SET enable_indexscan = off;
SELECT pg_temp.scans('SELECT id FROM documents WHERE _minhash_roughly_similar(sig, minhash(''cat''), 0.6)');
SELECT t, r.* FROM unnest(ARRAY[0.3, 0.6, 0.9, 1]) AS t, pg_temp.roughly(t) AS r;
RESET enable_indexscan;
SELECT id FROM documents WHERE _minhash_roughly_similar(sig, NULL, 0.6);

-- In order of distance, the index gives the same rows as a sort, for any LIMIT.
CREATE FUNCTION pg_temp.nearest(query int, n int, OUT by_index float8[], OUT in_order boolean, OUT right_ones boolean)
    LANGUAGE plpgsql AS $$
DECLARE
    truth float8[];
BEGIN
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_indexscan = on;
    SELECT array_agg(d) INTO by_index
    FROM (SELECT sig <%> (SELECT sig FROM documents WHERE id = query) AS d
        FROM documents ORDER BY sig <%> (SELECT sig FROM documents WHERE id = query) LIMIT n) s;
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_indexscan = off;
    SELECT array_agg(d) INTO truth
    FROM (SELECT sig <%> (SELECT sig FROM documents WHERE id = query) AS d FROM documents ORDER BY 1 LIMIT n) s;
    in_order := by_index = (SELECT array_agg(d ORDER BY d) FROM unnest(by_index) d);
    right_ones := by_index = truth;
END $$;
CREATE FUNCTION pg_temp.rows_of(query text, OUT distances float8[]) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query INTO distances;
END $$;
SELECT pg_temp.scans('SELECT id FROM documents ORDER BY sig <%> minhash(''cat'') LIMIT 3');
SELECT id, round((sig <%> minhash('cat'))::numeric, 2) AS distance FROM documents ORDER BY sig <%> minhash('cat'), id
    LIMIT 3;
SELECT n, count(*) FILTER (WHERE in_order) AS in_order, count(*) FILTER (WHERE right_ones) AS right_ones,
    min(cardinality(by_index)) AS rows
FROM unnest(ARRAY[1, 3, 10, 100, 1000]) n, generate_series(1, 300, 15) query, pg_temp.nearest(query, n) GROUP BY n
    ORDER BY n;
-- Without LIMIT, the index returns all rows, the most distant last, with the same distances as a sort.
PREPARE in_order(minhash_signature) AS SELECT array_agg(d) AS distances
    FROM (SELECT sig <%> $1 AS d FROM documents ORDER BY sig <%> $1) s;
PREPARE similar_in_order(minhash_signature, minhash_signature) AS SELECT array_agg(d) AS distances
    FROM (SELECT sig <%> $2 AS d FROM documents WHERE sig % $1 ORDER BY sig <%> $2) s;
SET plan_cache_mode = force_generic_plan;
SET enable_sort = off;
SELECT pg_temp.scans('EXECUTE in_order(NULL)');
SELECT q, cardinality(p.distances) AS rows, distances[301:] FROM (VALUES ('cat'), (''), (NULL)) v (q),
    pg_temp.rows_of(format('EXECUTE in_order(minhash(%L))', q)) p;
SELECT q, p.* FROM (VALUES ('cat'), (''), (NULL)) v (q),
    pg_temp.rows_of(format('EXECUTE similar_in_order(minhash(''CAT''), minhash(%L))', q)) p;
SET enable_indexscan = off;
SELECT q, cardinality(p.distances) AS rows, distances[301:] FROM (VALUES ('cat'), (''), (NULL)) v (q),
    pg_temp.rows_of(format('EXECUTE in_order(minhash(%L))', q)) p;
RESET enable_indexscan;
RESET enable_sort;
RESET plan_cache_mode;
-- The order can be combined with a condition, even on another text.
SELECT pg_temp.scans('SELECT id FROM documents WHERE sig % minhash(''dog'') ORDER BY sig <%> minhash(''cat'') LIMIT 3');
SELECT id FROM documents WHERE sig % minhash('dog') ORDER BY sig <%> minhash('cat') LIMIT 3;
SELECT id FROM documents WHERE sig % minhash('cat') ORDER BY sig <%> minhash('cat'), id LIMIT 3;
-- A cursor that moves forward and backward, and a scan that is restarted with another text.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM documents ORDER BY sig <%> (SELECT sig FROM documents WHERE id = 7) LIMIT 4;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
SELECT count(*), round(avg(n.distance)::numeric, 4) FROM documents d,
    LATERAL (SELECT e.sig <%> d.sig AS distance FROM documents e ORDER BY e.sig <%> d.sig LIMIT 2) n WHERE d.id <= 50;
-- With ordered_scan_limit, a scan stops before it compares more rows than the limit.
SET minhash_lsh.ordered_scan_limit = 100;
SELECT count(*) < 300 AS fewer FROM (SELECT id FROM documents ORDER BY sig <%> minhash('cat') LIMIT 1000) s;
SELECT n, count(*) FILTER (WHERE in_order) AS in_order, count(*) FILTER (WHERE right_ones) AS right_ones
FROM unnest(ARRAY[1, 3]) n, generate_series(1, 300, 15) query, pg_temp.nearest(query, n) GROUP BY n ORDER BY n;
RESET minhash_lsh.ordered_scan_limit;

-- Since PostgreSQL 18, EXPLAIN ANALYZE shows what a scan did. On older versions, the test just prints the expected
-- text.
CREATE FUNCTION pg_temp.work_of(query text, expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    work text[];
BEGIN
    IF current_setting('server_version_num')::int < 180000 THEN
        RETURN expected;
    END IF;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
        IF line ~ '^ *(Search|Records)' THEN
            work := work || trim(line);
        END IF;
    END LOOP;
    RETURN array_to_string(work, ', ');
END $$;
SELECT pg_temp.work_of('SELECT id FROM documents WHERE sig % minhash(''dog'')',
    'Search: 5 slots of 8 bands, Records Compared: 1, Records Found: 1');
SELECT pg_temp.work_of('SELECT id FROM documents WHERE sig % minhash(''dog'') OR sig % minhash(''cat'')',
    'Search: 5 slots of 8 bands, Records Compared: 1, Records Found: 1, '
    'Search: 5 slots of 8 bands, Records Compared: 2, Records Found: 2');
SELECT pg_temp.work_of('SELECT id FROM documents ORDER BY sig <%> minhash(''dog'') LIMIT 1',
    'Search: 5 slots of 23 bands, Records Compared: 1, Records Found: 1');
SELECT pg_temp.work_of('SELECT id FROM documents WHERE minhash_similar(sig, minhash(''dog''), 0.1)',
    'Search: all records, Records Compared: 308, Records Found: 1');
SELECT pg_temp.work_of('SELECT count(*) FROM documents a JOIN documents b ON b.sig % a.sig WHERE a.id IN (305, 307)',
    'Search: 5 slots of 8 bands, Records Compared: 3, Records Found: 3');
SELECT pg_temp.work_of('SELECT id FROM documents WHERE sig % NULL', '');
SELECT pg_temp.work_of('SELECT id FROM documents WHERE id = 7', '');

-- A search may turn to comparing all records when it has already returned some rows. It still returns every row once.
CREATE TABLE crowd AS SELECT id, minhash(CASE WHEN id % 5 < 3 THEN 'many rows have this text' ELSE md5(id::text) END)
    AS sig FROM generate_series(1, 12000) id;
CREATE INDEX crowd_sig ON crowd USING lsh (sig);
ANALYZE crowd;
SET enable_seqscan = off;
SET enable_sort = off;
SET cursor_tuple_fraction = 0.001;
-- With these costs, some hundred candidates are not too many, but thousands are.
SET random_page_cost = 1;
SET cpu_operator_cost = 0.0001;
CREATE FUNCTION pg_temp.crowd_rows(query text, OUT rows bigint, OUT twice bigint, OUT missing bigint, OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
    one int;
    ids int[] := '{}';
BEGIN
    OPEN c FOR EXECUTE query;
    LOOP
        FETCH c INTO one;
        EXIT WHEN NOT FOUND;
        ids := ids || one;
    END LOOP;
    CLOSE c;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    SELECT cardinality(ids), cardinality(ids) - count(DISTINCT f), count(*) FILTER (WHERE f IS NULL),
        count(*) FILTER (WHERE r IS NULL) INTO rows, twice, missing, wrong
    FROM unnest(ids) f FULL JOIN (SELECT id FROM crowd WHERE sig % (SELECT sig FROM crowd WHERE id = 1)) r ON r.id = f;
END $$;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.crowd_rows('SELECT id FROM crowd WHERE sig % (SELECT sig FROM crowd WHERE id = 1)');
SELECT * FROM pg_temp.crowd_rows('SELECT id FROM crowd WHERE sig % (SELECT sig FROM crowd WHERE id = 1)
    ORDER BY sig <%> (SELECT sig FROM crowd WHERE id = 1)');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT * FROM pg_temp.crowd_rows('SELECT id FROM crowd WHERE sig % (SELECT sig FROM crowd WHERE id = 1)');
RESET enable_indexscan;
RESET enable_bitmapscan;
RESET enable_seqscan;
RESET enable_sort;
RESET cursor_tuple_fraction;
RESET random_page_cost;
RESET cpu_operator_cost;
DROP TABLE crowd;

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
SELECT * FROM pg_temp.compare(0.7);
SELECT records, in_tail > 0 AS has_tail FROM lsh_check('documents_sig', heap => true);
REINDEX INDEX documents_sig;
SELECT * FROM pg_temp.compare(0.7);

-- The options can set any bands and rows that fit the number of hashes.
CREATE TABLE choices (bands int, rows int);
INSERT INTO choices VALUES (13, 7), (25, 5), (12, 10), (128, 1), (1, 2), (64, 2);
CREATE FUNCTION pg_temp.try(bands int, rows int, threshold float8, OUT alike bigint, OUT missing bigint,
    OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    DROP INDEX documents_sig;
    EXECUTE format('CREATE INDEX documents_sig ON documents USING lsh (sig) WITH (bands = %s, rows = %s)', bands, rows);
    PERFORM lsh_check('documents_sig', heap => true);
    SELECT c.* INTO alike, missing, wrong FROM pg_temp.compare(threshold) c;
END $$;
SELECT c.*, threshold, t.* FROM choices c, unnest(ARRAY[0.9, 0.6]) threshold, pg_temp.try(bands, rows, threshold) t
ORDER BY c.ctid, threshold DESC;
SELECT pg_get_indexdef('documents_sig'::regclass);
SELECT option, pg_temp.error_of(format('CREATE INDEX ON documents USING lsh (sig) WITH (%s)', option))
FROM unnest(ARRAY['bands = 13', 'rows = 7', 'bands = 20, rows = 7', 'bands = 0, rows = 1', 'bands = 1, rows = 0',
    'bands = -1, rows = 5', 'bands = 1, rows = 11', 'bands = x, rows = 5',
    'bands = 4097, rows = 1', 'fillfactor = 90']) option;
SELECT pg_temp.error_of('ALTER INDEX documents_sig SET (bands = 5)'),
    pg_temp.error_of('ALTER INDEX documents_sig RESET (rows)');
-- Options cannot be changed. Setting them to their present values and other changes of the index are allowed.
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
    'ALTER INDEX documents_sig SET (bands = 20, rows = 5)', 'ALTER INDEX documents_sig SET (threshold = 0.5)',
    'ALTER INDEX documents_sig RESET (bands, rows)']) statement;
ALTER INDEX documents_sig SET (bands = 64, rows = 2);
ALTER INDEX documents_sig RENAME TO documents_renamed;
ALTER INDEX documents_renamed RENAME TO documents_sig;
ALTER INDEX documents_sig SET TABLESPACE pg_default;
SELECT reloptions FROM pg_class WHERE relname = 'documents_sig';
SELECT name, pg_index_column_has_property('documents_sig', 1, name) FROM unnest(ARRAY['distance_orderable',
    'orderable', 'returnable', 'search_array']) name;
DROP INDEX documents_sig;

-- Indexes that are refused.
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
    'CREATE UNIQUE INDEX ON documents USING lsh (sig)',
    'CREATE INDEX ON documents USING lsh (sig, sig)',
    'CREATE INDEX ON documents USING lsh (sig) INCLUDE (id)',
    'CREATE INDEX ON documents USING lsh (body)',
    'CREATE INDEX ON documents USING lsh (sig DESC)']) statement;

-- An index has one scheme: signatures of other schemes are refused on insertion and in lookups.
CREATE INDEX documents_sig ON documents USING lsh (sig);
SELECT pg_temp.error_of('SELECT id FROM documents WHERE sig % minhash(''cat'', seed => 43)');
SELECT pg_temp.error_of('SELECT id FROM documents ORDER BY sig <%> minhash(''cat'', 64) LIMIT 1');
CREATE TABLE schemes (sig minhash_signature);
INSERT INTO schemes VALUES (minhash('cat')), (minhash('cat', 64));
SELECT pg_temp.error_of('CREATE INDEX ON schemes USING lsh (sig)');
TRUNCATE schemes;
CREATE INDEX schemes_sig ON schemes USING lsh (sig);
SELECT count(*) FROM schemes WHERE sig % minhash('cat');
SELECT count(*) FROM (SELECT FROM schemes ORDER BY sig <%> minhash('cat') LIMIT 1) s;
SELECT records, runs FROM lsh_check('schemes_sig', heap => true);
INSERT INTO schemes VALUES (NULL);
INSERT INTO schemes VALUES (minhash('', 64));
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash(''cat''))');
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash_compress(minhash(''cat'', 64), 8))');
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash_compress(minhash(''cat'', 64), 4))');
INSERT INTO schemes VALUES (minhash('cat', 64));
SELECT count(*) FROM schemes WHERE sig % minhash('cat', 64);
SELECT records, in_tail FROM lsh_check('schemes_sig', heap => true);
-- The first signature decides the scheme, even after it is deleted. After REINDEX, the next first signature decides.
DELETE FROM schemes;
VACUUM (INDEX_CLEANUP ON) schemes;
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash(''cat''))') ~ 'different scheme' AS refused;
REINDEX INDEX schemes_sig;
INSERT INTO schemes VALUES (minhash('cat'));
-- If signatures have too few hashes for the options, inserting the first one is an error.
TRUNCATE schemes;
DROP INDEX schemes_sig;
CREATE INDEX schemes_sig ON schemes USING lsh (sig) WITH (bands = 26, rows = 5);
INSERT INTO schemes VALUES (NULL);
SELECT count(*) FROM schemes WHERE sig % minhash('cat');
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash(''cat''))');
SELECT pg_temp.error_of('INSERT INTO schemes VALUES (minhash(''''))');

-- Signatures of 8 and 16 bits per slot, and with few and many hashes.
CREATE TABLE shapes AS SELECT *
    FROM (VALUES (128, 8), (128, 16), (16, 32), (17, 32), (33, 8), (1024, 32), (4096, 32)) s (num_hashes, bits);
CREATE FUNCTION pg_temp.try_shape(num_hashes int, bits int, OUT records bigint, OUT alike bigint, OUT missing bigint,
    OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE shaped AS SELECT id, minhash_compress(minhash(body, num_hashes), bits) AS sig FROM documents d;
    CREATE INDEX shaped_sig ON shaped USING lsh (sig);
    INSERT INTO shaped SELECT id + 1000, sig FROM shaped WHERE id % 3 = 0;
    SELECT c.records INTO records FROM lsh_check('shaped_sig', heap => true) c;
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_indexscan = on;
    CREATE TEMP TABLE through AS SELECT a.id AS a, b.id AS b FROM documents d, shaped a JOIN shaped b ON b.sig % a.sig
        WHERE d.id = a.id;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_seqscan = on;
    CREATE TEMP TABLE without AS SELECT a.id AS a, b.id AS b FROM documents d, shaped a JOIN shaped b ON b.sig % a.sig
        WHERE d.id = a.id;
    SELECT count(w), count(*) FILTER (WHERE t IS NULL), count(*) FILTER (WHERE w IS NULL) INTO alike, missing, wrong
        FROM through t FULL JOIN without w ON t = w;
    DROP TABLE through, without, shaped;
END $$;
SELECT s.*, t.* FROM shapes s, pg_temp.try_shape(num_hashes, bits) t;
DROP TABLE documents, schemes, shapes, choices;
