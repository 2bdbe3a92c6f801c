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

SELECT method, num_hashes, unit, shingle_size, seed FROM minhash_scheme((SELECT sig FROM articles WHERE id = 1));

SELECT id, round((sig <%> minhash('A quick brown fox by the river.'))::numeric, 2) AS distance
FROM articles ORDER BY sig <%> minhash('A quick brown fox by the river.') LIMIT 2;

SELECT records, runs FROM lsh_check('articles_sig', heap => true);

SELECT bands, rows FROM lsh_params(threshold => 0.6);
DROP INDEX articles_sig;
CREATE INDEX articles_sig_low ON articles USING gin (sig gin_minhash_ops (bands = 22, rows = 4));
PREPARE look_up_low(text) AS
    SELECT id, round((sig <%> minhash($1))::numeric, 2) AS distance
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.6) ORDER BY distance, id;
EXECUTE look_up_low('A quick brown fox jumps over the lazy dog near the river.');

SELECT lsh_create_band_table('articles', threshold => 0.8, recall => 0.95);
SELECT id, round(similarity::numeric, 2) AS estimated
FROM lsh_near_duplicates('articles', minhash('The quick brown fox jumps over a lazy dog near the bank of the river.'),
                         threshold => 0.7);

PREPARE near_duplicates(text) AS
    SELECT id, round(minhash_similarity(sig, minhash($1))::numeric, 2) AS estimated
    FROM articles
    WHERE id = ANY (ARRAY(SELECT id FROM articles_bands
                          WHERE key = ANY (lsh_band_keys(minhash($1), bands => 13, rows => 7))))
      AND minhash_similarity(sig, minhash($1)) >= 0.7
    ORDER BY minhash_similarity(sig, minhash($1)) DESC, id;
EXECUTE near_duplicates('The quick brown fox jumps over a lazy dog near the bank of the river.');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
