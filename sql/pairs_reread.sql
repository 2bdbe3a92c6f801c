-- If a query returns texts or signatures unchanged from a table, the bulk functions do not keep copies but read them
-- again from the table. The results are the same as for a query whose rows must be kept.
CREATE TABLE reread (id int PRIMARY KEY, sig minhash_signature, body text, other varchar, city text DEFAULT 'Wien');
INSERT INTO reread (id, body)
    SELECT id, 'The quick brown fox number ' || id % 20 || ' jumps over lazy dog number ' || id || ' of this town'
    FROM generate_series(1, 300) AS id;
-- Some texts are compressed, and some are stored out of line.
INSERT INTO reread (id, body)
    SELECT id, repeat('long and easily compressed ', 200) || id FROM generate_series(301, 310) AS id;
ALTER TABLE reread ALTER COLUMN body SET STORAGE EXTERNAL;
INSERT INTO reread (id, body)
    SELECT id, (SELECT string_agg(md5((part / 2 * id % 3)::text), ' ') FROM generate_series(1, 150) AS part)
    FROM generate_series(311, 316) AS id;
UPDATE reread SET sig = minhash(body), other = body;
ANALYZE reread;
CREATE VIEW reread_view AS SELECT id, body, sig FROM reread;

-- Wraps a query in a sort. Sorted rows have lost their places in the table, so they must be kept.
CREATE FUNCTION sorted(query text) RETURNS text AS $$
    SELECT 'SELECT * FROM (' || query || ' OFFSET 0) AS q ORDER BY md5(id::text)'
$$ LANGUAGE sql;
-- Compares the pairs of a query with those of the same query wrapped in a sort.
CREATE FUNCTION differences(query text, threshold float8 = 0.8)
    RETURNS TABLE (found bigint, missing bigint, extra bigint) AS $$
    WITH kept AS (SELECT * FROM lsh_pairs(sorted(query), $2)),
    reread AS (SELECT * FROM lsh_pairs(query, $2))
    SELECT (SELECT count(*) FROM reread), (SELECT count(*) FROM (TABLE kept EXCEPT TABLE reread) AS m),
        (SELECT count(*) FROM (TABLE reread EXCEPT TABLE kept) AS e)
$$ LANGUAGE sql;
SELECT * FROM differences('SELECT id, body FROM reread');
SELECT * FROM differences('SELECT id, body FROM reread', 0.5);
SELECT * FROM differences('SELECT id, sig FROM reread');
SELECT * FROM differences('SELECT id, sig FROM reread', 0.5);
-- Signatures of less than 127 bytes are stored with a header of one byte, so that their slots are not aligned.
ALTER TABLE reread ADD COLUMN short minhash_signature;
UPDATE reread SET short = minhash(body, 16);
SELECT * FROM differences('SELECT id, short FROM reread');
SELECT count(*), max(size) FROM lsh_clusters('SELECT id, short FROM reread', threshold => 0.9);
SELECT * FROM differences('SELECT id, other FROM reread');
SELECT * FROM differences('SELECT id, other::text FROM reread WHERE id > 100');
SELECT * FROM differences('SELECT id, body FROM reread_view');
SELECT * FROM differences('SELECT id, city FROM reread');
SELECT * FROM differences('SELECT id, body || city FROM reread');
SET enable_seqscan = off;
SELECT * FROM differences('SELECT id, body FROM reread WHERE id BETWEEN 50 AND 320');
SET enable_indexscan = off;
SELECT * FROM differences('SELECT id, sig FROM reread WHERE id BETWEEN 50 AND 320');
RESET enable_seqscan;
RESET enable_indexscan;
-- Where the table is larger than memory, rows are read again in the order of their pages.
SET effective_cache_size = '8kB';
SELECT * FROM differences('SELECT id, body FROM reread');
SELECT * FROM differences('SELECT id, sig FROM reread', 0.5);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM differences('SELECT id, body FROM reread ORDER BY id DESC');
RESET enable_bitmapscan;
RESET enable_seqscan;
RESET effective_cache_size;
ALTER TABLE reread ADD COLUMN added text DEFAULT 'a value that no row has stored, as all have it';
SELECT * FROM differences('SELECT id, added FROM reread WHERE id < 30');

-- Texts that are read again take no memory: without a sort, the function needs no file.
CREATE TABLE reread_long AS
    SELECT id, (SELECT string_agg(md5((id * part)::text), ' ') FROM generate_series(1, 50) AS part)
    AS body FROM generate_series(1, 2000) AS id;
ANALYZE reread_long;
SET maintenance_work_mem = '2MB';
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM reread_long');
SELECT count(*) FROM lsh_pairs(sorted('SELECT id, body FROM reread_long'));
RESET maintenance_work_mem;
DROP TABLE reread_long;

-- Two queries over two tables. One table is temporary.
CREATE TEMPORARY TABLE reread_other AS SELECT -id AS id, body, sig FROM reread WHERE id % 3 = 0;
SELECT count(*), count(*) FILTER (WHERE left_id = -right_id) FROM
    lsh_pairs('SELECT id, body FROM reread', other_query => 'SELECT id, body FROM reread_other');
SELECT count(*), count(*) FILTER (WHERE left_id = -right_id) FROM
    lsh_pairs('SELECT id, sig FROM reread', other_query => 'SELECT id, sig FROM reread_other');
SELECT count(*), count(*) FILTER (WHERE left_id = -right_id) FROM
    lsh_pairs('SELECT id, sig FROM reread', other_query => sorted('SELECT id, sig FROM reread_other'));

-- lsh_clusters() and lsh_contained() read rows again, too.
SELECT count(*), count(DISTINCT cluster_id), max(similarity) <= 1 FROM lsh_clusters('SELECT id, sig FROM reread');
SELECT count(*) FROM lsh_clusters('SELECT id, sig FROM reread') AS a
    FULL JOIN lsh_clusters(sorted('SELECT id, sig FROM reread')) AS b USING (id, cluster_id)
    WHERE a IS NULL OR b IS NULL;
SELECT count(*) FROM lsh_contained('SELECT id, body FROM reread') AS a
    FULL JOIN lsh_contained(sorted('SELECT id, body FROM reread')) AS b USING (contained_id, container_id, containment)
    WHERE a IS NULL OR b IS NULL;

-- Functions that the query calls may change the table. Rows are still read again as they were when the query began.
CREATE FUNCTION rewrite_row(changed int) RETURNS boolean AS $$
    UPDATE reread SET body = 'changed', sig = minhash('changed') WHERE id = changed
    RETURNING true
$$ LANGUAGE sql;
CREATE TEMPORARY TABLE before AS SELECT * FROM lsh_pairs('SELECT id, sig FROM reread WHERE id <= 200');
BEGIN;
SELECT count(*) > 0 FROM lsh_pairs('SELECT id, sig FROM reread WHERE id <= 200 AND rewrite_row(id)') AS a;
SELECT count(DISTINCT body) FROM reread WHERE id <= 200;
ROLLBACK;
BEGIN;
SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM reread WHERE id <= 200 AND rewrite_row(id)') AS a
    FULL JOIN before AS b USING (left_id, right_id, similarity) WHERE a IS NULL OR b IS NULL;
ROLLBACK;

-- The table cannot be truncated while the query runs.
CREATE FUNCTION empty_table(int) RETURNS boolean AS $$
BEGIN
    TRUNCATE reread;
    RETURN true;
END $$ LANGUAGE plpgsql;
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM reread WHERE empty_table(id)');
DROP TABLE reread CASCADE;
DROP FUNCTION sorted, differences, rewrite_row, empty_table;
