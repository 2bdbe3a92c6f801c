-- A band table in plain SQL. A join on the key finds candidate pairs and looks up texts. Estimates and then exact
-- comparisons verify the candidates.

-- 400 documents: 300 different ones of 60 words, 60 near-duplicates with one to six words changed, 30 distant copies
-- with every other word changed, a copy in capitals, an exact copy, four empty documents and four very short ones.
CREATE TEMP TABLE documents (id int PRIMARY KEY, body text);
INSERT INTO documents
SELECT id, string_agg(left(md5(id || ' ' || word), 4 + word % 5), ' ' ORDER BY word) FROM generate_series(1, 300) id,
    generate_series(1, 60) word GROUP BY id;
INSERT INTO documents
SELECT 300 + id, string_agg(CASE WHEN word % 10 = 3
    AND word / 10 <= id % 6 THEN 'changed' || id ELSE left(md5(id * 5 || ' ' || word), 4 + word % 5) END, ' '
    ORDER BY word)
FROM generate_series(1, 60) id, generate_series(1, 60) word GROUP BY id;
INSERT INTO documents
SELECT 360 + id, string_agg(CASE WHEN word % 2 = 0 THEN md5(id || 'far' || word)
    ELSE left(md5(id || ' ' || word), 4 + word % 5) END, ' ' ORDER BY word)
FROM generate_series(1, 30) id, generate_series(1, 60) word GROUP BY id;
INSERT INTO documents SELECT 391, upper(body) FROM documents WHERE id = 1;
INSERT INTO documents SELECT 392, body FROM documents WHERE id = 2;
INSERT INTO documents VALUES (393, ''), (394, ''), (395, '  '), (396, E'\t\n'), (397, 'cat'), (398, 'dog'),
    (399, 'Cat'), (400, 'x');

-- The signatures and the band table. The band table has one row for each band of each document and is indexed by key.
CREATE TEMP TABLE signatures AS SELECT id, minhash(body) AS signature FROM documents;
ALTER TABLE signatures ADD PRIMARY KEY (id);
SELECT bands, rows FROM lsh_params(0.8) \gset
SELECT :bands AS bands, :rows AS rows;
CREATE TEMP TABLE bands (key bigint, id int, PRIMARY KEY (key, id));
INSERT INTO bands SELECT key, id FROM signatures, lsh_bands(signature, :bands, :rows);
ANALYZE documents, signatures, bands;
SELECT count(*) AS rows, count(DISTINCT id) AS documents, count(*) = count(DISTINCT id) * :bands AS each_band_once
    FROM bands;
-- Empty documents are not in the band table.
SELECT id FROM documents WHERE id NOT IN (SELECT id FROM bands) ORDER BY id;

-- A self-join finds the candidate pairs.
CREATE TEMP TABLE candidates AS
SELECT DISTINCT a.id AS id, b.id AS other_id FROM bands a JOIN bands b ON a.key = b.key AND a.id < b.id;
-- The exact and the estimated similarity of all pairs.
CREATE TEMP TABLE all_pairs AS
SELECT a.id, b.id AS other_id, shingle_jaccard(x.body, y.body) AS exact,
    minhash_similarity(a.signature, b.signature) AS estimate
FROM signatures a JOIN signatures b ON a.id < b.id JOIN documents x ON x.id = a.id JOIN documents y ON y.id = b.id;
SELECT count(*) AS pairs, count(*) FILTER (WHERE exact >= 0.9) AS at_least_09,
    count(*) FILTER (WHERE exact >= 0.8) AS at_least_08, count(*) FILTER (WHERE exact >= 0.5) AS at_least_05,
       bool_and(abs(exact - estimate) <= 5 * minhash_standard_error(exact) + 1e-9) AS within_5_standard_errors
       FROM all_pairs;

-- How many of the pairs at 0.8 or more are found, how many candidates are false, and the similarity of the most distant
-- candidate.
SELECT count(*) FILTER (WHERE exact >= 0.8) AS wanted,
    count(*) FILTER (WHERE exact >= 0.8 AND c.id IS NOT NULL) AS found, count(c.id) AS candidates,
       count(c.id) FILTER (WHERE exact < 0.8) AS in_vain, round(min(exact) FILTER (WHERE c.id IS NOT NULL)::numeric, 2)
       AS least_similar
FROM all_pairs p LEFT JOIN candidates c USING (id, other_id);
-- The number of pairs found follows the S-curve: it is as expected, within four standard deviations.
SELECT abs(count(c.id) - sum(p)) <= 4 * sqrt(sum(p * (1 - p))) + 1 AS as_expected
FROM (SELECT *, lsh_probability(exact, :bands, :rows) AS p FROM all_pairs WHERE exact > 0) AS a
    LEFT JOIN candidates c USING (id, other_id);
-- Candidates among the last documents: the copy in capitals, the exact copy, and cat with Cat. Empty documents, and cat
-- with dog, are not candidates.
SELECT id, other_id, round(exact::numeric, 2) AS exact, estimate FROM all_pairs JOIN candidates USING (id, other_id)
    WHERE other_id > 390 ORDER BY id, other_id;

-- Verify the candidates. Only those with an estimate of 0.7 or more are compared exactly.
CREATE TEMP TABLE verified AS
SELECT c.id, other_id, shingle_jaccard(x.body, y.body) AS similarity
FROM candidates c
JOIN signatures a ON a.id = c.id JOIN signatures b ON b.id = other_id
JOIN documents x ON x.id = c.id JOIN documents y ON y.id = other_id
WHERE minhash_similarity(a.signature, b.signature) >= 0.7 AND shingle_jaccard(x.body, y.body) >= 0.8;
SELECT count(*) AS verified FROM verified;
SELECT count(*) AS not_among_all_pairs
    FROM (SELECT id, other_id, similarity FROM verified EXCEPT SELECT id, other_id, exact FROM all_pairs
        WHERE exact >= 0.8) AS extra;
