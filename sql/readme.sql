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

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
CREATE TABLE article_bands (key bigint, id bigint, PRIMARY KEY (key, id));
INSERT INTO article_bands SELECT key, id FROM articles, lsh_bands(sig, bands => 13, rows => 7);
WITH candidates AS (SELECT DISTINCT x.id AS left_id, y.id AS right_id
                    FROM article_bands x JOIN article_bands y ON x.key = y.key AND x.id < y.id)
SELECT a.id, b.id AS near_duplicate, minhash_similarity(a.sig, b.sig) AS estimated, exact
FROM candidates JOIN articles a ON a.id = left_id JOIN articles b ON b.id = right_id,
     LATERAL (SELECT shingle_jaccard(a.body, b.body) AS exact OFFSET 0) verified -- computed once
WHERE minhash_similarity(a.sig, b.sig) >= 0.7 AND exact >= 0.8 ORDER BY exact DESC, a.id, b.id;

SELECT * FROM minhash_scheme((SELECT sig FROM articles WHERE id = 1));

SELECT shingles('It is trivial to show', shingle_size => 3, unit => 'word');
SELECT minhash('It is trivial to show', num_hashes => 16);
SELECT lsh_band_keys(minhash('It is trivial to show', num_hashes => 16), bands => 4, rows => 4);
SELECT shingle_containment('Lorem ipsum dolor sit amet',
                           'Lorem ipsum dolor sit amet is how dummy text starts');

SELECT threshold, bands, rows, hashes_used,
       round(probability_at_threshold::numeric, 3) AS at_threshold,
       round(lsh_probability(threshold::float8 - 0.1, bands, rows)::numeric, 3) AS at_0_1_less
FROM generate_series(0.5, 0.9, 0.1) AS threshold,
     lsh_params(threshold::float8, num_hashes => 128, recall => 0.95);

SELECT bands, rows, candidates, true_pairs, found, false_candidates
FROM lsh_evaluate('SELECT id, body FROM articles', sample_size => 1000, threshold => 0.8);

DROP TABLE article_bands;       -- the one made by hand
SELECT lsh_create_band_table('articles', threshold => 0.8, recall => 0.95);
SELECT * FROM lsh_band_tables;
UPDATE articles SET body = 'The quick brown fox jumps over the lazy dog near the river bank.' WHERE id = 5;
SELECT count(*) FROM articles_bands WHERE id = 5;

ALTER TABLE articles DISABLE TRIGGER USER;
DELETE FROM articles WHERE id = 2;
ALTER TABLE articles ENABLE TRIGGER USER;
SELECT * FROM lsh_refresh_band_table('articles');
INSERT INTO articles VALUES (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.');

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

SELECT lsh_create_guard('articles', threshold => 0.8);
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.');

SELECT lsh_drop_guard('articles');
ALTER TABLE articles ADD COLUMN copy_of bigint;
SELECT lsh_create_guard('articles', threshold => 0.8, mark => 'copy_of');
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.'),
                            (7, 'Nothing like it has been seen before.');
SELECT id, copy_of FROM articles WHERE id > 5 ORDER BY id;
DELETE FROM articles WHERE id > 5;

CREATE INDEX articles_sig ON articles USING gin (sig);
PREPARE look_up(text) AS
    SELECT id, round((sig <%> minhash($1))::numeric, 2) AS distance
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.8) ORDER BY distance, id;
EXECUTE look_up('A quick brown fox jumps over the lazy dog near the bank of a river.');

SELECT bands, rows FROM lsh_params(threshold => 0.6);
CREATE INDEX articles_sig_low ON articles USING gin (sig gin_minhash_ops (bands = 22, rows = 4));
PREPARE look_up_low(text) AS
    SELECT id, round((sig <%> minhash($1))::numeric, 2) AS distance
    FROM articles WHERE minhash_similar(sig, minhash($1), 0.6) ORDER BY distance, id;
EXECUTE look_up_low('A quick brown fox jumps over the lazy dog near the river.');

CREATE INDEX articles_lsh ON articles USING lsh (sig);
SELECT id, round((sig <%> minhash('A quick brown fox by the river.'))::numeric, 2) AS distance
FROM articles ORDER BY sig <%> minhash('A quick brown fox by the river.') LIMIT 2;
SELECT records, runs FROM lsh_check('articles_lsh', heap => true);
DROP INDEX articles_lsh;

CREATE TABLE tickets (id bigint PRIMARY KEY, customer int, body text,
    EXCLUDE USING lsh (customer WITH =, minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8));
INSERT INTO tickets VALUES (1, 7, 'The printer on the second floor does not print.');
INSERT INTO tickets VALUES (2, 7, 'The printer on the second floor does not print!') ON CONFLICT DO NOTHING;

