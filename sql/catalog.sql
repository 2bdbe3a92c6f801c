-- Rules for the extension's objects. Most of these queries list the objects that break a rule, and so return no rows.

-- The extension's objects, without array types and the row types of relations, which are members only since
-- PostgreSQL 17.
CREATE TEMP VIEW members AS
SELECT classid, objid, classid::regclass AS catalog, pg_describe_object(classid, objid, 0) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh')
    AND deptype = 'e'
  AND NOT (classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type AS t WHERE typarray = objid
  OR (t.oid = objid AND typrelid <> 0)));
CREATE TEMP VIEW functions AS SELECT p.* FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid;

-- The number of objects of each kind, and all functions. Any new object changes this output.
SELECT catalog, count(*) FROM members GROUP BY catalog ORDER BY catalog::text COLLATE "C";
SELECT p.oid::regprocedure AS function, prorettype::regtype AS returns FROM functions p
    ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT extrelocatable AS relocatable FROM pg_extension WHERE extname = 'minhash_lsh';

-- Objects without a COMMENT.
SELECT object FROM members WHERE obj_description(objid, catalog::text) IS NULL ORDER BY object;
-- Comments that are empty, end in a full stop or start with a space.
SELECT object, obj_description(objid, catalog::text) FROM members
    WHERE obj_description(objid, catalog::text) ~ '^\s|^$|[.\s]$' ORDER BY object;

-- The COMMENT of each function for users must end with an example of a call. First list the functions without an
-- example, then the examples that fail. Examples that use columns run on the table articles. (Calls that pass the names
-- of columns fail by intent.)
CREATE TEMP VIEW examples AS
SELECT oid, proname, substring(obj_description(oid, 'pg_proc') FROM '^[^.]+\. Example: (.*\))$') AS example
FROM functions WHERE NOT starts_with(proname, '_');
SELECT oid::regprocedure AS function FROM examples WHERE starts_with(example, proname || '(') IS NOT true ORDER BY 1;
CREATE TABLE articles AS
SELECT id, id::text AS url, body, minhash(body) AS sig
FROM (VALUES (1, 'The quick brown fox jumps over the lazy dog'), (2, 'A quick brown fox jumps over the lazy dog'))
    AS texts (id, body);
ALTER TABLE articles ADD PRIMARY KEY (id);
CREATE INDEX articles_minhash ON articles USING lsh (sig);
CREATE TABLE article_pairs AS SELECT * FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.5);
CREATE TABLE links AS SELECT '1' AS url, '2' AS other_url;
CREATE FUNCTION pg_temp.error_in(example text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE format('SELECT %s', example);
    EXCEPTION WHEN undefined_column THEN
        EXECUTE format('SELECT %s FROM articles', example);
    END;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT example, error FROM (SELECT * FROM examples ORDER BY example COLLATE "C") e,
    LATERAL (SELECT pg_temp.error_in(example) AS error OFFSET 0) called
WHERE error IS NOT NULL ORDER BY example COLLATE "C";
DROP TABLE articles, article_pairs, article_clusters, links;
DROP VIEW examples;

-- List the functions that are not all of IMMUTABLE, PARALLEL SAFE and STRICT. Functions that read or write tables are
-- not IMMUTABLE. Functions that are used by triggers or define objects are not PARALLEL SAFE. Some functions are not
-- STRICT because NULL as an argument means that the function chooses a value.
SELECT p.oid::regprocedure::text COLLATE "C" AS function, provolatile AS volatility, proparallel AS parallel,
    proisstrict AS strict FROM functions p WHERE proparallel <> 's' OR provolatile <> 'i' OR NOT proisstrict ORDER BY 1;
-- The parts of a refresh of kept clusters are stable, so that they see the snapshot of the statement that calls them.
SELECT oid::regprocedure AS function FROM functions WHERE proleakproof OR prosecdef
    OR (provolatile = 'v') <> (proparallel = 'u') ORDER BY 1;
-- C functions whose symbol does not start with the function's name (without its leading underscore), or that come from
-- another library. Symbols of overloaded functions have a suffix.
SELECT p.oid::regprocedure AS function, prosrc, probin FROM functions p JOIN pg_language l ON l.oid = prolang
    WHERE lanname = 'c' AND (NOT starts_with(prosrc, ltrim(proname, '_'))
        AND prosrc NOT IN ('lsh_call_of_names', 'lsh_call_with_type')
    OR probin <> (SELECT DISTINCT probin FROM functions WHERE proname = 'minhash_similar')) ORDER BY 1;

-- The names of functions that users are not meant to call begin with an underscore, and no other names do. PostgreSQL
-- calls these functions for types, casts, operators, aggregates, indexes and triggers. The second query excepts
-- functions with other callers: the planner calls _minhash_query and _minhash_rough_query, lookups of kept clusters
-- _minhash_roughly_similar, and the triggers of band tables _lsh_require_band_table. lsh_create_band_table,
-- lsh_drop_band_table, lsh_create_clusters and lsh_refresh_clusters call what they do, refreshes call the functions of
-- kept clusters, and doc/distributed/distributed_pairs.sql calls _lsh_scatter and _lsh_gather.
CREATE TEMP VIEW internal AS SELECT p.* FROM functions p
WHERE ARRAY['internal', 'trigger', 'index_am_handler']::regtype[]::oid[] && (proargtypes::oid[] || prorettype)
    OR EXISTS (SELECT FROM pg_type WHERE p.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout))
    OR EXISTS (SELECT FROM pg_cast WHERE castfunc = p.oid) OR EXISTS (SELECT FROM pg_operator WHERE oprcode = p.oid)
    OR EXISTS (SELECT FROM pg_amproc WHERE amproc = p.oid)
    OR EXISTS (SELECT FROM pg_aggregate WHERE aggfinalfn = p.oid);
