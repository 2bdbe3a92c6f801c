-- Signatures as sets: exact unions, and estimates of sizes, intersections and containment.

CREATE TABLE sets (id integer PRIMARY KEY, body text);
INSERT INTO sets SELECT set, string_agg('word' || (set * 50 + word), ' ' ORDER BY word)
    FROM generate_series(1, 200) AS set, generate_series(0, 99) AS word GROUP BY set;

-- If shingles are single words, the union of two texts' sets is the set of the concatenated texts. So the union of
-- their signatures must equal the signature of the concatenated texts, in all schemes.
SELECT num_hashes, method, fold, bag, count(*) AS unions, count(*) FILTER (WHERE minhash_union(
    minhash(a.body, num_hashes, 1, 'word', fold, bag, 7, method),
    minhash(b.body, num_hashes, 1, 'word', fold, bag, 7, method))
    = minhash(a.body || ' ' || CASE WHEN bag THEN replace(b.body, 'word', 'other') ELSE b.body END, num_hashes, 1,
    'word', fold, bag, 7, method)) AS equal
FROM sets a JOIN sets b ON a.id <= 20 AND b.id IN (a.id, a.id + 1, a.id + 100),
     (VALUES (16, 'fss', true, false), (128, 'fss', true, false), (100, 'classic', false, false),
     (256, 'fss', false, false), (128, 'classic', true, false)) AS scheme (num_hashes, method, fold, bag)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
-- The union of two bags contains each element as often as the bag in which it is more frequent.
SELECT minhash_union(minhash('a a b', shingle_size => 1, unit => 'word', bag => true),
    minhash('b b b c', shingle_size => 1, unit => 'word', bag => true))
     = minhash('a a b b b c', shingle_size => 1, unit => 'word', bag => true) AS equal;

-- Unions do not depend on order or repetition, and the empty set adds nothing.
CREATE TEMP TABLE signatures AS SELECT id, minhash(body, shingle_size => 1, unit => 'word') AS sig FROM sets;
INSERT INTO signatures VALUES (0, minhash('', shingle_size => 1, unit => 'word')), (-1, NULL);
SELECT count(*) FILTER (WHERE minhash_union(a.sig, b.sig) <> minhash_union(b.sig, a.sig)) AS not_commutative,
       count(*) FILTER (WHERE minhash_union(minhash_union(a.sig, b.sig), c.sig) <> minhash_union(a.sig,
       minhash_union(b.sig, c.sig))) AS not_associative,
       count(*) FILTER (WHERE minhash_union(a.sig, a.sig) <> a.sig) AS not_idempotent
FROM signatures a, signatures b, signatures c WHERE a.id < 10 AND b.id BETWEEN 0 AND 10 AND c.id IN (0, 3, 150);
SELECT minhash_union(sig, minhash('', shingle_size => 1, unit => 'word')) = sig AS same,
    minhash_union(minhash('', shingle_size => 1, unit => 'word'), sig) = sig AS same_again FROM signatures
    WHERE id IN (0, 1);
SELECT minhash_union(NULL, sig) IS NULL AS unknown, minhash_union(sig, NULL) IS NULL AS unknown_too FROM signatures
    WHERE id = 1;

-- The aggregate over groups, with FILTER, with DISTINCT, as a window function, and without rows.
SELECT minhash_union_agg(sig) = (SELECT minhash(string_agg(body, ' '), shingle_size => 1, unit => 'word')
    FROM sets) AS equal FROM signatures;
SELECT count(*) FILTER (WHERE united <> expected) AS different
FROM (SELECT id % 7 AS remainder, minhash_union_agg(sig) AS united FROM signatures WHERE id > 0 GROUP BY 1) AS groups
JOIN (SELECT id % 7 AS remainder, minhash(string_agg(body, ' '), shingle_size => 1, unit => 'word') AS expected
    FROM sets GROUP BY 1) AS texts USING (remainder);
SELECT minhash_union_agg(sig) FILTER (WHERE id = 5) = minhash_union_agg(DISTINCT sig) FILTER (WHERE id = 5) AS same,
    minhash_union_agg(sig) FILTER (WHERE false) IS NULL AS nothing,
       (minhash_scheme(minhash_union_agg(sig) FILTER (WHERE id = 0))).num_hashes AS hashes,
       (minhash_union_agg(sig) FILTER (WHERE id = 0))::bigint[] AS empty FROM signatures;
SELECT id, round(minhash_cardinality(minhash_union_agg(sig) OVER (ORDER BY id ROWS 1 PRECEDING))::numeric, -1) AS of_two
    FROM signatures WHERE id BETWEEN 0 AND 3;
-- Parallel aggregation gives the same result.
BEGIN;
CREATE TABLE many AS SELECT id, minhash(body, shingle_size => 1, unit => 'word') AS sig FROM sets,
    generate_series(1, 20);
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT minhash_union_agg(sig) FROM many;
SELECT minhash_union_agg(sig) = (SELECT minhash_union_agg(sig) FROM signatures) AS equal FROM many;
ROLLBACK;

