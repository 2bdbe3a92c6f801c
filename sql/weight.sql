-- weight => 'idf': rare shingles count more than common ones. Values are compared with SQL that follows the definition.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common

CREATE SCHEMA weight;
SET search_path = weight, public;

-- Similarities by definition: n rows of a scope, each shingle with the frequency df weighs ln((n + 1) / df).
CREATE TABLE input (id bigint, body text, scope int, side int DEFAULT 1);
CREATE FUNCTION find_truth(size int) RETURNS TABLE (left_id bigint, right_id bigint, similarity float8)
LANGUAGE sql AS $$
WITH cut AS MATERIALIZED (
    SELECT DISTINCT id, side, coalesce(scope, -1) AS scope, shingle FROM input, unnest(shingles(body, size)) AS shingle
), weights AS MATERIALIZED (
    SELECT scope, shingle, ln((n + 1)::float8 / count(*)) ^ 2 AS w
    FROM cut JOIN (SELECT scope, count(DISTINCT (side, id)) AS n FROM cut GROUP BY scope) scopes USING (scope)
    GROUP BY scope, shingle, n
), weighed AS MATERIALIZED (
    SELECT id, side, scope, shingle, w FROM cut JOIN weights USING (scope, shingle)
), norms AS MATERIALIZED (
    SELECT id, side, sum(w) AS norm FROM weighed GROUP BY id, side
)
SELECT a.id, b.id, sum(a.w) / sqrt(m.norm * n.norm)
FROM weighed a JOIN weighed b USING (scope, shingle) JOIN norms m ON m.id = a.id AND m.side = a.side
    JOIN norms n ON n.id = b.id AND n.side = b.side
WHERE CASE WHEN EXISTS (SELECT FROM input WHERE side = 2) THEN a.side = 1 AND b.side = 2 ELSE a.id < b.id END
GROUP BY a.id, b.id, m.norm, n.norm
$$;
CREATE TABLE truth (left_id bigint, right_id bigint, similarity float8);
CREATE TABLE got (left_id bigint, right_id bigint, similarity float8);
-- How many pairs a call found; how many it missed, found wrongly or with another similarity.
CREATE FUNCTION compare(threshold float8) RETURNS TABLE (found bigint, missed bigint, false_ones bigint, unequal bigint)
LANGUAGE sql AS $$
SELECT count(g.similarity), count(*) FILTER (WHERE g.similarity IS NULL AND t.similarity >= threshold + 1e-9),
    count(*) FILTER (WHERE g.similarity IS NOT NULL AND (t.similarity IS NULL OR t.similarity < threshold - 1e-9)),
    count(*) FILTER (WHERE abs(g.similarity - t.similarity) > 1e-9)
FROM truth t FULL JOIN got g USING (left_id, right_id)
$$;

-- Names of products in two shops: the same product has the same model number, the other words differ.
CREATE TABLE products AS
SELECT i AS id, (ARRAY['Norel','Kavo','Sunfield','Tamura','Quist','Beltran','Ovide'])[1 + i % 7] AS maker,
    (ARRAY['Kitchen Radio','Garden Lamp','Travel Kettle','Desk Fan','Wall Clock','Hand Mixer'])[1 + i / 7 % 6] AS kind,
    (ARRAY['Red','Blue','White','Graphite'])[1 + i / 42 % 4] AS colour,
    upper(left(md5('m' || i), 2)) || 100 + hashint4(i) % 400 + 400 || upper(right(md5(i::text), 2)) AS model
FROM generate_series(1, 400) i;
INSERT INTO input SELECT id, concat_ws(' ', maker, colour, kind, model) FROM products;
INSERT INTO input
SELECT id, concat_ws(' ', maker, model, (ARRAY['new','for home and garden','with two years of warranty',
    'used'])[1 + id % 4], lower(split_part(kind, ' ', 2))), NULL, 2 FROM products;

INSERT INTO truth SELECT * FROM find_truth(3);
INSERT INTO got SELECT * FROM lsh_pairs('SELECT id, body FROM input WHERE side = 1', threshold => 0.25,
    shingle_size => 3, other_query => 'SELECT id, body FROM input WHERE side = 2', weight => 'idf');
SELECT missed, false_ones, unequal, found > 400 FROM compare(0.25);
-- One to one: the harmonic mean of precision and recall, with weights and without.
CREATE FUNCTION f1(weighting text, threshold float8) RETURNS float8 LANGUAGE sql AS $$
SELECT 2.0 * count(*) FILTER (WHERE left_id = right_id) / (count(*) + 400)
FROM (SELECT *, row_number() OVER (PARTITION BY left_id ORDER BY similarity DESC, right_id) AS l,
        row_number() OVER (PARTITION BY right_id ORDER BY similarity DESC, left_id) AS r
    FROM lsh_pairs('SELECT id, body FROM input WHERE side = 1', threshold => threshold, shingle_size => 3,
        other_query => 'SELECT id, body FROM input WHERE side = 2', weight => weighting)) p
