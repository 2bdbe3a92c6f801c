-- The S-curve, and the choice of bands and rows.

-- P(s) = 1 - (1 - s^r)^b gives the figures from the literature.
SELECT bands, rows, similarity, round(lsh_probability(similarity, bands, rows)::numeric, digits) AS probability,
    expected,
       round(lsh_probability(similarity, bands, rows)::numeric, digits) = expected AS agrees
FROM (VALUES
    (20, 5, 0.8, 6, 0.999644), (20, 5, 0.3, 6, 0.047494), (15, 5, 0.8, 6, 0.997408), (15, 5, 0.3, 6, 0.035836),
    (2, 50, 0.8, 7, 0.0000285), (5, 20, 0.8, 4, 0.0563), (10, 10, 0.8, 4, 0.6789), (20, 5, 0.8, 5, 0.99964),
    (50, 2, 0.8, 1, 1.0), (2, 50, 0.95, 3, 0.148),
    (14, 8, 0.8, 4, 0.9235), (20, 6, 0.7, 3, 0.918), (80, 3, 0.25, 5, 0.71631), (42, 3, 0.5, 4, 0.9963),
    (9, 13, 0.8, 2, 0.40)
) AS figures (bands, rows, similarity, digits, expected);
-- The probability that 20 bands of 5 rows miss a pair at 0.8.
SELECT round((0.8 ^ 5)::numeric, 5) AS all_rows, round((1 - lsh_probability(0.8, 20, 5))::numeric, 6) AS missed;
-- The probability rises from 0 to 1 and never falls. It equals the formula computed with numeric.
SELECT lsh_probability(0, 20, 5) AS at_0, lsh_probability(1, 20, 5) AS at_1,
    round(lsh_probability(0.5, 1, 1)::numeric, 10) AS one_band_of_one_row, lsh_probability(1, 4096, 4096) AS many_at_1,
    lsh_probability(0.5, 1, 4096) AS almost_never;
SELECT bool_and(abs(lsh_probability(s / 100.0, bands, rows)::numeric - (1 - (1 - (s / 100.0) ^ rows) ^ bands)) <
    1e-13) AS formula,
       bool_and(lsh_probability(s / 100.0, bands, rows) >= lsh_probability((s - 1) / 100.0, bands, rows)) AS rising,
       count(*) AS compared
FROM generate_series(1, 99) s, (VALUES (1, 1), (20, 5), (16, 8), (32, 4), (5, 25), (128, 1), (1, 128)) AS shapes (bands,
    rows);
-- Small probabilities, which are about b * s^r, keep their precision.
SELECT round((lsh_probability(0.001, 20, 5) / 20e-15)::numeric, 9) AS ratio;

-- lsh_threshold() gives the rule of thumb for the threshold.
SELECT bands, rows, round(lsh_threshold(bands, rows)::numeric, 4) AS rule_of_thumb, rule AS expected,
       round(lsh_threshold(bands, rows)::numeric, 4) = rule AS agrees
FROM (VALUES (3, 4, 0.7598), (20, 5, 0.5493), (15, 5, 0.5818), (10, 10, 0.7943), (5, 20, 0.9227), (2, 50, 0.9862),
    (50, 2, 0.1414)) AS figures (bands, rows, rule);
SELECT round(lsh_threshold(14, 8)::numeric, 3) AS fourteen_by_eight, lsh_threshold(1, 5) AS one_band,
    lsh_threshold(20, 1) AS one_row;

-- The similarities at which a pair is found with a probability of .05, .50, .95 and .99, read from the curve.
SELECT bands, rows, array_agg((SELECT round(similarity::numeric, 3) FROM lsh_curve(bands, rows, 100000)
    WHERE probability >= wanted ORDER BY similarity LIMIT 1) ORDER BY wanted) AS similarities, expected,
       string_agg((SELECT ltrim(round(similarity::numeric, 3)::text, '0') FROM lsh_curve(bands, rows, 100000)
       WHERE probability >= wanted ORDER BY similarity LIMIT 1), '/' ORDER BY wanted) = expected AS agrees
FROM (VALUES (20, 5, '.303/.509/.674/.729'), (16, 8, '.488/.674/.802/.841'), (14, 8, '.496/.685/.814/.853'),
    (20, 13, '.632/.771/.859/.885'), (32, 4, '.200/.383/.547/.605')) AS figures (bands, rows, expected),
     unnest(ARRAY[0.05, 0.5, 0.95, 0.99]) wanted
