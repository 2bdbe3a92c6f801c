-- An attacker, eve, plants functions, operators, types and tables in schemas that others use. None of her code may run
-- with the rights of a user who makes a band table, writes to its source, checks an index or calls a bulk function.
-- Users reach a band table only with their own rights.

\getenv abs_srcdir PG_ABS_SRCDIR
\set error_separator ' | '
\set errors :abs_srcdir '/sql/include/errors.sql'
\i :errors
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

BEGIN;
CREATE ROLE regress_lsh_owner;
CREATE ROLE regress_lsh_writer;
CREATE ROLE regress_lsh_eve;
CREATE SCHEMA own AUTHORIZATION regress_lsh_owner;
CREATE SCHEMA evil AUTHORIZATION regress_lsh_eve;
GRANT USAGE ON SCHEMA own, evil TO PUBLIC;
GRANT CREATE ON SCHEMA public TO PUBLIC; -- as it was before PostgreSQL 15
GRANT CREATE ON SCHEMA own TO regress_lsh_eve;
-- Each time that one of eve's functions runs as another user, the function adds a row here.
CREATE TABLE evil.loot (who text, what text);
GRANT ALL ON evil.loot TO PUBLIC;

SET ROLE regress_lsh_eve;
CREATE FUNCTION evil.strike(what pg_catalog.text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF current_user <> 'regress_lsh_eve' THEN
        INSERT INTO evil.loot VALUES (current_user, what);
    END IF;
END $$;
SET search_path = pg_catalog;
SET check_function_bodies = off;
-- Eve plants functions that PostgreSQL's parser could choose instead of the functions of the extension or of
-- PostgreSQL. She copies each function that the extension's SQL and PL/pgSQL functions call, or that the trigger
-- functions which they write call. In each copy, one argument has another type, or there is one more argument, which
-- has a default. (Copies of the extension's own functions with one more argument follow below.)
CREATE VIEW evil.called AS
SELECT f.proname, f.proretset, format_type(f.prorettype, NULL) AS result,
    f.pronamespace = 'public'::regnamespace AS own,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(f.proargtypes) WITH ORDINALITY a (t, n) ORDER BY n) AS types
FROM pg_proc f
WHERE f.proname IN (SELECT name[1] FROM pg_proc p JOIN pg_language l ON l.oid = prolang
            AND lanname IN ('plpgsql', 'sql') JOIN pg_depend d ON d.objid = p.oid AND deptype = 'e',
        regexp_matches(prosrc, '([a-z_][a-z0-9_]*)\(', 'g') name)
    AND (f.pronamespace = 'pg_catalog'::regnamespace
        OR EXISTS (SELECT FROM pg_depend d WHERE d.objid = f.oid AND deptype = 'e'));
CREATE FUNCTION evil.plant(place text, name text, arguments text[], result text, many boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    EXECUTE format('CREATE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE plpgsql AS
        $f$BEGIN PERFORM evil.strike(%L); RETURN%s; END$f$', place, name, array_to_string(arguments, ', '),
        CASE WHEN many THEN 'SETOF ' ELSE '' END || result, name,
        CASE WHEN many OR result = 'void' THEN '' ELSE ' NULL' END);
EXCEPTION WHEN invalid_function_definition OR duplicate_function OR feature_not_supported THEN
    NULL; -- the function exists already, or PL/pgSQL does not support its types
END $$;
DO $$
DECLARE
    called record;
    place text;
    other text;
BEGIN
    FOR called IN SELECT * FROM evil.called LOOP
        FOREACH place IN ARRAY '{public,own,evil}'::text[] LOOP
            FOR i IN 1 .. cardinality(called.types) LOOP
                FOREACH other IN ARRAY '{anyelement,bigint,text}'::text[] LOOP
                    PERFORM evil.plant(place, called.proname, called.types[:i - 1] || other || called.types[i + 1:],
                        called.result, called.proretset);
                END LOOP;
            END LOOP;
            CONTINUE WHEN called.own;
            PERFORM evil.plant(place, called.proname, called.types, called.result, called.proretset),
                evil.plant(place, called.proname, called.types || 'more int DEFAULT 0'::text, called.result,
                    called.proretset);
        END LOOP;
    END LOOP;
END $$;
SELECT count(DISTINCT proname) > 60 AS names, count(*) > 500 AS functions FROM pg_proc
WHERE pronamespace = 'evil'::regnamespace;
-- A function whose argument types fit both constants and columns.
CREATE FUNCTION public._lsh_require_band_table(regclass, name, name) RETURNS bool LANGUAGE plpgsql AS
    'BEGIN PERFORM evil.strike(''require''); RETURN true; END';
-- Domains that have the names of PostgreSQL's types, other domains, and a type with an implicit cast.
CREATE DOMAIN public.regclass AS pg_catalog.text;
CREATE DOMAIN public.text AS int;
CREATE DOMAIN public.int8 AS pg_catalog.text;
CREATE DOMAIN evil.address AS pg_catalog.text;
CREATE DOMAIN evil.signed AS public.minhash_signature;
CREATE TYPE evil.converts AS (x int);
CREATE FUNCTION evil.convert(evil.converts) RETURNS pg_catalog.text LANGUAGE plpgsql AS
    'BEGIN PERFORM evil.strike(''cast''); RETURN ''x''; END';
CREATE CAST (evil.converts AS pg_catalog.text) WITH FUNCTION evil.convert AS IMPLICIT;
-- Operators whose argument types match exactly, so that the parser prefers them.
DO $$
DECLARE
    place text;
    type text;
    operator text;
BEGIN
    FOREACH place IN ARRAY '{public,own,evil}'::text[] LOOP
        FOREACH type IN ARRAY
            '{bigint,integer,pg_catalog.text,bigint[],evil.address,evil.signed,oid,"char",float8,
                numeric,name,regclass,text[],public.minhash_signature}'::text[] LOOP
            EXECUTE format('CREATE FUNCTION %s.operate(%s, %s) RETURNS boolean LANGUAGE plpgsql AS
                ''BEGIN PERFORM evil.strike(''''operator %s''''); RETURN true; END''', place, type, type, type);
            FOREACH operator IN ARRAY '{=,<>,<,>,<=,>=,%,+,-,*,/,&,^,~,||,<%>}'::text[] LOOP
                BEGIN
                    EXECUTE format('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s.operate)', place,
                        operator, type, type, place);
                EXCEPTION WHEN duplicate_function THEN NULL; -- the extension has this operator already
                END;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
-- Tables with the names of tables that the extension's statements use.
CREATE FUNCTION evil.strike_row() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM evil.strike(TG_TABLE_NAME); RETURN NEW; END';
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY
        '{pg_trigger,pg_depend,pg_proc,old_rows,new_rows,old_keys,changed,docs,docs_bands}'::text[] LOOP
        EXECUTE format('CREATE TABLE public.%s (key bigint, id bigint, sig public.minhash_signature)', name);
        EXECUTE format('GRANT ALL ON public.%s TO PUBLIC', name);
        EXECUTE format('CREATE TRIGGER strike BEFORE INSERT ON public.%1$s FOR EACH ROW EXECUTE FUNCTION
            evil.strike_row()',
            name);
    END LOOP;
END $$;
RESET ROLE;

-- The other users (the owner, a superuser and a writer) act with a search path that has eve's schemas before
-- pg_catalog.
CREATE FUNCTION pg_temp.as_role(role name, statements pg_catalog.text) RETURNS pg_catalog.text LANGUAGE plpgsql AS $$
DECLARE
    result pg_catalog.text;
BEGIN
    EXECUTE pg_catalog.format('SET LOCAL ROLE %I', role);
    result := pg_temp.error_of(pg_catalog.concat('SET LOCAL search_path = public, evil, own, pg_catalog; ',
        statements));
    SET LOCAL search_path = pg_catalog;
    RESET ROLE;
    RETURN result;
END $$;
-- The control: eve's functions do run in a careless statement.
SELECT pg_temp.as_role('regress_lsh_owner', 'SELECT FROM pg_catalog.generate_series(1, 2) i WHERE i = 1'),
    pg_temp.as_role('regress_lsh_owner', 'SELECT lsh_band_keys(public.minhash(''a''), 2, 2::bigint)'),
    pg_temp.as_role('regress_lsh_owner', 'INSERT INTO docs_bands VALUES (1, 2)');
SELECT what, count(*) FROM evil.loot GROUP BY what ORDER BY what COLLATE "C";
TRUNCATE evil.loot;

CREATE FUNCTION pg_temp.live(role name, id_type pg_catalog.text, id_of pg_catalog.text,
    kind pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE plpgsql AS $$
DECLARE
    statement pg_catalog.text;
    said pg_catalog.text;
    result pg_catalog.text := 'all was done';
BEGIN
    FOREACH statement IN ARRAY ARRAY[
        pg_catalog.format('CREATE TABLE own.docs (id %s, part pg_catalog.int4, sig public.minhash_signature%s',
            id_type,
            CASE kind WHEN 'r' THEN ', PRIMARY KEY (id))' ELSE ') PARTITION BY LIST (part)' END),
        CASE kind WHEN 'p' THEN 'CREATE TABLE own.low PARTITION OF own.docs DEFAULT' ELSE 'SELECT' END,
        pg_catalog.format('INSERT INTO own.docs SELECT %s, i,
            public.minhash((i OPERATOR(pg_catalog./) 3)::pg_catalog.text)
            FROM pg_catalog.generate_series(1, 30) i', id_of),
        'SELECT public.lsh_create_band_table(''own.docs'', bands => 9, rows => 3)',
        'CREATE INDEX docs_sig ON own.docs USING lsh (sig)',
        pg_catalog.format('INSERT INTO own.docs SELECT %s, i,
            public.minhash((i OPERATOR(pg_catalog./) 3)::pg_catalog.text)
            FROM pg_catalog.generate_series(31, 60) i', id_of),
        'UPDATE own.docs SET sig = public.minhash(''another'') WHERE part OPERATOR(pg_catalog.<) 5',
        'UPDATE own.docs SET part = part OPERATOR(pg_catalog.+) 100',
        'DELETE FROM own.docs WHERE part OPERATOR(pg_catalog.<) 110',
        CASE kind WHEN 'r' THEN 'SELECT * FROM public.lsh_check(''own.docs_sig'', true)' ELSE 'SELECT' END,
        'SELECT * FROM public.lsh_pairs(''SELECT part, sig FROM own.docs'')',
        'SELECT * FROM public.lsh_clusters(''SELECT part, sig FROM own.docs'')',
        'SELECT * FROM public.lsh_components(''SELECT part, part FROM own.docs'')',
        'SELECT * FROM public.lsh_evaluate(''SELECT part, part::pg_catalog.text FROM own.docs'')',
        'SELECT * FROM public.lsh_contained(''SELECT part, part::pg_catalog.text FROM own.docs'')',
        'SELECT * FROM public.lsh_sample(''SELECT part, sig FROM own.docs'')',
        'SELECT * FROM public.lsh_sample(''SELECT part, part::pg_catalog.text FROM own.docs'')',
        'SELECT * FROM public.lsh_create_clusters(''pg_temp.kept'', ''SELECT part AS id, sig FROM own.docs'')',
        'DELETE FROM own.docs WHERE part OPERATOR(pg_catalog.<) 120',
        'SELECT * FROM public.lsh_refresh_clusters(''pg_temp.kept'')',
        'SELECT * FROM public.lsh_refresh_clusters(''pg_temp.kept'', changed => ''SELECT part AS id FROM own.docs'')',
        'DROP TABLE pg_temp.kept',
        'TRUNCATE own.docs', 'SELECT public.lsh_drop_band_table(''own.docs_bands''::pg_catalog.regclass)',
        'DROP TABLE own.docs'] LOOP
        said := pg_temp.as_role(role, statement);
        IF said OPERATOR(pg_catalog.<>) 'no error' AND result OPERATOR(pg_catalog.=) 'all was done' THEN
            result := pg_catalog.concat_ws(' ', statement, said);
        END IF;
    END LOOP;
    RETURN result;
END $$;
SELECT CASE role WHEN session_user THEN 'superuser' ELSE role END, type, kind, pg_catalog.replace(
    pg_temp.live(role, type, of, kind), pg_catalog.concat('schema of ', session_user), 'schema of the superuser')
FROM (VALUES ('regress_lsh_owner'::name), (session_user)) r (role), (VALUES ('pg_catalog.int8', 'i'),
    ('evil.address', 'i::pg_catalog.text'), ('evil.signed', 'public.minhash(i::pg_catalog.text)')) t (type, of),
    (VALUES ('r'), ('p')) k (kind)
ORDER BY 1, 2, 3;
-- The writer has only the privileges that the owner grants.
SELECT pg_temp.as_role('regress_lsh_owner', $$CREATE TABLE own.docs (id evil.address PRIMARY KEY,
    sig public.minhash_signature);
    SELECT public.lsh_create_band_table('own.docs', bands => 9, rows => 3);
    GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON own.docs TO regress_lsh_writer;
    GRANT SELECT, INSERT ON own.docs_bands TO regress_lsh_writer$$);
SELECT statement, pg_temp.as_role('regress_lsh_writer', statement) FROM unnest(ARRAY[
    $$INSERT INTO own.docs VALUES ('a', public.minhash('a text')), ('b', public.minhash('a text'))$$,
    $$UPDATE own.docs SET sig = public.minhash('another')$$, 'DELETE FROM own.docs', 'TRUNCATE own.docs']) statement;
GRANT DELETE, TRUNCATE ON own.docs_bands TO regress_lsh_writer;
SELECT statement, pg_temp.as_role('regress_lsh_writer', statement) FROM unnest(ARRAY[
    $$UPDATE own.docs SET sig = public.minhash('another')$$, 'DELETE FROM own.docs', 'TRUNCATE own.docs']) statement;
TABLE evil.loot;

-- A user who may create triggers on a source, or who owns a table that looks like a band table, gains no rights.
-- Triggers run with the rights of the user who writes, as all triggers do. Other users' tables are neither emptied nor
-- dropped.
SELECT pg_temp.as_role('regress_lsh_owner', $$GRANT TRIGGER, SELECT ON own.docs TO regress_lsh_eve;
    CREATE TABLE own.precious (key bigint, id evil.address); INSERT INTO own.precious VALUES (1, 'x')$$);
SELECT pg_temp.as_role('regress_lsh_eve', statement) FROM unnest(ARRAY[
    $$SELECT public.lsh_create_band_table('own.docs', band_table => 'mine')$$,
    $$SELECT public.lsh_drop_band_table('own.docs_bands'::pg_catalog.regclass)$$,
    $$CREATE TRIGGER planted AFTER TRUNCATE ON own.docs WHEN
        (public._lsh_require_band_table('own.precious'::pg_catalog.regclass,
        'own.precious'::pg_catalog.text,
            'TRUNCATE'::pg_catalog.text)) EXECUTE FUNCTION own.docs_bands_truncate()$$]) statement;
SELECT pg_temp.as_role('regress_lsh_owner', statement) FROM unnest(ARRAY['TRUNCATE own.docs',
    $$SELECT public.lsh_drop_band_table('own.docs_bands'::pg_catalog.regclass)$$]) statement;
SELECT (SELECT count(*) FROM own.precious), to_regclass('own.docs_bands');
-- If a band table is renamed, the triggers do not write to another table that gets its old name.
SELECT pg_temp.as_role('regress_lsh_owner',
    $$DROP TRIGGER planted ON own.docs; ALTER TABLE own.docs_bands RENAME TO renamed$$);
SELECT pg_temp.as_role('regress_lsh_eve', $$CREATE TABLE own.docs_bands (key bigint,
    id evil.address); GRANT ALL ON own.docs_bands
    TO PUBLIC; CREATE TRIGGER strike BEFORE INSERT ON own.docs_bands FOR EACH ROW EXECUTE FUNCTION
        evil.strike_row()$$);
SELECT pg_temp.as_role('regress_lsh_writer', $$INSERT INTO own.docs VALUES ('c', public.minhash('a text'))$$);
TABLE evil.loot;

-- Eve plants functions in the extension's own schema that have an additional optional argument. They make calls of the
-- extension's functions ambiguous, so these calls fail, but eve's functions are never called.
SELECT pg_temp.as_role('regress_lsh_owner', 'DROP TABLE own.docs CASCADE');
SELECT pg_temp.as_role('regress_lsh_eve', 'DROP TABLE own.docs_bands');
SET ROLE regress_lsh_eve;
SELECT evil.plant('public', proname, types || 'more int DEFAULT 0'::text, result, proretset) FROM evil.called
WHERE own AND result <> 'trigger' \g /dev/null
RESET ROLE;
SELECT regexp_replace(pg_temp.live('regress_lsh_owner', 'pg_catalog.int8', 'i', 'r'),
    '^.*(function .* is not unique).*$', '\1');
TABLE evil.loot;

-- List the extension's objects that could run code with the rights of another user than the caller. There must be none
-- but the trigger of kept clusters: see sql/kept_settings.sql.
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend d
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh')
    AND (classid IN ('pg_trigger'::pg_catalog.regclass, 'pg_rewrite'::pg_catalog.regclass,
        'pg_policy'::pg_catalog.regclass,
            'pg_event_trigger'::pg_catalog.regclass)
        OR EXISTS (SELECT FROM pg_proc p WHERE d.classid = 'pg_proc'::pg_catalog.regclass AND p.oid = objid
            AND (prosecdef OR proleakproof OR prorettype IN ('trigger'::regtype, 'event_trigger'::regtype)))
        OR EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::pg_catalog.regclass AND c.oid = objid))
ORDER BY 1;
ROLLBACK;
