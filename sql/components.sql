-- lsh_components(): the connected components of any pairs.

-- From the pairs that lsh_pairs() finds, lsh_components() makes the same clusters as lsh_clusters() does.
CREATE TABLE documents (id int PRIMARY KEY, body text);
INSERT INTO documents
SELECT id, string_agg(CASE WHEN word % 20 = 3 AND id > 60 OR word % 10 = 5 AND id > 180 THEN 'changed' || id
                      ELSE left(md5(id % 60 || ' ' || word), 3 + word % 5) END, ' ' ORDER BY word)
FROM generate_series(1, 300) id, generate_series(1, 40) word GROUP BY id;
CREATE TEMP TABLE pairs AS
SELECT * FROM lsh_pairs('SELECT id, body FROM documents', threshold => 0.5, recall => 1 - 1e-9);
CREATE TEMP VIEW as_clusters AS
SELECT threshold, id, cluster_id, representative, size
FROM (VALUES (0.5), (0.75), (0.9)) t (threshold),
    lsh_clusters('SELECT id, body FROM documents', t.threshold, recall => 1 - 1e-9) c;
CREATE TEMP TABLE levels AS
SELECT threshold, id, cluster_id, representative, size
FROM lsh_components('SELECT left_id, right_id, similarity FROM pairs', thresholds => '{0.75, 0.5, 0.9, 0.75}');
SELECT threshold, count(*), count(DISTINCT cluster_id), max(size) FROM levels GROUP BY threshold ORDER BY threshold;
(TABLE levels EXCEPT ALL TABLE as_clusters) UNION ALL (TABLE as_clusters EXCEPT ALL TABLE levels);
SELECT count(*), count(threshold)
FROM (SELECT id, cluster_id, representative, size, threshold
      FROM lsh_components('SELECT left_id, right_id FROM pairs ORDER BY random()')
      EXCEPT SELECT id, cluster_id, representative, size, NULL FROM as_clusters WHERE threshold = 0.5) d;

-- A pair of an id with itself makes a cluster. Pairs may be repeated, and in either order.
SELECT * FROM lsh_components('VALUES (3, 2), (2, 3), (3, 7), (5, 5), (7, 7)') ORDER BY id;
-- Pairs that contain NULL are ignored.
SELECT id, cluster_id, size FROM lsh_components('VALUES (1, NULL), (NULL, 2), (NULL, NULL), (3, 4)') ORDER BY id;
SELECT id, cluster_id, size, threshold
FROM lsh_components('VALUES (1, 2, NULL::float8), (3, 4, 0.5), (7, 8, ''Infinity'')',
                    thresholds => '{0.1, 7}')
ORDER BY threshold, id;
SELECT id, size FROM lsh_components('VALUES (1, 2, NULL::float8)') ORDER BY id;
SELECT * FROM lsh_components('SELECT 1, 2 WHERE false');
SELECT * FROM lsh_components('SELECT 1, 2, 0.3::float8', thresholds => '{0.4}');
-- Long paths, with pairs in ascending, descending and random order.
SELECT o, size, min(id), max(id), count(*), count(DISTINCT cluster_id)
FROM (VALUES (''), ('ORDER BY n DESC'), ('ORDER BY hashint4(n)')) v (o),
    lsh_components('SELECT n, n + 1 FROM generate_series(1, 100000) n ' || o) GROUP BY o, size ORDER BY o;

