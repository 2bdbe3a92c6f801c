-- lsh_create_band_table() writes triggers that keep a band table in step with its source. The tests below run every
-- kind of statement, on every kind of source and id, and then drop the band tables.

\getenv abs_srcdir PG_ABS_SRCDIR
\set error_separator ' | '
\set errors :abs_srcdir '/sql/include/errors.sql'
\i :errors
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Compares a band table with the keys of its source. Reports how many keys the band table has, how many keys are
-- missing from it, and how many keys it should not have.
CREATE FUNCTION pg_temp.state(source regclass, id name DEFAULT 'id', signature name DEFAULT 'sig',
    bands int DEFAULT 13,
    rows int DEFAULT 7, band_table regclass DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('WITH s AS (SELECT k.key, t.%2$I AS id FROM %3$s t, lsh_bands(t.%4$I, %5$s, %6$s) k
            WHERE t.%2$I IS DISTINCT FROM NULL)
        SELECT format(''%%s keys, %%s missing, %%s too many'', (SELECT count(*) FROM %1$s),
            (SELECT count(*) FROM (TABLE s EXCEPT ALL TABLE %1$s) m),
                (SELECT count(*) FROM (TABLE %1$s EXCEPT ALL TABLE s) m))',
        coalesce(band_table, (source || '_bands')::regclass), id, source, signature, bands, rows) INTO result;
    RETURN result;
END $$;

-- Make a band table for a typical table. Show it, its trigger functions and its triggers.
CREATE TABLE docs (id bigint PRIMARY KEY, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED, n int);
INSERT INTO docs (id, body) SELECT i, md5((i / 3)::text) || md5((i / 3 + 1)::text) || i FROM generate_series(1, 300) i;
SELECT lsh_create_band_table('docs');
\pset tuples_only off
\pset format aligned
\d docs_bands
\sf docs_bands_delete
\sf docs_bands_update
\pset format unaligned
\pset tuples_only on
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass ORDER BY tgname;
SELECT obj_description('docs_bands'::regclass), obj_description('docs_bands_insert'::regproc);
SELECT pg_temp.state('docs');

-- After every kind of statement, the band table is still in step. Empty and NULL texts have no keys.
INSERT INTO docs (id, body) VALUES (1001, 'A text'), (1002, ''), (1003, NULL), (1004, 'A text');
SELECT pg_temp.state('docs');
UPDATE docs SET body = body || ' changed' WHERE id % 7 = 0;
UPDATE docs SET n = id;
UPDATE docs SET body = CASE WHEN id % 2 = 0 THEN body END WHERE id > 1000;
SELECT pg_temp.state('docs');
UPDATE docs SET id = -id WHERE id % 5 = 0;
UPDATE docs SET id = id + 1, body = body || '!' WHERE id IN (1002, 1004) AND id <> 1002;
SELECT pg_temp.state('docs');
DELETE FROM docs WHERE id % 11 = 0;
DELETE FROM docs WHERE id = 123456;
SELECT pg_temp.state('docs');
INSERT INTO docs (id, body) SELECT i, 'Text ' || i FROM generate_series(1, 40) i
    ON CONFLICT (id) DO UPDATE SET body = excluded.body || docs.body;
INSERT INTO docs (id, body) VALUES (1, 'skipped'), (2001, 'not skipped') ON CONFLICT DO NOTHING;
SELECT pg_temp.state('docs');
MERGE INTO docs USING (SELECT i, 'Merged ' || i AS body FROM generate_series(250, 330) i) m ON id = i
    WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET body = m.body
    WHEN NOT MATCHED THEN INSERT (id, body) VALUES (i, m.body);
COPY docs (id, body) FROM STDIN;
3001	By COPY
3002	By COPY, too
\.
WITH gone AS (DELETE FROM docs WHERE id BETWEEN 20 AND 30 RETURNING *), changed AS (UPDATE docs SET body = 'changed'
    WHERE id BETWEEN 31 AND 40) INSERT INTO docs (id, body) SELECT id + 10000, body FROM gone;
