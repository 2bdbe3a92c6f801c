-- Nothing that others put into a schema runs with the rights of whoever makes a band table, writes to its source,
-- checks an index or calls a bulk function. And nobody gets at a band table but by his own rights.

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
-- What her code did as somebody else.
CREATE TABLE evil.loot (who text, what text);
GRANT ALL ON evil.loot TO PUBLIC;

SET ROLE regress_lsh_eve;
CREATE FUNCTION evil.strike(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'regress_lsh_eve' THEN
        INSERT INTO evil.loot VALUES (current_user, what);
    END IF;
END $$;
-- Functions that PostgreSQL's parser likes better than ours, or than its own, if it may choose: the same name, with
-- other types of arguments.
DO $$
DECLARE
    called record;
    place text;
BEGIN
    FOREACH place IN ARRAY '{public,own,evil}'::text[] LOOP
        FOR called IN SELECT * FROM (VALUES
            ('lsh_band_keys', 'public.minhash_signature, int, int, anyelement', 'bigint[]', '''{1}'''),
            ('lsh_band_keys', 'public.minhash_signature, bigint, bigint', 'bigint[]', '''{1}'''),
            ('lsh_band_keys', 'anyelement, int, int', 'bigint[]', '''{1}'''),
            ('_lsh_require_band_table', 'oid, text, text', 'bool', 'true'),
            ('_lsh_require_band_table', 'regclass, name, name', 'bool', 'true'),
            ('unnest', 'bigint[]', 'SETOF bigint', ''),
            ('cardinality', 'bigint[]', 'int', '1'), ('format', 'text, bigint, regclass, text', 'text', '''x'''),
            ('obj_description', 'oid, name', 'text', '''x'''), ('obj_description', 'oid, text', 'text',
                '''x''')) v (name, arguments, result, value)
        LOOP
            -- What is there as it is, such as the extension's own functions, she cannot make.
            BEGIN
                EXECUTE format('CREATE FUNCTION %s.%s(%s) RETURNS %s LANGUAGE plpgsql AS
                    $f$BEGIN PERFORM evil.strike(%L); RETURN %s; END$f$', place, called.name, called.arguments,
                        called.result,
                    called.name, called.value);
            EXCEPTION WHEN duplicate_function THEN NULL;
            END;
        END LOOP;
    END LOOP;
END $$;
-- Types by the names of PostgreSQL's; domains, and a type that converts to others by itself.
CREATE DOMAIN public.regclass AS text;
CREATE DOMAIN public.text AS int;
CREATE DOMAIN public.int8 AS text;
CREATE DOMAIN evil.address AS pg_catalog.text;
CREATE DOMAIN evil.signed AS public.minhash_signature;
CREATE TYPE evil.converts AS (x int);
CREATE FUNCTION evil.convert(evil.converts) RETURNS pg_catalog.text LANGUAGE plpgsql AS
    'BEGIN PERFORM evil.strike(''cast''); RETURN ''x''; END';
CREATE CAST (evil.converts AS pg_catalog.text) WITH FUNCTION evil.convert AS IMPLICIT;
-- Operators that fit exactly.
DO $$
DECLARE
    place text;
    type text;
    operator text;
BEGIN
    FOREACH place IN ARRAY '{public,own,evil}'::text[] LOOP
        FOREACH type IN ARRAY
            '{bigint,integer,pg_catalog.text,bigint[],evil.address,evil.signed,oid,"char"}'::text[] LOOP
            EXECUTE format('CREATE FUNCTION %s.operate(%s, %s) RETURNS boolean LANGUAGE plpgsql AS
                ''BEGIN PERFORM evil.strike(''''operator %s''''); RETURN true; END''', place, type, type, type);
            FOREACH operator IN ARRAY '{=,<>,<,>,%}'::text[] LOOP
                EXECUTE format('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s.operate)', place,
                    operator,
                    type, type, place);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
-- Tables by the names that statements use.
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

-- What others do, with a search path that has all of hers before PostgreSQL's own. As the owner, as a superuser, as
-- a writer.
CREATE FUNCTION pg_temp.as_role(role name, statements pg_catalog.text) RETURNS pg_catalog.text LANGUAGE plpgsql AS $$
DECLARE
    result pg_catalog.text;
BEGIN
    EXECUTE pg_catalog.format('SET LOCAL ROLE %I', role);
    result := pg_temp.error_of(pg_catalog.concat('SET LOCAL search_path = public, evil, own, pg_catalog; ',
        statements));
    SET LOCAL search_path = pg_catalog, public;
    RESET ROLE;
    RETURN result;
END $$;
SET search_path = pg_catalog, public;
-- The control: they do run where a statement is careless.
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
        'TRUNCATE own.docs', 'SELECT public.lsh_drop_band_table(''own.docs_bands'')', 'DROP TABLE own.docs'] LOOP
        said := pg_temp.as_role(role, statement);
        IF said OPERATOR(pg_catalog.<>) 'no error' THEN
            result := pg_catalog.concat_ws(' ', statement, said);
        END IF;
    END LOOP;
    RETURN result;
END $$;
SELECT CASE role WHEN session_user THEN 'superuser' ELSE role END, type, kind, pg_temp.live(role, type, of, kind)
FROM (VALUES ('regress_lsh_owner'::name), (session_user)) r (role), (VALUES ('pg_catalog.int8', 'i'),
    ('evil.address', 'i::pg_catalog.text'), ('evil.signed', 'public.minhash(i::pg_catalog.text)')) t (type, of),
    (VALUES ('r'), ('p')) k (kind)
ORDER BY 1, 2, 3;
-- As a writer, who has what the owner grants him.
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

-- Who may create triggers on a source, or owns a table that looks like a band table, gains nothing: her triggers run
-- as whoever writes, as any trigger of hers would, and others' tables are neither emptied nor dropped.
SELECT pg_temp.as_role('regress_lsh_owner', $$GRANT TRIGGER, SELECT ON own.docs TO regress_lsh_eve;
    CREATE TABLE own.precious (key bigint, id evil.address); INSERT INTO own.precious VALUES (1, 'x')$$);
SELECT pg_temp.as_role('regress_lsh_eve', statement) FROM unnest(ARRAY[
    $$SELECT public.lsh_create_band_table('own.docs', band_table => 'mine')$$,
    $$SELECT public.lsh_drop_band_table('own.docs_bands')$$,
    $$CREATE TRIGGER planted AFTER TRUNCATE ON own.docs WHEN
        (public._lsh_require_band_table('own.precious'::pg_catalog.regclass,
        'own.precious'::pg_catalog.text,
            'TRUNCATE'::pg_catalog.text)) EXECUTE FUNCTION own.docs_bands_truncate()$$]) statement;
SELECT pg_temp.as_role('regress_lsh_owner', statement) FROM unnest(ARRAY['TRUNCATE own.docs',
    $$SELECT public.lsh_drop_band_table('own.docs_bands')$$]) statement;
SELECT (SELECT count(*) FROM own.precious), to_regclass('own.docs_bands');
-- A table by the name of one that was renamed is not written to.
SELECT pg_temp.as_role('regress_lsh_owner',
    $$DROP TRIGGER planted ON own.docs; ALTER TABLE own.docs_bands RENAME TO renamed$$);
SELECT pg_temp.as_role('regress_lsh_eve', $$CREATE TABLE own.docs_bands (key bigint,
    id evil.address); GRANT ALL ON own.docs_bands
    TO PUBLIC; CREATE TRIGGER strike BEFORE INSERT ON own.docs_bands FOR EACH ROW EXECUTE FUNCTION
        evil.strike_row()$$);
SELECT pg_temp.as_role('regress_lsh_writer', $$INSERT INTO own.docs VALUES ('c', public.minhash('a text'))$$);
TABLE evil.loot;

-- One with further arguments that may be left out makes calls fail, in the extension's own schema. It is not called
-- either.
SELECT pg_temp.as_role('regress_lsh_owner', $$CREATE TABLE own.more (id bigint PRIMARY KEY,
    sig public.minhash_signature);
    SELECT public.lsh_create_band_table('own.more'); INSERT INTO own.more VALUES (1, public.minhash('a text'))$$);
SELECT pg_temp.as_role('regress_lsh_eve', $$CREATE FUNCTION public.lsh_band_keys(public.minhash_signature,
    pg_catalog.int4, pg_catalog.int4,
    more pg_catalog.int4 DEFAULT 0) RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN PERFORM evil.strike(''default'');
        RETURN ''{1}''; END'$$);
DO $$
BEGIN
    DELETE FROM own.more;
EXCEPTION WHEN ambiguous_function THEN
    RAISE WARNING '%', sqlerrm;
END $$;
TABLE evil.loot;

-- No function, view, rule or trigger of the extension runs anything with other rights than its caller's.
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend d
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh')
    AND (classid IN ('pg_trigger'::pg_catalog.regclass, 'pg_rewrite'::pg_catalog.regclass,
        'pg_policy'::pg_catalog.regclass,
            'pg_event_trigger'::pg_catalog.regclass)
        OR EXISTS (SELECT FROM pg_proc p WHERE d.classid = 'pg_proc'::pg_catalog.regclass AND p.oid = objid
            AND (prosecdef OR proleakproof OR prorettype IN ('trigger'::regtype, 'event_trigger'::regtype)))
        OR EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::pg_catalog.regclass AND c.oid = objid));
ROLLBACK;
