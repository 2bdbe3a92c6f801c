-- doc/reference.md must describe every function, argument, result column, operator, type, access method and setting.
-- Each query below lists what is missing from the page, or wrong there.
\set reference `cat "$PG_ABS_SRCDIR/doc/reference.md"`
-- A piece is a paragraph, a row of a table, or an element of a list, without the list in it.
CREATE TEMP TABLE pieces AS
SELECT piece, trim(string_agg(trim(line), ' ' ORDER BY n)) AS what
FROM (SELECT line, n, count(*) FILTER (WHERE line ~ '^( *- |\||#|$)') OVER (ORDER BY n) AS piece
    FROM regexp_split_to_table(:'reference', '\n') WITH ORDINALITY AS page (line, n)) numbered
GROUP BY piece;
CREATE TEMP VIEW members AS
SELECT classid, objid FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh');
-- Functions for users, without those that only raise an error. The names of all other functions begin with an
-- underscore.
CREATE TEMP VIEW functions AS
SELECT p.* FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE NOT starts_with(proname, '_') AND obj_description(p.oid, 'pg_proc') !~ '^an error that ';
SELECT oid::regprocedure AS function FROM functions
WHERE NOT EXISTS (SELECT FROM pieces WHERE what ~ ('^(- )?(aggregate )?`' || proname || '\('))
ORDER BY oid::regprocedure::text COLLATE "C";

-- Arguments are in a list of their own, as `name type` or `name type default`. The list belongs to the functions that
-- the element or paragraph above it names.
CREATE TEMP TABLE owners AS
SELECT piece, array_agg(name) AS functions
FROM pieces, LATERAL (SELECT m[1] AS name FROM regexp_matches(what, '`([a-z_]+)\(', 'g') AS m) named
WHERE what ~ '^(- )?(aggregate )?`[a-z_]+\(' OR what ~ '^([A-Z][a-z ]+ )?[Aa]rguments? of `|^Of `'
GROUP BY piece;
CREATE TEMP TABLE described AS
SELECT e.piece, functions, m[1] AS argument, m[2] AS type, m[3] AS value
FROM (SELECT piece, what, (SELECT max(o.piece) FROM owners o WHERE o.piece <= p.piece) AS owner FROM pieces p
      WHERE what LIKE '- %') e
JOIN owners o ON o.piece = e.owner,
    regexp_matches(what, '`([a-z_]+) ([a-z0-9_]+(?:\[\])?)(?: ([^`]+))?`', 'g') AS m;
CREATE TEMP VIEW arguments AS
SELECT p.oid, proname::text AS function, argument,
    replace(format_type(type, NULL), 'double precision', 'float8') AS type,
    regexp_replace(pg_get_function_arg_default(p.oid, position::int), '::[a-z_]+( [a-z]+)?(\[\])?', '', 'g') AS value
FROM functions p, unnest(proargnames[:pronargs], proargtypes::oid[]) WITH ORDINALITY AS a (argument, type, position)
WHERE argument <> '';
SELECT a.oid::regprocedure AS function, a.argument, a.type, a.value FROM arguments a
WHERE NOT EXISTS (SELECT FROM described d WHERE function = ANY (functions) AND d.argument = a.argument
    AND d.type = a.type AND d.value IS NOT DISTINCT FROM a.value)
ORDER BY a.oid::regprocedure::text COLLATE "C", argument;
SELECT functions, d.argument, d.type, d.value FROM described d
WHERE NOT EXISTS (SELECT FROM arguments a WHERE function = ANY (functions) AND d.argument = a.argument
    AND d.type = a.type AND d.value IS NOT DISTINCT FROM a.value)
ORDER BY piece;
-- Result columns.
SELECT p.oid::regprocedure AS function, name
FROM functions p, unnest(proargnames, proargmodes) AS a (name, mode)
WHERE mode IN ('o', 't')
    AND NOT EXISTS (SELECT FROM pieces WHERE what ~ ('`' || proname || '\(') AND what ~ ('\m' || name || '\M'))
ORDER BY p.oid::regprocedure::text COLLATE "C", name;

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
WHERE name ~ '^minhash_lsh\.'
    AND NOT EXISTS (SELECT FROM pieces WHERE what ~ format('^\| `%s` \|.*%s', name, boot_val))
ORDER BY name;
DROP VIEW arguments, functions, members;
DROP TABLE pieces, owners, described;