SELECT pg_temp.state('docs');
BEGIN;
SAVEPOINT one;
DELETE FROM docs WHERE id % 2 = 0;
UPDATE docs SET body = 'all the same';
ROLLBACK TO one;
TRUNCATE docs;
SELECT pg_temp.state('docs');
INSERT INTO docs (id, body) VALUES (1, 'After all');
SELECT pg_temp.state('docs');
TRUNCATE docs, docs_bands;
INSERT INTO docs (id, body) VALUES (1, 'After both'), (2, 'After both');
TRUNCATE docs_bands, docs;
INSERT INTO docs (id, body) VALUES (3, 'After both');
SELECT pg_temp.state('docs');
ROLLBACK;
BEGIN;
TRUNCATE docs, docs_bands;
SELECT pg_temp.state('docs');
ROLLBACK;
SELECT pg_temp.state('docs');
-- The triggers' cached plans stay good, whether they were first made for one row or for many: a statement that changes
-- one row never causes a sequential scan of the band table, neither before nor after statements that change many rows.
CREATE FUNCTION pg_temp.cost_of_one() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    before bigint := pg_stat_get_xact_tuples_returned('docs_bands'::regclass);
BEGIN
    DELETE FROM docs WHERE id = 200;
    UPDATE docs SET body = 'another' WHERE id = 201;
    INSERT INTO docs (id, body) VALUES (200, 'again');
    RETURN pg_stat_get_xact_tuples_returned('docs_bands'::regclass) = before; -- counts rows of sequential scans
END $$;
SELECT pg_temp.cost_of_one();
UPDATE docs SET body = body || ' all';
DELETE FROM docs WHERE id % 3 = 0;
SELECT pg_temp.cost_of_one(), pg_temp.state('docs');

-- If the band table is out of step, a statement that would leave keys behind fails.
ALTER TABLE docs DISABLE TRIGGER USER;
INSERT INTO docs (id, body) VALUES (5001, 'Written without triggers');
ALTER TABLE docs ENABLE TRIGGER USER;
SELECT pg_temp.error_of('DELETE FROM docs WHERE id = 5001'),
    pg_temp.error_of('UPDATE docs SET body = ''x'' WHERE id = 5001');
UPDATE docs SET n = 1 WHERE id = 5001;
TRUNCATE docs_bands;
INSERT INTO docs_bands SELECT key, id FROM docs, lsh_bands(sig, 13, 7);
DELETE FROM docs WHERE id = 5001;
-- A statement changes rows twice: first by itself, and then through a trigger that it fires.
CREATE FUNCTION change_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE docs SET body = body || ' again' WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER change_again AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION change_again();
SELECT pg_temp.error_of('INSERT INTO docs (id, body) VALUES (5001, ''changed by its own trigger'')');
DROP TRIGGER change_again ON docs;
CREATE TRIGGER change_again AFTER UPDATE ON docs FOR EACH ROW WHEN (OLD.n IS DISTINCT FROM NEW.n)
    EXECUTE FUNCTION change_again();
UPDATE docs SET n = -1 WHERE id = 101;
SELECT pg_temp.error_of('UPDATE docs SET n = -2, body = ''both'' WHERE id = 101');
SELECT pg_temp.state('docs');
DROP FUNCTION change_again CASCADE;
-- A statement inserts a row and calls a function that deletes the row at once.
CREATE FUNCTION remove(bigint) RETURNS bigint LANGUAGE sql AS 'DELETE FROM docs WHERE id = $1 RETURNING id';
SELECT pg_temp.error_of('INSERT INTO docs (id, body) VALUES (5001, ''gone at once'') RETURNING remove(id)');
DROP FUNCTION remove;

