-- What the planner takes an lsh index for, by costs alone: no setting forbids another way.

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
-- The index of each scan, in the order of the plan. (Which kind of scan takes it depends on more.)
CREATE FUNCTION pg_temp.ways(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(coalesce(substring(line FROM '(?:using|Bitmap Index Scan on) (\w+)'), 'all rows'), ', ')
    FROM pg_temp.scans(query) line WHERE line ~ 'Scan' AND line !~ 'Bitmap Heap'
$$;
SELECT minhash_similarity(pg_temp.sig_of(7), sig) AS similarity FROM many WHERE id = 7;

-- Any threshold that leaves few rows; another way where it leaves all.
SELECT threshold,
    pg_temp.ways(format('SELECT id FROM many WHERE minhash_similar(sig, pg_temp.sig_of(7), %s)', threshold))
FROM unnest(ARRAY[0.95, 0.8, 0.5, 0]) threshold;
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE NOT sig % pg_temp.sig_of(7)');
-- The nearest, and all of them in order.
SELECT pg_temp.ways('SELECT id FROM many ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT id FROM many ORDER BY sig <%> pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7) ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT a.id, n.id FROM many a, LATERAL (SELECT b.id FROM many b ORDER BY b.sig <%> a.sig LIMIT 2) n
    WHERE a.id < 10');
SELECT pg_temp.ways('SELECT a.id, b.id FROM many a JOIN many b ON b.sig % a.sig WHERE a.id < 10');
-- One row, by its key.
SELECT pg_temp.ways('SELECT id FROM many WHERE id = 7 AND sig % pg_temp.sig_of(7)');

-- Of two indexes the one whose columns have values.
CREATE INDEX many_scope ON many USING lsh (customer, sig);
SELECT pg_temp.ways('SELECT id FROM many WHERE customer = 7 AND sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM many WHERE customer = 7 ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 10');
SELECT pg_temp.ways('SELECT id FROM many WHERE sig % pg_temp.sig_of(7)');
-- GIN beside it.
DROP INDEX many_scope;
CREATE INDEX many_gin ON many USING gin (sig);
SELECT threshold,
    pg_temp.ways(format('SELECT id FROM many WHERE minhash_similar(sig, pg_temp.sig_of(7), %s)', threshold))
FROM unnest(ARRAY[0.8, 0.5]) threshold;

-- A handful of rows is read.
CREATE TABLE few AS SELECT id, sig FROM many WHERE id <= 3;
CREATE INDEX few_sig ON few USING lsh (sig);
ANALYZE few;
SELECT pg_temp.ways('SELECT id FROM few WHERE sig % pg_temp.sig_of(7)');
SELECT pg_temp.ways('SELECT id FROM few ORDER BY sig <%> pg_temp.sig_of(7) LIMIT 2');
DROP TABLE many, few, documents;
