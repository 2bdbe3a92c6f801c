-- An SVG picture: how many clusters there are of which size, at three thresholds. Clusters of many texts are templates.
--
--   psql -X -q -f doc/examples/cluster_sizes.sql > cluster_sizes.svg
--   psql -X -q -v source=articles -v id=id -v text=body -f doc/examples/cluster_sizes.sql > cluster_sizes.svg    (your own texts)
\ir own_texts.sql
\ir style.sql
\pset format unaligned
\pset tuples_only on

CREATE TEMP TABLE classes (class, smallest, label) AS
VALUES (0, 2, '2'), (1, 3, '3'), (2, 4, '4 to 5'), (3, 6, '6 to 8'), (4, 9, '9 to 12'), (5, 13, '13 and more');
CREATE TEMP TABLE thresholds (threshold, n) AS SELECT * FROM unnest(ARRAY[0.9, 0.7, 0.5]) WITH ORDINALITY;
CREATE TEMP TABLE clusters AS
SELECT n, threshold, (SELECT max(class) FROM classes WHERE smallest <= size) AS class
FROM thresholds,
    LATERAL (SELECT cluster_id, count(*) AS size
        FROM lsh_clusters('SELECT id, body FROM paragraphs', threshold => threshold) GROUP BY cluster_id) sizes
WHERE size > 1;
CREATE TEMP TABLE bars AS
SELECT n, threshold, class, label, count(clusters.class) AS clusters
FROM (classes CROSS JOIN thresholds) LEFT JOIN clusters USING (n, threshold, class)
GROUP BY n, threshold, class, label;

WITH place AS (SELECT 70 AS left_end, 620.0 / 6 AS width, 400 AS bottom, 330.0 / greatest(max(clusters), 1) AS height FROM bars),
drawn AS (
    SELECT string_agg(format('<rect class="bar s%s" x="%s" y="%s" width="26" height="%s"/>'
        '<text class="middle" x="%s" y="%s">%s</text>', n, round(x, 1), round(bottom - height * clusters, 1),
        round(height * clusters, 1), round(x + 13, 1), round(bottom - height * clusters - 5, 1), clusters), E'\n'
        ORDER BY class, n) AS svg
    FROM place, bars, LATERAL (SELECT left_end + width * class + 10 + 28 * (n - 1) AS x) AS at),
ticks AS (
    SELECT string_agg(format('<text class="middle" x="%s" y="%s">%s</text>', round(left_end + width * (class + 0.5), 1),
        bottom + 20, label), E'\n' ORDER BY class) AS svg
    FROM place, classes),
legend AS (
    SELECT string_agg(format('<rect class="bar s%1$s" x="560" y="%2$s" width="14" height="14"/>'
        '<text x="582" y="%3$s">threshold %4$s</text>', n, 58 + 22 * n, 70 + 22 * n, threshold), E'\n'
        ORDER BY n) AS svg
    FROM (SELECT DISTINCT n, threshold FROM bars) thresholds)
SELECT format($svg$<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 460" width="720" height="460">
<title>How many clusters there are of which size</title>
<style>%s</style>
<rect class="paper" width="720" height="460"/>
<text class="title" x="70" y="32">Clusters by size</text>
<text class="right" x="690" y="32">%s %s</text>
%s
<line class="axis" x1="70" x2="690" y1="400" y2="400"/>
%s
%s
<text class="middle" x="380" y="446">texts in a cluster</text>
</svg>$svg$, :'style', (SELECT to_char(count(*), 'FM999,999,999') FROM paragraphs), :'texts', drawn.svg, ticks.svg, legend.svg)
FROM drawn, ticks, legend;
