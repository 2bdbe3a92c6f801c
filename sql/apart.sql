-- The argument apart of lsh_pairs() and lsh_clusters(): pairs of ids that a person has told apart.

-- Six copies of a text, some of them with a change; five copies of another text; and one text that is near nothing.
CREATE TABLE ads (id int PRIMARY KEY, body text);
INSERT INTO ads SELECT n, 'We are a family firm in the heart of the city with flat hierarchies, free fruit and thirty '
    'days of leave. We are looking for a ' || CASE WHEN n % 3 = 0 THEN 'plumber.' ELSE 'carpenter.' END
FROM generate_series(1, 6) n;
INSERT INTO ads SELECT n, 'Second-hand bicycle, blue, three gears, only to somebody who collects it'
FROM generate_series(11, 15) n;
INSERT INTO ads VALUES (20, 'Piano lessons for beginners of any age');
CREATE TABLE not_duplicates (left_id int, right_id int);
CREATE FUNCTION clusters_of(query text, apart text, OUT members text, OUT representative bigint)
    RETURNS SETOF record LANGUAGE sql AS $$
SELECT string_agg(id::text, ' ' ORDER BY id), representative
FROM lsh_clusters(query, near_representative => true, singletons => true, apart => apart)
GROUP BY representative ORDER BY representative
$$;

-- Without verdicts, nothing changes.
SELECT count(*) FROM lsh_pairs('TABLE ads');
SELECT count(*) FROM lsh_pairs('TABLE ads', apart => 'SELECT left_id, right_id FROM not_duplicates');
SELECT * FROM clusters_of('TABLE ads', NULL);
SELECT * FROM clusters_of('TABLE ads', 'TABLE not_duplicates');

-- Verdicts count in either order. Rows 1 and 2, and 11 and 12, have equal texts, of which the engine compares only one.
-- A row joins the first cluster that has no row from which it must stay apart. Rows 3 and 6 were told apart from row 2,
-- not from row 1.
INSERT INTO not_duplicates VALUES (1, 2), (3, 2), (2, 6), (12, 11), (13, 12);
SELECT left_id, right_id, round(similarity::numeric, 2) AS similarity FROM lsh_pairs('TABLE ads',
    apart => 'TABLE not_duplicates') WHERE left_id IN (2, 12) OR right_id IN (2, 12) ORDER BY 1, 2;
SELECT * FROM clusters_of('TABLE ads', 'TABLE not_duplicates');
SELECT * FROM lsh_clusters('TABLE ads', near_representative => true, apart => 'TABLE not_duplicates') ORDER BY id;
-- Better rows join first.
SELECT * FROM clusters_of('SELECT *, -id AS rank FROM ads', 'TABLE not_duplicates');
SELECT * FROM clusters_of('SELECT *, id <> 2 AS rank FROM ads ORDER BY id DESC', 'TABLE not_duplicates');
-- All rows can be told apart.
SELECT count(*) FROM lsh_pairs('TABLE ads', apart => 'SELECT a.id, b.id FROM ads a, ads b');
SELECT count(*) AS clusters, max(length(members)) AS longest
FROM clusters_of('TABLE ads', 'SELECT a.id, b.id FROM ads a, ads b');

-- Verdicts on ids that are gone, and on an id and itself, have no effect. Verdicts with a NULL are left out.
SELECT * FROM clusters_of('TABLE ads', 'VALUES (1, 100), (101, 102), (3, 3), (-1, -1)');
SELECT count(*) FROM lsh_pairs('TABLE ads', apart => 'VALUES (1, 1), (7, 8), (NULL, 2), (2, NULL), (NULL, NULL)');
SELECT count(*) FROM lsh_pairs('TABLE ads', apart => 'SELECT NULL::int, 1');
-- A verdict is on all rows that have the id. Rows with one id can be in one cluster.
SELECT string_agg(id::text, ' ' ORDER BY id), representative
FROM lsh_clusters('SELECT id % 3, body FROM ads WHERE id > 10', near_representative => true,
    apart => 'VALUES (1, 2), (0, 0)') GROUP BY representative ORDER BY 2;

-- Across two queries, the left id is that of a row of the query, and the right id that of a row of the other query,
-- because the ids of two tables can mean different things. So the same id can be told apart, too.
CREATE TABLE other_ads AS SELECT id - 10 AS id, body FROM ads WHERE id > 10;
SELECT left_id, right_id FROM lsh_pairs('SELECT * FROM ads WHERE id > 10', other_query => 'TABLE other_ads',
    apart => 'SELECT l, r FROM generate_series(11, 14) l, generate_series(1, 5) r') ORDER BY 1, 2;
SELECT left_id, right_id FROM lsh_pairs('TABLE other_ads', other_query => 'TABLE other_ads',
    apart => 'SELECT l, r FROM generate_series(1, 5) l, generate_series(1, 5) r WHERE l <= r') ORDER BY 1, 2;

-- Ids of many types. Equal ids are those that the type's equality operator finds equal.
CREATE FUNCTION with_ids(type text, id text, OUT left_out bigint, OUT sizes text) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT (%s)::%s, body FROM ads', id, type);
    apart text := format('SELECT (%s)::%s, (%s)::%2$s FROM not_duplicates', replace(id, 'id', 'left_id'), type,
        replace(id, 'id', 'right_id'));
