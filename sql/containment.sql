-- lsh_contained(): finds texts that are contained in other texts.

CREATE SCHEMA containment;
SET search_path = containment, public;

-- 30 documents of 200 words; parts of them, from a half down to a sixteenth, some with every tenth word changed; copies
-- of a document and of a part; texts that are empty, NULL, or shorter than a shingle.
CREATE TABLE documents (id int PRIMARY KEY, body text);
INSERT INTO documents SELECT id, string_agg(left(md5(id || ' ' || word), 3 + word % 5), ' ' ORDER BY word)
    FROM generate_series(1, 30) id, generate_series(1, 200) word GROUP BY id;
INSERT INTO documents
SELECT 100 * size + id, string_agg(CASE WHEN id % 3 = 0 AND word % 10 = 0 THEN 'changed' || id
    ELSE left(md5(id || ' ' || word), 3 + word % 5) END, ' ' ORDER BY word)
FROM (VALUES (2), (4), (8), (16)) AS sizes (size), generate_series(1, 30) id, generate_series(1, 200) word
WHERE word BETWEEN 10 + id AND 9 + id + 200 / size GROUP BY size, id;
INSERT INTO documents SELECT 5000 + 10 * id + n, body FROM documents, generate_series(1, 3) n WHERE id IN (7, 807);
INSERT INTO documents VALUES (3001, ''), (3002, NULL), (3003, 'cat'), (3004, 'Cat');

-- The expected pairs, from comparing every text with every other. The contained text is the one with fewer shingles. If
-- both have the same number, it is the one with the larger id.
CREATE TABLE truth (contained_id bigint, container_id bigint, containment float8);
CREATE FUNCTION find_truth(threshold float8, size int, unit text, bag boolean) RETURNS void LANGUAGE sql AS $$
TRUNCATE truth;
WITH sets AS MATERIALIZED (
    SELECT id, body, cardinality(shingles(body, size, unit, bag => bag)) AS shingles FROM documents WHERE body <> ''
)
INSERT INTO truth
SELECT a.id, b.id, share
FROM sets a JOIN sets b ON a.shingles < b.shingles OR (a.shingles = b.shingles AND a.id > b.id),
    LATERAL (SELECT shingle_containment(a.body, b.body, size, unit, bag => bag) AS share OFFSET 0) s
WHERE share >= threshold
$$;
-- Counts the pairs that a call finds, the true pairs that it misses, and the wrong pairs.
CREATE FUNCTION compare(call text, OUT pairs bigint, OUT missing bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH a AS MATERIALIZED (SELECT * FROM %s) SELECT (SELECT count(*) FROM a),
        (SELECT count(*) FROM (TABLE truth EXCEPT ALL TABLE a) d),
        (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE truth) d)',
        call)
    INTO pairs, missing, wrong;
END $$;

SELECT find_truth(0.8, 5, 'char', false);
SELECT * FROM compare($$lsh_contained('SELECT id, body FROM documents')$$);
SELECT count(*) AS near_duplicates FROM lsh_pairs('SELECT id, body FROM documents');
-- With a recall of 1, no pair is missed.
SELECT find_truth(0.6, 5, 'char', true);
SELECT * FROM compare($$lsh_contained('SELECT id, body FROM documents', 0.6, recall => 1, bag => true)$$);
-- With little memory, the function builds its index in parts.
SET maintenance_work_mem = '1MB';
SELECT * FROM compare($$lsh_contained('SELECT id, body FROM documents ORDER BY md5(body)', 0.6, recall => 1,
    bag => true)$$);
RESET maintenance_work_mem;
SELECT find_truth(0.3, 2, 'word', false);
SELECT * FROM compare($$lsh_contained('SELECT id, body FROM documents', 0.3, recall => 1, shingle_size => 2,
    unit => 'word')$$);
SELECT find_truth(1, 5, 'char', false);
SELECT * FROM compare($$lsh_contained('SELECT id, body FROM documents', 1)$$);

-- Ids of another type. The smaller text is the contained one, whatever the ids are.
SELECT * FROM lsh_contained($$VALUES ('z', 'a part of it'), ('a', 'the whole, and a part of it'),
    ('m', 'A Part of it')$$,
    NULL::text) ORDER BY 1, 2;

-- Within scopes, and between two queries. With two queries, rows of the first are the contained ones, even if they are
-- larger.
SELECT find_truth(0.8, 5, 'char', false);
DELETE FROM truth WHERE contained_id % 2 <> container_id % 2;
SELECT * FROM compare($$lsh_contained('SELECT id, body, id % 2 AS scope FROM documents')$$);
SELECT count(*), count(*) FILTER (WHERE contained_id % 100 = container_id % 100 OR contained_id > 5000) AS right_ones,
    count(*) FILTER (WHERE containment < 1) AS partly
FROM lsh_contained('SELECT id, body FROM documents WHERE id > 100',
    other_query => 'SELECT id, body FROM documents WHERE id <= 100');
SELECT * FROM lsh_contained($$VALUES (1, 'one two three four five')$$, 0.8,
    other_query => $$VALUES (2, 'one two three four fiv'), (3, 'one two three')$$);

SELECT count(*) FROM lsh_contained('SELECT id, body FROM documents WHERE false');
SELECT count(*) FROM lsh_contained('SELECT id, body FROM documents WHERE id = 1');
SELECT count(*) AS share_a_shingle
FROM lsh_contained('SELECT id, body FROM documents WHERE id < 10', 0);

-- Sets: the statement of the hint for arrays and tsvectors works. Of twenty sets of 5 elements, each lies within a set
-- of 4,005 of its own.
CREATE TABLE sets AS SELECT n AS id, ARRAY(SELECT n * 10000 + i FROM generate_series(1, 5) AS i) AS tags
FROM generate_series(1, 20) AS n
UNION ALL SELECT 100 + n, ARRAY(SELECT n * 10000 + i FROM generate_series(1, 4005) AS i)
FROM generate_series(1, 20) AS n;
SELECT count(*), bool_and(container_id = contained_id + 100 AND containment = 1) AS expected
FROM lsh_contained('SELECT id, (SELECT string_agg(md5(e::text), '' '') FROM unnest(tags) AS e) FROM sets', 0.8,
                   unit => 'word', shingle_size => 1);
SELECT * FROM lsh_contained($$SELECT id, (SELECT string_agg(md5(e::text), ' ')
    FROM unnest(tsvector_to_array(body)) AS e)
    FROM (VALUES (1, 'a b'::tsvector), (2, 'c b a d'), (3, '')) AS v(id, body)$$,
    unit => 'word', shingle_size => 1);

-- Calls that are refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SELECT pg_temp.error_of($$SELECT lsh_contained('SELECT id, minhash(body) FROM documents')$$);
SELECT pg_temp.error_of($$SELECT lsh_contained('SELECT id, tags FROM sets')$$);
SELECT pg_temp.error_of($$SELECT lsh_contained('SELECT id, to_tsvector(body) FROM documents')$$);
SELECT call, pg_temp.error_of(format('SELECT lsh_contained(%s)', call)) FROM unnest(ARRAY['NULL',
    $$'SELECT id, body FROM documents', NULL::float8$$, $$'SELECT id, body FROM documents', recall => NULL$$,
    $$'SELECT id, body FROM documents', 80$$, $$'SELECT id, body FROM documents', unit => 'line'$$,
    $$'SELECT id::text, body FROM documents'$$, $$'SELECT id, body, id AS rank FROM documents'$$]) AS call;
DROP SCHEMA containment CASCADE;
