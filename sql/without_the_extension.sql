-- doc/examples/without_the_extension.sql works where the extension is not installed, and finds what lsh_pairs() and
-- lsh_clusters() find.
\getenv abs_srcdir PG_ABS_SRCDIR
\set plain :abs_srcdir '/doc/examples/without_the_extension.sql'
\set paragraphs :abs_srcdir '/doc/examples/licence_paragraphs.sql'
SET client_min_messages = warning;
CREATE SCHEMA without;
SET search_path = without, public;
\set ECHO none
\i :plain
\i :paragraphs
\set ECHO all
-- Copies, texts that differ in signs only, texts shorter than a shingle, empty ones and NULL.
CREATE TABLE texts AS SELECT row_number() OVER ()::bigint AS id, body
    FROM (SELECT body FROM paragraphs UNION ALL (SELECT upper(body) || '!' FROM paragraphs ORDER BY id LIMIT 20)
          UNION ALL VALUES ('C++ developer wanted in the old town of Leeds'),
              ('C# developer wanted in the old town of Leeds'),
              ('Charge of -250 to the account 3-4 -- paid'), ('Charge of 250 to the account 3 4 paid'), ('one'),
              ('One.'), ('two words'), (''), ('...'), (NULL)) t;
CREATE TABLE found AS SELECT * FROM lsh_pairs('SELECT id, body FROM texts', threshold => 0.55, recall => 1,
    unit => 'word', shingle_size => 3);
CREATE TABLE clusters AS SELECT * FROM lsh_clusters('SELECT id, body FROM texts', threshold => 0.55, recall => 1,
    unit => 'word', shingle_size => 3, near_representative => true);
CREATE TABLE found_by_characters AS
    SELECT * FROM lsh_pairs('SELECT id, body FROM texts', threshold => 0.7, recall => 1);

BEGIN;
DROP EXTENSION minhash_lsh CASCADE;
CREATE TEMP TABLE plain_found AS SELECT * FROM plain_pairs('SELECT id, body FROM texts', threshold => 0.55);
SELECT count(*) > 100 AS many, count(f.left_id) = count(*) AND count(p.left_id) = count(*) AS same
FROM found f FULL JOIN plain_found p USING (left_id, right_id, similarity);
SELECT count(*) > 50 AS many, count(c.id) = count(*) AND count(p.id) = count(*) AS same
FROM clusters c FULL JOIN plain_clusters('SELECT id, body FROM texts', threshold => 0.55) p
     USING (id, cluster_id, representative, size, similarity);
SELECT count(*) > 50 AS many, count(f.left_id) = count(*) AND count(p.left_id) = count(*) AS same
FROM found_by_characters f FULL JOIN plain_pairs('SELECT id, body FROM texts', threshold => 0.7, shingle_size => 5,
    unit => 'char') p USING (left_id, right_id, similarity);
-- A lookup by the index misses no row.
CREATE INDEX ON texts USING gin (plain_shingles(body));
SET LOCAL enable_seqscan = off;
SELECT count(*) = (SELECT count(*) FROM found) AS same
FROM texts a JOIN texts b ON a.id < b.id AND plain_shingles(b.body) && plain_probe(plain_shingles(a.body), 0.55)
    AND plain_jaccard(plain_shingles(a.body), plain_shingles(b.body)) >= 0.55;
ROLLBACK;

-- The context has the lines of functions.
\set SHOW_CONTEXT never
SELECT * FROM plain_pairs('SELECT id, body FROM texts', threshold => 80);
SELECT * FROM plain_pairs('SELECT id, body FROM texts', unit => 'line');
SELECT * FROM plain_pairs('SELECT id, body FROM texts', threshold => NULL);
SELECT * FROM plain_pairs('texts');
SELECT * FROM plain_pairs('SELECT id::text, body FROM texts');
-- Integers of any size are ids.
SELECT pg_typeof(left_id), count(*) > 20 AS many
FROM plain_pairs('SELECT id::int, body FROM texts') GROUP BY 1;
SELECT pg_typeof(id), count(*) > 20 AS many FROM plain_clusters('SELECT id::smallint, body FROM texts') GROUP BY 1;
DROP SCHEMA without CASCADE;