BEGIN
    EXECUTE format('SELECT (SELECT count(*) FROM lsh_pairs(%1$L, NULL::%2$s, threshold => 0.8))
            - (SELECT count(*) FROM lsh_pairs(%1$L, NULL::%2$s, threshold => 0.8, apart => %3$L)),
        (SELECT string_agg(size::text, '' '' ORDER BY size) FROM lsh_clusters(%1$L, NULL::%2$s, threshold => 0.8,
            near_representative => true, singletons => true, apart => %3$L) WHERE id = representative)',
        query, type, apart) INTO left_out, sizes;
END $$;
CREATE DOMAIN span AS int4range;
SELECT type, left_out, sizes
FROM (VALUES ('bigint', 'id'), ('int', 'id'), ('smallint', 'id'), ('numeric', 'id + 0.50'), ('text', $$'x' || id$$),
    ('varchar', $$'x' || id$$), ('uuid', 'md5(id::text)'), ('date', $$date '2026-01-01' + id$$),
    ('int[]', 'ARRAY[id, -id]'), ('inet', $$'10.0.0.' || id$$),
    ('span', 'int4range(id, 100)')) AS t (type, id), with_ids(type, id);
SELECT count(*) FROM lsh_pairs('SELECT 1.0, ''a b c d'' UNION ALL SELECT 2, ''a b c d''', NULL::numeric,
    threshold => 0.8, apart => 'SELECT 1.00, 2.000');

-- Of 20,000 rows, each four have one text, and each row was told apart from the next one. Neither workers nor memory
-- change the result.
SET client_min_messages = warning; -- no notices about temporary files
CREATE TABLE many AS SELECT n, md5(n::text) AS id, repeat(md5((n / 4)::text), 9) AS body
FROM generate_series(0, 19999) n;
CREATE TABLE many_verdicts AS SELECT n AS l, n + 1 AS r FROM generate_series(0, 30000) n;
CREATE FUNCTION all_of(query text, apart text, workers text, memory text)
    RETURNS TABLE (pairs bigint, pair_sum numeric, clusters bigint, cluster_sum numeric) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('max_parallel_maintenance_workers', workers, true);
    PERFORM set_config('maintenance_work_mem', memory, true);
    RETURN QUERY SELECT * FROM
        (SELECT count(*), sum(hashtextextended(p::text, 0)) FROM lsh_pairs(query, NULL::text, apart => apart) p) p,
        (SELECT count(DISTINCT cluster_id), sum(hashtextextended(c::text, 0))
         FROM lsh_clusters(query, NULL::text, near_representative => true, singletons => true, apart => apart) c) c;
END $$;
SELECT query, pairs, clusters, count(*), count(DISTINCT a) AS different
FROM (VALUES ('SELECT id, body FROM many'), ('SELECT id, minhash(body) FROM many')) q (query),
    (VALUES ('0', '64MB'), ('2', '64MB'), ('0', '1MB'), ('2', '1MB')) s (workers, memory),
    all_of(query, 'SELECT md5(l::text), md5(r::text) FROM many_verdicts', workers, memory) a
GROUP BY 1, 2, 3 ORDER BY 1;
RESET client_min_messages;

-- Calls that are refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SELECT call, pg_temp.error_of('SELECT count(*) FROM ' || call) FROM (VALUES
    ($$lsh_clusters('TABLE ads', apart => 'TABLE not_duplicates')$$),
    ($$lsh_clusters('TABLE ads', near_representative => false, apart => '')$$),
    ($$lsh_pairs('TABLE ads', apart => 'SELECT left_id FROM not_duplicates')$$),
    ($$lsh_pairs('TABLE ads', apart => 'SELECT left_id, right_id, 1 FROM not_duplicates')$$),
    ($$lsh_pairs('TABLE ads', apart => 'SELECT left_id, right_id::text FROM not_duplicates')$$),
    ($$lsh_pairs('SELECT id::text, body FROM ads', NULL::text, apart => 'TABLE not_duplicates')$$),
    ($$lsh_pairs('TABLE ads', apart => 'not_duplicates')$$),
    ($$lsh_pairs('TABLE ads', apart => 'not_a_table')$$),
    ($$lsh_pairs('TABLE ads', apart => '')$$),
    ($$lsh_pairs('TABLE ads', apart => 'DELETE FROM not_duplicates RETURNING left_id, right_id')$$),
    ($$lsh_pairs('TABLE ads', apart => 'SELECT 1 / (left_id - 1), 2 FROM not_duplicates')$$),
    ($$lsh_pairs('SELECT id::text::tsvector, body FROM ads', NULL::tsvector,
        apart => 'SELECT NULL::tsvector, NULL::tsvector')$$)) AS c (call);
\pset format aligned
\pset tuples_only off

DROP DOMAIN span;
DROP TABLE ads, other_ads, not_duplicates, many, many_verdicts;
DROP FUNCTION clusters_of, with_ids, all_of;
