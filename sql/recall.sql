-- Tests what share of known pairs is found. Filters that run before a comparison must not lose more pairs than allowed,
-- for any number of hashes and bits, and at low thresholds.

CREATE SCHEMA recall;
SET search_path = recall, public;
SET client_min_messages = warning;

-- 20 families of 20 texts. Some of their signatures have more slots than the first, partial comparison looks at.
CREATE TABLE families AS SELECT f * 100 + m AS id, string_agg(CASE WHEN w % 9 = m % 9 AND w % 4 < 2
    THEN md5(concat(f, m, w)) ELSE md5(concat(f, w)) END, ' ') AS body
FROM generate_series(1, 20) f, generate_series(1, 20) m, generate_series(1, 36) w GROUP BY f, m;
CREATE TABLE signed AS SELECT id, bits, hashes, minhash_compress(minhash(body, num_hashes => hashes), bits) AS sig
    FROM families, unnest(ARRAY[8, 16, 32]) bits, unnest(ARRAY[128, 512, 1024]) hashes;
SELECT num_hashes, threshold, width, found > 0.95 * pairs AS found, clusters = 20 AS clusters
FROM (VALUES (128, 0.5), (512, 0.5), (512, 0.7), (1024, 0.5)) asked (num_hashes, threshold),
    unnest(ARRAY[8, 16, 32]) AS width,
    LATERAL (SELECT count(*) AS pairs FROM signed a JOIN signed b USING (hashes, bits)
        WHERE hashes = num_hashes AND bits = width AND a.id < b.id
            AND minhash_similarity(a.sig, b.sig) >= threshold) p,
    LATERAL format('SELECT id, sig FROM signed WHERE hashes = %s AND bits = %s', num_hashes, width) AS query,
    LATERAL (SELECT count(*) AS found FROM lsh_pairs(query, threshold)) f,
    LATERAL (SELECT count(DISTINCT cluster_id) AS clusters FROM lsh_clusters(query, threshold)) c
ORDER BY num_hashes, threshold, width;

-- Texts of 500 words, compared exactly. All pairs of texts share some words. A higher recall must not find fewer pairs.
CREATE TABLE texts AS SELECT id, string_agg(CASE WHEN hashint4(id * 1000 + word) % 100 BETWEEN -34 AND 34
    THEN concat('common', word) ELSE concat('own', id, 'z', word) END, ' ') AS body
FROM generate_series(1, 100) id, generate_series(1, 500) word GROUP BY id;
CREATE TABLE truth AS SELECT a.id AS left_id, b.id AS right_id, shingle_jaccard(a.body, b.body, 1, 'word') AS similarity
    FROM texts a JOIN texts b ON a.id < b.id;
SELECT threshold, recall, pairs > 100 AS enough, found >= 0.99 * pairs AS found
FROM unnest(ARRAY[0.03, 0.04, 0.05, 0.07]::float8[]) threshold, unnest(ARRAY[0.95, 0.999, 0.99999]::float8[]) recall,
    LATERAL (SELECT count(*) AS pairs FROM truth WHERE similarity >= threshold) p,
    LATERAL (SELECT count(*) AS found FROM lsh_pairs('SELECT id, body FROM texts', threshold, recall,
        shingle_size => 1, unit => 'word')) f
ORDER BY threshold, recall;

DROP SCHEMA recall CASCADE;