-- The source can be renamed or moved to another schema. If a column, the band table or its schema is renamed, or the
-- extension moves to another schema, writes fail until the change is undone.
ALTER TABLE docs RENAME TO renamed;
INSERT INTO renamed (id, body) VALUES (6001, 'renamed');
SELECT pg_temp.state('renamed', band_table => 'docs_bands');
ALTER TABLE renamed RENAME TO docs;
CREATE SCHEMA other;
ALTER TABLE docs SET SCHEMA other;
DELETE FROM other.docs WHERE id = 6001;
ALTER TABLE other.docs SET SCHEMA public;
ALTER TABLE docs RENAME sig TO signature;
SELECT pg_temp.error_of('DELETE FROM docs WHERE id = 100');
ALTER TABLE docs RENAME signature TO sig;
ALTER TABLE docs RENAME id TO identity;
SELECT pg_temp.error_of('INSERT INTO docs (identity, body) VALUES (6001, ''renamed'')');
ALTER TABLE docs RENAME identity TO id;
ALTER TABLE docs_bands RENAME TO docs_keys;
CREATE TABLE docs_bands (key bigint, id bigint);
SELECT pg_temp.error_of('DELETE FROM docs WHERE id = 100');
DROP TABLE docs_bands;
ALTER TABLE docs_keys SET SCHEMA other;
SELECT pg_temp.error_of('DELETE FROM docs WHERE id = 100');
ALTER TABLE other.docs_keys SET SCHEMA public;
ALTER TABLE docs_keys RENAME TO docs_bands;
BEGIN;
ALTER SCHEMA public RENAME TO private;
SELECT pg_temp.error_of('SET search_path = private; DELETE FROM docs WHERE id = 100');
ROLLBACK;
-- A setting of the session says how names are quoted: when a band table is made, and when rows are written.
SET quote_all_identifiers = on;
UPDATE docs SET body = body || ' quoted' WHERE id = 100;
CREATE TABLE quoted (LIKE docs INCLUDING ALL);
SELECT lsh_create_band_table('quoted');
RESET quote_all_identifiers;
SELECT pg_temp.state('docs');
INSERT INTO quoted (id, body) VALUES (1, 'not quoted');
SELECT pg_temp.state('quoted');
DROP TABLE quoted;
-- A role that has privileges only on columns of the band table, or no USAGE on the extension's schema.
CREATE ROLE regress_lsh_columns;
BEGIN;
GRANT SELECT, INSERT, DELETE ON docs TO regress_lsh_columns;
GRANT SELECT (key), INSERT (key, id), DELETE ON docs_bands TO regress_lsh_columns;
SET ROLE regress_lsh_columns;
INSERT INTO docs (id, body) VALUES (7001, 'by privileges on columns');
SELECT pg_temp.error_of('DELETE FROM docs WHERE id = 7001');
RESET ROLE;
GRANT SELECT (id) ON docs_bands TO regress_lsh_columns;
SET ROLE regress_lsh_columns;
DELETE FROM docs WHERE id = 7001;
RESET ROLE;
SELECT pg_temp.state('docs');
CREATE VIEW other.written AS SELECT id, body FROM docs;
ALTER VIEW other.written OWNER TO regress_lsh_columns;
GRANT USAGE ON SCHEMA other TO regress_lsh_columns;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
SET LOCAL search_path = other;
SET ROLE regress_lsh_columns;
SELECT pg_temp.error_of('INSERT INTO written VALUES (7001, ''through a view'')');
ROLLBACK;
DROP ROLE regress_lsh_columns;
DELETE FROM docs WHERE id = 100;
SELECT pg_temp.state('docs');

-- One source can have a second band table with other bands. Dropping a band table or its source also drops the triggers
-- and functions.
SELECT lsh_create_band_table('docs', bands => 4, rows => 3, band_table => 'few');
INSERT INTO docs (id, body) VALUES (6002, 'of both');
SELECT pg_temp.state('docs'), pg_temp.state('docs', bands => 4, rows => 3, band_table => 'few');
DROP TABLE few;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'docs'::regclass ORDER BY tgname;
SELECT proname FROM pg_proc WHERE proname ~ '^(docs|few)' ORDER BY proname;
SELECT lsh_drop_band_table('docs_bands');
SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass), to_regclass('docs_bands'),
    (SELECT count(*) FROM pg_proc WHERE proname ~ '^docs');
SELECT lsh_create_band_table('docs');
DROP TABLE docs;
SELECT to_regclass('docs_bands'), (SELECT count(*) FROM pg_proc WHERE proname ~ '^docs');
-- Drop a band table whose triggers and functions no longer depend on it, as after a restore. The user's own function
-- stays.
CREATE TABLE docs (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('docs');
DELETE FROM pg_depend WHERE deptype = 'a' AND refobjid = 'docs_bands'::regclass AND classid IN
    ('pg_trigger'::regclass, 'pg_proc'::regclass);
CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER own AFTER INSERT ON docs WHEN ('docs_bands'::regclass IS NOT NULL) EXECUTE FUNCTION own();
SELECT pg_temp.error_of('DROP TABLE docs_bands') ~ 'cannot drop table docs_bands because other objects depend on it';
SELECT pg_temp.error_of('SELECT lsh_drop_band_table(''docs_bands'')')
    ~ 'trigger own on table public.docs depends on table public.docs_bands';
DROP TRIGGER own ON docs;
SELECT lsh_drop_band_table('docs_bands');
SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass), to_regclass('docs_bands'),
    (SELECT count(*) FROM pg_proc WHERE proname ~ '^docs'), 'own'::regproc;
