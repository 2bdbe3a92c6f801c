-- lsh_evaluate(): estimates what a choice of bands and rows would find among a user's own texts.

CREATE TABLE texts (id integer PRIMARY KEY, body text);
-- 40 families of 4 texts. The texts of a family differ in some words, and nearly all words occur in one family only.
INSERT INTO texts
SELECT family * 10 + copy, (SELECT string_agg(CASE WHEN word % 37 = copy * 5
    AND copy > 0 THEN 'other' || copy ELSE 'word' || family * 100 + word END, ' ' ORDER BY word)
                            FROM generate_series(1, 60) AS word)
FROM generate_series(1, 40) AS family, generate_series(0, 3) AS copy;
INSERT INTO texts VALUES (1000, ''), (1001, NULL), (1002, '  ');

-- If all texts are anchors, the figures are exact: they equal the figures from comparing all pairs, and the recall's
-- interval has no width.
CREATE TEMP TABLE all_pairs AS
SELECT shingle_jaccard(a.body, b.body) AS jaccard, minhash(a.body) AS a, minhash(b.body) AS b
FROM texts a JOIN texts b ON a.id < b.id AND a.body ~ 'w' AND b.body ~ 'w';
CREATE TEMP TABLE expected AS
SELECT bands, rows, count(*) FILTER (WHERE met) AS candidates, count(*) FILTER (WHERE jaccard >= 0.8) AS true_pairs,
       count(*) FILTER (WHERE met AND jaccard >= 0.8) AS found,
       avg(lsh_probability(jaccard, bands, rows)) FILTER (WHERE jaccard >= 0.8) AS predicted_recall
FROM all_pairs, (VALUES (20, 5), (13, 7), (10, 12), (2, 50), (128, 1)) AS sweep (bands, rows),
     LATERAL (SELECT lsh_band_keys(a, bands, rows) && lsh_band_keys(b, bands, rows) AS met OFFSET 0) AS meeting
GROUP BY bands, rows;
SELECT e.bands, e.rows, e.candidates = x.candidates AS candidates, e.true_pairs = x.true_pairs AS true_pairs,
    e.found = x.found AS found,
       e.recall = x.found::float8 / x.true_pairs AS recall, recall_low = recall AND recall_high = recall AS exact,
       abs(e.predicted_recall - x.predicted_recall) < 1e-9 AS predicted_recall,
       e.false_candidates = x.candidates - x.found AS false_candidates
FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', bands => '{20,13,10,2,128}',
    rows => '{5,7,12,50,1}') AS e
JOIN expected AS x USING (bands, rows) ORDER BY bands;
SELECT bands, rows, found < true_pairs AS some_missed, candidates > found AS some_false FROM expected ORDER BY bands;
DROP TABLE all_pairs, expected;

-- Bands and rows can be numbers, arrays of any integers, literals without a type, and parameters of a driver.
PREPARE by_driver AS
SELECT bands, rows FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', bands => $1, rows => $2);
EXECUTE by_driver('{20,16}', '{5,8}');
EXECUTE by_driver('20', '5');
DEALLOCATE by_driver;
SELECT bands, rows FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', bands => 20, rows => 5)
UNION ALL SELECT bands, rows FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', bands => 20::bigint,
    rows => 6::smallint)
UNION ALL SELECT bands, rows FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL',
    bands => ARRAY[20]::bigint[], rows => '[7:7]={4}');
SELECT FROM lsh_evaluate('SELECT id, body FROM texts', bands => 'many', rows => '5');
SELECT FROM lsh_evaluate('SELECT id, body FROM texts', bands => NULL::text, rows => '5');

-- Without bands and rows, the function evaluates the choices of lsh_params() for several recalls.
SELECT bands, rows, round(lsh_probability(0.8, bands, rows)::numeric, 3) AS at_threshold,
    recall >= 0.9 * predicted_recall AS as_predicted
FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL');
-- The same anchors are chosen every time, in whatever order the rows come.
SELECT count(*), count(DISTINCT (bands, rows, candidates, true_pairs, found, recall_low::numeric(9, 8))) AS different
FROM (SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', anchors => 50) UNION ALL
    SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL ORDER BY random(); ', anchors => 50))
    AS evaluated;
-- Nor does it matter how the session shows ids.
SELECT count(*), count(DISTINCT (bands, rows, candidates, true_pairs, found)) AS different
FROM unnest(ARRAY['1', '-15']) AS digits,
    LATERAL (SELECT set_config('extra_float_digits', digits, false) AS shown OFFSET 0) AS session,
    lsh_evaluate('SELECT id / 7.0::float8, body FROM texts WHERE body > $$$$ -- ' || shown, anchors => 50);
RESET extra_float_digits;
-- Shingles of words, bags, another threshold, another method, and ids of another type.
SELECT true_pairs, found, round(recall::numeric, 2) AS recall
FROM lsh_evaluate($$SELECT 'text ' || id, body::varchar -- a comment
                    FROM texts WHERE body > ''$$, threshold => 0.5, bands => '{25}', rows => '{5}', unit => 'word',
                        shingle_size => 2, bag => true, method => 'classic', seed => 7);
-- Within scopes. In the first call, no two texts of a family share a scope. In the second, each family is a scope with
-- two copies of each text.
SELECT true_pairs, candidates, found
FROM lsh_evaluate('SELECT id, body, id % 10 AS scope FROM texts WHERE body > $$$$', bands => '{13}', rows => '{7}');
SELECT true_pairs, candidates, found
FROM lsh_evaluate('SELECT id, body, (id / 10)::text AS scope FROM texts, generate_series(1, 2) WHERE body > $$$$',
    bands => '{13}', rows => '{7}');

-- If near-duplicates are rare, more anchors are needed. Of 200 pairs among 4,000 texts, 200 anchors see about 20, which
-- leaves the recall uncertain. With 1,200 anchors, the interval misses the true recall in at most 2 of 20 draws.
CREATE TABLE rare AS
SELECT n AS id, string_agg(md5(n % 3800 || ' ' || word) || CASE WHEN n > 3800 AND word % 4 = 0 THEN n::text ELSE '' END,
    ' ' ORDER BY word) AS body
FROM generate_series(1, 4000) n, generate_series(1, 12) word GROUP BY n;
SELECT anchors, true_pairs BETWEEN 5 AND 29 AS few, found <= true_pairs AS part,
    recall_high - recall_low > 0.1 AS unsure
FROM lsh_evaluate('TABLE rare', 0.7, 200, '{5}', '{12}');
SELECT count(DISTINCT part.found) > 1 AS differ, count(*) FILTER (WHERE whole.recall NOT BETWEEN part.recall_low
    AND part.recall_high) <= 2 AS seldom_wrong, avg(part.recall_high - part.recall_low)::numeric(3, 2) AS width
FROM generate_series(1, 20) seed,
    lsh_evaluate('TABLE rare', 0.7, 1200, '{5}', '{12}', seed => seed) part,
    lsh_evaluate('TABLE rare', 0.7, 4000, '{5}', '{12}', seed => seed) whole;
DROP TABLE rare;
-- Families of up to 200 texts. Some texts have a signature that misses most of their pairs. Such texts are seldom
-- anchors themselves. So the interval must account for them through the anchors near them.
CREATE TABLE families AS
WITH members AS (SELECT f, m
                 FROM generate_series(1, 250) f, generate_series(1, greatest(1, (200 / power(f, 0.7))::int)) m)
SELECT f * 1000 + m AS id,
       string_agg(md5(CASE WHEN hashint8extended(f * 1000003 + m * 1009 + w, 5) % 1000
                      BETWEEN 0 AND 10 + (hashint8extended(f * 7 + m, 9) & 63)
                      THEN concat(f, m, w) ELSE concat(f, w) END), ' ' ORDER BY w) AS body
FROM members, generate_series(1, 25) w GROUP BY f, m;
SELECT count(*) FILTER (WHERE whole.recall BETWEEN part.recall_low AND part.recall_high) >= 19 AS seldom_wrong,
       avg(part.recall_high - part.recall_low)::numeric(3, 2) AS width
FROM generate_series(1, 20) seed,
    LATERAL (SELECT * FROM lsh_evaluate('TABLE families', 0.7, 1000, '{13}', '{7}', seed => seed) OFFSET 0) part,
    LATERAL (SELECT * FROM lsh_evaluate('TABLE families', 0.7, 100000, '{13}', '{7}', seed => seed) OFFSET 0) whole;
DROP TABLE families;
-- Pairs are true even if their signatures agree in far fewer slots than chance usually makes. With one of 1,000 seeds,
-- this pair has an estimate below 0.2559, which lsh_pairs() does not compare by text.
SELECT estimate, true_pairs, found, recall
FROM (SELECT string_agg('w' || w, ' ') FILTER (WHERE w <= 9) AS a, string_agg('w' || w, ' ') AS b
      FROM generate_series(1, 30) w) texts,
    generate_series(1, 3000) seed,
    minhash_similarity(minhash(a, 1024, 1, 'word', seed => seed), minhash(b, 1024, 1, 'word', seed => seed)) estimate,
    LATERAL lsh_evaluate(format('VALUES (1, %L), (2, %L)', a, b), 0.3, 2, '{376}', '{2}', 1024, 1, 'word',
        seed => seed)
WHERE estimate < 0.2559 ORDER BY seed;
-- A query whose rows have no true pairs, and a query without rows.
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE id % 10 = 0', bands => '{13}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE false', bands => '{13}', rows => '{7}');

-- Calls that are refused.
\set VERBOSITY terse
SELECT * FROM lsh_evaluate('SELECT id, minhash(body) FROM texts WHERE body IS NOT NULL');
SELECT * FROM lsh_evaluate('SELECT id FROM texts');
SELECT * FROM lsh_evaluate('SELECT body, id FROM texts');
SELECT * FROM lsh_evaluate('DELETE FROM texts RETURNING id, body');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', anchors => 1);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', anchors => 100001);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', threshold => 1.5);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', threshold => NULL);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', threshold => 0);
\set VERBOSITY default
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13,20}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13,NULL}', rows => '{7,5}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{}', rows => '{}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{20}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{2147483647}', rows => '{2147483647}');
SELECT * FROM lsh_evaluate('texts');
DROP TABLE texts;
