-- Bulk functions give the same answers in the same order with and without background workers, even if the planner's
-- estimates are wrong. (test/tap/430_bulk_workers.pl tests that workers run, and that they always end.)

-- 4 MB of texts in families of three. Some texts are equal, and some are empty.
CREATE TABLE texts AS SELECT n AS id,
    CASE WHEN n % 97 = 0 THEN ' ' ELSE string_agg(md5(concat(n / 3, word)), ' ') || n % 3 / 2 END AS body
    FROM generate_series(1, 4000) n, generate_series(1, 30) word GROUP BY n;
ANALYZE texts;
CREATE FUNCTION answers(workers int) RETURNS TABLE (call text, rows bigint, hash text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
    FOREACH call IN ARRAY ARRAY[
        $c$lsh_pairs('SELECT id, body FROM texts')$c$,
        $c$lsh_pairs('SELECT id, body FROM texts', threshold => 0.5, verify => 'estimate')$c$,
        $c$lsh_pairs('SELECT id, body, id % 2 AS scope FROM texts', threshold => 0.9)$c$,
        $c$lsh_pairs('SELECT id, body FROM texts WHERE id % 2 = 0',
            other_query => 'SELECT id, body FROM texts WHERE id % 2 = 1')$c$,
        $c$lsh_contained('SELECT id, body FROM texts WHERE id < 2500')$c$,
        $c$lsh_clusters('SELECT id, body FROM texts')$c$,
        $c$lsh_clusters('SELECT id, body, -id AS rank FROM texts', near_representative => true, singletons => true)$c$]
    LOOP
        EXECUTE format('SELECT count(*), md5(string_agg(c::text, '','')) FROM %s c', call) INTO rows, hash;
        RETURN NEXT;
    END LOOP;
END $$;
SET client_min_messages = warning; -- no notices of empty texts
SELECT a.call, a.rows, b.hash = a.hash AS with_one, c.hash = a.hash AS with_three
    FROM answers(0) a JOIN answers(1) b USING (call) JOIN answers(3) c USING (call) ORDER BY call;
RESET client_min_messages;
-- With a developer's setting, workers run even for little work.
SELECT set_config(name, 'regress', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
DELETE FROM texts WHERE id > 60;
SELECT a.call, a.rows, b.hash = a.hash AS with_one, c.hash = a.hash AS with_three
    FROM answers(0) a JOIN answers(1) b USING (call) JOIN answers(3) c USING (call) ORDER BY call;
SELECT set_config(name, 'off', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
DROP TABLE texts;
DROP FUNCTION answers;

-- The number of rows that the planner expects does not change the answers. There are families of three texts, whose
-- similarity is more than 0.9, and more rows than the sample from which bands are chosen.
CREATE FUNCTION of_few() RETURNS TABLE (id int, body text) LANGUAGE sql ROWS 1 AS
    $$SELECT n, md5((n / 3)::text) || md5((n / -3)::text) || ' ' || n % 3 FROM generate_series(3, 11999) n$$;
CREATE FUNCTION of_many() RETURNS TABLE (id int, body text) LANGUAGE sql ROWS 2000000000 AS 'SELECT * FROM of_few()';
SELECT first, other, (SELECT concat_ws(', ', count(*), sum(left_id), sum(right_id), min(similarity) > 0.9)
    FROM lsh_pairs(format('SELECT * FROM %s()', first),
        other_query => CASE WHEN other <> '' THEN format('SELECT * FROM %s() WHERE id %% 3 = 1', other) END)) AS answer
FROM unnest(ARRAY['of_few', 'of_many']) first, unnest(ARRAY['', 'of_few', 'of_many']) other;
SELECT first, (SELECT concat_ws(', ', count(*), sum(id), sum(cluster_id), min(similarity) > 0.9)
    FROM lsh_clusters(format('SELECT * FROM %s()', first))) AS answer
FROM unnest(ARRAY['of_few', 'of_many']) first;
DROP FUNCTION of_few, of_many;