DROP TABLE docs;

-- Names that need quoting, long names, and ids of many types.
SET client_encoding = 'UTF8';
CREATE SCHEMA "Ein Schema";
CREATE TABLE "Ein Schema"."O'Neil ""x"" $$ é
" ("Der ""Name""" text COLLATE "C" PRIMARY KEY, "new" int, "Unter'schrift" minhash_signature(64));
SELECT lsh_create_band_table(c.oid::regclass, id_column => 'Der "Name"', bands => 8, rows => 4,
    band_table => E'b\\"$body$ %s {table}')
FROM pg_class c WHERE relnamespace = '"Ein Schema"'::regnamespace AND relkind = 'r';
INSERT INTO "Ein Schema"."O'Neil ""x"" $$ é
" SELECT 'id ' || i, i, minhash('text ' || i, 64) FROM generate_series(1, 50) i;
UPDATE "Ein Schema"."O'Neil ""x"" $$ é
" SET "Der ""Name""" = 'id' || "new", "Unter'schrift" = minhash('text ' || "new" / 2, 64) WHERE "new" % 3 = 0;
DELETE FROM "Ein Schema"."O'Neil ""x"" $$ é
" WHERE "new" % 5 = 0;
SELECT pg_temp.state(s.oid::regclass, 'Der "Name"', 'Unter''schrift', 8, 4, b.oid::regclass)
FROM pg_class s, pg_class b WHERE s.relname ~ '^O' AND b.relname ~ '^b'
    AND s.relnamespace = '"Ein Schema"'::regnamespace
    AND b.relnamespace = s.relnamespace AND s.relkind = 'r' AND b.relkind = 'r';
DROP TABLE "Ein Schema"."O'Neil ""x"" $$ é
";
SELECT count(*) FROM pg_proc WHERE pronamespace = '"Ein Schema"'::regnamespace;
-- Names that would be formats or escapes, of the extension's schema and of the id's type, too, in a session in which
-- backslashes are escapes.
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION minhash_lsh CASCADE;
CREATE SCHEMA "5%s";
CREATE EXTENSION minhash_lsh SCHEMA "5%s";
RESET client_min_messages;
SET LOCAL search_path = "5%s", public;
SELECT current_setting('server_version_num')::int < 190000 AS has_nonconforming_strings \gset
\if :has_nonconforming_strings
SET LOCAL standard_conforming_strings = off;
SET LOCAL escape_string_warning = off;
\endif
CREATE TYPE "%1$s \" AS ENUM ('a', 'b', 'c', 'd');
CREATE TABLE "%L \" (id "%1$s \" PRIMARY KEY, "%I \" minhash_signature);
SELECT lsh_create_band_table(E'"%L \\"', bands => 8, rows => 4);
INSERT INTO "%L \" SELECT id, minhash('text ' || id) FROM unnest(enum_range(NULL::"%1$s \")) AS id;
UPDATE "%L \" SET "%I \" = minhash('text') WHERE id = 'a';
DELETE FROM "%L \" WHERE id = 'b';
SELECT pg_temp.state(E'"%L \\"', 'id', E'%I \\', 8, 4, E'"%L \\_bands"');
DELETE FROM "%L \_bands" WHERE id = 'c';
SELECT pg_temp.error_of(E'DELETE FROM "%L \\"');
SELECT lsh_drop_band_table(E'"%L \\_bands"');
SELECT pg_temp.error_of(E'SELECT lsh_create_band_table(E''"%L \\\\"'', id_column => ''nr%s'')');
ROLLBACK;
-- Columns with names that the trigger functions also use for other things. The table's name is so long that the names
-- derived from it would exceed the limit of 63 bytes.
CREATE TABLE "éééééééééééééééééééééééééééééé_a" (missing int PRIMARY KEY, tg_op text,
    old_keys minhash_signature);
SELECT lsh_create_band_table('"éééééééééééééééééééééééééééééé_a"', id_column => 'missing');
INSERT INTO "éééééééééééééééééééééééééééééé_a" VALUES (1, 'x', minhash('a')), 
    (2, 'y', minhash('b'));
