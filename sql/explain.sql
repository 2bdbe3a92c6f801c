-- EXPLAIN shows only the start of a constant signature, in every form of condition and order.

SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE TABLE shown (id int PRIMARY KEY, sig minhash_signature);
INSERT INTO shown SELECT i, minhash(md5(i::text) || md5((i * 7)::text)) FROM generate_series(1, 1000) i;
ANALYZE shown;
SELECT sig AS q FROM shown WHERE id = 7 \gset

-- The lines of a plan that have a signature or a parameter, without what differs between versions.
CREATE FUNCTION pg_temp.shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        IF line ~ 'minhash|\$1|Scan' THEN
            RETURN NEXT regexp_replace(line, ':[0-9a-f]+\.\.\.', ':...', 'g');
        END IF;
    END LOOP;
END $$;

-- Without an index.
SELECT pg_temp.shown(format('SELECT FROM shown WHERE minhash_similar(sig, %L, 0.5)', :'q'));
SELECT pg_temp.shown(format('SELECT FROM shown WHERE %L %% sig AND minhash_similarity(sig, %1$L) < 1', :'q'));
SELECT pg_temp.shown(format('SELECT id FROM shown ORDER BY sig <%%> %L LIMIT 3', :'q'));
SELECT pg_temp.shown(format('SELECT FROM shown a LEFT JOIN shown b USING (id) WHERE minhash_similar(%L, a.sig, 0.5)
    AND (b.sig <%%> %1$L < 0.5 OR b.id IS NULL)', :'q'));
-- Indexes whose expression or predicate has a signature are still found, and are stored as they were written.
CREATE INDEX shown_near ON shown (id) WHERE minhash_similar(sig, :'q', 0.5);
CREATE INDEX shown_distance ON shown ((sig <%> :'q'::minhash_signature));
ANALYZE shown;
SELECT pg_temp.shown(format('SELECT id FROM shown WHERE minhash_similar(sig, %L, 0.5) AND id < 100', :'q'));
SELECT pg_temp.shown(format('SELECT id FROM shown WHERE sig <%%> %L < 0.3', :'q'));
SELECT id FROM shown WHERE sig <%> :'q' < 0.3;
CREATE VIEW shown_similar AS SELECT id, sig <%> :'q' AS distance FROM shown WHERE sig % :'q';
SELECT count(*) AS complete FROM unnest(ARRAY[pg_get_indexdef('shown_near'::regclass),
    pg_get_indexdef('shown_distance'::regclass), pg_get_viewdef('shown_similar'::regclass)]) definition
WHERE definition LIKE '%' || :'q' || '%';
DROP INDEX shown_near, shown_distance;

-- With an index, and with statements whose plan knows the signature or does not.
CREATE INDEX shown_sig ON shown USING lsh (sig);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT pg_temp.shown(format('SELECT FROM shown WHERE sig %% %L ORDER BY %1$L <%%> sig', :'q'));
SELECT pg_temp.shown(format('SELECT FROM shown WHERE minhash_similar(%L, sig, 0.5) ORDER BY sig <%%> %1$L', :'q'));
SELECT pg_temp.shown('SELECT * FROM shown_similar ORDER BY distance');
PREPARE similar_to(minhash_signature) AS SELECT id FROM shown WHERE sig % $1 AND minhash_similarity($1, sig) > 0.2
    ORDER BY sig <%> $1 LIMIT 3;
SELECT pg_temp.shown(format('EXECUTE similar_to(%L)', :'q'));
EXECUTE similar_to(:'q');
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.shown(format('EXECUTE similar_to(%L)', :'q'));
RESET plan_cache_mode;
SELECT pg_temp.shown(format('SELECT FROM shown a JOIN shown b ON minhash_similar(b.sig, a.sig, 0.8)
    WHERE minhash_similar(a.sig, %L, 0.8) AND minhash_similarity(b.sig, %1$L) < 1', :'q'));
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT pg_temp.shown(format('SELECT FROM shown WHERE minhash_similar(sig, %L, 0.5)', :'q'));
RESET ALL;

-- Any operator, and partitions.
SELECT pg_temp.shown(format('SELECT FROM shown WHERE sig = %L OR sig < %1$L', :'q'));
SELECT pg_temp.shown(format('SELECT FROM shown WHERE sig IN (%L, %1$L) AND id > 5', minhash('', 16)));
CREATE TABLE shown_parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE shown_part PARTITION OF shown_parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE shown_rest PARTITION OF shown_parts DEFAULT;
INSERT INTO shown_parts SELECT * FROM shown WHERE id < 10;
CREATE INDEX ON shown_parts USING lsh (sig);
ANALYZE shown_parts;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT pg_temp.shown(format('SELECT id FROM shown_parts WHERE minhash_similar(sig, %L, 0.5)
    ORDER BY sig <%%> %1$L', :'q'));
RESET ALL;

-- A statement that is explained gives the same result as otherwise: signatures in its result are whole.
CREATE TABLE shown_copy (sig text);
CREATE FUNCTION pg_temp.analyze(query text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'EXPLAIN ANALYZE ' || query;
    RETURN true;
END $$;
SELECT pg_temp.analyze(format('INSERT INTO shown_copy SELECT %L::minhash_signature::text FROM shown
    WHERE sig <%%> %1$L < 0.1', :'q'));
PREPARE whole AS SELECT :'q'::minhash_signature AS sig FROM shown WHERE id = 7;
EXPLAIN (COSTS off) EXECUTE whole;
CREATE TABLE shown_whole AS EXECUTE whole;
SELECT pg_typeof(w.sig), w.sig::text = :'q' AS prepared, c.sig = :'q' AS explained FROM shown_whole w, shown_copy c;
PREPARE types AS SELECT pg_typeof(:'q'::minhash_signature) AS type, sig <%> :'q' AS distance,
        row_to_json(ROW(:'q'::minhash_signature))::text LIKE '%' || :'q' || '%' AS is_whole,
        array_append(NULL, :'q'::minhash_signature) = ARRAY[sig] AS is_equal FROM shown WHERE id = 7;
EXPLAIN (COSTS off) EXECUTE types;
EXECUTE types;
-- Types of other users with the same names keep their own output.
CREATE SCHEMA look_alike;
CREATE TYPE look_alike.minhash_signature AS ENUM ('a');
CREATE TYPE look_alike.minhash_abridged AS (x text);
CREATE FUNCTION look_alike.f(look_alike.minhash_signature) RETURNS boolean STABLE LANGUAGE plpgsql AS
    'BEGIN RETURN true; END';
SELECT pg_temp.shown($$SELECT FROM shown WHERE look_alike.f('a')$$);
SET client_min_messages = warning;
DROP SCHEMA look_alike CASCADE;
RESET client_min_messages;
DROP TABLE shown, shown_parts, shown_copy, shown_whole CASCADE;
