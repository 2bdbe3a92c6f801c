-- lsh_clusters(): the connected components of the pairs that lsh_pairs() finds.

-- 150 different documents of 40 words each; 60 documents that differ from one of these in a few words; 60 copies of
-- document 7 with another last word, which make large buckets; a chain of 40 documents, where each differs from the
-- one before it by three words; 15 copies each of documents 10 and 11; and two empty and three short texts.
CREATE TABLE documents (id int PRIMARY KEY, body text);
INSERT INTO documents
SELECT id, string_agg(left(md5(id || ' ' || word), 3 + word % 5), ' ' ORDER BY word) FROM generate_series(1, 150) id,
    generate_series(1, 40) word GROUP BY id;
INSERT INTO documents
SELECT 150 + id, string_agg(CASE WHEN word % 10 = 3
    AND word / 10 <= id % 6 THEN 'changed' || id ELSE left(md5(id % 20 * 3 + 1 || ' ' || word), 3 + word % 5) END, ' '
    ORDER BY word)
FROM generate_series(1, 60) id, generate_series(1, 40) word GROUP BY id;
INSERT INTO documents SELECT 210 + n, regexp_replace(body, '\S+$', md5(n::text))
    FROM documents, generate_series(1, 60) n WHERE id = 7;
INSERT INTO documents SELECT 270 + id, string_agg(md5('chain ' || word), ' ' ORDER BY word)
    FROM generate_series(1, 40) id, generate_series(1, 160) word WHERE word BETWEEN 3 * id AND 3 * id + 39 GROUP BY id;
INSERT INTO documents SELECT 310 + 15 * (id - 10) + n, CASE id WHEN 10 THEN body ELSE upper(body) END
    FROM documents, generate_series(1, 15) n WHERE id IN (10, 11);
INSERT INTO documents VALUES (361, ''), (362, ''), (363, 'cat'), (364, 'Cat'), (365, 'dog');

-- Counts the rows that a query returns, the expected rows that are missing, and the rows that are not expected.
CREATE FUNCTION compare(actual text, expected text, OUT rows bigint, OUT missing bigint, OUT surplus bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH a AS MATERIALIZED (%s), e AS MATERIALIZED (%s) SELECT (SELECT count(*) FROM a),
        (SELECT count(*) FROM (TABLE e EXCEPT ALL TABLE a) d), (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE e) d)',
        actual, expected)
    INTO rows, missing, surplus;
END $$;
-- Computes in plain SQL what lsh_clusters() should give for the pairs in the table "pairs".
CREATE TEMP TABLE pairs (left_id bigint, right_id bigint, similarity float8);
CREATE FUNCTION components() RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint)
    LANGUAGE sql AS $$
WITH RECURSIVE edges AS MATERIALIZED (
    SELECT left_id AS a, right_id AS b FROM pairs UNION ALL SELECT right_id, left_id FROM pairs
), reach AS (
    SELECT a, a AS b FROM edges UNION SELECT reach.a, edges.b FROM reach JOIN edges ON reach.b = edges.a
), smallest AS (SELECT a, min(b) AS root FROM reach GROUP BY a)
SELECT a, root, root, count(*) OVER (PARTITION BY root) FROM smallest
$$;
CREATE FUNCTION check_clusters(arguments text)
    RETURNS TABLE (form text, clustered bigint, missing bigint, surplus bigint, clusters bigint, largest bigint)
    LANGUAGE plpgsql AS $$
DECLARE
    query text;
BEGIN
    FOR form, query IN VALUES ('signatures', 'SELECT id, minhash(body) FROM documents'),
        ('exact', 'SELECT id, body FROM documents') LOOP
        DELETE FROM pairs;
        EXECUTE format('INSERT INTO pairs SELECT * FROM lsh_pairs(%L, %s)', query, arguments);
        RETURN QUERY SELECT form, c.*, (SELECT count(DISTINCT cluster_id) FROM components()),
            (SELECT max(size) FROM components())
        FROM compare(format('SELECT id, cluster_id, representative, size FROM lsh_clusters(%L, %s)', query, arguments),
            'SELECT * FROM components()') c;
    END LOOP;