UPDATE "éééééééééééééééééééééééééééééé_a" SET missing = missing + 2,
    old_keys = minhash('c') WHERE missing = 2;
DELETE FROM "éééééééééééééééééééééééééééééé_a" WHERE missing = 1;
SELECT relname, octet_length(relname),
    pg_temp.state('"éééééééééééééééééééééééééééééé_a"', 'missing', 'old_keys',
    band_table => oid)
FROM pg_class WHERE relname ~ '^é.*bands$';
DROP TABLE "éééééééééééééééééééééééééééééé_a";
CREATE DOMAIN address AS text CHECK (value <> '');
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE DOMAIN felt AS mood;
CREATE DOMAIN deeply_felt AS felt;
CREATE DOMAIN moods AS mood[];
CREATE DOMAIN span AS int4range;
CREATE DOMAIN code AS char(5);
CREATE TYPE place AS (shelf int, "number of it" text);
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE FUNCTION pg_temp.with_ids(type text, ids text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('CREATE TABLE ids (id %s PRIMARY KEY, sig minhash_signature, n int)', type);
    PERFORM lsh_create_band_table('ids');
    EXECUTE format('INSERT INTO ids SELECT id::%s, minhash(''text '' || n / 2), n
        FROM unnest($1) WITH ORDINALITY a (id, n)',
        split_part(type, ' COLLATE', 1)) USING ids;
    UPDATE ids SET sig = minhash('other') WHERE n = 2;
    DELETE FROM ids WHERE n = 1;
    result := (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 'ids_bands'::regclass AND attname = 'id')
        || ': ' || pg_temp.state('ids');
    DROP TABLE ids;
    RETURN result;
END $$;
SELECT pg_temp.with_ids(type, ids) FROM (VALUES ('smallint', '{-1,2,3}'::text[]), ('uuid',
    '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'), ('varchar(10)', '{a,A}'),
        ('char(5)', '{a,b}'),
    ('text COLLATE "C"', '{ä,a,b}'), ('text COLLATE ignoring_case', '{a,b}'), ('address', '{x,y,z}'), ('mood',
        '{glad,sad}'),
    ('place', '{"(1,a)","(1,)","(1,b)","(,)"}'), ('int[]', '{"{1,2}","{}"}'), ('numeric', '{1.0,2.00}'), ('int4range',
        '{"[1,3)","empty"}'),
    ('"char"', '{a,b}'), ('name', '{a,b}'), ('xid8', '{1,2}'), ('timestamptz', '{2026-11-23,infinity}'),
    ('felt', '{glad,sad}'), ('deeply_felt', '{glad,sad}'), ('moods', '{"{glad}","{glad,sad}"}'),
    ('span', '{"[1,3)","[1,4)"}'), ('code', '{ab,ac}')) v (type, ids);
-- Ids that their collation treats as equal although they are written differently.
CREATE TABLE texts (id text COLLATE ignoring_case PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('texts');
INSERT INTO texts VALUES ('a', minhash('one')), ('b', minhash('two'));
UPDATE texts SET id = 'A' WHERE id = 'a';
SELECT id, count(*) FROM texts_bands GROUP BY id ORDER BY id;
UPDATE texts SET sig = minhash('three') WHERE id = 'a';
DELETE FROM texts WHERE id = 'B';
SELECT id, count(*) FROM texts_bands GROUP BY id ORDER BY id;
DROP TABLE texts;
-- A UNIQUE id column that allows NULL. Rows without an id have no keys.
CREATE TABLE optional (id int UNIQUE, sig minhash_signature);
SELECT lsh_create_band_table('optional');
INSERT INTO optional VALUES (NULL, minhash('a')), (NULL, minhash('b')), (1, minhash('a'));
UPDATE optional SET id = 2 WHERE sig = minhash('b');
UPDATE optional SET id = NULL WHERE id = 1;
DELETE FROM optional WHERE id IS NULL;
SELECT pg_temp.state('optional');
DROP TABLE optional;
-- Inserting a signature that cannot be cut into the table's bands fails and leaves nothing behind.
CREATE TABLE narrow (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('narrow', bands => 64, rows => 2);
SELECT pg_temp.error_of('INSERT INTO narrow VALUES (1, minhash(''a'', 64))'),
    pg_temp.error_of('INSERT INTO narrow VALUES (1, minhash_compress(minhash(''a''), 1))');
INSERT INTO narrow VALUES (1, minhash_compress(minhash('a'), 8)), (2, minhash(''));
SELECT pg_temp.state('narrow', bands => 64, rows => 2);
DROP TABLE narrow;
-- The band table of a temporary table is temporary. The band table of an unlogged table is unlogged.
CREATE TEMP TABLE brief (id int PRIMARY KEY, sig minhash_signature);
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('brief'), lsh_create_band_table('unlogged');
INSERT INTO brief VALUES (1, minhash('a'));
INSERT INTO unlogged VALUES (1, minhash('a'));
SELECT pg_temp.state('brief'), pg_temp.state('unlogged');
SELECT relname, relpersistence FROM pg_class WHERE relname IN ('brief_bands', 'unlogged_bands') ORDER BY relname;
DROP TABLE brief, unlogged;

-- Partitioned tables: writes to the parent, to a partition, and to new and attached partitions. Some updates move rows
-- to another partition.
CREATE TABLE parts (id int, part int, sig minhash_signature) PARTITION BY LIST (part);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 (extra text, sig minhash_signature, part int, id int);
ALTER TABLE parts_2 DROP extra;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES IN (2);
INSERT INTO parts SELECT i, 1 + i % 2, minhash('text ' || i / 3) FROM generate_series(1, 100) i;
SELECT lsh_create_band_table('parts');
\sf parts_bands_rows
SELECT pg_temp.state('parts');
INSERT INTO parts SELECT i, 1 + i % 2, minhash('text ' || i / 3) FROM generate_series(101, 120) i;
INSERT INTO parts_1 VALUES (200, 1, minhash('into a partition'));
COPY parts_2 (id, part, sig) FROM STDIN;
201	2	\N
\.
UPDATE parts SET part = 3 - part WHERE id % 10 = 0;
UPDATE parts SET sig = minhash('changed ' || id), id = id + 1000, part = 3 - part WHERE id % 10 = 1;
UPDATE parts_2 SET sig = minhash('changed') WHERE id % 10 = 3;
UPDATE parts SET part = part;
DELETE FROM parts WHERE id % 10 = 5;
DELETE FROM parts_1 WHERE id % 10 = 6;
SELECT pg_temp.state('parts');
-- A trigger for each row cannot give a row the id that a row like it has until later in the statement.
SELECT split_part(pg_temp.error_of('UPDATE parts SET id = id + 1'), ' | ', 1);
UPDATE parts SET id = id + 1000000;
UPDATE parts SET id = id - 1000000;
SELECT pg_temp.state('parts');
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN (3) PARTITION BY RANGE (id);
CREATE TABLE parts_31 PARTITION OF parts_3 DEFAULT;
INSERT INTO parts VALUES (300, 3, minhash('of a new one')), (301, 3, minhash('of a new one'));
UPDATE parts SET part = 1 WHERE id = 300;
INSERT INTO parts_31 VALUES (302, 3, minhash('by its own name'));
MERGE INTO parts USING (VALUES (301, 3), (303, 3)) v (i, p) ON id = i
    WHEN MATCHED THEN UPDATE SET sig = minhash('merged')
    WHEN NOT MATCHED THEN INSERT VALUES (i, p, minhash('merged'));
SELECT pg_temp.state('parts');
-- ATTACH and DETACH fire no triggers, so the band table must be filled again. Later writes to an attached partition
-- keep the band table in step.
CREATE TABLE parts_4 (id int, part int, sig minhash_signature);
INSERT INTO parts_4 VALUES (400, 4, minhash('attached'));
ALTER TABLE parts ATTACH PARTITION parts_4 FOR VALUES IN (4);
ALTER TABLE parts DETACH PARTITION parts_1;
SELECT pg_temp.state('parts') ~ '13 missing, [1-9]\d+ too many';
SELECT pg_temp.error_of('DELETE FROM parts WHERE id = 400');
BEGIN;
TRUNCATE parts_bands;
INSERT INTO parts_bands SELECT key, id FROM parts, lsh_bands(sig, 13, 7);
COMMIT;
INSERT INTO parts_4 VALUES (401, 4, minhash('attached'));
INSERT INTO parts_1 VALUES (402, 1, minhash('no more'));
DELETE FROM parts WHERE id = 400;
SELECT pg_temp.state('parts');
TRUNCATE parts;
SELECT pg_temp.state('parts');
DROP TABLE parts;
SELECT to_regclass('parts_bands'), (SELECT count(*) FROM pg_proc WHERE proname ~ '^parts'),
    (SELECT count(*) FROM pg_trigger
    WHERE tgrelid = 'parts_1'::regclass);
DROP TABLE parts_1;
-- TRUNCATE of a partition leaves its keys behind, which do not stand in the way of its rows if they come back at once.
CREATE TABLE parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO parts SELECT i, minhash('text ' || i) FROM generate_series(1, 5) i;
SELECT lsh_create_band_table('parts');
BEGIN;
TRUNCATE parts_low;
INSERT INTO parts SELECT i, minhash('text ' || i) FROM generate_series(1, 6) i;
COMMIT;
SELECT pg_temp.state('parts');
SELECT pg_temp.error_of($$INSERT INTO parts VALUES (3, minhash('text 3'))$$) ~ 'duplicate key';
DROP TABLE parts;
-- A band table for one partition only.
CREATE TABLE parts (id int PRIMARY KEY, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_high PARTITION OF parts DEFAULT;
SELECT lsh_create_band_table('parts_low');
INSERT INTO parts SELECT i, minhash('text ' || i) FROM generate_series(90, 110) i;
UPDATE parts SET id = id + 100 WHERE id = 91;
SELECT pg_temp.state('parts_low');
DROP TABLE parts_low;
SELECT to_regclass('parts_low_bands'), (SELECT count(*) FROM pg_proc WHERE proname ~ '^parts');
DROP TABLE parts;

-- If the source becomes a child of another table, statements on that table do not fire the triggers that the source
-- has. They fire those of a band table that is made afterwards.
CREATE TABLE grown (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('grown');
INSERT INTO grown VALUES (1, minhash('a text')), (2, minhash('another text'));
-- A table inherits from the source: its rows have no keys.
CREATE TABLE heir () INHERITS (grown);
INSERT INTO heir VALUES (3, minhash('a third text'));
SELECT pg_temp.state('grown');
SELECT pg_temp.error_of('UPDATE grown SET sig = NULL');
SELECT pg_temp.error_of('DELETE FROM grown');
DROP TABLE heir;
CREATE TABLE above (id int NOT NULL, sig minhash_signature);
ALTER TABLE grown INHERIT above;
UPDATE above SET sig = minhash('a text that has changed');
SELECT pg_temp.state('grown');
SELECT lsh_drop_band_table('grown_bands'), lsh_create_band_table('grown');
UPDATE above SET sig = minhash('a text that has changed again');
DELETE FROM above WHERE id = 1;
SELECT pg_temp.state('grown');
DROP TABLE above CASCADE;

-- Calls that are refused.
CREATE TABLE base (id int PRIMARY KEY, sig minhash_signature, other minhash_signature, body text);
CREATE TABLE child () INHERITS (base);
CREATE TABLE bare (id int, sig minhash_signature, odd json, PRIMARY KEY (id) DEFERRABLE, CHECK (id > 0));
CREATE UNIQUE INDEX ON bare (id) WHERE id > 5;
CREATE VIEW seen AS TABLE bare;
CREATE ROLE regress_lsh_stranger;
SELECT arguments, pg_temp.error_of(format('SELECT lsh_create_band_table(%s)', arguments)) FROM unnest(ARRAY[
    '''base''', '''bare''', '''bare'', id_column => ''body''', '''bare'', id_column => ''odd''',
        '''seen''', '''base_pkey''', 'NULL',
        '''bare'', id_column => NULL', '''bare'', ''id''',
    '0', '''pg_class''', '''child''', '''child'', signature_column => ''body''',
    '''child'', signature_column => ''none''',
    '''child'', signature_column => NULL, threshold => NULL']) arguments;
ALTER TABLE bare DROP CONSTRAINT bare_pkey, ADD PRIMARY KEY (id);
SELECT arguments, pg_temp.error_of(format('SELECT lsh_create_band_table(''bare'', %s)', arguments))
FROM unnest(ARRAY['bands => 3', 'bands => 0, rows => 1', 'bands => 129, rows => 1', 'threshold => 2',
    'threshold => 0.01, recall => 0.99', 'threshold => 0.8, bands => 13, rows => 7',
    'recall => 0.9, bands => 13, rows => 7']) arguments;
CREATE TABLE bare_bands ();
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''bare'')');
DROP TABLE bare_bands;
SELECT lsh_create_band_table('bare', 0.9, 0.99);
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''bare'')');
SELECT lsh_drop_band_table('bare_bands');
CREATE FUNCTION bare_bands_insert() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''bare'')');
DROP FUNCTION bare_bands_insert;
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY['lsh_drop_band_table(''bare'')',
    'lsh_drop_band_table(0)', '_lsh_require_band_table(''bare'', ''bare'', '''')',
    '_lsh_require_band_table(0, '''', '''')', '_lsh_tie_band_table(0, ''bare'', ''{}'', 1::smallint, 1::smallint)',
    '_lsh_tie_band_table(''bare'', ''bare'', ''{0}'', 1::smallint, 1::smallint)',
    '_lsh_tie_band_table(''bare'', ''bare'', ''{}'', 1::smallint, 9::smallint)']) call;
SELECT lsh_drop_band_table(NULL), _lsh_require_band_table('bare', 'public.bare', 'SELECT, TRUNCATE');
CREATE FUNCTION of_another() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SET ROLE regress_lsh_stranger;
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''bare'')');
CREATE TEMP TABLE hers (id int);
SELECT pg_temp.error_of(format('SELECT _lsh_tie_band_table(%s, 1::smallint, 1::smallint)', arguments))
FROM unnest(ARRAY[
    '''hers'', ''bare'', ''{}''', '''bare'', ''hers'', ''{}''', '''hers'', ''hers'', ''{of_another()}''']) arguments;
RESET ROLE;
DROP FUNCTION of_another;
-- A row-level security policy that hides rows from the table's owner is an error.
ALTER TABLE bare OWNER TO regress_lsh_stranger;
ALTER TABLE bare ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
GRANT CREATE ON SCHEMA public TO regress_lsh_stranger;
SET ROLE regress_lsh_stranger;
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''bare'')');
ALTER TABLE bare NO FORCE ROW LEVEL SECURITY;
SELECT lsh_create_band_table('bare');
SHOW row_security;
INSERT INTO bare VALUES (1, minhash('a'));
RESET ROLE;
SELECT pg_temp.state('bare');
SELECT relowner::regrole,
    (SELECT string_agg(DISTINCT proowner::regrole::text, ' ') FROM pg_proc WHERE proname ~ '^bare_bands')
FROM pg_class WHERE relname = 'bare_bands';
REVOKE CREATE ON SCHEMA public FROM regress_lsh_stranger;
DROP VIEW seen;
DROP OWNED BY regress_lsh_stranger;
DROP ROLE regress_lsh_stranger;
DROP TABLE child, base;
DROP DOMAIN address, deeply_felt, felt, moods, span, code;
DROP TYPE mood, place;
DROP COLLATION ignoring_case;
DROP SCHEMA other, "Ein Schema";
DROP FUNCTION own;
-- The columns that the triggers use keep their types, and cannot be dropped alone. Others can.
CREATE TABLE fixed (id int PRIMARY KEY, body text, sig minhash_signature, other int) PARTITION BY RANGE (id);
CREATE TABLE fixed_1 PARTITION OF fixed FOR VALUES FROM (0) TO (10);
SELECT lsh_create_band_table('fixed'), lsh_create_band_table('fixed_1');
-- PostgreSQL 19 ends the first DETAIL with a period, earlier releases do not.
SELECT statement, rtrim(pg_temp.error_of(statement), '.') AS error FROM unnest(ARRAY[
    'ALTER TABLE fixed ALTER sig TYPE minhash_signature(64)', 'ALTER TABLE fixed DROP COLUMN sig',
    'ALTER TABLE fixed ALTER other TYPE bigint, DROP COLUMN body', 'SELECT lsh_drop_band_table(''fixed'')']) statement;
SELECT lsh_drop_band_table('fixed_1_bands'), lsh_drop_band_table('fixed_bands');
ALTER TABLE fixed ALTER sig TYPE minhash_signature(64);
-- A band table without triggers can still be dropped.
SELECT lsh_create_band_table('fixed');
SET client_min_messages = warning;
ALTER TABLE fixed DROP COLUMN sig CASCADE;
RESET client_min_messages;
SELECT lsh_drop_band_table('fixed_bands');
SELECT proname FROM pg_proc WHERE proname ~ '^fixed';
DROP TABLE fixed;
