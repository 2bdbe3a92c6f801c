-- An SVG picture: how similar the pairs are that lsh_pairs() finds. A gap is a good place for a threshold.
--
--   psql -X -q -f doc/examples/histogram.sql > histogram.svg
--   psql -X -q -v source=articles -v id=id -v text=body -f doc/examples/histogram.sql > histogram.svg    (your own texts)
\ir own_texts.sql
\ir style.sql
\pset format unaligned
\pset tuples_only on

CREATE TEMP TABLE bars AS
SELECT bar, count(similarity) AS pairs
FROM generate_series(6, 19) AS bar LEFT JOIN lsh_pairs('SELECT id, body FROM paragraphs', threshold => 0.3)
    ON least(floor(similarity * 20 + 1e-9), 19) = bar
GROUP BY bar;

WITH place AS (SELECT 70 AS left_end, 620.0 / 14 AS width, 400 AS bottom, 330.0 / greatest(max(pairs), 1) AS height FROM bars),
drawn AS (
    SELECT string_agg(format('<rect class="bar s1" x="%s" y="%s" width="%s" height="%s"/><text class="middle" x="%s"'
        ' y="%s">%s</text>', round(left_end + width * (bar - 6) + 3, 1), round(bottom - height * pairs, 1),
        round(width - 6, 1), round(height * pairs, 1), round(left_end + width * (bar - 5.5), 1),
        round(bottom - height * pairs - 5, 1), pairs), E'\n' ORDER BY bar) AS svg
    FROM place, bars),
ticks AS (
    SELECT string_agg(format('<text class="middle" x="%s" y="%s">%s</text>', round(left_end + width * (bar - 6), 1),
        bottom + 20, round(bar / 20.0, 2)), E'\n' ORDER BY bar) AS svg
    FROM place, generate_series(6, 20, 2) AS bar)
SELECT format($svg$<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 460" width="720" height="460">
<title>How similar the pairs are</title>
<style>%s</style>
<rect class="paper" width="720" height="460"/>
<text class="title" x="70" y="32">Pairs by similarity</text>
<text class="right" x="690" y="32">%s %s, %s pairs from 0.3 on</text>
%s
<line class="axis" x1="70" x2="690" y1="400" y2="400"/>
%s
<text class="middle" x="380" y="446">exact Jaccard similarity of two texts</text>
</svg>$svg$, :'style', (SELECT to_char(count(*), 'FM999,999,999') FROM paragraphs), :'texts',
    (SELECT to_char(sum(pairs), 'FM999,999,999') FROM bars), drawn.svg, ticks.svg)
FROM drawn, ticks;