END $$;
SELECT * FROM check_clusters('0.8');
SELECT * FROM check_clusters('0.6, bands => 20, rows => 5');
SELECT * FROM check_clusters('0.9, bands => 9, rows => 12');
SELECT * FROM check_clusters('0.05, bands => 60, rows => 2');
SELECT * FROM check_clusters('1, bands => 1, rows => 128');
SELECT form, missing, surplus, clusters > 5 AS several FROM check_clusters('0.7, bands => 128, rows => 1');

-- The result depends neither on the order of the rows nor on the available memory.
CREATE TEMP TABLE clusters AS SELECT * FROM lsh_clusters('SELECT id, body FROM documents', 0.7);
SELECT c.* FROM (VALUES ('ORDER BY id DESC'), ('ORDER BY md5(id::text)')) o (shuffled),
    compare(format('SELECT * FROM lsh_clusters(%L, 0.7)', 'SELECT id, body FROM documents ' || shuffled),
    'TABLE clusters') c;
CREATE TABLE large AS SELECT n AS id, md5(n::text)::uuid AS uuid,
    md5((n / 3)::text) || CASE WHEN n < 400 THEN repeat(md5((n / 2)::text), 500) ELSE '' END AS body
    FROM generate_series(1, 12000) n;
CREATE TEMP TABLE roomy AS
    SELECT * FROM lsh_clusters('SELECT uuid, body, md5(uuid::text) AS rank FROM large', NULL::uuid);
SET maintenance_work_mem = '1MB';
CREATE TEMP TABLE cramped AS SELECT *
    FROM lsh_clusters('SELECT uuid, body, md5(uuid::text) AS rank FROM large ORDER BY uuid', NULL::uuid);
RESET maintenance_work_mem;
SELECT * FROM compare('TABLE cramped', 'TABLE roomy');
SELECT size, count(*) FROM roomy GROUP BY size ORDER BY size;

-- The representative is the row with the smallest id. If there is a column named rank, the representative is the first
-- row by rank, with NULLs last, then by id.
SELECT * FROM lsh_clusters('SELECT id, body FROM documents WHERE id BETWEEN 311 AND 313') ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, body, -id AS rank FROM documents WHERE id BETWEEN 311 AND 313') ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, body, CASE WHEN id > 311 THEN repeat(''rank '', 99999) || id % 2 END AS rank
    FROM documents WHERE id BETWEEN 311 AND 314') ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, body, NULL::int AS rank FROM documents
    WHERE id BETWEEN 311 AND 313 ORDER BY id DESC')
    ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, minhash(body), ARRAY[id % 2, -id] AS rank FROM documents
    WHERE id BETWEEN 311 AND 313')
    ORDER BY id;
SELECT * FROM lsh_clusters('SELECT ''x'' || id, body, random() * 0 AS rank FROM documents WHERE id BETWEEN 311 AND 313',
    NULL::text) ORDER BY id;
-- Rows that have the same id still count as separate rows.
SELECT * FROM lsh_clusters('SELECT id % 2, body FROM documents WHERE id BETWEEN 311 AND 313') ORDER BY id;

-- A chain is one cluster, although its ends have little in common. With near_representative it is split, because every
-- member must be near the representative.
SELECT size, count(*), min(id), max(id) FROM lsh_clusters('SELECT id, body FROM documents WHERE id BETWEEN 271 AND 310')
    GROUP BY size;
SELECT cluster_id, representative, size, string_agg(id::text, ' ' ORDER BY id) AS members
FROM lsh_clusters('SELECT id, body FROM documents WHERE id BETWEEN 271 AND 310', near_representative => true,
    singletons => true) GROUP BY 1, 2, 3 ORDER BY 1 LIMIT 4;
-- Computes clusters with near_representative in plain SQL: repeatedly takes the best remaining row of a component,
-- together with all rows near that row.
CREATE FUNCTION near_best(threshold float8, better text)
    RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE remaining ON COMMIT DROP AS SELECT c.id, c.cluster_id AS component, d.body FROM components() c
        JOIN documents d ON d.id = c.id;
    LOOP
        EXECUTE format('SELECT r.id FROM remaining r ORDER BY %s, r.id LIMIT 1', better) INTO representative;
        EXIT WHEN representative IS NULL;
        CREATE TEMP TABLE near ON COMMIT DROP AS SELECT r.id FROM remaining r, remaining b
        WHERE b.id = representative AND r.component = b.component AND shingle_jaccard(r.body, b.body) >= threshold;
        RETURN QUERY SELECT n.id, min(n.id) OVER (), near_best.representative, count(*) OVER () FROM near n;
        DELETE FROM remaining r USING near n WHERE r.id = n.id;
        DROP TABLE near;
    END LOOP;
    DROP TABLE remaining;
