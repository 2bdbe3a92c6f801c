-- Whoever may define triggers on a table, or owns one side of a band table, must not act with the rights of another.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

CREATE ROLE regress_lsh_owner;
CREATE ROLE regress_lsh_mallory;
CREATE SCHEMA own AUTHORIZATION regress_lsh_owner;
CREATE SCHEMA evil AUTHORIZATION regress_lsh_mallory;
GRANT USAGE ON SCHEMA own TO regress_lsh_mallory;
GRANT USAGE ON SCHEMA evil TO regress_lsh_owner;
-- What mallory's code did as somebody else: nothing, at the end.
CREATE TABLE evil.loot (who text, what text);
GRANT ALL ON evil.loot TO PUBLIC;
SET ROLE regress_lsh_mallory;
CREATE FUNCTION evil.strike() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'regress_lsh_mallory' THEN
        INSERT INTO evil.loot VALUES (current_user, concat_ws(' ', TG_OP, TG_TABLE_NAME));
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
-- What she makes for another's table: what looks like a band table, and triggers that name it.
CREATE FUNCTION evil.plant(source regclass, band_table regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER planted BEFORE UPDATE OF id, sig ON %s WHEN (%L::regclass IS NULL)
        EXECUTE FUNCTION lsh_maintain_band_table(1, 1)', source, band_table);
    EXECUTE format('CREATE TRIGGER planted_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS n
        WHEN (%L::regclass IS NOT NULL) EXECUTE FUNCTION lsh_maintain_band_table()', source, band_table);
    EXECUTE format('CREATE TRIGGER planted_truncate BEFORE TRUNCATE ON %s WHEN (%L::regclass IS NOT NULL)
        EXECUTE FUNCTION lsh_maintain_band_table()', source, band_table);
END $$;
RESET ROLE;
-- Statements as a role, and what becomes of them.
CREATE FUNCTION pg_temp.as_role(role name, statements text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', role);
    result := pg_temp.error_of(statements);
    RESET ROLE;
    RETURN result;
END $$;
CREATE FUNCTION pg_temp.mallory(statements text) RETURNS text LANGUAGE sql
    AS $$ SELECT pg_temp.as_role('regress_lsh_mallory', statements) $$;
CREATE FUNCTION pg_temp.owner(statements text) RETURNS text LANGUAGE sql
    AS $$ SELECT pg_temp.as_role('regress_lsh_owner', statements) $$;

-- TRIGGER and INSERT: her own table, with a trigger of hers. With and without the mark.
SELECT pg_temp.owner($$CREATE TABLE own.docs (id bigint PRIMARY KEY, sig minhash_signature, other int, note bigint);
    GRANT INSERT, TRIGGER, TRUNCATE ON own.docs TO regress_lsh_mallory$$);
SELECT pg_temp.mallory($$CREATE TABLE evil.bands (key bigint, id bigint, PRIMARY KEY (key, id));
    GRANT ALL ON evil.bands TO PUBLIC;
    CREATE TRIGGER strike BEFORE INSERT ON evil.bands FOR EACH ROW EXECUTE FUNCTION evil.strike();
    SELECT evil.plant('own.docs', 'evil.bands')$$);
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (1, minhash(''a text''))');
SELECT pg_temp.mallory($$ALTER TABLE evil.bands ADD CHECK ('own.docs'::regclass IS NOT NULL)$$);
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (1, minhash(''a text''))');
-- Only when all else is right is the owner told to take the table over.
SELECT pg_temp.mallory('DROP TRIGGER strike ON evil.bands');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (1, minhash(''a text''))');
SELECT pg_temp.mallory('TRUNCATE own.docs');
SELECT pg_temp.owner('SELECT lsh_candidates(''own.docs'', minhash(''a text''))'),
    pg_temp.owner('SELECT lsh_refresh_band_table(''own.docs'')'),
    pg_temp.owner('SELECT lsh_drop_band_table(''own.docs'')'),
    pg_temp.owner('SELECT lsh_candidates(''own.docs'', minhash(''a text''), band_table => ''evil.bands'')');
SELECT count(*) FROM lsh_band_tables;
SELECT pg_temp.owner('DROP TRIGGER planted ON own.docs; DROP TRIGGER planted_insert ON own.docs;
    DROP TRIGGER planted_truncate ON own.docs');

-- GRANT ALL on a table of a superuser.
CREATE TABLE own.supers (id bigint PRIMARY KEY, sig minhash_signature);
GRANT ALL ON own.supers TO regress_lsh_mallory;
SELECT pg_temp.mallory($$CREATE TRIGGER strike BEFORE INSERT ON evil.bands FOR EACH ROW EXECUTE FUNCTION evil.strike();
    SELECT evil.plant('own.supers', 'evil.bands')$$);
SELECT pg_temp.mallory('INSERT INTO own.supers VALUES (1, minhash(''a text''))');
DROP TABLE own.supers;

-- TRIGGER and TRUNCATE: another table of the owner's would be emptied; a refresh would delete from it, a drop drop it.
SELECT pg_temp.owner($$CREATE TABLE own.precious (key bigint, id bigint, PRIMARY KEY (key, id));
    INSERT INTO own.precious VALUES (1, 2)$$);
SELECT pg_temp.mallory('SELECT evil.plant(''own.docs'', ''own.precious'')');
SELECT pg_temp.mallory('TRUNCATE own.docs'), pg_temp.mallory('INSERT INTO own.docs VALUES (1, minhash(''a text''))'),
    pg_temp.owner('SELECT lsh_refresh_band_table(''own.docs'')'),
    pg_temp.owner('SELECT lsh_drop_band_table(''own.docs'')'),
    pg_temp.owner('SELECT lsh_largest_buckets(''own.docs'')');
SELECT count(*) FROM own.precious;
SELECT pg_temp.owner('DROP TRIGGER planted ON own.docs; DROP TRIGGER planted_insert ON own.docs;
    DROP TRIGGER planted_truncate ON own.docs');
-- Also if it is the band table of another source.
SELECT pg_temp.owner($$CREATE TABLE own.others (id bigint PRIMARY KEY, sig minhash_signature);
    SELECT lsh_create_band_table('own.others'); INSERT INTO own.others VALUES (1, minhash('of others'))$$);
SELECT pg_temp.mallory('SELECT evil.plant(''own.docs'', ''own.others_bands'')');
SELECT pg_temp.mallory('TRUNCATE own.docs'), pg_temp.mallory('INSERT INTO own.docs VALUES (1, minhash(''a text''))'),
    pg_temp.owner('SELECT lsh_refresh_band_table(''own.docs'')');
SELECT count(*) FROM own.others_bands;
-- What cannot be a band table at all: a view, an index, a table of the catalogue.
CREATE VIEW own.seen AS SELECT 1::bigint AS key, 2::bigint AS id;
ALTER VIEW own.seen OWNER TO regress_lsh_owner;
SELECT relation, pg_temp.owner(format('DROP TRIGGER planted ON own.docs; DROP TRIGGER planted_insert ON own.docs;
    DROP TRIGGER planted_truncate ON own.docs; SELECT evil.plant(''own.docs'', %L); TRUNCATE own.docs', relation))
FROM unnest(ARRAY['own.seen', 'own.docs_pkey', 'pg_class', 'own.docs']) relation;
DROP VIEW own.seen;
SELECT pg_temp.owner('DROP TRIGGER planted ON own.docs; DROP TRIGGER planted_insert ON own.docs;
    DROP TRIGGER planted_truncate ON own.docs');

-- TRIGGER on a source that has a band table: it goes on, whatever else is named.
SELECT pg_temp.owner('SELECT lsh_create_band_table(''own.docs'')');
SELECT pg_temp.mallory($$CREATE TRIGGER planted BEFORE UPDATE OF id, sig ON own.docs
    WHEN ('evil.bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(1, 1)$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (1, minhash(''a text''))');
SELECT band_table FROM lsh_band_tables WHERE source = 'own.docs'::regclass;
SELECT pg_temp.state('own.docs');
-- The true one named once more, with other settings, which cannot be told apart; or with another column, which would be
-- read as a signature.
SELECT pg_temp.mallory($$CREATE TRIGGER planted_too BEFORE UPDATE OF id, sig ON own.docs
    WHEN ('own.docs_bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(1, 1)$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (2, minhash(''another text''))');
SELECT pg_temp.owner('DROP TRIGGER planted_too ON own.docs');
-- With a scope that it has not; or one of a type that has no hash, which is not believed.
SELECT pg_temp.mallory($$CREATE TRIGGER planted_too BEFORE UPDATE OF id, sig, other ON own.docs
    WHEN ('own.docs_bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(13, 7)$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (2, minhash(''another text''))');
SELECT pg_temp.owner('DROP TRIGGER planted_too ON own.docs; ALTER TABLE own.docs ADD unhashed json');
SELECT pg_temp.mallory($$CREATE TRIGGER planted_too BEFORE UPDATE OF id, sig, unhashed ON own.docs
    WHEN ('own.docs_bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(13, 7)$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (7, minhash(''another text''))');
SELECT pg_temp.owner('DROP TRIGGER docs_bands_settings ON own.docs;
    SELECT lsh_candidates(''own.docs'', minhash(''a text''), scope => 1)');
DELETE FROM own.docs WHERE id = 7;
SELECT pg_temp.owner('ALTER TABLE own.docs DROP unhashed CASCADE');
SELECT pg_temp.mallory($$CREATE TRIGGER planted_too BEFORE UPDATE OF id, other ON own.docs
    WHEN ('own.docs_bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(1, 1)$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (2, minhash(''another text''), 3)');
SELECT tgname, pg_temp.owner(format('DROP TRIGGER %I ON own.docs', tgname)) FROM pg_trigger
WHERE tgrelid = 'own.docs'::regclass AND tgname ~ 'planted|settings' ORDER BY tgname DESC;
SELECT pg_temp.mallory($$CREATE TRIGGER planted_too BEFORE UPDATE OF id, other ON own.docs
    WHEN ('own.docs_bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(1, 1);
    CREATE TRIGGER planted_insert AFTER INSERT ON own.docs REFERENCING NEW TABLE AS n
    WHEN ('own.docs_bands'::regclass IS NOT NULL) EXECUTE FUNCTION lsh_maintain_band_table()$$);
SELECT pg_temp.owner('INSERT INTO own.docs VALUES (3, minhash(''another text''), 3)');
SELECT pg_temp.owner('DROP TABLE own.docs_bands CASCADE; SELECT lsh_create_band_table(''own.docs'')');
SELECT pg_temp.state('own.docs');

-- TRIGGER on the band table, as GRANT ALL ON ALL TABLES gives it; REFERENCES on it.
GRANT ALL ON ALL TABLES IN SCHEMA own TO regress_lsh_mallory;
SELECT pg_temp.mallory('CREATE TRIGGER strike AFTER INSERT ON own.docs_bands EXECUTE FUNCTION evil.strike()');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (4, minhash(''one more text''))'),
    pg_temp.owner('SELECT lsh_refresh_band_table(''own.docs'')'),
    pg_temp.owner('SELECT lsh_candidates(''own.docs'', minhash(''a text''))');
SELECT pg_temp.owner('DROP TRIGGER strike ON own.docs_bands');
SELECT pg_temp.mallory('CREATE TABLE evil.refers (key bigint, id bigint,
    FOREIGN KEY (key, id) REFERENCES own.docs_bands ON DELETE CASCADE)');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (4, minhash(''one more text''))');
SELECT pg_temp.mallory('DROP TABLE evil.refers');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (4, minhash(''one more text''))');
SELECT pg_temp.state('own.docs');
-- In the midst of a statement, when the band table has been believed: by a trigger for rows of hers that fires between.
SELECT pg_temp.owner($$CREATE TABLE own.parts (id bigint, sig minhash_signature) PARTITION BY RANGE (id);
    CREATE TABLE own.parts_1 PARTITION OF own.parts DEFAULT;
    SELECT lsh_create_band_table('own.parts');
    GRANT INSERT, TRIGGER ON own.parts, own.parts_1, own.parts_bands TO regress_lsh_mallory$$);
SELECT pg_temp.mallory($$CREATE FUNCTION evil.between() RETURNS trigger LANGUAGE plpgsql AS $x$
    BEGIN
        IF NEW.id = 1 THEN
            CREATE TRIGGER strike AFTER INSERT ON own.parts_bands EXECUTE FUNCTION evil.strike();
        END IF;
        RETURN NULL;
    END $x$;
    CREATE TRIGGER zz AFTER INSERT ON own.parts FOR EACH ROW EXECUTE FUNCTION evil.between()$$);
SELECT pg_temp.mallory('INSERT INTO own.parts VALUES (1, minhash(''first'')), (2, minhash(''second''))');
SELECT pg_temp.mallory('INSERT INTO own.parts VALUES (2, minhash(''second'')), (1, minhash(''first''))');
SELECT pg_temp.owner('DROP TABLE own.parts');

-- Marks: a column that the writer may not write; the source's triggers run as the writer.
SELECT pg_temp.owner($$REVOKE ALL ON own.docs FROM regress_lsh_mallory;
    GRANT INSERT, TRIGGER ON own.docs TO regress_lsh_mallory$$);
SELECT pg_temp.mallory($$CREATE TRIGGER zz_mark AFTER INSERT ON own.docs REFERENCING NEW TABLE AS n
    EXECUTE FUNCTION lsh_mark_near_duplicates('0', 'note');
    CREATE TRIGGER strike AFTER UPDATE ON own.docs FOR EACH ROW EXECUTE FUNCTION evil.strike()$$);
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (5, minhash(''a text''), 0, 7)');
SELECT pg_temp.owner('GRANT SELECT (id), UPDATE (note) ON own.docs TO regress_lsh_mallory');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (5, minhash(''a text''), 0, 7)');
SELECT pg_temp.owner('GRANT SELECT (note) ON own.docs TO regress_lsh_mallory');
SELECT pg_temp.mallory('INSERT INTO own.docs VALUES (5, minhash(''a text''), 0, 7)');
SELECT id, note FROM own.docs WHERE id = 5;
SELECT pg_temp.owner('DROP TRIGGER strike ON own.docs; DROP TRIGGER zz_mark ON own.docs');

-- A change of owner: the former owner must not keep a hold on what the new one writes.
SELECT pg_temp.mallory($$CREATE TABLE evil.docs (id bigint PRIMARY KEY, sig minhash_signature);
    SELECT lsh_create_band_table('evil.docs'); GRANT INSERT ON evil.docs TO PUBLIC$$);
ALTER TABLE evil.docs OWNER TO regress_lsh_owner;
SELECT pg_temp.mallory('INSERT INTO evil.docs VALUES (1, minhash(''a text''))'),
    pg_temp.owner('TRUNCATE evil.docs'), pg_temp.owner('SELECT lsh_drop_band_table(''evil.docs'')'),
    pg_temp.owner('SELECT lsh_near_duplicates(''evil.docs'', minhash(''a text''))');
SELECT pg_temp.owner('ALTER TABLE evil.docs_bands OWNER TO regress_lsh_owner');
ALTER TABLE evil.docs_bands OWNER TO regress_lsh_owner;
SELECT pg_temp.mallory('INSERT INTO evil.docs VALUES (1, minhash(''a text''))');
SELECT pg_temp.state('evil.docs');
-- Everything of hers that could wait on the band table for the new owner.
CREATE FUNCTION evil.watch(what bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF current_setting('evil.armed', true) = 'yes' THEN
        RAISE EXCEPTION 'her function runs as %', current_user;
    END IF;
    RETURN what;
END $$;
SELECT statement, pg_temp.as_role(current_user, format('%s; SET LOCAL ROLE regress_lsh_mallory;
    SET LOCAL evil.armed = yes; INSERT INTO evil.docs VALUES (2, minhash(''another text''))', statement))
FROM unnest(ARRAY['CREATE RULE strike AS ON INSERT TO evil.docs_bands DO ALSO SELECT evil.watch(1)',
    'ALTER TABLE evil.docs_bands ADD CHECK (evil.watch(key) = key)',
    'ALTER TABLE evil.docs_bands ALTER key SET DEFAULT evil.watch(1)',
    'ALTER TABLE evil.docs_bands ADD more bigint DEFAULT evil.watch(1)',
    'ALTER TABLE evil.docs_bands ADD more bigint GENERATED ALWAYS AS (evil.watch(key)) STORED',
    'ALTER TABLE evil.docs_bands DROP CONSTRAINT docs_bands_source',
    'CREATE INDEX strike ON evil.docs_bands (evil.watch(key))',
    'CREATE INDEX strike ON evil.docs_bands (key) WHERE evil.watch(key) > 0',
    'CREATE TABLE evil.heir () INHERITS (evil.docs_bands)',
    'ALTER TABLE evil.docs_bands RENAME id TO of_id',
    'ALTER TABLE evil.docs_bands ALTER id TYPE int',
    'ALTER TABLE evil.docs_bands DROP CONSTRAINT docs_bands_source, ADD CHECK (''own.docs''::regclass IS NOT NULL)'])
    statement;
-- An index of the owner's does no harm.
CREATE INDEX ON evil.docs_bands (id);
SELECT pg_temp.state('evil.docs');

-- A partition, or a partitioned table between, of another owner: his triggers do not act as the source's owner.
SELECT pg_temp.owner($$CREATE TABLE own.parts (id bigint, note bigint, sig minhash_signature) PARTITION BY RANGE (id);
    CREATE TABLE own.parts_1 PARTITION OF own.parts FOR VALUES FROM (0) TO (100);
    CREATE TABLE own.parts_2 PARTITION OF own.parts FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
    CREATE TABLE own.parts_2_1 PARTITION OF own.parts_2 DEFAULT;
    SELECT lsh_create_band_table('own.parts');
    INSERT INTO own.parts VALUES (1, NULL, minhash('a secret text'));
    CREATE TRIGGER zz_owners AFTER INSERT ON own.parts FOR EACH ROW
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.5')$$);
ALTER TABLE own.parts_2 OWNER TO regress_lsh_mallory;
ALTER TABLE own.parts_2_1 OWNER TO regress_lsh_mallory;
SELECT pg_temp.mallory($$CREATE TRIGGER zz AFTER INSERT ON own.parts_2 FOR EACH ROW
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.5');
    INSERT INTO own.parts_2 VALUES (101, NULL, minhash('another text'))$$);
SELECT pg_temp.mallory($$CREATE TRIGGER zz AFTER INSERT ON own.parts_2_1 FOR EACH ROW
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.5', 'note');
    INSERT INTO own.parts_2 VALUES (101, NULL, minhash('another text'))$$);
-- The owner's guard compares his rows as the owner, and names none.
SELECT pg_temp.mallory('INSERT INTO own.parts_2 VALUES (101, NULL, minhash(''a secret text''))');
SELECT pg_temp.mallory('INSERT INTO own.parts_2 VALUES (101, NULL, minhash(''Something else''))');
-- His policies do not run as the source's owner when he truncates it, and he needs no rights on the band table.
SELECT pg_temp.mallory($$ALTER TABLE own.parts_2_1 ENABLE ROW LEVEL SECURITY;
    ALTER TABLE own.parts_2_1 FORCE ROW LEVEL SECURITY;
    CREATE POLICY watch ON own.parts_2_1 USING (evil.watch(id) > 0)$$);
SELECT count(DISTINCT id) FROM own.parts_bands;
SELECT pg_temp.mallory('SET LOCAL evil.armed = yes; TRUNCATE own.parts_2_1');
SELECT DISTINCT id FROM own.parts_bands;
-- Nor do settings of his own make the owner write his table.
SELECT pg_temp.mallory($$CREATE TRIGGER planted BEFORE UPDATE OF id, sig ON own.parts_2
    WHEN ('evil.bands'::regclass IS NULL) EXECUTE FUNCTION lsh_maintain_band_table(1, 1);
    CREATE TRIGGER planted_rows AFTER INSERT ON own.parts_2 FOR EACH ROW
    WHEN ('evil.bands'::regclass IS NOT NULL) EXECUTE FUNCTION lsh_maintain_band_table()$$);
SELECT pg_temp.owner('INSERT INTO own.parts VALUES (102, NULL, minhash(''By the owner''))');

SELECT * FROM evil.loot;
DROP SCHEMA own, evil CASCADE;
DROP ROLE regress_lsh_owner, regress_lsh_mallory;
