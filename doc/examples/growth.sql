-- An SVG picture: how the time to all pairs grows with the number of texts, as growth_measured.sql measures it.
--
--   psql -X -q -f doc/examples/growth.sql > growth.svg
\ir style.sql
\pset format unaligned
\pset tuples_only on

-- Virtual AMD EPYC with two cores, PostgreSQL 15, one worker beside the session, 2026-11-22. pg_trgm with 300 texts
-- is left out: the planner did not use its index, and it took 12.4 s.
CREATE TEMP TABLE measured (method, texts, seconds) AS VALUES
    ('lsh_pairs()', 300, 0.0040),
    ('lsh_pairs()', 1000, 0.0121),
    ('lsh_pairs()', 3000, 0.0187),
    ('lsh_pairs()', 10000, 0.0332),
    ('lsh_pairs()', 30000, 0.0520),
    ('lsh_pairs()', 100000, 0.1797),
    ('lsh_pairs()', 300000, 0.3945),
    ('every pair compared', 300, 1.3295),
    ('every pair compared', 1000, 14.4158),
    ('pg_trgm, with an index', 1000, 5.7507),
    ('pg_trgm, with an index', 3000, 49.0183);

CREATE TEMP TABLE points AS
SELECT method, texts, seconds, dense_rank() OVER (ORDER BY method <> 'lsh_pairs()', method DESC) AS n,
    round(70 + 620 * (log(texts::numeric) - log(200.0)) / (log(500000.0) - log(200.0)), 1) AS x,
    round(400 - 330 * (log(seconds) + 3) / 6, 1) AS y
FROM measured;

WITH grid AS (
    SELECT string_agg(line, E'\n') AS svg
    FROM (SELECT format('<line class="grid" x1="70" x2="690" y1="%1$s" y2="%1$s"/>'
                '<text class="right" x="62" y="%2$s">%3$s</text>',
                400 - 55 * tick, 404 - 55 * tick,
                (ARRAY['1 ms', '10 ms', '0.1 s', '1 s', '10 s', '100 s', '1,000 s'])[tick + 1]) AS line
            FROM generate_series(0, 6) AS tick
        UNION ALL
        SELECT format('<line class="grid" x1="%1$s" x2="%1$s" y1="70" y2="400"/>'
                '<text class="middle" x="%1$s" y="420">%2$s</text>',
                round(70 + 620 * (log(texts::numeric) - log(200.0)) / (log(500000.0) - log(200.0)), 1),
                to_char(texts, 'FM999,999'))
            FROM unnest(ARRAY[300, 1000, 3000, 10000, 30000, 100000, 300000]) AS texts) lines),
lines AS (
    SELECT string_agg(format('<polyline class="line s%s" points="%s"/>%s', n, points, circles), E'\n' ORDER BY n) AS svg
    FROM (SELECT n, string_agg(x || ',' || y, ' ' ORDER BY x) AS points,
            string_agg(format('<circle class="dot s%s" cx="%s" cy="%s" r="4"/>', n, x, y), '' ORDER BY x) AS circles
        FROM points GROUP BY n) curves),
labels AS (
    SELECT string_agg(format('<text x="%s" y="%s">%s</text>', x + CASE n WHEN 3 THEN -110 ELSE 10 END, y + CASE n WHEN 3 THEN -12 ELSE 16 END,
        method), E'\n' ORDER BY n) AS svg
    FROM (SELECT DISTINCT ON (n) n, method, x, y FROM points WHERE x < 600 ORDER BY n, x DESC) last)
SELECT format($svg$<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 460" width="720" height="460">
<title>How the time to all pairs grows with the number of texts</title>
<style>%s</style>
<rect class="paper" width="720" height="460"/>
<text class="title" x="70" y="32">Time to all near-duplicate pairs</text>
<text x="70" y="54">texts of 700 characters, threshold 0.8; both scales are logarithmic</text>
%s
%s
%s
<text class="middle" x="380" y="446">texts</text>
</svg>$svg$, :'style', grid.svg, lines.svg, labels.svg)
FROM grid, lines, labels;
