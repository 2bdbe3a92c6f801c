-- An SVG picture: which share of pairs bands and rows find, promised (lines) and measured on real texts (dots).
--
--   psql -X -q -f doc/examples/s_curves.sql > s_curves.svg
\ir licence_paragraphs.sql
\ir style.sql
\pset format unaligned
\pset tuples_only on

-- What lsh_params() chooses for three thresholds.
CREATE TEMP TABLE shapes AS
SELECT row_number() OVER (ORDER BY threshold DESC) AS n, threshold, bands, rows
FROM unnest(ARRAY[0.9, 0.8, 0.6]) AS threshold, lsh_params(threshold) AS chosen;

-- All pairs with their exact similarity, and whether they share a band key, for many seeds: the pairs of a family
-- of texts are found or missed together, so that with 8 seeds dots lay up to 12 points off their line, and with 32 up to 5.
CREATE TEMP TABLE pairs AS
SELECT a.id AS a, b.id AS b, shingle_jaccard(a.body, b.body) AS similarity
FROM paragraphs a JOIN paragraphs b ON a.id < b.id;
CREATE TEMP TABLE keys AS
SELECT n, seed, id, lsh_band_keys(minhash(body, seed => seed), bands, rows) AS keys
FROM shapes, generate_series(1, 32) AS seed, paragraphs;
CREATE INDEX ON keys (seed, n, id);
ANALYZE pairs, keys;
CREATE TEMP TABLE measured AS
SELECT x.n, round(similarity::numeric * 20) / 20 AS near, avg(similarity) AS similarity, count(*) AS pairs,
    avg((x.keys && y.keys)::int) AS recall
FROM pairs JOIN keys x ON x.id = a JOIN keys y ON y.id = b AND y.n = x.n AND y.seed = x.seed
WHERE similarity > 0.175 GROUP BY x.n, near;

WITH place AS (SELECT 70 AS left_end, 620 AS width, 400 AS bottom, 330 AS height),
axes AS (
    SELECT string_agg(format('<line class="grid" x1="%1$s" x2="%2$s" y1="%3$s" y2="%3$s"/>'
        '<line class="grid" x1="%4$s" x2="%4$s" y1="%5$s" y2="%6$s"/><text class="right" x="%7$s" y="%8$s">%9$s%%</text>'
        '<text class="middle" x="%4$s" y="%10$s">%11$s</text>',
        left_end, left_end + width, bottom - height * tick / 10, left_end + width * tick / 10, bottom - height, bottom,
        left_end - 8, bottom - height * tick / 10 + 4, tick * 10, bottom + 20, round(tick / 10.0, 1)), E'\n'
        ORDER BY tick) AS svg
    FROM place, generate_series(0, 10, 2) AS tick),
lines AS (
    SELECT string_agg(format('<polyline class="line s%s" points="%s"/>', n, points), E'\n' ORDER BY n) AS svg
    FROM (SELECT n, string_agg(format('%s,%s', round(left_end + width * similarity::numeric, 1),
            round(bottom - height * probability::numeric, 1)), ' ' ORDER BY similarity) AS points
        FROM place, shapes, lsh_curve(bands, rows, 100) GROUP BY n) curves),
dots AS (
    SELECT string_agg(format('<circle class="dot s%s" cx="%s" cy="%s" r="4.5"/>', n,
        round(left_end + width * similarity::numeric, 1), round(bottom - height * recall, 1)), E'\n' ORDER BY n, near) AS svg
    FROM place, measured),
legend AS (
    SELECT string_agg(format('<polyline class="line s%1$s" points="%2$s,%4$s %3$s,%4$s"/>'
        '<circle class="dot s%1$s" cx="%5$s" cy="%4$s" r="4.5"/>'
        '<text x="%6$s" y="%7$s">%8$s bands of %9$s rows (%10$s)</text>',
        n, left_end + 20, left_end + 60, bottom - height + 20 + 22 * n, left_end + 40, left_end + 70,
        bottom - height + 24 + 22 * n, bands, rows, threshold), E'\n' ORDER BY n) AS svg
    FROM place, shapes)
SELECT format($svg$<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 460" width="720" height="460">
<title>Share of pairs found, by similarity</title>
<style>%s</style>
<rect class="paper" width="720" height="460"/>
<text class="title" x="70" y="32">Share of pairs found: promised (lines), measured (dots)</text>
<text x="70" y="54">95%% at the similarity in brackets; %s paragraphs of licences, %s pairs, 32 seeds</text>
%s
<line class="axis" x1="70" x2="690" y1="400" y2="400"/><line class="axis" x1="70" x2="70" y1="70" y2="400"/>
<text class="middle" x="380" y="446">exact Jaccard similarity of two texts</text>
%s
%s
%s
</svg>$svg$, :'style', (SELECT count(*) FROM paragraphs),
    (SELECT to_char(sum(pairs) / 32, 'FM999,999') FROM measured WHERE n = 1), axes.svg, lines.svg, dots.svg, legend.svg)
FROM axes, lines, dots, legend;