GROUP BY bands, rows, expected ORDER BY bands, rows;

-- lsh_curve() returns the curve as rows, from 0 to 1 in 20 steps or in as many as the argument says.
SELECT similarity, round(probability::numeric, 4) AS probability FROM lsh_curve(20, 5);
SELECT similarity, round(probability::numeric, 10) AS probability FROM lsh_curve(bands => 1, rows => 1, steps => 4);
SELECT * FROM lsh_curve(7, 3, 1);
SELECT bool_and(probability = lsh_probability(similarity, 16, 8)) AS agrees, count(*) FROM lsh_curve(16, 8, 1000);
SELECT count(*) FROM lsh_curve(16, NULL);
-- The planner expects one more row than there are steps.
CREATE FUNCTION pg_temp.expected_rows(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END $$;
SELECT how, pg_temp.expected_rows('SELECT * FROM ' || how)
    FROM unnest(ARRAY['lsh_curve(20, 5)', 'lsh_curve(20, 5, 1)', 'lsh_curve(20, 5, steps => 1000)']) how;

-- lsh_params() by recall chooses as many rows as possible while it still finds 95 of 100 pairs at the threshold.
SELECT threshold, bands || 'x' || rows AS shape, hashes_used,
    round(probability_at_threshold::numeric, 3) AS at_threshold,
       round(lsh_probability(threshold - 0.1, bands, rows)::numeric, 3) AS below, expected,
       bands || 'x' || rows = expected AND round(probability_at_threshold::numeric, 3) = p
       AND round(lsh_probability(threshold - 0.1, bands, rows)::numeric, 3) = q AS agrees
FROM (VALUES (0.5, '23x3', 0.954, 0.782), (0.55, '32x4', 0.954, 0.738), (0.6, '22x4', 0.953, 0.758),
    (0.65, '25x5', 0.954, 0.725), (0.7, '17x5', 0.956, 0.747), (0.75, '16x6', 0.957, 0.715),
             (0.8, '13x7', 0.953, 0.673), (0.85, '12x9', 0.958, 0.608), (0.9, '10x12', 0.964, 0.509),
             (0.95, '6x18', 0.952, 0.282)) AS figures (threshold, expected, p, q),
     lsh_params(threshold) ORDER BY threshold;
SELECT threshold, bands || 'x' || rows AS shape, expected, bands || 'x' || rows = expected AS agrees
FROM (VALUES (0.5, '35x3'), (0.55, '26x3'), (0.6, '19x3'), (0.65, '24x4'), (0.7, '17x4'), (0.75, '17x5'), (0.8, '16x6'),
    (0.85, '15x8'), (0.9, '11x10'), (0.95, '8x16')) AS figures (threshold, expected),
     lsh_params(threshold, recall => 0.99) ORDER BY threshold;
-- Find the same choices in SQL, by trying all bands and rows: the most rows that reach the recall, then the fewest
-- bands.
SELECT count(*) AS compared, count(*) FILTER (WHERE (bands, rows) IS DISTINCT FROM (best_bands, best_rows)) AS differ
FROM unnest(ARRAY[0.3, 0.5, 0.77, 0.95, 1]) threshold, unnest(ARRAY[16, 100, 128]) n,
    unnest(ARRAY[0.5, 0.8, 0.95]) recall, lsh_params(threshold, n, recall),
     LATERAL (SELECT b AS best_bands, r AS best_rows FROM generate_series(1, n) r, generate_series(1, n / r) b
     WHERE lsh_probability(threshold, b, r) >= recall ORDER BY r DESC, b LIMIT 1) AS best;

-- lsh_params() by area chooses as datasketch does, with its weights of one half each, and with weights of 0.1 and 0.9.
SELECT threshold, n, bands, rows, expected, bands || ',' || rows = expected AS agrees
FROM (VALUES (0.9, 128, '5,25'), (0.8, 128, '9,13'), (0.7, 128, '14,9'), (0.6, 128, '18,7'), (0.5, 128, '25,5'),
    (0.5, 100, '20,5'), (0.7, 240, '24,10')) AS figures (threshold, n, expected),
     lsh_params(threshold, n, rule => 'area');
SELECT threshold, bands || 'x' || rows AS half_half, round(h.probability_at_threshold::numeric, 3) AS p,
    wide.shape AS tenth_nine_tenths, expected, bands || 'x' || rows || ' ' || wide.shape = expected AS agrees
FROM (VALUES (0.5, '25x5 32x4'), (0.55, '21x6 28x4'), (0.6, '18x7 25x5'), (0.65, '16x8 21x6'), (0.7, '14x9 20x6'),
    (0.75, '11x11 16x8'), (0.8, '9x13 14x9'), (0.85, '8x16 11x11'), (0.9, '5x25 8x16'),
    (0.95, '3x42 5x25')) AS figures (threshold, expected),
     lsh_params(threshold, rule => 'area') h,
     LATERAL (SELECT bands || 'x' || rows AS shape FROM lsh_params(threshold, rule => 'area',
     false_candidate_weight => 0.1, missed_pair_weight => 0.9)) AS wide ORDER BY threshold;
-- Only the ratio of the weights matters. If a weight is 0, the choice finds as many pairs as possible, or as few as
-- possible.
SELECT (SELECT p FROM lsh_params(rule => 'area', false_candidate_weight => 3, missed_pair_weight => 3) p) = (SELECT p
    FROM lsh_params(rule => 'area') p) AS ratio;
SELECT rows = 1 AS finds_most FROM lsh_params(rule => 'area', false_candidate_weight => 0);
SELECT bands = 1 AS finds_least FROM lsh_params(rule => 'area', missed_pair_weight => 0);

-- The row that lsh_params() returns, with defaults and with named arguments.
SELECT bands, rows, hashes_used, round(probability_at_threshold::numeric, 6) AS at_threshold,
    round(steepest_point::numeric, 6) AS steepest FROM lsh_params();
SELECT (SELECT p FROM lsh_params() p) = (SELECT p FROM lsh_params(threshold => 0.8, num_hashes => 128, recall => 0.95,
    rule => 'recall') p) AS defaults, (SELECT p FROM lsh_params(rule => 'area') p) =
    (SELECT p FROM lsh_params(rule => 'area', false_candidate_weight => 0.5, missed_pair_weight => 0.5) p) AS of_area;
SELECT bool_and(hashes_used = bands * rows AND hashes_used <= n) AS hashes_used,
    bool_and(probability_at_threshold = lsh_probability(threshold, bands, rows)) AS at_threshold,
       bool_and(abs(steepest_point - ((rows - 1) / (bands * rows - 1.0)) ^ (1.0 / rows)) < 1e-15) AS steepest
FROM unnest(ARRAY[0.05, 0.5, 0.9::float8]) threshold, unnest(ARRAY[64, 128]) n, lsh_params(threshold, n, 0.5);

-- Extreme arguments: a threshold of 1, a recall close to 1, a single hash, and the most hashes.
SELECT bands, rows, probability_at_threshold AS at_threshold FROM lsh_params(1);
SELECT bands, rows FROM lsh_params(0.8, recall => 0.99999);
SELECT bands, rows FROM lsh_params(0.95, 1, 0.9);
SELECT bands, rows, hashes_used FROM lsh_params(0.8, 4096);
SELECT bands, rows FROM lsh_params(1, rule => 'area');
SELECT bands, rows FROM lsh_params(0.8, 4096, rule => 'area');

-- If any argument is NULL, the result is NULL or a row of NULLs.
SELECT lsh_probability(NULL, 1, 1) IS NULL AS probability, lsh_threshold(1, NULL) IS NULL AS threshold,
    lsh_params(0.8, rule => NULL) IS NULL AS params;

-- Signatures are found as the choice promises: 13 bands of 7 rows find pairs at 0.8, which share 400 of 500 words.
WITH pairs AS (
    SELECT pair, minhash(string_agg('p' || pair || 'w' || word, ' ' ORDER BY word) FILTER (WHERE word <= 450),
    shingle_size => 1, unit => 'word') AS a,
           minhash(string_agg('p' || pair || 'w' || word, ' ' ORDER BY word) FILTER (WHERE word > 50),
           shingle_size => 1, unit => 'word') AS b
    FROM generate_series(1, 400) pair, generate_series(1, 500) word GROUP BY pair
)
SELECT count(*) AS pairs, abs(avg((lsh_band_keys(a, bands, rows) && lsh_band_keys(b, bands, rows))::int) - 0.953) < 4 *
    sqrt(0.953 * 0.047 / 400) AS as_promised
FROM pairs, lsh_params(0.8);
