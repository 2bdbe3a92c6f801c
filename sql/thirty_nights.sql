-- Tests the job of doc/every-night.md. A table grows for thirty nights, and each night the clusters are refreshed, with
-- a log. On two of three nights, the refresh is told which rows have changed. On some days, a reviewer tells rows of a
-- cluster apart, or takes that back. Each night, the clusters must equal those that lsh_clusters() finds, must keep
-- their numbers, and must have no two rows together that the reviewer has told apart.

SET client_min_messages = warning;
CREATE SCHEMA thirty_nights;
SET search_path = thirty_nights, public;
CREATE TABLE articles (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, updated_at int NOT NULL);
-- Returns thirty words of a subject's story. Two articles of a subject are similar enough if they begin at most five
-- words apart.
CREATE FUNCTION article(subject int, edit int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(left(md5(concat(subject, '-', w + edit % 20)), 6), ' ' ORDER BY w)
    FROM generate_series(1, 30) AS w
$$;
INSERT INTO articles (body, updated_at) SELECT article(i % 800, i / 7), 0 FROM generate_series(1, 2400) AS i;
CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));
ANALYZE articles;
CREATE TABLE not_duplicates (left_id bigint, right_id bigint);
SET enable_seqscan = off; -- because the table is small
CREATE TABLE first_night AS SELECT rows_added, clusters_made AS clusters
FROM lsh_create_clusters('article_clusters', 'SELECT id, body FROM articles', threshold => 0.7, recall => 0.9999,
    apart => 'SELECT left_id, right_id FROM not_duplicates');
CREATE TABLE replayed AS SELECT id, cluster_id, representative FROM article_clusters;
ALTER TABLE replayed ADD PRIMARY KEY (id);
CREATE TABLE nights (night int, told boolean, added bigint, removed bigint, changed bigint, made bigint, joined bigint,
    split bigint, dissolved bigint, wrong bigint, lost bigint, verdicts bigint, ignored bigint);
DO $$
DECLARE
    found nights;
BEGIN
    FOR tonight IN 1 .. 30 LOOP
        CREATE TABLE before AS TABLE article_clusters;
        CREATE TABLE gone AS SELECT id FROM articles WHERE id % 201 = tonight;
        DELETE FROM articles USING gone WHERE articles.id = gone.id;
        UPDATE articles SET body = article((id / 7 + tonight)::int % 900, tonight), updated_at = tonight
        WHERE id % 203 = tonight;
        INSERT INTO articles (body, updated_at)
        SELECT article(tonight * i % 1000, 1000 * tonight + i), tonight FROM generate_series(1, 15) AS i;
        -- The reviewer sees what the last refresh has left. Some rows are gone by now.
        IF tonight % 4 = 0 THEN
            INSERT INTO not_duplicates SELECT id, representative FROM before
            WHERE id <> representative AND cluster_id % 9 = tonight % 9;
            DELETE FROM not_duplicates WHERE (left_id + tonight) % 13 = 0;
        END IF;
        SELECT tonight, tonight % 3 > 0, r.* INTO found FROM lsh_refresh_clusters('article_clusters', changed =>
            CASE WHEN tonight % 3 > 0 THEN format('SELECT id FROM articles WHERE updated_at = %s
                UNION ALL SELECT id FROM gone', tonight) END, log => 'article_cluster_log') AS r;
        found.wrong := (SELECT count(*) FROM lsh_clusters('SELECT id, body FROM articles', threshold => 0.7,
                recall => 0.9999, near_representative => true, singletons => true,
                apart => 'SELECT left_id, right_id FROM not_duplicates') AS c
            FULL JOIN article_clusters AS k USING (id, representative, similarity)
            WHERE c.cluster_id IS NULL OR k.cluster_id IS NULL);
        -- A number is lost if no cluster has it, and no row of its old cluster is now in one with a smaller number.
        found.lost := (SELECT count(*) FROM (SELECT b.cluster_id FROM before AS b JOIN article_clusters AS k USING (id)
            GROUP BY b.cluster_id HAVING min(k.cluster_id) > b.cluster_id) AS s
            WHERE cluster_id NOT IN (SELECT cluster_id FROM article_clusters));
        found.verdicts := (SELECT count(*) FROM not_duplicates);
        found.ignored := (SELECT count(*) FROM not_duplicates AS d JOIN article_clusters AS l ON l.id = d.left_id
            JOIN article_clusters AS r ON r.id = d.right_id WHERE l.cluster_id = r.cluster_id);
        INSERT INTO nights SELECT found.*;
        DROP TABLE before, gone;
    END LOOP;
END $$;
SELECT told, count(*) AS nights, sum(added) AS added, sum(removed) > 100 AS removed, sum(changed) > 100 AS changed,
    sum(joined) > 0 AS joined, sum(split) > 0 AS split, sum(wrong) AS wrong, sum(lost) AS lost,
    max(verdicts) > 100 AS verdicts, sum(ignored) AS ignored
FROM nights GROUP BY told ORDER BY told;
-- The counts that the refreshes reported add up to the contents of the table.
SELECT count(*) = 2400 + (SELECT sum(added - removed) FROM nights) AS rows, count(DISTINCT cluster_id)
        = (SELECT clusters + sum(made - joined - dissolved) FROM first_night, nights GROUP BY clusters) AS clusters,
    (SELECT count(DISTINCT refresh) FROM article_cluster_log) = 30 AS log
FROM article_clusters;
-- Applied to a copy of the first night, the log gives the table.
DO $$
DECLARE
    entry article_cluster_log;
BEGIN
    FOR entry IN SELECT * FROM article_cluster_log ORDER BY refresh LOOP
        DELETE FROM replayed WHERE id = entry.id;
        INSERT INTO replayed SELECT entry.id, entry.cluster_id, entry.representative WHERE entry.cluster_id IS NOT NULL;
    END LOOP;
END $$;
SELECT count(*) AS differences FROM (SELECT id, cluster_id, representative FROM article_clusters) AS k
    FULL JOIN replayed AS r USING (id, cluster_id, representative) WHERE k IS NULL OR r IS NULL;
SELECT refreshes, row_count = (SELECT count(*) FROM article_clusters) AS counted FROM article_clusters_settings;
SELECT pg_stat_force_next_flush();
SELECT idx_scan > 500 AS by_index FROM pg_stat_user_indexes WHERE indexrelname = 'articles_minhash';

RESET enable_seqscan;
RESET search_path;
DROP SCHEMA thirty_nights CASCADE;
