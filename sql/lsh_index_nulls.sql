-- Rows whose signature is NULL have records in an lsh index. They come last in an ordered scan, after empty sets, and
-- only those of the scope; % is never true of them.

SET jit = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common

-- Some hundred texts; every third row is NULL, and every 50th has an empty set.
CREATE FUNCTION pg_temp.sig_of(n int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT CASE WHEN n % 3 = 0 THEN NULL WHEN n % 50 = 1 THEN minhash('')
        ELSE minhash(repeat(md5((n % 100)::text), 2) || n) END$$;

-- Compares what a query returns by the index with what it returns by a sort: the number of rows, of NULLs, and whether
-- the distances are the same.
CREATE FUNCTION pg_temp.both_ways(query text, OUT rows int, OUT nulls int, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    by_index float8[];
    by_table float8[];
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
    EXECUTE format('SELECT array_agg(d) FROM (%s) r (d)', query) INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true),
        set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT array_agg(d) FROM (%s) r (d)', query) INTO by_table;
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
    rows := coalesce(cardinality(by_index), 0);
    nulls := rows - (SELECT count(d) FROM unnest(by_index) d);
    same := by_index IS NOT DISTINCT FROM by_table;
END $$;

-- The tables are the same, but in one the index was made first.
CREATE TABLE filled (id int, tenant int, sig minhash_signature) WITH (autovacuum_enabled = false);
CREATE TABLE built (LIKE filled) WITH (autovacuum_enabled = false);
CREATE INDEX filled_sig ON filled USING lsh (sig);
CREATE INDEX filled_scope ON filled USING lsh (tenant, sig);
CREATE FUNCTION pg_temp.try_all(OUT tried text, OUT rows int, OUT nulls int, OUT same boolean) RETURNS SETOF record
    LANGUAGE plpgsql AS $$
DECLARE
    name text;
    what record;
BEGIN
    FOREACH name IN ARRAY ARRAY['filled', 'built'] LOOP
        FOR what IN SELECT q, t, format(template, name, q, t) AS query
            FROM (VALUES ('all', '', 'SELECT sig <%%> %2$s FROM %1$s ORDER BY sig <%%> %2$s'),
                ('tenant', ' WHERE tenant = 3', 'SELECT sig <%%> %2$s FROM %1$s%3$s ORDER BY sig <%%> %2$s'))
                s (kind, t, template),
                unnest(ARRAY['minhash(''cat'')', 'pg_temp.sig_of(7)', 'minhash('''')', 'NULL::minhash_signature']) q
        LOOP
            tried := concat(name, what.t, ' ', what.q);
            SELECT b.* INTO rows, nulls, same FROM pg_temp.both_ways(what.query) b;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;
CREATE FUNCTION pg_temp.checked(OUT index text, OUT records bigint, OUT dead bigint, OUT runs int, OUT lost bigint)
    RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT i, c.records, c.dead, c.runs, c.lost_pages
        FROM unnest(ARRAY['filled_sig', 'filled_scope', 'built_sig', 'built_scope']) i,
            lsh_check(i::regclass, heap => true) c;
END $$;

-- Before the first signature, nothing is known of its scheme.
INSERT INTO filled SELECT n, n % 7, NULL FROM generate_series(1, 2000) n;
INSERT INTO built TABLE filled;
CREATE INDEX built_sig ON built USING lsh (sig);
CREATE INDEX built_scope ON built USING lsh (tenant, sig);
ANALYZE filled, built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all();
DELETE FROM filled WHERE id % 2 = 0;
DELETE FROM built WHERE id % 2 = 0;
VACUUM filled, built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all() WHERE tried ~ 'cat';

-- Then signatures come, and NULLs among them.
INSERT INTO filled SELECT n, n % 7, pg_temp.sig_of(n) FROM generate_series(2001, 6000) n;
INSERT INTO built SELECT n, n % 7, pg_temp.sig_of(n) FROM generate_series(2001, 6000) n;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all();
VACUUM filled, built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all();
-- When a run is written again, the records of that time get room for slots.
DELETE FROM filled WHERE id % 3 = 1;
DELETE FROM built WHERE id % 3 = 1;
VACUUM filled, built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all();
REINDEX TABLE filled;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
REINDEX TABLE built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all();
-- NULLs that get a signature, and the other way round.
UPDATE filled SET sig = CASE WHEN sig IS NULL THEN minhash(id::text) END WHERE id % 5 = 0;
UPDATE built SET sig = CASE WHEN sig IS NULL THEN minhash(id::text) END WHERE id % 5 = 0;
SELECT * FROM pg_temp.try_all() WHERE tried ~ 'cat';
VACUUM filled, built;
SELECT * FROM pg_temp.checked();
SELECT * FROM pg_temp.try_all() WHERE tried ~ 'cat';
-- % is not true of NULL, at any threshold, by any kind of scan.
SET enable_seqscan = off;
SELECT t, (SELECT count(*) FROM filled WHERE minhash_similar(sig, minhash('cat'), t)) AS all_tenants,
    (SELECT count(*) FROM filled WHERE minhash_similar(sig, minhash('cat'), t) AND tenant = 3) AS one,
    (SELECT count(*) FROM filled WHERE sig IS NOT NULL AND (tenant = 3 OR t >= 0)) AS signatures
FROM unnest(ARRAY[0, 0.1, 0.8]) t;
SET enable_indexscan = off;
SELECT t, (SELECT count(*) FROM filled WHERE minhash_similar(sig, minhash('cat'), t)) AS all_tenants,
    (SELECT count(*) FROM filled WHERE minhash_similar(sig, minhash('cat'), t) AND tenant = 3) AS one
FROM unnest(ARRAY[0, 0.1, 0.8]) t;
RESET enable_indexscan;
RESET enable_seqscan;
-- NULL conflicts with nothing.
CREATE TABLE single (tenant int, sig minhash_signature, EXCLUDE USING lsh (tenant WITH =, sig WITH %));
INSERT INTO single SELECT 1, NULL FROM generate_series(1, 3);
INSERT INTO single VALUES (1, minhash('one text of many')), (2, minhash('one text of many')), (1, NULL);
SELECT pg_temp.error_of($$INSERT INTO single VALUES (1, minhash('one text of many'))$$);
SELECT records FROM lsh_check('single_tenant_sig_excl', heap => true);

-- A search of a tenant reads the records of this tenant, however many others there are, and whatever is NULL.
CREATE TABLE tenants (id int, tenant int, sig minhash_signature) WITH (autovacuum_enabled = false);
INSERT INTO tenants SELECT n, n % 300, CASE WHEN n % 4 > 0 THEN minhash(md5(n::text) || n) END
FROM generate_series(1, 30000) n;
CREATE INDEX tenants_sig ON tenants USING lsh (tenant, sig);
ANALYZE tenants;
CREATE FUNCTION pg_temp.pages_of(query text, OUT pages int) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    SELECT (p->>'Shared Hit Blocks')::int + (p->>'Shared Read Blocks')::int INTO pages
    FROM (SELECT plan->0->'Plan' AS p) s;
END $$;
SELECT pg_relation_size('tenants_sig') / 8192 > 900 AS large;
SELECT pages < 400 AS few FROM pg_temp.pages_of($$SELECT id FROM tenants WHERE tenant = 5
    ORDER BY sig <%> minhash('cat') LIMIT 5$$);
SELECT pages < 400 AS few FROM pg_temp.pages_of($$SELECT id FROM tenants WHERE tenant = 5
    ORDER BY sig <%> minhash('cat') LIMIT 1000$$);
SELECT pages < 400 AS few FROM pg_temp.pages_of($$SELECT id FROM tenants WHERE tenant = 5
    AND minhash_similar(sig, minhash('cat'), 0.1)$$);
SELECT pages < 400 AS few FROM pg_temp.pages_of($$SELECT id FROM tenants WHERE tenant = 5
    AND minhash_similar(sig, minhash('cat'), 0.8)$$);
-- A tenant with many rows is compared with all others.
UPDATE tenants SET tenant = 1000 WHERE tenant >= 100;
VACUUM ANALYZE tenants;
SELECT b.* FROM unnest(ARRAY[5, 1000]) t, pg_temp.both_ways(format('SELECT sig <%%> minhash(''cat'') FROM tenants
    WHERE tenant = %s ORDER BY sig <%%> minhash(''cat'')', t)) b;
-- ordered_scan_limit counts the rows of the tenant. It returns as many rows as it allows to be compared.
SET minhash_lsh.ordered_scan_limit = 1000;
SET enable_seqscan = off;
SELECT t, (SELECT count(*) FROM (SELECT FROM tenants WHERE tenant = t ORDER BY sig <%> minhash('cat')) s) AS rows
FROM unnest(ARRAY[5, 7]) t;
SELECT b.* FROM pg_temp.both_ways($$SELECT sig <%> minhash('cat') FROM tenants WHERE tenant = 5
    ORDER BY sig <%> minhash('cat')$$) b;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT count(*) >= 1000 AS enough, count(*) < 8000 AS bounded
FROM (SELECT FROM tenants WHERE tenant = 1000 ORDER BY sig <%> minhash('cat')) s;
CREATE INDEX tenants_all ON tenants USING lsh (sig);
SELECT count(*) >= 1000 AS enough, count(*) < 8000 AS bounded
FROM (SELECT FROM tenants ORDER BY sig <%> minhash('cat')) s;
DELETE FROM tenants WHERE id > 5500;
VACUUM tenants;
SELECT count(*) >= 1000 AS enough FROM (SELECT FROM tenants ORDER BY sig <%> minhash('cat')) s;
SELECT index, records, runs FROM (VALUES ('tenants_sig'), ('tenants_all')) i (index),
    lsh_check(index::regclass, heap => true);
DROP TABLE documents, filled, built, single, tenants;
