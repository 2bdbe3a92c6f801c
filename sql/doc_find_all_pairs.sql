-- The SQL of doc/find-all-pairs.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

SELECT left_id, right_id, round(similarity::numeric, 3) AS similarity
FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.6) ORDER BY 1, 2;

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
SELECT left_id, right_id, round(similarity::numeric, 3) AS estimate
FROM lsh_pairs('SELECT id, sig FROM articles', threshold => 0.6) ORDER BY 1, 2;

SELECT row_count, pairs, pairs_low, pairs_high, near_share, median_shingles
FROM lsh_sample('SELECT id, body FROM articles', threshold => 0.6);

SELECT round(similarity::numeric, 2) AS similarity, left(a.body, 36) AS left_text, left(b.body, 36) AS right_text
FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.6)
     JOIN articles a ON a.id = left_id JOIN articles b ON b.id = right_id
ORDER BY similarity DESC;

SELECT left_id, right_id
FROM lsh_pairs('SELECT id, body, id > 3 AS scope FROM articles', threshold => 0.6) ORDER BY 1, 2;

SELECT left_id AS new_id, right_id AS old_id, round(similarity::numeric, 3) AS similarity
FROM lsh_pairs('SELECT id, body FROM articles WHERE id > 3', threshold => 0.6,
               other_query => 'SELECT id, body FROM articles WHERE id <= 3') ORDER BY 1, 2;

CREATE TABLE posts (id bigint PRIMARY KEY, title text, body text);
INSERT INTO posts VALUES
    (1, 'A talk on linguistics', 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (2, 'A talk on linguistics!', 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (3, NULL, 'Colorless green ideas sleep furiously, or so the linguists say.');
SELECT left_id, right_id, round(similarity::numeric, 2) AS similarity
FROM lsh_pairs($$SELECT id, concat_ws(' ', title, body) FROM posts$$, threshold => 0.6) ORDER BY 1, 2;

CREATE INDEX ON posts USING lsh (minhash(coalesce(title, '') || ' ' || coalesce(body, '')));
SELECT id FROM posts WHERE minhash_similar(minhash(coalesce(title, '') || ' ' || coalesce(body, '')),
    minhash('Colorless green ideas sleep furiously, or so the linguists say.'), 0.9);

CREATE TABLE notes AS SELECT md5(id::text)::uuid AS id, body FROM articles;
SELECT left_id, right_id FROM lsh_pairs('SELECT id, body FROM notes', NULL::uuid, threshold => 0.8) ORDER BY 1;

CREATE TABLE pages AS SELECT 'site' || id % 2 AS site, id AS nr, body FROM articles;
CREATE TYPE page_key AS (site text, nr bigint);
SELECT left_id, right_id, (right_id).nr
FROM lsh_pairs('SELECT (site, nr)::page_key, body FROM pages', NULL::page_key, threshold => 0.8) ORDER BY left_id;

SELECT round(shingle_jaccard(a, b)::numeric, 2) AS as_given, shingle_jaccard(a, normalize(b, NFC)) AS normalized
FROM (VALUES (U&'El se\00F1or sali\00F3.', U&'El sen\0303or salio\0301.')) AS texts (a, b);

CREATE TABLE ads (id bigint PRIMARY KEY, body text);
INSERT INTO ads
SELECT i, 'Our company is a leader in its field and offers you a modern workplace, flexible hours and a team that '
    'looks forward to meeting you. Please send your application with the usual documents to our staff. We want you as '
    || (ARRAY['a driver of forklifts', 'a nurse for nights', 'a clerk in accounting', 'a roofer'])[1 + i % 4] || ' in '
    || (ARRAY['Ulm', 'Graz'])[1 + i / 4 % 2] || '.' FROM generate_series(1, 8) i;
SELECT (SELECT count(*) FROM lsh_pairs('TABLE ads', threshold => 0.6)) AS pairs,
       (SELECT count(*) FROM lsh_pairs('TABLE ads', threshold => 0.6, weight => 'idf')) AS weighted;

CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));

SELECT left_id, right_id, round(shingle_jaccard(a.title, b.title, shingle_size => 3)::numeric, 2) AS of_titles
FROM lsh_pairs('SELECT id, body FROM posts', threshold => 0.8)
     JOIN posts a ON a.id = left_id JOIN posts b ON b.id = right_id
WHERE shingle_jaccard(a.title, b.title, shingle_size => 3) >= 0.5 ORDER BY 1, 2;

SELECT part, left_id, right_id
FROM (VALUES (0), (1)) AS parts (part),
     LATERAL lsh_pairs(format('SELECT id, body FROM articles WHERE (id > 2)::int = %L', part), threshold => 0.6)
ORDER BY part, left_id, right_id;

CREATE MATERIALIZED VIEW article_pairs AS
    SELECT * FROM lsh_pairs('SELECT id, body FROM page.articles', threshold => 0.6);
CREATE UNIQUE INDEX ON article_pairs (left_id, right_id);
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so a linguist says.');
REFRESH MATERIALIZED VIEW CONCURRENTLY article_pairs;
SELECT left_id, right_id, round(similarity::numeric, 2) AS similarity FROM article_pairs ORDER BY 1, 2;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