SELECT oid::regprocedure AS function FROM internal WHERE NOT starts_with(proname, '_') ORDER BY 1;
SELECT oid::regprocedure AS function FROM functions WHERE starts_with(proname, '_')
    AND proname !~ '^_(minhash_(query$|rough)|lsh_(require|tie|create|drop)_band_table$|lsh_band_table_triggers$)'
    AND proname NOT LIKE '\_lsh\_kept\_%'
    AND proname NOT IN ('_lsh_locked_name', '_lsh_create_clusters', '_lsh_refresh_clusters')
    AND proname NOT IN ('_lsh_scatter', '_lsh_gather', '_lsh_sample_plan')
    AND oid NOT IN (SELECT oid FROM internal);
DROP VIEW internal;
CREATE TEMP VIEW for_users AS SELECT * FROM functions WHERE NOT starts_with(proname, '_');
-- Functions of a query without the form that says what to write instead of the names of a table and its columns.
SELECT DISTINCT proname FROM for_users AS p WHERE proargtypes[0] = 'text'::regtype AND proargnames[1] = 'query'
    AND NOT EXISTS (SELECT FROM functions AS f WHERE f.proname = p.proname AND f.prosrc = 'lsh_call_of_names');
-- The number of functions for users, counted by name and in all. There should be at most 60.
SELECT count(DISTINCT proname) AS names, count(*) AS functions, count(*) <= 60 AS few_enough FROM for_users;

-- Functions for users that have an argument or result column without a name.
SELECT oid::regprocedure AS function, proargnames
FROM for_users
WHERE proargnames IS NULL OR EXISTS (SELECT FROM unnest(proargnames, proargtypes) AS argument (name, type)
    WHERE name = '' AND type IS DISTINCT FROM 'anyelement'::regtype)
  OR cardinality(proargnames) <> cardinality(coalesce(proallargtypes, proargtypes::oid[]))
ORDER BY 1;
-- Functions that return several columns, some with a type that depends on an argument (anyelement, anyarray). Such an
-- argument must have no name. If a call could give it by name, PostgreSQL would use the type of the argument written in
-- its position instead, and the server would crash.
SELECT p.oid::regprocedure AS function FROM functions p, unnest(proallargtypes, proargmodes) AS result (type, mode)
WHERE mode IN ('o', 't') GROUP BY p.oid, proargnames, proargtypes
HAVING count(*) > 1 AND bool_or(type IN ('anyelement'::regtype, 'anyarray'::regtype))
   AND EXISTS (SELECT FROM unnest(proargtypes) WITH ORDINALITY AS argument (type, position)
               WHERE type IN ('anyelement'::regtype, 'anyarray'::regtype) AND proargnames[position] <> '');
-- Functions for users whose names do not begin with shingle, element, minhash or lsh.
SELECT oid::regprocedure AS function FROM for_users
WHERE proname !~ '^(shingles$|shingle_|element_|minhash$|minhash_|lsh_)' ORDER BY 1;
-- Names of functions that accept both a text and a list of elements. There must be none, because PostgreSQL would read
-- a list of unknown type as a text. (minhash() accepts an array only to raise an error.)
SELECT proname FROM functions p JOIN pg_type t ON t.oid = proargtypes[0] WHERE prosrc !~ 'RAISE'
GROUP BY proname HAVING bool_or(typcategory = 'S')
   AND bool_or(typcategory = 'A' OR t.oid IN ('tsvector'::regtype, 'anycompatiblearray'::regtype)) ORDER BY 1;
