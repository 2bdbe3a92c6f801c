-- A report on the near-duplicates in a table, for psql: how many there are and how similar, the largest clusters with
-- samples, hot buckets, what would go if one text of each cluster were kept, and what some pairs differ in.
--
--   psql -X -q -v source=articles -v id=id -v text=body -v threshold=0.8 -f doc/examples/report.sql
--
-- With -v html=pairs.html it also writes a page of 20 pairs side by side (side_by_side.sql).
-- It reads the table once and changes nothing; its tables are temporary. Without a value id is "id", text is "body" and
-- threshold is 0.8. The source is written as in FROM, so that '"My texts"' and '(SELECT ...) AS q' will do; id and text are
-- names of columns.
\set ON_ERROR_STOP on
\if :{?source}
\else
\warn 'usage: psql -X -q -v source=TABLE -v id=id -v text=body -v threshold=0.8 -f report.sql'
\quit
\endif
\if :{?id}
\else
\set id id
\endif
\if :{?text}
\else
\set text body
\endif
\if :{?threshold}
\else
\set threshold 0.8
\endif
\pset footer off

-- Names in double quotes are meant without them.
SELECT trim('"' FROM :'id') AS id, trim('"' FROM :'text') AS text \gset
CREATE TEMP TABLE report_texts AS SELECT :"id" AS id, :"text" AS body FROM :source;
ANALYZE report_texts;
SELECT format_type(atttypid, NULL) AS id_type FROM pg_attribute
WHERE attrelid = 'report_texts'::regclass AND attname = 'id' \gset
CREATE TEMP TABLE report_pairs AS
SELECT * FROM lsh_pairs('SELECT id, body FROM report_texts', NULL:: :id_type, threshold => :threshold);
CREATE TEMP TABLE report_clusters AS
SELECT * FROM lsh_clusters('SELECT id, body, -length(body) AS rank FROM report_texts', NULL:: :id_type,
    threshold => :threshold, near_representative => true);

\echo
\echo :source, from similarity :threshold on
SELECT count(*) AS texts, count(*) - count(body) AS nulls, count(*) FILTER (WHERE body = '') AS empty,
    count(body) - count(DISTINCT body) AS exact_copies, pg_size_pretty(sum(octet_length(body))) AS size,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY length(body)) AS median_length
FROM report_texts;

\echo How similar the pairs are
SELECT round(:threshold + bar * step, 3) AS from, count(left_id) AS pairs,
    repeat('#', (60 * count(left_id) / greatest(max(count(left_id)) OVER (), 1))::int) AS histogram
FROM (SELECT (1 - :threshold) / 10.0 AS step) s, generate_series(0, 9) AS bar
    LEFT JOIN report_pairs ON least(floor((similarity - :threshold) / (1.0001 - :threshold) * 10), 9) = bar
GROUP BY bar, step ORDER BY bar;

\echo Clusters by size
SELECT size, count(DISTINCT cluster_id) AS clusters, count(*) AS texts
FROM report_clusters GROUP BY size ORDER BY size DESC LIMIT 15;

\echo The largest clusters, each by the text that would be kept (the longest) and two others
SELECT size, id, id = representative AS kept, left(regexp_replace(body, '\s+', ' ', 'g'), 60) AS text
FROM (SELECT c.*, body, row_number() OVER (PARTITION BY cluster_id ORDER BY id <> representative, id) AS n,
        dense_rank() OVER (ORDER BY size DESC, cluster_id) AS place
    FROM report_clusters c JOIN report_texts USING (id)) members
WHERE place <= 5 AND n <= 3 ORDER BY place, n;

\echo The largest buckets: parts that very many texts have in common, which make lookups slow
SELECT key, count(*) AS texts, left(regexp_replace(min(body), '\s+', ' ', 'g'), 50) AS first_text
FROM report_texts, lsh_params(:threshold) AS p, LATERAL lsh_bands(minhash(body), p.bands, p.rows)
GROUP BY key HAVING count(*) > 1 ORDER BY count(*) DESC, key LIMIT 5;

\echo What would go if one text of each cluster were kept
SELECT count(*) AS texts, round(100.0 * count(*) / greatest((SELECT count(*) FROM report_texts), 1), 1) AS percent,
    pg_size_pretty(coalesce(sum(octet_length(body)), 0)) AS size
FROM report_clusters c JOIN report_texts USING (id) WHERE id <> representative;

\echo Of the least similar pairs, of those in the middle and of the most similar ones, one: what differs is in brackets
SELECT DISTINCT ON (part) round(similarity::numeric, 3) AS similarity,
    left_id, regexp_replace(shingle_headline(l.body, r.body, options), '\s+', ' ', 'g') AS left_text,
    right_id, regexp_replace(shingle_headline(r.body, l.body, options), '\s+', ' ', 'g') AS right_text
FROM (SELECT 'StartSel="[", StopSel="]", MaxFragments=2, MaxWords=12' AS options) o,
    (SELECT *, ntile(3) OVER (ORDER BY similarity, left_id, right_id) AS part FROM report_pairs WHERE similarity < 1) p
    JOIN report_texts l ON l.id = left_id JOIN report_texts r ON r.id = right_id
ORDER BY part, p.similarity, left_id, right_id \gx
\if :{?html}
\set source report_texts
\set id id
\set text body
\set pairs '(SELECT * FROM report_pairs WHERE similarity < 1 ORDER BY similarity, left_id, right_id LIMIT 20) AS p'
\o :html
\ir side_by_side.sql
\o
\endif
DROP TABLE report_texts, report_pairs, report_clusters;
