-- The managed band table: made in every form, kept in step through every kind of statement, and gone without a trace.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Made, with what it is made of.
CREATE TABLE docs (id int PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO docs SELECT i, 'A text of its own: ' || md5(i::text) || md5((i / 2)::text) FROM generate_series(1, 10) i;
SELECT lsh_create_band_table('docs');
SELECT pg_temp.state('docs');
SELECT * FROM lsh_band_tables;
\d docs_bands
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass ORDER BY 1;
SELECT obj_description('docs_bands'::regclass, 'pg_class');

-- Every kind of statement.
INSERT INTO docs VALUES (11, 'One more text'), (12, ''), (13, NULL), (14, 'Two more');
SELECT pg_temp.state('docs');
UPDATE docs SET body = body || ', edited' WHERE id IN (1, 12, 13);
SELECT pg_temp.state('docs');
UPDATE docs SET body = body, id = id;
UPDATE docs SET body = nullif(body, 'Two more') WHERE id = 14;
SELECT pg_temp.state('docs');
-- Ids that move on and change places, also among copies; and a statement that does not succeed.
ALTER TABLE docs DROP CONSTRAINT docs_pkey, ADD UNIQUE (id) DEFERRABLE INITIALLY IMMEDIATE;
UPDATE docs SET id = id + 1;
UPDATE docs SET body = 'Twins have one text' WHERE id IN (2, 3);
UPDATE docs SET id = CASE id WHEN 2 THEN 3 ELSE 2 END WHERE id IN (2, 3);
UPDATE docs SET id = 5 WHERE id = 4;
SELECT pg_temp.state('docs');
DELETE FROM docs WHERE id > 12;
DELETE FROM docs WHERE false;
SELECT pg_temp.state('docs');
COPY docs (id, body) FROM stdin;
20	Copied from elsewhere
21	Copied from elsewhere, too
22	\N
\.
SELECT pg_temp.state('docs');
ALTER TABLE docs DROP CONSTRAINT docs_id_key, ADD PRIMARY KEY (id);
INSERT INTO docs VALUES (20, 'New for twenty'), (30, 'Thirty is new')
    ON CONFLICT (id) DO UPDATE SET body = excluded.body;
INSERT INTO docs VALUES (20, 'not taken'), (31, 'Thirty-one is new') ON CONFLICT DO NOTHING;
SELECT pg_temp.state('docs');
MERGE INTO docs USING (VALUES (20, 'Merged'), (21, NULL), (40, 'Forty')) AS given (n, text) ON id = n
WHEN MATCHED AND text IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET body = text, id = 41 WHEN NOT MATCHED THEN
INSERT (id, body) VALUES (n, text);
SELECT id FROM docs WHERE id >= 20 ORDER BY id;
SELECT pg_temp.state('docs');
-- One statement that deletes, changes and inserts; a row that comes back with its id.
WITH gone AS (DELETE FROM docs WHERE id <= 3 RETURNING id, body),
    changed AS (UPDATE docs SET body = 'Changed' WHERE id = 40)
INSERT INTO docs SELECT id, body || '!' FROM gone UNION ALL VALUES (50, 'Fifty');
SELECT pg_temp.state('docs');
BEGIN;
SAVEPOINT before;
INSERT INTO docs VALUES (60, 'Not for long');
DELETE FROM docs WHERE id = 50;
ROLLBACK TO before;
SAVEPOINT before;
UPDATE docs SET id = 61 WHERE id = 50;
RELEASE before;
COMMIT;
SELECT pg_temp.state('docs');
-- An error that a block catches leaves the user as he was, and the band table in step.
DO $$ BEGIN INSERT INTO docs VALUES (70, 'Seventy'), (70, 'again'); EXCEPTION WHEN unique_violation THEN NULL; END $$;
DO $$ BEGIN UPDATE docs SET id = 0; EXCEPTION WHEN unique_violation THEN INSERT INTO docs VALUES (71, 'Caught'); END $$;
SELECT current_user = session_user, pg_temp.state('docs');
-- More rows than memory holds.
SET work_mem = '64kB';
INSERT INTO docs SELECT i, 'Row number ' || md5(i::text) || md5((i / 2)::text) FROM generate_series(1001, 6000) i;
UPDATE docs SET body = body || ' of six thousand' WHERE id % 3 > 0;
UPDATE docs SET id = -id WHERE id > 1000;
DELETE FROM docs WHERE id % 2 = 1;
RESET work_mem;
SELECT pg_temp.state('docs');
-- Not by triggers, or not by ours: a refresh.
SET session_replication_role = replica;
DELETE FROM docs WHERE id < 0;
INSERT INTO docs VALUES (80, 'Replicated');
RESET session_replication_role;
SELECT * FROM lsh_refresh_band_table('docs');
ALTER TABLE docs DISABLE TRIGGER USER;
UPDATE docs SET id = 81 WHERE id = 80;
ALTER TABLE docs ENABLE TRIGGER USER;
SELECT pg_temp.error_of('INSERT INTO docs VALUES (80, ''Replicated'')');
SELECT pg_temp.state('docs');
TRUNCATE docs;
SELECT pg_temp.state('docs');

-- Two band tables of one source, all ways to say bands and rows, names that want quotes.
INSERT INTO docs SELECT i, 'Text ' || md5(i::text) FROM generate_series(1, 20) i;
SELECT lsh_create_band_table('docs', bands => 4, rows => 3, band_table => 'Ключи "of" docs');
SELECT lsh_create_band_table('docs', 'id', 'sig', 0.5, 0.99, band_table => 'wide');
SELECT * FROM lsh_band_tables ORDER BY bands;
INSERT INTO docs VALUES (21, 'In all three');
SELECT pg_temp.state('docs', 'wide'), pg_temp.state('docs', '"Ключи ""of"" docs"'), pg_temp.state('docs', 'docs_bands');
TRUNCATE docs;
SELECT pg_temp.state('docs', 'wide'), pg_temp.state('docs', '"Ключи ""of"" docs"'), pg_temp.state('docs', 'docs_bands');
-- Renaming anything; a new band table under the name that another had.
INSERT INTO docs VALUES (1, 'The first text'), (2, 'The second text');
CREATE SCHEMA "Other schema";
ALTER TABLE docs RENAME id TO "the ""id""";
ALTER TABLE docs RENAME sig TO "Unterschrift ä";
ALTER TABLE wide RENAME TO "B a n d s";
ALTER TABLE docs RENAME TO "Docs of 'mine'";
ALTER TABLE "Docs of 'mine'" SET SCHEMA "Other schema";
ALTER TABLE "B a n d s" SET SCHEMA "Other schema";
INSERT INTO "Other schema"."Docs of 'mine'" VALUES (3, 'The third text'), (4, 'The fourth text');
UPDATE "Other schema"."Docs of 'mine'" SET body = body || '!' WHERE "the ""id""" < 3;
DELETE FROM "Other schema"."Docs of 'mine'" WHERE "the ""id""" = 3;
SELECT * FROM lsh_band_tables ORDER BY bands;
SET search_path = "Other schema", public;
SELECT pg_temp.state($$"Docs of 'mine'"$$, '"B a n d s"'), pg_temp.state($$"Docs of 'mine'"$$, 'docs_bands');
ALTER TABLE docs_bands RENAME TO "Docs of 'mine'_bands_of_old";
SELECT lsh_create_band_table($$"Docs of 'mine'"$$, '"the ""id"""', 'sig');
SELECT lsh_create_band_table($$"Docs of 'mine'"$$, 'the "id"', 'Unterschrift ä', band_table => 'docs_bands');
TRUNCATE "Docs of 'mine'";
SELECT lsh_drop_band_table($$"Docs of 'mine'"$$, t.band_table) FROM lsh_band_tables t
    WHERE t.band_table <> '"B a n d s"'::regclass;
SELECT band_table FROM lsh_band_tables;
-- The extension in another schema, out of the path.
CREATE SCHEMA ext;
ALTER EXTENSION minhash_lsh SET SCHEMA ext;
SET search_path = "Other schema";
INSERT INTO "Docs of 'mine'" VALUES (5, 'The fifth text');
SELECT ext.lsh_refresh_band_table($$"Docs of 'mine'"$$),
    ext.lsh_candidates($$"Docs of 'mine'"$$, ext.minhash('The fifth text'));
SELECT ext.lsh_drop_band_table($$"Docs of 'mine'"$$);
SELECT ext.lsh_create_band_table($$"Docs of 'mine'"$$, 'the "id"', 'Unterschrift ä');
TRUNCATE "Docs of 'mine'";
RESET search_path;
ALTER EXTENSION minhash_lsh SET SCHEMA public;
DROP SCHEMA ext;

-- Nothing is left behind: with the band table, a column, the source.
SELECT pg_temp.error_of('DROP TABLE "Other schema"."Docs of ''mine''_bands"');
DROP TABLE "Other schema"."Docs of 'mine'_bands" CASCADE;
INSERT INTO "Other schema"."Docs of 'mine'" VALUES (6, 'Nobody watches');
SELECT lsh_create_band_table($$"Other schema"."Docs of 'mine'"$$, 'the "id"', 'Unterschrift ä');
SELECT pg_temp.error_of($$ALTER TABLE "Other schema"."Docs of 'mine'" DROP COLUMN "Unterschrift ä"$$);
ALTER TABLE "Other schema"."Docs of 'mine'" DROP COLUMN "Unterschrift ä" CASCADE;
INSERT INTO "Other schema"."Docs of 'mine'" VALUES (7, 'Nobody watches');
CREATE TABLE docs (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('docs');
-- The type of the columns stays.
SELECT pg_temp.error_of('ALTER TABLE docs ALTER id TYPE bigint'),
    pg_temp.error_of('ALTER TABLE docs ALTER sig TYPE minhash_signature(64)');
SELECT lsh_refresh_band_table('docs');
SELECT pg_temp.error_of('ALTER TABLE docs ALTER id TYPE bigint'),
    pg_temp.error_of('ALTER TABLE docs ALTER sig TYPE minhash_signature(64)');
DROP TRIGGER docs_bands_settings ON docs;
INSERT INTO docs VALUES (1, minhash('Nobody watches'));
DROP TABLE docs_bands;
SELECT lsh_create_band_table('docs');
DROP TABLE docs;
SELECT relname FROM pg_class WHERE relname ~ 'bands' AND relkind = 'r' AND relnamespace <> 'pg_catalog'::regnamespace;
SELECT count(*) FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_extension'::regclass
    AND deptype = 'n';
SELECT tgname FROM pg_trigger WHERE NOT tgisinternal;
DROP SCHEMA "Other schema" CASCADE;
