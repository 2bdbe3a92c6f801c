-- The SQL of README.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE EXTENSION IF NOT EXISTS minhash_lsh;
CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);

INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, 'Every spring the tide tables of the harbour are printed on blue paper.');

SELECT left_id, right_id, round(similarity::numeric, 3) AS similarity
FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.8) ORDER BY similarity, 1, 2;

SELECT round(similarity::numeric, 2) AS same, shingle_headline(a.body, b.body, marks) AS one,
       shingle_headline(b.body, a.body, marks) AS other
FROM lsh_pairs('SELECT id, body FROM articles') JOIN articles a ON a.id = left_id JOIN articles b ON b.id = right_id,
     (VALUES ('StartSel="[", StopSel="]", MaxWords=8')) AS how (marks) ORDER BY same DESC;

CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));

SELECT id, left(body, 30) AS body FROM articles
WHERE minhash_similar(minhash(body), minhash('A quick brown fox jumps over a lazy dog near the bank of the river.'),
                      0.8);

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
