-- The SQL of doc/choose-parameters.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

SELECT shingle_size, round(shingle_jaccard('Jonathan Meyer, New York', 'Meier, Jonathan; New York',
                                           shingle_size)::numeric, 2) AS of_names,
       round(shingle_jaccard('The council has approved the new bridge over the river Ouse.',
                             'The council has approved a new bridge over the river Ouse.',
                             shingle_size)::numeric, 2) AS of_sentences
FROM unnest('{2,3,5,9}'::int[]) AS shingle_size ORDER BY shingle_size;

SELECT threshold, bands, rows, hashes_used,
       round(probability_at_threshold::numeric, 3) AS at_threshold,
       round(lsh_probability(threshold::float8 - 0.1, bands, rows)::numeric, 3) AS at_0_1_less
FROM generate_series(0.5, 0.9, 0.1) AS threshold,
     lsh_params(threshold::float8, num_hashes => 128, recall => 0.95);

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

SELECT bands, rows, anchors, true_pairs, found, recall, recall_low, recall_high, false_candidates
FROM lsh_evaluate('SELECT id, body FROM articles', anchors => 2000, threshold => 0.8);

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    ADD COLUMN small_sig minhash_signature
    GENERATED ALWAYS AS (minhash_compress(minhash(body, num_hashes => 512), 1)) STORED;
SELECT pg_column_size(sig) AS bytes, pg_column_size(small_sig) AS small_bytes FROM articles WHERE id = 1;

SELECT minhash_similarity(a, b) AS estimated,
       ARRAY(SELECT band FROM lsh_bands(a, bands => 3, rows => 4) x JOIN lsh_bands(b, bands => 3, rows => 4) y
             USING (band, key) ORDER BY band) AS shared_bands
FROM (VALUES (minhash_from_values('{1,4,2,7, 0,5,3,9, 8,1,6,2}', seed => 1),
              minhash_from_values('{1,4,2,7, 0,5,3,9, 8,1,6,4}', seed => 1))) AS signatures (a, b);

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