-- Functions of elements whose names do not contain "element", and other functions whose names do.
SELECT p.oid::regprocedure AS function FROM functions p
WHERE ('element' = ANY (proargnames) OR 'elements' = ANY (proargnames) OR 'lexemes' = ANY (proargnames)
       OR 'anycompatiblearray'::regtype = ANY (proargtypes)) <> (proname ~ '^(minhash_)?element') AND proname !~ '_add$'
       ORDER BY 1;
-- Arguments and columns whose names contain words that the extension avoids, because it has other words for these
-- things.
SELECT p.oid::regprocedure AS function, argument FROM functions p, unnest(proargnames) AS argument
WHERE argument ~ 'positive|negative|in_vain|documents|document_id|look|copies' ORDER BY 1;

-- Names that have several types, or arguments of one name that have several defaults. These are not mistakes:
-- lsh_evaluate() tries several bands and rows; a new table is given by its name, because it does not exist yet; NULL as
-- a default means that the function chooses; a query can be a minhash_query or SQL. The view leaves out arguments that
-- can have any type, such as ids and elements.
CREATE TEMP VIEW arguments AS
SELECT p.oid, argument, CASE WHEN mode IN ('o', 't') THEN 'column' ELSE 'argument' END AS kind,
    type::regtype::text AS type, CASE WHEN mode NOT IN ('o', 't') THEN
    pg_get_function_arg_default(p.oid, position::int) END AS value
FROM functions p, unnest(proargnames, coalesce(proallargtypes, proargtypes::oid[]),
    coalesce(proargmodes, array_fill('i'::"char", ARRAY[pronargs])))
    WITH ORDINALITY AS a (argument, type, mode, position)
WHERE argument NOT IN ('', 'a', 'b', 'element', 'elements', 'id', 'left_id', 'right_id', 'contained_id', 'container_id',
    'cluster_id', 'representative');
SELECT kind, argument, string_agg(DISTINCT type, ', ' ORDER BY type) AS types,
    string_agg(DISTINCT value, ', ' ORDER BY value) AS defaults
FROM arguments GROUP BY kind, argument HAVING count(DISTINCT type) > 1 OR count(DISTINCT value) > 1
    ORDER BY kind, argument;
-- An argument and a result column that have the same name, but different types.
SELECT i.argument, i.type AS argument_type, o.type AS column_type FROM arguments i JOIN arguments o USING (argument)
WHERE i.kind = 'argument' AND o.kind = 'column' AND i.type <> ALL (ARRAY[o.type, o.type || '[]', 'anycompatible'])
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
DROP VIEW arguments;

-- All settings with their descriptions. Any new setting changes this output.
LOAD 'minhash_lsh';
SELECT name, vartype, context, short_desc FROM pg_settings WHERE name ~ '^minhash_lsh\.' ORDER BY name;

-- Operator classes that do not validate.
SELECT object FROM pg_opclass c JOIN members ON classid = 'pg_opclass'::regclass AND objid = c.oid
    WHERE NOT amvalidate(c.oid) ORDER BY object;
SELECT opcname, amname, opcdefault FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
    JOIN members ON classid = 'pg_opclass'::regclass AND objid = c.oid
    ORDER BY amname, opcname COLLATE "C";

-- Operators without a commutator, conditions without selectivity estimators and comparisons without a negator.
SELECT oprname FROM pg_operator o JOIN members ON classid = 'pg_operator'::regclass AND objid = o.oid
WHERE oprcom = 0 OR oprresult = 'boolean'::regtype AND (oprrest = 0 OR oprjoin = 0) OR oprname ~ '[<=>]$'
    AND oprname <> '<%>' AND oprnegate = 0
    OR (oprname = '=') <> oprcanhash OR (oprname = '=') <> oprcanmerge ORDER BY 1;
-- Operators that are not the commutator of their commutator, or not the negator of their negator.
SELECT o.oprname FROM pg_operator o JOIN members ON classid = 'pg_operator'::regclass AND objid = o.oid
JOIN pg_operator c ON c.oid = o.oprcom LEFT JOIN pg_operator n ON n.oid = o.oprnegate WHERE c.oprcom <> o.oid
    OR n.oprnegate <> o.oid ORDER BY 1;

-- The type has all its functions.
SELECT typinput <> 0 AS input, typoutput <> 0 AS output, typreceive <> 0 AS receive, typsend <> 0 AS send,
    typmodin <> 0 AS typmod_in FROM pg_type WHERE oid = 'minhash_signature'::regtype;

-- The extension cannot be moved to another schema. (It can be created in any.)
CREATE SCHEMA elsewhere;
ALTER EXTENSION minhash_lsh SET SCHEMA elsewhere;
DROP SCHEMA elsewhere;

DROP VIEW for_users, functions, members;
