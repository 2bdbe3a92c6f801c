-- The SQL of doc/look-up.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));
SELECT id, body FROM articles
WHERE minhash_similar(minhash(body), minhash('A quick brown fox jumps over a lazy dog near the bank of the river.'),
                      0.8);

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
CREATE INDEX articles_sig ON articles USING lsh (sig);
PREPARE look_up(text) AS
    SELECT id, round((sig <%> minhash($1))::numeric, 2) AS distance
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.8) ORDER BY distance, id;
EXECUTE look_up('A quick brown fox jumps over the lazy dog near the bank of a river.');

PREPARE look_up_exactly(text) AS
    SELECT id, round(shingle_jaccard(body, $1)::numeric, 3) AS similarity
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.8 - 0.1) AND shingle_jaccard(body, $1) >= 0.8
    ORDER BY similarity DESC, id;
EXECUTE look_up_exactly('A quick brown fox jumps over the lazy dog near the bank of a river.');

SELECT id, round((sig <%> minhash('A quick brown fox by the river.'))::numeric, 2) AS distance
FROM articles ORDER BY sig <%> minhash('A quick brown fox by the river.') LIMIT 2;

SELECT bands, rows FROM lsh_params(threshold => 0.6);
DROP INDEX articles_sig;
CREATE INDEX articles_sig_low ON articles USING gin (sig gin_minhash_ops (bands = 22, rows = 4));
PREPARE look_up_low(text) AS
    SELECT id, round((sig <%> minhash($1))::numeric, 2) AS distance
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.6) ORDER BY distance, id;
EXECUTE look_up_low('A quick brown fox jumps over the lazy dog near the river.');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
