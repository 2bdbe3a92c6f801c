-- Measures how the time to all near-duplicate pairs grows with the number of texts, for the picture of growth.sql: by
-- lsh_pairs(), by a join through an index of pg_trgm, and by comparing each text with every other one. In a database with
-- both extensions, on a quiet machine, sample minutes:
--
--   psql -X -q -f doc/examples/growth_measured.sql
--
-- Texts of about 700 characters, 100 words from 20,000 of which few are frequent; every tenth is an earlier one with two
-- words changed.
\pset format unaligned
\pset tuples_only on
\set ON_ERROR_STOP on
SET maintenance_work_mem = '1GB';

CREATE FUNCTION pg_temp.word(text_number int, place int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(md5((20000 * ((hashint8(text_number * 1000::bigint + place) & 65535) / 65536.0) ^ 3)::int::text), 1, 6)
$$;
CREATE TEMP TABLE texts AS
SELECT id, (SELECT string_agg(pg_temp.word(CASE WHEN id % 10 = 0 AND place NOT IN (20, 70) THEN id - 5 ELSE id END, place),
        ' ' ORDER BY place) FROM generate_series(1, 100) AS place) AS body
FROM generate_series(1, 300000) AS id;

CREATE PROCEDURE pg_temp.measure(method text, sizes int[], query text) LANGUAGE plpgsql AS $$
DECLARE
    size int; begun timestamptz; found bigint; seconds float8[];
BEGIN
    FOREACH size IN ARRAY sizes LOOP
        CREATE TEMP TABLE sample AS SELECT id::bigint, body FROM texts WHERE id <= size;
        IF method LIKE 'pg_trgm%' THEN
            CREATE INDEX ON sample USING gin (body gin_trgm_ops);
        END IF;
        ANALYZE sample;
        seconds := '{}';
        FOR run IN 1..3 LOOP
            begun := clock_timestamp();
            EXECUTE query INTO found;
            seconds := seconds || extract(epoch FROM clock_timestamp() - begun)::float8;
            EXIT WHEN seconds[1] > 10;
        END LOOP;
        RAISE INFO '    (''%'', %, %),  -- % pairs', method, size,
            (SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY s)::numeric, 4) FROM unnest(seconds) AS s), found;
        DROP TABLE sample;
    END LOOP;
END $$;
\set sizes 'ARRAY[300, 1000, 3000, 10000, 30000, 100000, 300000]'
CALL pg_temp.measure('lsh_pairs()', :sizes,
    'SELECT count(*) FROM lsh_pairs(''SELECT id, body FROM sample'', threshold => 0.8)');
CALL pg_temp.measure('every pair compared', (:sizes)[1:2],
    'SELECT count(*) FROM sample a JOIN sample b ON a.id < b.id AND shingle_jaccard(a.body, b.body) >= 0.8');
SET pg_trgm.similarity_threshold = 0.8;
CALL pg_temp.measure('pg_trgm, with an index', (:sizes)[1:3],
    'SELECT count(*) FROM sample a JOIN sample b ON a.body % b.body AND a.id < b.id');
