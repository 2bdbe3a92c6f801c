-- The SQL of doc/examples makes the committed pictures and the committed page of pairs. The report runs without errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\getenv abs_builddir PG_ABS_BUILDDIR
\set s_curves :abs_srcdir '/doc/examples/s_curves.sql'
\set s_curves_picture :abs_builddir '/s_curves.svg'
\set histogram :abs_srcdir '/doc/examples/histogram.sql'
\set histogram_picture :abs_builddir '/histogram.svg'
\set cluster_sizes :abs_srcdir '/doc/examples/cluster_sizes.sql'
\set cluster_sizes_picture :abs_builddir '/cluster_sizes.svg'
\set growth :abs_srcdir '/doc/examples/growth.sql'
\set growth_picture :abs_builddir '/growth.svg'
\set paragraphs :abs_srcdir '/doc/examples/licence_paragraphs.sql'
\set side_by_side :abs_srcdir '/doc/examples/side_by_side.sql'
\set side_by_side_page :abs_builddir '/side_by_side.html'
\set report_page :abs_builddir '/report.html'
\set match_fields :abs_srcdir '/doc/examples/match_fields.sql'
\set report :abs_srcdir '/doc/examples/report.sql'
\set ECHO none
\o :s_curves_picture
\i :s_curves
DISCARD TEMP;
\o :histogram_picture
\i :histogram
DISCARD TEMP;
\o :cluster_sizes_picture
\i :cluster_sizes
DISCARD TEMP;
\o :growth_picture
\i :growth
DISCARD TEMP;
\o :side_by_side_page
\i :side_by_side
\o
\set ECHO all
-- diff shows nothing if a picture equals the committed one. To make a picture again, see the first lines of its SQL.
\! diff "$PG_ABS_SRCDIR/doc/examples/s_curves.svg" "$PG_ABS_BUILDDIR/s_curves.svg"
\! diff "$PG_ABS_SRCDIR/doc/examples/histogram.svg" "$PG_ABS_BUILDDIR/histogram.svg"
\! diff "$PG_ABS_SRCDIR/doc/examples/cluster_sizes.svg" "$PG_ABS_BUILDDIR/cluster_sizes.svg"
\! diff "$PG_ABS_SRCDIR/doc/examples/growth.svg" "$PG_ABS_BUILDDIR/growth.svg"
\! diff "$PG_ABS_SRCDIR/doc/examples/side_by_side.html" "$PG_ABS_BUILDDIR/side_by_side.html"

\pset format aligned
\pset tuples_only off
DISCARD TEMP;
\set ECHO none
\i :paragraphs
\set ECHO all
\set source paragraphs
\set ECHO none
\i :report

\set ECHO all
-- The report with ids of another type, with a query as its source, and with names that must be quoted.
CREATE TEMP TABLE "My texts" AS SELECT md5(id::text)::uuid AS "Key", body AS "the body" FROM paragraphs WHERE id <= 60;
\set source '(SELECT * FROM "My texts" WHERE length("the body") > 100) AS q'
\set id Key
\set text 'the body'
\set threshold 0.6
\set ECHO none
\i :report

\set ECHO all
-- The report's page shows pairs side by side. It escapes texts and ids, including the characters with which the report
-- marks differences.
CREATE TEMP TABLE hostile AS
SELECT '<b>' || n AS id, '<script>alert("1 & 2")</script> ' || chr(2) || ' the river bank ' || n AS body
FROM generate_series(1, 2) n;
\set source hostile
\set id id
\set text body
\set html :report_page
\set ECHO none
\o /dev/null
\i :report
\set ECHO all
\! sed -n '/<section>/,$p' "$PG_ABS_BUILDDIR/report.html"

\set ECHO all
-- The pictures for a user's own texts.
\set ECHO none
SET client_min_messages = warning; -- the texts are short
\set own_picture :abs_builddir '/own.svg'
DISCARD TEMP;
CREATE TEMP TABLE "My texts" ("Key", "the body") AS
    VALUES ('a', 'Nothing like it has been seen before.'), ('b', 'Nothing like it was seen before.'), ('c', NULL);
\set source '"My texts"'
\set id Key
\set text 'the body'
\o :own_picture
\i :histogram
\o
\set ECHO all
\! grep -c '<rect class="bar' "$PG_ABS_BUILDDIR/own.svg"; grep -o '2 texts.*' "$PG_ABS_BUILDDIR/own.svg"
\set ECHO none
DROP TABLE paragraphs, bars;
\o :own_picture
\i :cluster_sizes
\o
\set ECHO all
\! grep -c '<rect class="bar' "$PG_ABS_BUILDDIR/own.svg"; grep -o '2 texts.*' "$PG_ABS_BUILDDIR/own.svg"