SELECT left_id, right_id, round(similarity::numeric, 3) AS exact
FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.6) ORDER BY 1, 2;
SELECT left_id, right_id, round(similarity::numeric, 3) AS estimate
FROM lsh_pairs('SELECT id, sig FROM articles', threshold => 0.6) ORDER BY 1, 2;

CREATE TABLE article_clusters AS
    SELECT * FROM lsh_clusters('SELECT id, body, -length(body) FROM articles', threshold => 0.6);
SELECT cluster_id, representative, size, array_agg(id ORDER BY id) AS members
FROM article_clusters GROUP BY 1, 2, 3 ORDER BY size DESC, 1;
BEGIN;
DELETE FROM articles USING article_clusters c WHERE articles.id = c.id AND c.id <> c.representative;
SELECT id FROM articles ORDER BY id;
ROLLBACK;

CREATE TABLE article_pairs AS SELECT * FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.5);
SELECT threshold, count(DISTINCT cluster_id) AS clusters, count(*) - count(DISTINCT cluster_id) AS superfluous
FROM lsh_components('SELECT left_id, right_id, similarity FROM article_pairs', thresholds => '{0.6, 0.8, 0.9}')
GROUP BY threshold ORDER BY threshold;
DROP TABLE article_pairs;

SELECT left_id AS new_id, right_id AS old_id, round(similarity::numeric, 3) AS similarity
FROM lsh_pairs('SELECT id, body FROM articles WHERE id > 3', threshold => 0.6,
               other_query => 'SELECT id, body FROM articles WHERE id <= 3') ORDER BY 1, 2;

SELECT round(minhash_cardinality(minhash_union_agg(sig))) AS distinct_shingles_of_all FROM articles;
SELECT round(minhash_containment(a.sig, b.sig)::numeric, 1) AS share_of_1_that_2_has
FROM articles a, articles b WHERE a.id = 1 AND b.id = 2;

ALTER TABLE articles ADD COLUMN small_sig minhash_signature
    GENERATED ALWAYS AS (minhash_compress(minhash(body, num_hashes => 512), 1)) STORED;
SELECT pg_column_size(sig) AS bytes, pg_column_size(small_sig) AS small_bytes FROM articles WHERE id = 1;

CREATE TABLE sketches (id bigint PRIMARY KEY, sig minhash_signature);
INSERT INTO sketches VALUES
    (1, minhash_from_values('{297616339,279951299,113505080,311917730,1735256,278730948,249258812,306660385,
        386953741,423518424,120511132,607298570,490287863,115094987,290874010,58384851}', seed => 1)),
    (2, minhash_from_values('{3749336,339931219,113505080,311917730,1735256,278730948,249258812,306660385,
        386953741,423518424,236032842,607298570,490287863,115094987,290874010,58384851}', seed => 1));
SELECT minhash_similarity(a.sig, b.sig), (minhash_to_values(minhash_union(a.sig, b.sig)))[1:3] AS first_of_union
FROM sketches a, sketches b WHERE a.id = 1 AND b.id = 2;

SELECT minhash_similarity(minhash_elements('{red,green,blue}'::text[]),
                          minhash_elements(ARRAY['blue', 'red'])) AS estimated,
       element_jaccard('{red,green,blue}'::text[], ARRAY['blue', 'red']) AS exact;
CREATE TABLE purchases AS SELECT n % 3 AS customer, n % 100 + n % 3 * 10 AS product FROM generate_series(1, 3000) n;
CREATE TABLE customers AS SELECT customer AS id, minhash_elements_agg(product) AS sig FROM purchases GROUP BY customer;
SELECT left_id, right_id, round(similarity::numeric, 1) AS estimated
FROM lsh_pairs('SELECT id, sig FROM customers', threshold => 0.5) ORDER BY 1, 2;
SELECT round(minhash_similarity(minhash_elements(to_tsvector('english', a.body)),
                                minhash_elements(to_tsvector('english', b.body)))::numeric, 1) AS of_lexemes
FROM articles a, articles b WHERE a.id = 1 AND b.id = 2;

CREATE TABLE article_slots AS
    SELECT id, s[1] AS s1, s[2] AS s2, s[3] AS s3, s[4] AS s4, s[5] AS s5, s[6] AS s6
    FROM articles, minhash_slots(sig) AS s;
SELECT a.id, b.id AS candidate
FROM article_slots a JOIN article_slots b ON a.id < b.id
 AND ((a.s1, a.s2, a.s3) = (b.s1, b.s2, b.s3) OR (a.s4, a.s5, a.s6) = (b.s4, b.s5, b.s6))
ORDER BY 1, 2;
SELECT DISTINCT a.id, b.id AS candidate
FROM articles a CROSS JOIN lsh_bands(a.sig, bands => 2, rows => 3) x
JOIN (articles b CROSS JOIN lsh_bands(b.sig, bands => 2, rows => 3) y) ON x.key = y.key AND a.id < b.id
ORDER BY 1, 2;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
