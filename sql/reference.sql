-- doc/reference.md must describe every function, argument, default, result column, operator, type, access method and
-- setting. Each query below lists what is missing from the page.
\set reference `cat "$PG_ABS_SRCDIR/doc/reference.md"`
-- An item is a paragraph, a row of a table, or an element of a list with its own list.
CREATE TEMP TABLE lines AS
SELECT string_agg(trim(line), ' ' ORDER BY n) AS line, min(section) AS section
FROM (SELECT line, n, count(*) FILTER (WHERE line ~ '^(- |\||#|$)') OVER (ORDER BY n) AS item,
        count(*) FILTER (WHERE line ~ '^##') OVER (ORDER BY n) AS section
    FROM regexp_split_to_table(:'reference', '\n') WITH ORDINALITY AS page (line, n)) numbered
GROUP BY item;
CREATE TEMP VIEW members AS
SELECT classid, objid FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh');
-- Functions for users. The names of all other functions begin with an underscore.
CREATE TEMP VIEW functions AS
SELECT p.* FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE NOT starts_with(proname, '_');
-- The text about each function: all items that name the function, or the whole section if one of these items shows the
-- arguments as "…".
CREATE TEMP TABLE said AS
SELECT p.oid, string_agg(l.line, E'\n') AS what
FROM functions p LEFT JOIN lines l ON l.line ~ ('`' || proname || '\(')
    OR EXISTS (SELECT FROM lines named WHERE named.line ~ ('`' || proname || '\([^`]*…') AND named.section = l.section)
GROUP BY p.oid;

SELECT oid::regprocedure AS function FROM said WHERE what IS NULL ORDER BY oid::regprocedure::text COLLATE "C";
-- Arguments, their defaults other than NULL, and result columns.
SELECT oid::regprocedure AS function, argument, value
FROM (SELECT p.oid, argument, what,
        regexp_replace(pg_get_function_arg_default(p.oid, position::int), '::[a-z_ ]+(\[\])?(?=\)?$)', '') AS value
    FROM functions p JOIN said USING (oid), unnest(proargnames) WITH ORDINALITY AS a (argument, position)) arguments
WHERE argument <> '' AND (what !~ ('\m' || argument || '\M')
    OR value <> 'NULL' AND what !~ ('\m' || argument || '`? ' || regexp_replace(value, '[()]', '\\\&', 'g')
        || '([^0-9]|$)'))
ORDER BY oid::regprocedure::text COLLATE "C", argument;
-- Operators, types and access methods.
SELECT o.oid::regoperator AS operator FROM pg_operator o JOIN members ON classid = 'pg_operator'::regclass
    AND objid = o.oid
WHERE oprname <> ALL ('{=,<>,<,<=,>,>=}') AND position(format('`a %s ', oprname) IN :'reference') = 0 ORDER BY 1;
SELECT objid::regtype AS type FROM members JOIN pg_type t ON t.oid = objid
WHERE classid = 'pg_type'::regclass AND typelem = 0 AND typrelid = 0 AND NOT starts_with(typname, '_')
    AND position('`' || typname IN :'reference') = 0 ORDER BY 1;
SELECT amname FROM members JOIN pg_am a ON a.oid = objid
WHERE classid = 'pg_am'::regclass AND position('USING ' || amname IN :'reference') = 0;
-- Settings and their defaults.
LOAD 'minhash_lsh';
SELECT name, boot_val FROM pg_settings
WHERE name ~ '^minhash_lsh\.' AND NOT EXISTS (SELECT FROM lines WHERE line ~ format('^\| `%s` \|.*%s', name, boot_val))
ORDER BY name;
DROP VIEW functions, members;
DROP TABLE lines, said;
