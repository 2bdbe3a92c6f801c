-- The extension uses only its own objects and those of pg_catalog, whatever else its schema contains when the extension
-- is created. The test runs in one transaction. The rollback restores the extension for the other tests.

\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
BEGIN;
DROP EXTENSION minhash_lsh;
CREATE ROLE regress_lsh_eve;
CREATE SCHEMA decoys AUTHORIZATION regress_lsh_eve;
SET ROLE regress_lsh_eve;
SET LOCAL search_path = decoys;
-- eve's decoys are functions and operators. The operators match pairs of types exactly where PostgreSQL's operators
-- need a cast.
DO $$
DECLARE
    types text[] := '{oid,regclass,regprocedure,regproc,int2,int4,int8,name,text}';
    left_type text;
    right_type text;
    operator text;
BEGIN
    FOREACH left_type IN ARRAY types LOOP
        FOREACH right_type IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION decoy(%s, %s) RETURNS boolean LANGUAGE plpgsql
                AS ''BEGIN RAISE EXCEPTION ''''a decoy''''; END''', left_type, right_type);
            FOREACH operator IN ARRAY ARRAY['=', '<>', '<', '>', '<=', '>=', '~', '||'] LOOP
                EXECUTE format('CREATE OPERATOR %s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = decoy)',
                    operator, left_type, right_type);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CREATE FUNCTION split_part(bytea, text, int) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a decoy''; END';
CREATE FUNCTION "substring"(text, name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a decoy''; END';
RESET ROLE;
CREATE TEMP TABLE of_eve AS
    SELECT 'pg_proc'::pg_catalog.regclass AS classid, oid FROM pg_proc
    WHERE pronamespace = 'decoys'::pg_catalog.regnamespace
    UNION ALL
    SELECT 'pg_operator'::pg_catalog.regclass, oid FROM pg_operator
    WHERE oprnamespace = 'decoys'::pg_catalog.regnamespace;
RESET search_path;
SELECT count(*) > 600 FROM of_eve;
CREATE EXTENSION minhash_lsh SCHEMA decoys;

-- None of the extension's objects depends on one of eve's objects. (Only the control view does.)
SET LOCAL search_path = decoys, pg_catalog;
CREATE VIEW decoys.control AS SELECT oid = 'pg_class'::pg_catalog.regclass AS it FROM pg_catalog.pg_class;
RESET search_path;
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
FROM pg_depend AS d JOIN of_eve ON d.refclassid = of_eve.classid AND d.refobjid = of_eve.oid
WHERE (d.classid, d.objid) NOT IN (SELECT classid, oid FROM of_eve);
-- The extension works for a user whose search path contains the decoys.
SET LOCAL search_path = decoys, pg_catalog;
CREATE TABLE decoys.docs (id pg_catalog.int8 PRIMARY KEY, body pg_catalog.text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO decoys.docs VALUES (1, 'Among decoys'), (2, 'Among decoys'), (3, 'Elsewhere');
SELECT * FROM lsh_pairs('SELECT id, body FROM decoys.docs');
SELECT band, key FROM lsh_bands(minhash('a'), 2, 2);
ROLLBACK;
