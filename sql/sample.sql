-- lsh_sample(): estimates from a sample how many pairs there are. test/bench/sample_bench.sh tries more kinds of texts
-- and seeds.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
SET client_min_messages = warning;
CREATE SCHEMA sample;
SET search_path = sample, public;

-- Families of 2, 5 and 40 texts, which differ in one word each, and texts that are similar to no other.
CREATE TABLE docs AS SELECT i AS id, i % 2 AS part, (
    SELECT string_agg(left(md5(concat(family, '-', w, CASE WHEN w = 1 + i % 20 THEN '-' || i END)), 6), ' ')
    FROM generate_series(1, 20) AS w) AS body
FROM (SELECT i, CASE WHEN i <= 800 THEN i / 2 WHEN i <= 1600 THEN 1000 + i / 5 WHEN i <= 2400 THEN 2000 + i / 40
    ELSE 10000 + i END AS family FROM generate_series(1, 8000) AS i) AS s;
CREATE TABLE truth AS
SELECT count(*) AS pairs FROM lsh_pairs('SELECT id, body FROM docs', threshold => 0.6, recall => 0.9999);
CREATE VIEW near AS SELECT count(*) / 8000.0 AS share
FROM lsh_clusters('SELECT id, body FROM docs', threshold => 0.6, recall => 0.9999);

-- With a share of 1, all rows are read, so the figures are exact.
SELECT row_count, s.pairs = t.pairs AS all, pairs_low = s.pairs AS low, pairs_high = s.pairs AS high,
    near_share_low <= share AND share <= near_share_high AS near_share, seconds > 0 AS takes_time
FROM lsh_sample('SELECT id, body FROM docs; ', threshold => 0.6, share => 1) AS s, truth AS t, near;
-- The samples here are a quarter of the rows, because a sample has at least two thousand rows.
CREATE TABLE samples AS SELECT s.*
FROM generate_series(1, 20) AS seed, lsh_sample('SELECT id, body FROM docs', threshold => 0.6, seed => seed) AS s;
SELECT count(*) FILTER (WHERE t.pairs BETWEEN pairs_low AND pairs_high) >= 17 AS pairs,
    count(*) FILTER (WHERE share BETWEEN near_share_low AND near_share_high) >= 17 AS near_share,
    max(pairs_high) < 3 * max(t.pairs) AS is_narrow, count(DISTINCT s.pairs) > 10 AS differ
FROM samples AS s, truth AS t, near;
-- The same seed gives the same sample. The next queries have other ids, signatures, a scope, rows without pairs, or no
-- rows.
SELECT count(DISTINCT s.pairs) FROM generate_series(1, 3), lsh_sample('SELECT id, body FROM docs', seed => 7) AS s;
SELECT pairs BETWEEN 5000 AND 40000 AS found FROM lsh_sample('SELECT md5(id::text)::uuid, body FROM docs', 0.6);
SELECT pairs BETWEEN 5000 AND 40000 AS found FROM lsh_sample('SELECT id, minhash(body) FROM docs', 0.6);
SELECT s.pairs < t.pairs AS fewer FROM lsh_sample('SELECT id, body, part AS scope FROM docs', 0.6, 1) AS s, truth AS t;
SELECT pairs, pairs_low, pairs_high > 0 AS perhaps, near_share_low
FROM lsh_sample('SELECT id, body FROM docs WHERE id > 2400');
SELECT row_count, pairs, pairs_low, pairs_high, near_share_low, near_share_high
FROM lsh_sample('SELECT id, body FROM docs WHERE false');
-- The memory that lsh_pairs() would need. If the query sorts its rows, lsh_pairs() needs more, because it must then
-- keep the texts.
SELECT (SELECT memory FROM lsh_sample('SELECT id, body FROM docs')) AS scanned,
    (SELECT memory FROM lsh_sample('SELECT id, body FROM docs ORDER BY id + 0')) > 8000 * 500 AS sorted;
-- With an index, the share of rows that have a near-duplicate is accurate to a few percent.
ALTER TABLE docs ADD PRIMARY KEY (id);
CREATE INDEX docs_body ON docs USING lsh (minhash(body));
VACUUM ANALYZE docs;
SET enable_seqscan = off; -- because the table is small
CREATE TABLE looked_up AS SELECT s.*
FROM generate_series(1, 20) AS seed, lsh_sample('SELECT id, body FROM docs', threshold => 0.6, seed => seed) AS s;
SELECT count(*) FILTER (WHERE t.pairs BETWEEN pairs_low AND pairs_high) >= 17 AS pairs,
    count(*) FILTER (WHERE share BETWEEN near_share_low AND near_share_high) >= 17 AS near_share,
    max(near_share_high - near_share_low) < 0.07 AS is_narrow, max(abs(s.near_share - share)) < 0.06 AS is_near,
    count(DISTINCT s.pairs) > 10 AS differ, min(row_count) AS rows
FROM looked_up AS s, truth AS t, near;
SELECT near_share BETWEEN share - 0.06 AND share + 0.06 AS of_a_part
FROM lsh_sample('SELECT md5(id::text)::uuid, body, part AS scope FROM docs', 0.6), (SELECT count(*) / 8000.0 AS share
    FROM lsh_clusters('SELECT id, body, part AS scope FROM docs', threshold => 0.6, recall => 0.9999)) AS c;
-- If the planner's estimate of the number of rows is wrong, the function samples again.
CREATE FUNCTION all_docs() RETURNS SETOF docs LANGUAGE sql STABLE ROWS 40 AS 'SELECT * FROM docs';
SELECT row_count, near_share BETWEEN share - 0.06 AND share + 0.06 AS near_share
FROM lsh_sample('SELECT id, body FROM all_docs()', threshold => 0.6), near;
SELECT row_count, near_share, pairs, near_share_high < 0.01 AS few
FROM lsh_sample('SELECT id, body FROM docs WHERE id > 2400');
SELECT row_count, pairs, near_share FROM lsh_sample('SELECT id, body FROM docs WHERE false');
-- Signatures of fewer hashes.
SELECT row_count, pairs BETWEEN pairs_low AND pairs_high AS pairs
FROM lsh_sample('SELECT id, body FROM docs', threshold => 0.6, num_hashes => 64);
RESET enable_seqscan;
-- Calls that are refused.
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY['lsh_sample(NULL)', 'lsh_sample(''docs'')',
    'lsh_sample(''SELECT id, body FROM docs'', share => 0)', 'lsh_sample(''SELECT id, body FROM docs'', share => 1.1)',
    'lsh_sample(''SELECT id, body FROM docs'', share => NULL)', 'lsh_sample(''SELECT id FROM docs'')',
    'lsh_sample(''SELECT id, body FROM docs'', threshold => 2)']) AS call;

RESET search_path;
DROP SCHEMA sample CASCADE;