\set ECHO all
-- Without a source, the report says how it is called; so does the page without pairs.
\unset source
\set ECHO none
\i :report
\set source hostile
\unset pairs
\i :side_by_side
\set ECHO all
-- Matching by fields finds people who are in two lists. A letter of each name and street is missing, each third person
-- has another house number, each fourth has the names in another order, each fifth no date. Of the first 300 people,
-- every three share their family name and address.
CREATE FUNCTION pg_temp.word(seed text) RETURNS text LANGUAGE sql AS $$
    SELECT initcap(translate(left(md5(seed), 7), '0123456789abcdef', 'aeiouaeilnrstmkd')) $$;
CREATE FUNCTION pg_temp.mistyped(t text, n int) RETURNS text LANGUAGE sql AS $$
    SELECT overlay(t PLACING '' FROM 1 + n % greatest(length(t), 1) FOR 1) $$;
CREATE TABLE people AS
SELECT i AS id, pg_temp.word('given' || i * 7 % 211) AS given, pg_temp.word('family' || home % 709) AS family,
    date '1940-01-01' + i * 7919 % 20000 AS born, pg_temp.word('street' || home % 401) AS street,
    home % 60 + 1 AS house
FROM generate_series(1, 1500) AS i, LATERAL (SELECT CASE WHEN i < 300 THEN i / 3 ELSE i END AS home) AS h;
CREATE TABLE visitors AS
SELECT i + 5000 AS id, CASE WHEN i % 4 = 0 THEN family ELSE pg_temp.mistyped(given, i) END AS given,
    CASE WHEN i % 4 = 0 THEN given ELSE pg_temp.mistyped(family, i / 3) END AS family,
    CASE WHEN i % 5 > 0 THEN born END AS born, pg_temp.mistyped(street, i / 7) AS street,
    CASE WHEN i % 3 = 0 THEN house + i % 7 ELSE house END AS house
FROM (SELECT *, id AS i FROM people) AS p WHERE i <= 1000
UNION ALL SELECT i, pg_temp.word('given' || i), pg_temp.word('family' || i), date '1930-01-01' + i, NULL, i % 60
FROM generate_series(7001, 7500) AS i;
\pset tuples_only off
\pset format aligned
\unset id
\set left visitors
\set right people
\set ECHO none
\i :match_fields
\set ECHO all
SELECT field, agreement, round(bits) AS bits FROM field_weights ORDER BY field, agreement
\crosstabview field agreement bits
SELECT count(*) AS matches, count(*) FILTER (WHERE left_id = right_id + 5000) AS right_ones,
    round(2.0 * count(*) FILTER (WHERE left_id = right_id + 5000) / (count(*) + 1000), 3) AS f1
FROM field_matches WHERE bits > 0 AND best;
SELECT left_id, right_id, given, family, born, street, house,
    bits = given + family + street + house + (SELECT bits FROM field_weights WHERE field IS NULL) AS sum_is_right
FROM field_matches WHERE left_id = 5005 AND best;

-- Both lists as one table whose ids are texts, and stated weights.
DROP TABLE field_weights, field_matches;
CREATE TABLE my_weights AS
SELECT field, agreement, bits FROM (VALUES ('given', 7, -4), ('family', 6, -3), ('born', 13, -6), ('street', 4, -2),
    ('house', 3, -1)) AS f (field, agrees, differs), LATERAL (VALUES ('equal', agrees), ('near', agrees - 1),
    ('similar', agrees / 2), ('elsewhere', agrees / 3), ('different', differs)) AS a (agreement, bits)
UNION ALL VALUES (NULL, 'prior', -12);
\set left '(SELECT id::text AS "Key", given, family, born, street, house FROM visitors'
\set left :left ' UNION ALL SELECT id::text, given, family, born, street, house FROM people) AS p'
\set id Key
\unset right
\set weights my_weights
\set ECHO none
\i :match_fields
\set ECHO all
SELECT count(*) AS matches, count(*) FILTER (WHERE abs(left_id::int - right_id::int) = 5000) AS right_ones,
    round(2.0 * count(*) FILTER (WHERE abs(left_id::int - right_id::int) = 5000) / (count(*) + 1000), 3) AS f1,
    array_agg(DISTINCT given ORDER BY given) AS given
FROM field_matches WHERE bits > 0;
DROP TABLE field_weights, field_matches;
\echo :{?right}

-- Empty tables, and rows without values, have no matches.
\set left '(SELECT 1 AS id, NULL::text AS a, 2.5 AS b WHERE false) AS e'
\set right '(SELECT 1 AS id, NULL::text AS a, 2.50 AS b) AS e'
\unset id
\unset weights
\set ECHO none
\i :match_fields
\set ECHO all
SELECT * FROM field_matches;
SELECT count(*), min(bits) IS NOT NULL AS filled FROM field_weights;
DROP TABLE field_weights, field_matches, my_weights, people, visitors;
