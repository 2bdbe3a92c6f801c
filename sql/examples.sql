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
