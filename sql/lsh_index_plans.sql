-- Tests when the planner chooses an lsh index by costs alone, while all other kinds of plans are allowed.

SET jit = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common

CREATE TABLE many (id int PRIMARY KEY, customer int, sig minhash_signature);
INSERT INTO many SELECT i, i % 20, minhash(md5(i::text) || md5((i + 1)::text)) FROM generate_series(1, 5000) i;
CREATE INDEX many_sig ON many USING lsh (sig);
ANALYZE many;
CREATE FUNCTION pg_temp.sig_of(what int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    'SELECT minhash(md5(what::text) || md5((what + 1)::text))';
-- Lists the index of each scan, in the order of the plan. (The kind of scan depends on other things, too.)
CREATE FUNCTION pg_temp.ways(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(coalesce(substring(line FROM '(?:using|Bitmap Index Scan on) (\w+)'), 'all rows'), ', ')
    FROM pg_temp.scans(query) line WHERE line ~ 'Scan' AND line !~ 'Bitmap Heap'
$$;
SELECT minhash_similarity(pg_temp.sig_of(7), sig) AS similarity FROM many WHERE id = 7;

-- The index is used at all thresholds that few rows reach, but not at a threshold that all rows reach.
SELECT threshold,
    pg_temp.ways(format('SELECT id FROM many WHERE minhash_similar(sig, pg_temp.sig_of(7), %s)', threshold))
FROM unnest(ARRAY[0.95, 0.8, 0.5, 0]) threshold;
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE NOT sig % pg_temp.sig_of(7)');
-- The estimated costs of the index scan. As the threshold falls, the costs rise or stay about the same, but for the
-- threshold at which a search no longer reads bands before it compares all records. They do not depend on whether the
-- threshold is a setting or an argument, and little on whether the planner knows the signature. The first rows do not
-- cost more than all rows.
CREATE FUNCTION pg_temp.costs(query text, OUT first float8, OUT "all" float8) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_sort = off;
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    first := plan->0->'Plan'->>'Startup Cost';
    "all" := plan->0->'Plan'->>'Total Cost';
END $$;
CREATE FUNCTION pg_temp.costs_at(threshold float8, OUT by_argument float8, OUT by_setting float8, OUT unknown float8,
    OUT first float8) LANGUAGE plpgsql AS $$
BEGIN
    SELECT c.first, c."all" INTO first, by_argument FROM pg_temp.costs(format(
        'SELECT FROM many WHERE minhash_similar(sig, pg_temp.sig_of(7), %s)', threshold)) c;
    SELECT c."all" INTO unknown FROM pg_temp.costs(format(
        'SELECT FROM many WHERE minhash_similar(sig, (SELECT pg_temp.sig_of(7)), %s)', threshold)) c;
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true);
    SELECT c."all" INTO by_setting FROM pg_temp.costs('SELECT FROM many WHERE sig % pg_temp.sig_of(7)') c;
END $$;
SELECT count(*) FILTER (WHERE 0.6 * by_argument > lower) AS falling, max(by_argument) > 20 * min(by_argument) AS differ,
    bool_and(by_argument = by_setting) AS like_setting, bool_and(unknown BETWEEN 0.8 * by_setting AND 1.2 * by_setting)
    AS like_unknown, bool_and(first <= by_argument) AS first_for_less
FROM (SELECT c.*, lag(by_argument) OVER (ORDER BY threshold) AS lower
    FROM generate_series(0.05, 1, 0.05) threshold, pg_temp.costs_at(threshold) c) s;
-- Queries for the nearest rows, for all rows in order, and joins.
SELECT pg_temp.ways('SELECT id FROM many ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT id FROM many ORDER BY sig <%> pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7) ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT a.id, n.id FROM many a, LATERAL (SELECT b.id FROM many b ORDER BY b.sig <%> a.sig LIMIT 2) n
    WHERE a.id < 10');
SELECT pg_temp.ways('SELECT a.id, b.id FROM many a JOIN many b ON b.sig % a.sig WHERE a.id < 10');
-- A query for one row by its primary key uses the primary key.
SELECT pg_temp.ways('SELECT id FROM many WHERE id = 7 AND sig % pg_temp.sig_of(7)');

-- With two indexes, the planner uses the one whose columns the query has values for.
CREATE INDEX many_scope ON many USING lsh (customer, sig);
SELECT pg_temp.ways('SELECT id FROM many WHERE customer = 7 AND sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE customer = 7 ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7)');
-- Each value of an array is searched for by itself. For many values, one search of all customers takes less time.
SELECT pg_temp.ways(format('SELECT id FROM many WHERE customer = ANY (%L::int[]) AND sig %% pg_temp.sig_of(7)',
    ARRAY(SELECT generate_series(1, last)))) FROM unnest(ARRAY[1, 15, 300]) AS last;
-- With a GIN index on the same column.
DROP INDEX many_scope;
CREATE INDEX many_gin ON many USING gin (sig);
SELECT threshold,
    pg_temp.ways(format('SELECT id FROM many WHERE minhash_similar(sig, pg_temp.sig_of(7), %s)', threshold))
FROM unnest(ARRAY[0.8, 0.5]) threshold;

-- A small table is read sequentially.
CREATE TABLE few AS SELECT id, sig FROM many WHERE id <= 3;
CREATE INDEX few_sig ON few USING lsh (sig);
ANALYZE few;
SELECT pg_temp.ways('SELECT id FROM few WHERE sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM few ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 2');
DROP TABLE many, few, documents;

-- EXPLAIN shows only the beginning of the signature in the condition.
CREATE TABLE short (sig minhash_signature);
CREATE INDEX short_sig ON short USING lsh (sig);
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT FROM short WHERE minhash_similar(sig, minhash('some text'), 0.8);
RESET enable_seqscan;
DROP TABLE short;
