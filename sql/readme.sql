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
    (5, '');

SELECT left_id, right_id, round(similarity::numeric, 3) AS similarity
FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.8) ORDER BY similarity DESC, 1, 2;

CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));

SELECT id, left(body, 30) AS body FROM articles
WHERE minhash_similar(minhash(body), minhash('A quick brown fox jumps over a lazy dog near the bank of the river.'),
                      0.8);

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
CREATE TABLE article_bands (key bigint, id bigint, PRIMARY KEY (key, id));
INSERT INTO article_bands SELECT key, id FROM articles, lsh_bands(sig, bands => 13, rows => 7);
SELECT DISTINCT a.id, b.id AS near_duplicate, minhash_similarity(a.sig, b.sig) AS estimated
FROM article_bands x JOIN article_bands y ON x.key = y.key AND x.id < y.id
     JOIN articles a ON a.id = x.id JOIN articles b ON b.id = y.id
WHERE minhash_similarity(a.sig, b.sig) >= 0.7 ORDER BY estimated DESC, a.id, b.id;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