WHERE l = 1 AND r = 1
$$;
SELECT f1('idf', 0.25) >= 0.85 AS weighted, f1('none', 0.35) < f1('idf', 0.25) - 0.2 AS by_jaccard,
    f1(NULL, 0.5) < 0.3 AS at_half;

-- Job ads of ten companies: nine tenths of each ad are the company's text. Each job is advertised three times.
CREATE FUNCTION words(seed text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT string_agg(left(md5(seed || word), 3 + word % 6), ' ' ORDER BY word) FROM generate_series(1, n) word
$$;
CREATE TABLE ads AS SELECT row_number() OVER (ORDER BY company, job, post) AS id, company, job,
    concat_ws(' ', words('company' || company, 150), words('job' || company || job, 16), words('post' || company ||
        job || post, 1)) AS body
FROM generate_series(1, 10) company, generate_series(1, 12) job, generate_series(1, 3) post;
CREATE FUNCTION judge(query text, threshold float8, weighting text) RETURNS TABLE (wanted float8, true_share float8)
LANGUAGE sql AS $$
SELECT count(*) FILTER (WHERE a.company = b.company AND a.job = b.job) / 360.0,
    count(*) FILTER (WHERE a.company = b.company AND a.job = b.job)::float8 / count(*)
FROM lsh_pairs(query, threshold => threshold, weight => weighting) JOIN ads a ON a.id = left_id
    JOIN ads b ON b.id = right_id
$$;
SELECT * FROM judge('SELECT id, body, company AS scope FROM ads', 0.7, 'idf');
SELECT true_share < 0.1 AS mostly_false FROM judge('SELECT id, body, company AS scope FROM ads', 0.7, NULL);
-- Over all companies, too: one company's text is rare among them. Without weights, nearly all pairs are false.
SELECT threshold, wanted, true_share
FROM unnest('{0.8,0.9}'::float8[]) threshold, judge('SELECT id, body FROM ads', threshold, 'idf');
SELECT true_share < 0.1 AS mostly_false FROM judge('SELECT id, body FROM ads', 0.8, NULL);

-- Forty volumes of one handbook, which differ in a few words, and no volume is another.
CREATE TABLE volumes AS
SELECT volume AS id, concat_ws(' ', words('handbook', 300), words('volume' || volume, 12)) AS body
FROM generate_series(1, 40) volume;
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM volumes');
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM volumes', weight => 'idf');

-- Long texts in families, with scopes: exact values, in any memory.
TRUNCATE input;
INSERT INTO input SELECT 10 * family + copy, concat_ws(' ', words('family' || family, 12 * (8 - copy)),
    words(family || ' ' || copy, 10 * copy)), nullif(family % 3, 0)
FROM generate_series(1, 40) family, generate_series(0, 7) copy;
INSERT INTO input VALUES (1001, 'a copy of another row'), (1002, 'a copy of another row'),
    (1003, 'A COPY of another row'), (1005, ''), (1006, NULL), (1007, 'x');
INSERT INTO input VALUES (1004, 'a copy of another row', 1);
TRUNCATE truth;
INSERT INTO truth SELECT * FROM find_truth(5);
CREATE FUNCTION compare_all() RETURNS TABLE (threshold float8, missed bigint, false_ones bigint, unequal bigint,
    found_any boolean) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH threshold IN ARRAY '{0.1,0.3,0.5,0.7,0.8,0.95}'::float8[] LOOP
        TRUNCATE got;
        INSERT INTO got SELECT * FROM lsh_pairs('SELECT id, body, scope FROM input', threshold => threshold,
            recall => 1, weight => 'idf');
        SELECT c.missed, c.false_ones, c.unequal, c.found >= 3 INTO missed, false_ones, unequal, found_any
        FROM compare(threshold) c;
        RETURN NEXT;
    END LOOP;
END $$;
SET client_min_messages = warning; -- temporary files are used
SELECT * FROM compare_all();
SET maintenance_work_mem = '1MB';
SELECT * FROM compare_all();
RESET maintenance_work_mem;
SELECT left_id, right_id, similarity FROM lsh_pairs('SELECT id, body, scope FROM input', threshold => 0.99,
    weight => 'idf') WHERE left_id > 1000 ORDER BY 1, 2;
-- Two rows that are equal; rows that all have the same shingles; one row.
SELECT * FROM lsh_pairs($$VALUES (1, 'the same words'), (2, 'The same words')$$, weight => 'idf');
SELECT count(*), min(similarity) FROM lsh_pairs('SELECT i, ''the same words'' FROM generate_series(1, 20) i',
    threshold => 1, weight => 'idf');
SELECT count(*) FROM lsh_pairs($$VALUES (1, 'the same words')$$, weight => 'idf');
-- At the recall that is usual, few of the pairs are missing.
TRUNCATE got;
INSERT INTO got SELECT * FROM lsh_pairs('SELECT id, body, scope FROM input', threshold => 0.5, weight => 'idf');
SELECT missed <= 0.01 * found AS as_promised, false_ones, unequal FROM compare(0.5);
-- The same ids as texts.
SELECT count(*) = (SELECT count(*) FROM got) AS same
FROM lsh_pairs('SELECT id::text, body, scope FROM input', NULL::text, threshold => 0.5, weight => 'idf');

-- Clusters.
SELECT cluster_id, count(*), max(size) AS size, min(similarity) >= 0.7 AS near, count(DISTINCT a.job) AS jobs
FROM lsh_clusters('SELECT id, body, company AS scope FROM ads WHERE company = 3', threshold => 0.7, weight => 'idf') c
    JOIN ads a USING (id) GROUP BY cluster_id ORDER BY cluster_id LIMIT 3;
SELECT count(*), count(DISTINCT cluster_id), min(similarity) >= 0.5 AS near
FROM lsh_clusters('SELECT id, body FROM input', threshold => 0.5, near_representative => true, weight => 'idf');
SELECT count(*) = (SELECT count(*) FROM input) AS every_row, bool_or(similarity < 0.5) AS chained,
    bool_and(similarity BETWEEN 0 AND 1) AS valid
FROM lsh_clusters('SELECT id, body FROM input', threshold => 0.5, singletons => true, weight => 'idf');
-- Pairs that were told apart.
SELECT left_id, right_id FROM lsh_pairs('SELECT id, body FROM ads WHERE id <= 6', threshold => 0.7, weight => 'idf',
    apart => 'VALUES (2, 1), (4, 6)') ORDER BY 1, 2;
SELECT cluster_id, array_agg(id ORDER BY id) FROM lsh_clusters('SELECT id, body FROM ads WHERE id <= 6',
    threshold => 0.7, near_representative => true, singletons => true, weight => 'idf',
    apart => 'VALUES (2, 1), (4, 6)')
GROUP BY cluster_id ORDER BY cluster_id;

-- Errors.
SELECT pg_temp.error_of($$SELECT * FROM lsh_pairs('SELECT id, body FROM ads', weight => 'bm25')$$);
SELECT pg_temp.error_of($$SELECT * FROM lsh_pairs('SELECT id, body FROM ads', weight => 'idf', bag => true)$$);
SELECT pg_temp.error_of(
    $$SELECT * FROM lsh_clusters('SELECT id, body FROM ads', weight => 'idf', verify => 'estimate')$$);
SELECT pg_temp.error_of($$SELECT * FROM lsh_pairs('SELECT id, minhash(body) FROM ads', weight => 'idf')$$);
SELECT pg_temp.error_of(format($$SELECT * FROM lsh_pairs('SELECT id, body FROM ads', weight => 'idf', %s)$$, given),
    ' | ')
FROM unnest(ARRAY['bands => 4, rows => 4', 'max_bucket => 9', 'num_hashes => 64', 'seed => 1',
    $$method => 'classic'$$]) given;
-- Arguments that say what is done anyway.
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM volumes', threshold => 0.1, verify => 'exact', bag => false,
    fold => true, weight => 'idf');
-- Weights depend on the other rows, so nothing that is kept has them.
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('kept', 'SELECT id, body FROM weight.ads', weight => 'idf')$$) LIKE
    '42883: function lsh_create_clusters(%) does not exist%' AS refused;
SELECT pg_temp.error_of($$SELECT * FROM lsh_sample('SELECT id, body FROM weight.ads', weight => 'idf')$$) LIKE
    '42883: function lsh_sample(%) does not exist%' AS refused;
SELECT pg_temp.error_of($$SELECT * FROM lsh_evaluate('SELECT id, body FROM weight.ads', weight => 'idf')$$) LIKE
    '42883: function lsh_evaluate(%) does not exist%' AS refused;

SET client_min_messages = warning;
DROP SCHEMA weight CASCADE;