-- Estimated sizes. Each set has 100 words and shares 50 of them with the next set. Each estimate may be off by at most
-- four standard errors, which are 9% each (so 36%).
SELECT count(*) FILTER (WHERE abs(minhash_cardinality(sig) - 100) > 36) AS far,
    abs(avg(minhash_cardinality(sig)) / 100 - 1) < 0.03 AS unbiased FROM signatures WHERE id > 0;
SELECT abs(minhash_cardinality(minhash_union_agg(sig)) / 10050 - 1) < 0.36 AS near FROM signatures;
SELECT abs(avg(minhash_cardinality(minhash_union(a.sig, b.sig))) / 150 - 1) < 0.05 AS unions,
    abs(avg(minhash_intersection_cardinality(a.sig, b.sig)) / 50 - 1) < 0.05 AS intersections,
       abs(avg(minhash_containment(a.sig, b.sig)) - 0.5) < 0.05 AS containments,
       max(minhash_containment(a.sig, a.sig)) AS itself, max(minhash_containment(a.sig, c.sig)) < 0.2 AS nothing_shared
FROM signatures a JOIN signatures b ON b.id = a.id + 1 JOIN signatures c ON c.id = (a.id + 99) % 200 + 1 WHERE a.id > 0
    AND abs(a.id - c.id) > 2;
SELECT avg(abs(minhash_containment(a, three) - 1)) < 0.06 AS contained,
    avg(abs(minhash_containment(three, a) - 1.0 / 3)) < 0.06 AS a_third
FROM (SELECT minhash(x.body, shingle_size => 1, unit => 'word') AS a,
    minhash(x.body || ' ' || y.body || ' ' || z.body, shingle_size => 1, unit => 'word') AS three
      FROM sets x JOIN sets y ON y.id = x.id + 20 JOIN sets z ON z.id = x.id + 40) AS pairs;
-- Compare the estimated number of shingles with the exact number.
SELECT abs(minhash_cardinality(minhash(body)) / cardinality(shingles(body)) - 1) < 0.36 AS near,
    abs(minhash_cardinality(minhash(body, num_hashes => 1024, method => 'classic')) / cardinality(shingles(body)) - 1) <
    0.13 AS nearer FROM sets WHERE id = 17;
-- Relative standard errors of unions, intersections and containments, measured with 400 seeds. They differ by at most a
-- sixth from those in doc/reference.md. (For small sets and the method fss, they are smaller.)
SELECT num_hashes, method, shared, abs(stddev(united) * sqrt(num_hashes) - 1) < 0.17 AS unions,
    abs(stddev(intersection) * sqrt(j * num_hashes) - 1) < 0.17 AS intersections,
    abs(stddev(contained) / sqrt((1 - j) / (j * num_hashes)) - 1) < 0.17 AS containments,
       abs(avg(intersection) - 1) < 0.05 AS intersections_unbiased,
       abs(avg(contained) - 1) < 0.05 AS containments_unbiased
FROM (VALUES (128, 2000, 2000, 1000), (64, 3000, 1500, 1000), (256, 4000, 500, 300)) AS pairs (num_hashes, first,
    second, shared), unnest(ARRAY['fss', 'classic']) AS method, generate_series(1, 400) AS seed,
     LATERAL (SELECT minhash_elements(array_agg(n) FILTER (WHERE n <= first), num_hashes, seed, method) AS a,
     minhash_elements(array_agg(n) FILTER (WHERE n > first - shared), num_hashes, seed, method) AS b
     FROM generate_series(1, first + second - shared) AS n) AS signed,
     LATERAL (SELECT shared::float8 / (first + second - shared) AS j,
     minhash_cardinality(minhash_union(a, b)) / (first + second - shared) AS united,
     minhash_intersection_cardinality(a, b) / shared AS intersection,
     minhash_containment(a, b) / (shared::float8 / first) AS contained) AS estimated
GROUP BY num_hashes, method, shared, j ORDER BY 1, 2;
-- The empty set and NULL.
SELECT minhash_cardinality(e) AS size, minhash_cardinality(minhash_union(e, e)) AS united,
    minhash_intersection_cardinality(e, s) AS shared, minhash_containment(e, s) AS contained,
    minhash_containment(s, e) AS containing, minhash_cardinality(NULL) AS unknown
FROM minhash('') AS e, minhash('some text') AS s;

-- Combining signatures of different schemes is an error.
SELECT minhash_union(minhash('one text'), minhash('one text', seed => 1));
SELECT minhash_union_agg(sig) FROM (SELECT minhash('one text', num_hashes => n) AS sig
    FROM (VALUES (64), (128)) AS v (n)) AS mixed;
SELECT minhash_containment(minhash('one text'), minhash('one text', bag => true));
SELECT minhash_cardinality(minhash_union(minhash('one text'), minhash('', method => 'classic')));

DROP TABLE sets, signatures;
