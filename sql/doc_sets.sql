-- The SQL of doc/sets.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

SELECT minhash_similarity(minhash_elements('{red,green,blue}'::text[]),
                          minhash_elements(ARRAY['blue', 'red'])) AS estimated,
       element_jaccard('{red,green,blue}'::text[], ARRAY['blue', 'red']) AS exact;

CREATE TABLE purchases AS SELECT n % 3 AS customer, n % 100 + n % 3 * 10 AS product FROM generate_series(1, 3000) n;
CREATE TABLE customers AS SELECT customer AS id, minhash_elements_agg(product) AS sig FROM purchases GROUP BY customer;
SELECT left_id, right_id, round(similarity::numeric, 1) AS estimated
FROM lsh_pairs('SELECT id, sig FROM customers', threshold => 0.5) ORDER BY 1, 2;

CREATE TABLE photos (id bigint PRIMARY KEY, tags jsonb);
INSERT INTO photos VALUES (1, '["sea", "sunset", "boat", "gull"]'), (2, '["boat", "gull", "sea", "sunset", "sand"]'),
                          (3, '["city", "night", "rain"]'), (4, '[]'), (5, NULL);
CREATE FUNCTION tag_array(tags jsonb) RETURNS text[] IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT jsonb_array_elements_text(tags));
SELECT a.id, b.id AS similar_to, element_jaccard(tag_array(a.tags), tag_array(b.tags)) AS exact
FROM lsh_pairs('SELECT id, minhash_elements(tag_array(tags)) FROM photos', threshold => 0.5, recall => 0.999)
     JOIN photos a ON a.id = left_id JOIN photos b ON b.id = right_id;

CREATE INDEX ON photos USING lsh (minhash_elements(tag_array(tags)));
SELECT id FROM photos WHERE id <> 1
ORDER BY minhash_elements(tag_array(tags)) <%> minhash_elements('{sea,sunset,boat,gull}'::text[]) LIMIT 1;

CREATE TABLE orders (id bigint PRIMARY KEY, products int[]);
INSERT INTO orders VALUES (1, '{7,11,13}'), (2, '{2,3,5,7,11,13,17,19}'), (3, '{7,11,23}');
SELECT contained_id, container_id, containment
FROM lsh_contained($$SELECT id, (SELECT string_agg(md5(e::text), ' ') FROM unnest(products) AS e) FROM orders$$,
                   0.8, unit => 'word', shingle_size => 1);

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
SELECT round(minhash_cardinality(minhash_union_agg(sig))) AS distinct_shingles_of_all FROM articles;
SELECT round(minhash_containment(a.sig, b.sig)::numeric, 1) AS share_of_1_that_2_has
FROM articles a, articles b WHERE a.id = 1 AND b.id = 2;

SELECT round(minhash_similarity(minhash_elements(to_tsvector('english', a.body)),
                                minhash_elements(to_tsvector('english', b.body)))::numeric, 1) AS of_lexemes
FROM articles a, articles b WHERE a.id = 1 AND b.id = 2;

SELECT bit_count(a & b)::float8 / bit_count(a | b) AS exact,
       element_jaccard(array_agg(i) FILTER (WHERE get_bit(a, i - 1) = 1),
                       array_agg(i) FILTER (WHERE get_bit(b, i - 1) = 1)) AS of_positions
FROM (VALUES (B'10111', B'10011')) AS vectors (a, b), generate_series(1, length(a)) AS i GROUP BY a, b;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