-- Ids of many types. The result has the requested type of ids.
CREATE TYPE kind AS ENUM ('b', 'a');
CREATE DOMAIN document_number AS int;
SELECT *, pg_typeof(id) FROM lsh_components('VALUES (3::smallint, 2::bigint), (7, 3)') ORDER BY id;
SELECT *, pg_typeof(id) FROM lsh_components('SELECT 3::document_number, -2::smallint') ORDER BY id;
SELECT *, pg_typeof(id) FROM lsh_components('VALUES (3, 2), (7, 3)', NULL::int) ORDER BY id;
SELECT * FROM lsh_components('SELECT x, y::varchar FROM (VALUES (''b'', ''a''), (''c'', ''b'')) v (x, y)', NULL::text)
ORDER BY id;
SELECT * FROM lsh_components('VALUES (''a''::kind, ''b''::kind)', NULL::kind) ORDER BY id;
SELECT * FROM lsh_components('VALUES (1.0, 1.00), (1, 2)', NULL::numeric) ORDER BY id;
-- If ids are arrays, the argument after the query could also be the thresholds. So thresholds must be given by name.
\set VERBOSITY terse
SELECT * FROM lsh_components('VALUES (ARRAY[1, 2], ARRAY[1])', NULL::int[]);
\set VERBOSITY default
SELECT * FROM lsh_components('VALUES (ARRAY[1, 2], ARRAY[1])', NULL::int[], thresholds => NULL) ORDER BY id;
SELECT left(cluster_id, 9) AS cluster_id, length(id), size
FROM lsh_components('SELECT repeat(md5(n::text), 100000), repeat(md5((n / 2)::text), 100000)
                     FROM generate_series(2, 3) n', NULL::text)
ORDER BY id;
SELECT *, pg_typeof(id)
FROM lsh_components('SELECT md5(l::text)::uuid, md5(r::text)::uuid, l::float8 FROM (VALUES (1, 2), (2, 3)) v (l, r)',
                    NULL::uuid, thresholds => '{2}') ORDER BY id;

-- If ids do not fit into memory, they are looked up in files. The result is the same.
CREATE TEMP TABLE edges AS
SELECT n, md5(n::text) || repeat('x', 50) AS a, md5((n / 3)::text) || repeat('x', 50) AS b
FROM generate_series(1, 20000) n;
CREATE TEMP TABLE roomy AS SELECT * FROM lsh_components('SELECT a, b FROM edges', NULL::text);
SET maintenance_work_mem = '1MB';
CREATE TEMP TABLE cramped AS SELECT * FROM lsh_components('SELECT a, b FROM edges', NULL::text);
RESET maintenance_work_mem;
SELECT count(*), count(DISTINCT cluster_id),
    (SELECT count(*) FROM (TABLE roomy EXCEPT TABLE cramped) d) AS differ
FROM cramped;

-- Calls in a join, with LIMIT, and within the query of another call.
SELECT n, c.* FROM generate_series(1, 2) n, lsh_components(format('SELECT %s, 5', n)) c ORDER BY n, id;
SELECT count(*) FROM (SELECT FROM lsh_components('SELECT a, b FROM edges', NULL::text) LIMIT 3) l;
SELECT size
FROM lsh_components($$SELECT id, cluster_id FROM lsh_components('VALUES (1, 2), (4, 2), (8, 9)')$$) ORDER BY id;

-- Calls that are refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SELECT call || E'\n  ' || pg_temp.error_of('SELECT FROM ' || call) FROM (VALUES
    ($$lsh_components(NULL)$$),
    ($$lsh_components('SELECT 1')$$),
    ($$lsh_components('documents')$$),
    ($$lsh_components('SELECT 1, 2, 3.0::float8, 4')$$),
    ($$lsh_components('SELECT 1, 2', thresholds => '{0.5}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5', thresholds => '{0.5}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5::float8', thresholds => '{}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5::float8', thresholds => '{0.5, NULL}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5::float8', thresholds => '{NaN}')$$),
    ($$lsh_components('SELECT 1, 2, ''NaN''::float8', thresholds => '{0.5}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5::float8', thresholds => '{{0.5}, {0.8}}')$$),
    ($$lsh_components('SELECT 1, 2, 0.5::float8', thresholds => array_fill(0.5, ARRAY[101]))$$),
    ($$lsh_components('SELECT 1, ''2''::text')$$),
    ($$lsh_components('SELECT 1::numeric, 2')$$),
    ($$lsh_components('SELECT 1, 2', NULL::uuid)$$),
    ($$lsh_components('SELECT NULL::point, NULL::point', NULL::point)$$),
    ($$lsh_components('SELECT B''1'', B''0''', NULL::bit)$$),
    ($$lsh_components('SELECT 1, 2; SELECT 3, 4')$$),
    ($$lsh_components('DELETE FROM documents RETURNING id, id')$$),
    ($$lsh_components('SELECT 1 / 0, 2')$$)
) v (call);
\pset tuples_only off
\pset format aligned

DROP TABLE documents;
DROP TYPE kind, document_number;