END $$;
TRUNCATE pairs;
INSERT INTO pairs SELECT * FROM lsh_pairs('SELECT id, body FROM documents', 0.8);
SELECT c.* FROM compare('SELECT id, cluster_id, representative, size
    FROM lsh_clusters(''SELECT id, body FROM documents'', 0.8, near_representative => true)',
        'SELECT * FROM near_best(0.8, ''r.id'') WHERE size > 1') c;
SELECT c.* FROM compare('SELECT id, cluster_id, representative, size
    FROM lsh_clusters(''SELECT id, body, md5(id::text) AS rank FROM documents ORDER BY id DESC'', 0.8,
        near_representative => true)', 'SELECT * FROM near_best(0.8, ''md5(r.id::text)'') WHERE size > 1') c;
SELECT count(*) FROM lsh_clusters('SELECT id, body FROM documents', near_representative => true) c
    JOIN documents a USING (id) JOIN documents b ON b.id = representative WHERE shingle_jaccard(a.body, b.body) < 0.8;

-- The column similarity compares each row with its representative. It is exact for texts, and estimated for signatures.
-- In chained clusters it can be below the threshold.
SELECT query, near_representative, count(*) > 100 AS many, min(c.similarity) < 0.01 AS chained,
    count(*) FILTER (WHERE c.id = representative AND c.similarity <> 1) AS wrong_for_itself,
    count(*) FILTER (WHERE c.similarity IS DISTINCT FROM CASE query WHEN 'body' THEN shingle_jaccard(a.body, b.body)
        ELSE minhash_similarity(minhash(a.body), minhash(b.body)) END) AS wrong
FROM (VALUES ('body'), ('minhash(body)')) q (query), (VALUES (false), (true)) n (near_representative),
    lsh_clusters(format('SELECT id, %s, -id AS rank FROM documents WHERE body <> $$$$', query), 0.7,
        near_representative => near_representative, singletons => true) c
    JOIN documents a ON a.id = c.id JOIN documents b ON b.id = representative
GROUP BY 1, 2 ORDER BY 1, 2;

-- With a column named scope, clusters are the same as from a separate call for each scope. NULL is a scope, too. The
-- columns rank and scope can come in any order, because their names identify them.
CREATE TEMP VIEW scoped AS SELECT id, body, nullif(id % 3, 0) AS scope, -id AS rank FROM documents;
SELECT c.* FROM compare(
    'SELECT * FROM lsh_clusters(''TABLE scoped'', 0.6, bands => 20, rows => 5, singletons => true)',
    'SELECT c.* FROM generate_series(0, 2) s, lsh_clusters(format(''SELECT id, body, rank FROM scoped
         WHERE coalesce(scope, 0) = %s'', s), 0.6, bands => 20, rows => 5, singletons => true) c') c;
SELECT c.* FROM compare(
    'SELECT * FROM lsh_clusters(''SELECT id, minhash(body), rank, scope || $$ scope$$ AS scope FROM scoped'', 0.6,
         bands => 20, rows => 5, near_representative => true)',
    'SELECT c.* FROM generate_series(0, 2) s, lsh_clusters(format(''SELECT id, minhash(body), rank FROM scoped
         WHERE coalesce(scope, 0) = %s'', s), 0.6, bands => 20, rows => 5, near_representative => true) c') c;
DROP VIEW scoped;

-- With singletons, every row is in exactly one cluster, including rows whose text is empty or NULL.
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE size = 1 AND id = cluster_id AND id = representative)
    AS alone FROM lsh_clusters('SELECT id, body FROM documents', singletons => true);
SELECT * FROM lsh_clusters('SELECT id, body FROM documents WHERE id > 360', singletons => true) ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, minhash(body), body AS rank FROM documents WHERE id > 360',
    near_representative => true,
    singletons => true) ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, body FROM documents WHERE id > 360') ORDER BY id;
