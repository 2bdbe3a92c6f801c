-- A page for a browser: pairs of texts side by side, with what one has and the other has not marked in both.
--
--   psql -X -q -v source=articles -v id=id -v text=body -v pairs=article_pairs \
--       -f doc/examples/side_by_side.sql > pairs.html
--
-- pairs has the columns left_id, right_id and similarity, as lsh_pairs() gives them; the least similar come first, 20
-- at most, or -v limit=100. It is written as in FROM, and so is the source: a table, or '(SELECT ...) AS p'. id and text
-- are names of columns. Without a source it shows paragraphs of licences. Texts are escaped: what they
-- have of HTML is shown as it is.
\set QUIET on
\if :{?limit}
\else
\set limit 20
\endif
\if :{?source}
\else
\ir licence_paragraphs.sql
\set source paragraphs
\set id id
\set text body
\set pairs '(SELECT DISTINCT ON (floor(similarity * 10)) * FROM lsh_pairs(\'SELECT id, body FROM paragraphs\','
\set pairs :pairs ' threshold => 0.4) WHERE similarity < 1 ORDER BY floor(similarity * 10), left_id, right_id) AS p'
\endif
\if :{?pairs}
\else
\warn 'usage: psql -X -q -v source=TABLE -v id=id -v text=body -v pairs=TABLE -f side_by_side.sql'
\quit
\endif
-- Names in double quotes are meant without them.
SELECT trim('"' FROM :'id') AS id, trim('"' FROM :'text') AS text \gset
\pset format unaligned
\pset tuples_only on
\encoding UTF8

-- Characters that no text may keep stand for the marks until it is escaped.
CREATE FUNCTION pg_temp.marked(a text, b text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    SELECT replace(replace(replace(replace(replace(
        shingle_headline(translate(a, E'\x02\x03', ''), b, E'HighlightAll=true, StartSel=\x02, StopSel=\x03'),
        '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), E'\x02', '<mark>'), E'\x03', '</mark>') $$;

\qecho '<!DOCTYPE html>'
\qecho '<html lang="en">'
\qecho '<head>'
\qecho '<meta charset="utf-8">'
\qecho '<title>Pairs side by side</title>'
\qecho '<style>'
\qecho 'body { color: #24292f; background: #ffffff; font: 15px sans-serif; margin: 2em }'
\qecho 'section { display: grid; grid-template-columns: 1fr 1fr; column-gap: 2em; border-top: 1px solid #8c959f }'
\qecho 'h2 { grid-column: 1 / 3; margin: 0.8em 0 0 0; font-size: 15px } h3 { font-size: 15px; color: #57606a }'
\qecho 'p { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1em 0; line-height: 1.4 }'
\qecho 'mark { color: inherit; background: #ffd8b5 }'
\qecho '@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } h3 { color: #8b949e }'
\qecho 'mark { background: #7a3e00 } }'
\qecho '</style>'
\qecho '</head>'
\qecho '<body>'
\qecho '<h1>Pairs side by side</h1>'
SELECT format(E'<section>\n<h2>similarity %s</h2>\n<h3>%s</h3><h3>%s</h3>\n<p>%s</p>\n<p>%s</p>\n</section>',
    round(similarity::numeric, 3), pg_temp.marked(left_id::text, left_id::text),
    pg_temp.marked(right_id::text, right_id::text), pg_temp.marked(l.body, r.body), pg_temp.marked(r.body, l.body))
FROM :pairs JOIN (SELECT :"id" AS id, :"text" AS body FROM :source) l ON l.id = left_id
    JOIN (SELECT :"id" AS id, :"text" AS body FROM :source) r ON r.id = right_id
ORDER BY similarity, left_id, right_id LIMIT :limit;
\qecho '</body>'
\qecho '</html>'
\pset format aligned
\pset tuples_only off
DROP FUNCTION pg_temp.marked;