-- Pairs that the bands or the estimate have missed.
SELECT id, other_id, round(exact::numeric, 3) AS exact, round(estimate::numeric, 3) AS estimate FROM all_pairs p
    WHERE exact >= 0.8 AND NOT EXISTS (SELECT FROM verified v WHERE (v.id, v.other_id) = (p.id, p.other_id)) ORDER BY 1,
        2;

-- Look up one text by a join with the bands of its signature. The text need not be in the table.
PREPARE candidates_of (text) AS
SELECT id, round(shingle_jaccard(body, $1)::numeric, 2) AS similarity
FROM documents WHERE id IN (SELECT id FROM lsh_bands(minhash($1), :bands, :rows) JOIN bands USING (key))
ORDER BY similarity DESC, id;
SELECT body AS body_5 FROM documents WHERE id = 5 \gset
EXECUTE candidates_of(:'body_5');
EXECUTE candidates_of(replace(:'body_5', ' ', '   ') || ' and a few words more');
EXECUTE candidates_of('nothing like it');
EXECUTE candidates_of('CAT');
EXECUTE candidates_of('');
EXECUTE candidates_of(NULL);
DEALLOCATE candidates_of;
-- Looking up every document finds the same pairs as the self-join.
CREATE TEMP TABLE looked_up AS
SELECT DISTINCT least(s.id, b.id) AS id, greatest(s.id, b.id) AS other_id
    FROM signatures s, lsh_bands(signature, :bands, :rows) k JOIN bands b USING (key) WHERE s.id <> b.id;
SELECT count(*) AS pairs, (SELECT count(*) FROM (TABLE looked_up EXCEPT TABLE candidates) AS e) AS only_looked_up,
    (SELECT count(*) FROM (TABLE candidates EXCEPT TABLE looked_up) AS e) AS only_joined FROM looked_up;

-- The classic form of the join has slots in columns. A query writes its join condition here: in at least one band, all
-- rows are equal.
SELECT format('CREATE TEMP TABLE columns AS SELECT id, %s
    FROM (SELECT id, signature::bigint[] AS s FROM signatures) AS slots',
        string_agg(format('s[%1$s] AS s%1$s', i), ', ' ORDER BY i)) AS make_columns
FROM generate_series(1, :bands * :rows) i \gset
:make_columns;
SELECT string_agg('(' || band_condition || ')', ' OR ' ORDER BY band) AS condition
FROM (SELECT band, string_agg(format('a.s%1$s = b.s%1$s', (band - 1) * :rows + r), ' AND ' ORDER BY r) AS band_condition
    FROM generate_series(1, :bands) band, generate_series(1, :rows) r GROUP BY band) AS band_conditions \gset
CREATE TEMP TABLE classic AS SELECT a.id, b.id AS other_id FROM columns a JOIN columns b ON a.id < b.id
    AND (:condition);
SELECT count(*) AS pairs, (SELECT count(*) FROM (TABLE classic EXCEPT TABLE candidates) AS e) AS only_classic,
    (SELECT count(*) FROM (TABLE candidates EXCEPT TABLE classic) AS e) AS only_joined FROM classic;

-- For several bands and rows: the number of candidates, how many pairs at 0.8 or more are found, and whether the number
-- of candidates is as predicted.
SELECT bands, rows, count(c.id) AS candidates, count(c.id) FILTER (WHERE exact >= 0.8) AS found,
    count(c.id) FILTER (WHERE exact < 0.8) AS in_vain,
       abs(count(c.id) - sum(lsh_probability(exact, bands, rows))) <= 4 *
       sqrt(sum(lsh_probability(exact, bands, rows) * (1 - lsh_probability(exact, bands, rows)))) + 1 AS as_expected
FROM (VALUES (2, 50), (5, 20), (10, 10), (20, 5), (42, 3)) AS shapes (bands, rows)
CROSS JOIN LATERAL (
    WITH keys AS MATERIALIZED (SELECT key, id FROM signatures, lsh_bands(signature, bands, rows))
    SELECT p.exact, found.id FROM (SELECT * FROM all_pairs WHERE exact > 0.01) AS p
    LEFT JOIN (SELECT DISTINCT a.id, b.id AS other_id FROM keys a JOIN keys b ON a.key = b.key AND a.id < b.id)
    AS found USING (id, other_id)
) AS c
GROUP BY bands, rows ORDER BY bands;

-- Keep the band table in step by hand. When a document changes, delete its old keys, which come from its old signature,
-- and insert the new ones.
DELETE FROM bands USING (SELECT id, key FROM signatures, lsh_bands(signature, :bands, :rows) WHERE id = 2) AS old
    WHERE (bands.key, bands.id) = (old.key, old.id);
UPDATE documents SET body = (SELECT body FROM documents WHERE id = 3) WHERE id = 2;
UPDATE signatures s SET signature = minhash(body) FROM documents d WHERE d.id = s.id AND s.id = 2;
INSERT INTO bands SELECT key, id FROM signatures, lsh_bands(signature, :bands, :rows) WHERE id = 2;
SELECT DISTINCT a.id, b.id AS other_id FROM bands a JOIN bands b ON a.key = b.key AND a.id < b.id
    WHERE 2 IN (a.id, b.id) ORDER BY 1, 2;
SELECT count(*) AS rows, count(*) = count(DISTINCT id) * :bands AS each_band_once FROM bands;

DROP TABLE documents, signatures, bands, candidates, all_pairs, verified, looked_up, columns, classic;