SELECT * FROM lsh_clusters('SELECT NULL::text, ''a'' UNION ALL SELECT ''id'', NULL UNION ALL SELECT ''empty'', ''''',
    NULL::text, singletons => true) ORDER BY id;
SELECT * FROM lsh_clusters('SELECT id, minhash(nullif(body, ''dog'')) FROM documents WHERE id > 360',
    singletons => true) ORDER BY id;
SELECT * FROM lsh_clusters('VALUES (1, NULL), (2, NULL)', singletons => true) ORDER BY id;
SELECT * FROM lsh_clusters('VALUES (1, NULL), (2, NULL)');
SELECT * FROM lsh_clusters('SELECT id, body FROM documents WHERE false', singletons => true);
SELECT * FROM lsh_clusters('SELECT id, body FROM documents WHERE id = 1');
SELECT count(*) < 61 AS fewer FROM lsh_clusters('SELECT id, body FROM documents WHERE id = 7 OR id BETWEEN 211 AND 270',
    bands => 1, rows => 7, max_bucket => 30);

-- 20,000 texts share all keys, and one more text shares some of them but is not similar. The timeout makes sure that
-- each row needs only a few comparisons, not 20,000.
CREATE TABLE crowd AS SELECT n AS id, same || n AS body FROM generate_series(1, 20000) n,
    (SELECT string_agg(md5(word::text), ' ') AS same FROM generate_series(1, 30) word) s;
SET statement_timeout = '60s';
SET maintenance_work_mem = '1GB';
SELECT size, count(*) FROM lsh_clusters('SELECT id, body FROM crowd UNION ALL SELECT 0, left(body, 500) FROM crowd
    WHERE id = 1', threshold => 0.9, bands => 60, rows => 1) GROUP BY size;
RESET statement_timeout;
RESET maintenance_work_mem;

-- A typical use of clusters: keep only the longest row of each cluster.
CREATE TABLE kept AS SELECT * FROM documents;
DELETE FROM kept USING lsh_clusters('SELECT id, body, -length(body) AS rank FROM kept') c WHERE kept.id = c.id
    AND kept.id <> c.representative;
SELECT count(*), (SELECT count(*) FROM lsh_clusters('SELECT id, body FROM kept', near_representative => true))
    AS clustered FROM kept;

-- This statement says instead which rows to keep. Rows whose text is NULL or empty are kept, too.
CREATE TABLE remaining AS SELECT * FROM documents UNION ALL VALUES (366, NULL), (367, NULL);
DELETE FROM remaining
WHERE id NOT IN (SELECT id
    FROM lsh_clusters('SELECT id, body, -length(body) AS rank FROM remaining', singletons => true)
    WHERE id = representative);
SELECT count(*), count(*) FILTER (WHERE body IS NULL) AS nulls, count(*) FILTER (WHERE body = '') AS empty,
    (SELECT count(*) FROM kept) AS kept FROM remaining;
DROP TABLE remaining;

-- Ids of other types. The argument after the query has the type of the ids. This argument has no name.
SELECT q.n, c.id, pg_typeof(c.id), c.size
FROM (VALUES (1), (2)) q (n), LATERAL
    lsh_clusters('SELECT ''x'' || id, body FROM documents WHERE id IN (311, 312) AND 0 < ' || q.n, NULL::text,
    verify => 'estimate') c
ORDER BY 1, 2;
\set VERBOSITY terse
SELECT * FROM lsh_clusters('TABLE documents', unit => 'char', id_type => NULL::text);
\set VERBOSITY default

-- Errors that lsh_pairs() does not have.
SELECT * FROM lsh_clusters(NULL);
SELECT * FROM lsh_clusters('TABLE documents', near_representative => NULL);
SELECT * FROM lsh_clusters('TABLE documents', NULL::bigint, threshold => 1, singletons => NULL);
SELECT * FROM lsh_clusters('SELECT id FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, 1, 2 FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, -length(body) FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, 1 AS rank, 2 AS rank FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, point(1, 2) AS scope FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, point(1, 2) AS rank FROM documents');
SELECT * FROM lsh_clusters('SELECT id, body, ARRAY[point(1, 2)] AS rank FROM documents');
SELECT * FROM lsh_clusters('SELECT id::text, body FROM documents');
SELECT * FROM lsh_clusters('SELECT id, minhash(body) FROM documents', verify => 'exact');
SELECT * FROM lsh_clusters('DELETE FROM documents RETURNING id, body');
SELECT * FROM lsh_clusters('SELECT 1 / (id - 300), body FROM documents');

DROP TABLE documents, large, crowd, kept;
DROP FUNCTION compare, components, check_clusters, near_best;
