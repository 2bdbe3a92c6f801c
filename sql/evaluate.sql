-- lsh_evaluate: what bands and rows would find among a user's own texts.

CREATE TABLE texts (id integer PRIMARY KEY, body text);
-- Families of texts that differ by some words: every family has its own words.
INSERT INTO texts
SELECT family * 10 + copy, (SELECT string_agg(CASE WHEN word % 37 = copy * 5
    AND copy > 0 THEN 'other' || copy ELSE 'word' || family * 100 + word END, ' ' ORDER BY word)
                            FROM generate_series(1, 60) AS word)
FROM generate_series(1, 40) AS family, generate_series(0, 3) AS copy;
INSERT INTO texts VALUES (1000, ''), (1001, NULL), (1002, '  ');

-- All texts are the sample: the same figures by brute force.
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
       e.recall = x.found::float8 / x.true_pairs AS recall,
       abs(e.predicted_recall - x.predicted_recall) < 1e-9 AS predicted_recall,
       e.false_candidates = x.candidates - x.found AS false_candidates
FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', bands => '{20,13,10,2,128}',
    rows => '{5,7,12,50,1}') AS e
JOIN expected AS x USING (bands, rows) ORDER BY bands;
SELECT bands, rows, found < true_pairs AS some_missed, candidates > found AS some_false FROM expected ORDER BY bands;
DROP TABLE all_pairs, expected;

-- Without bands and rows, the choices of lsh_params for several recalls.
SELECT bands, rows, round(lsh_probability(0.8, bands, rows)::numeric, 3) AS at_threshold,
    recall >= 0.9 * predicted_recall AS as_predicted
FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL');
-- A sample is the same every time, whatever the order of rows.
SELECT count(*) AS different FROM
(SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL', sample_size => 50) EXCEPT
 SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE body IS NOT NULL ORDER BY random(); ', sample_size => 50))
     AS difference;
-- Words, bags, other thresholds and methods; ids of any type that has an order.
SELECT true_pairs, found, round(recall::numeric, 2) AS recall
FROM lsh_evaluate($$SELECT 'text ' || id, body::varchar -- a comment
                    FROM texts WHERE body > ''$$, threshold => 0.5, bands => '{25}', rows => '{5}', unit => 'word',
                        shingle_size => 2, bag => true, method => 'classic', seed => 7);
-- Nothing to be found, nothing at all.
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE id % 10 = 0', bands => '{13}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts WHERE false', bands => '{13}', rows => '{7}');

-- Mistakes.
\set VERBOSITY terse
SELECT * FROM lsh_evaluate('SELECT id, minhash(body) FROM texts WHERE body IS NOT NULL');
SELECT * FROM lsh_evaluate('SELECT id FROM texts');
SELECT * FROM lsh_evaluate('SELECT body, id FROM texts');
SELECT * FROM lsh_evaluate('DELETE FROM texts RETURNING id, body');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', sample_size => 1);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', sample_size => 20001);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', threshold => 1.5);
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', threshold => NULL);
\set VERBOSITY default
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13,20}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{13,NULL}', rows => '{7,5}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{}', rows => '{}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{20}', rows => '{7}');
SELECT * FROM lsh_evaluate('SELECT id, body FROM texts', bands => '{2147483647}', rows => '{2147483647}');
SELECT * FROM lsh_evaluate('texts');
DROP TABLE texts;
