-- What may have a managed band table: types of ids, kinds of signature columns and of tables, owners; and what may not.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Any type of id that has an order: made of rows, kept in step, looked up.
CREATE TYPE planet AS ENUM ('1', '2', '3', '4', '5', '6', '7', '8', '9');
CREATE DOMAIN number_of_document AS int CHECK (VALUE BETWEEN 1 AND 9);
CREATE TYPE "Two Parts" AS (first int, "second ""part""" text);
CREATE FUNCTION pg_temp.try_id(type text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    made text;
    changed text;
    found text;
BEGIN
    EXECUTE format('CREATE TABLE ids (id %s PRIMARY KEY, sig minhash_signature)', type);
    EXECUTE format('INSERT INTO ids SELECT %s, minhash(md5(i::text)) FROM generate_series(1, 4) i', value);
    PERFORM lsh_create_band_table('ids', bands => 2, rows => 8);
    made := pg_temp.state('ids');
    EXECUTE format('INSERT INTO ids SELECT %s, minhash(md5((i / 2)::text)) FROM generate_series(5, 8) i', value);
    EXECUTE format('UPDATE ids SET sig = minhash(md5(''x'')) WHERE id = (SELECT %s FROM (SELECT 3) AS of (i))', value);
    EXECUTE format('UPDATE ids SET id = (SELECT %s FROM (SELECT 9) AS of (i))
        WHERE id = (SELECT %1$s FROM (SELECT 1) AS of (i))', value);
    EXECUTE format('DELETE FROM ids WHERE id = (SELECT %s FROM (SELECT 2) AS of (i))', value);
    changed := pg_temp.state('ids');
    EXECUTE format('SELECT (SELECT string_agg(c::text, '', '' ORDER BY c)
        FROM lsh_candidates(''ids'', NULL::%1$s, minhash(md5(''3''))) c) || '' / '' || (SELECT string_agg(id::text, '',
            '') FROM lsh_near_duplicates(''ids'', NULL::%1$s, minhash(md5(''3''))))',
            split_part(type, ' COLLATE', 1)) INTO found;
    DROP TABLE ids;
    RETURN concat_ws('; ', made, changed, found);
END $$;
SELECT type, pg_temp.try_id(type, value)
    FROM (VALUES ('smallint', 'i'), ('integer', 'i'), ('bigint', 'i - 9223372036854775807'),
        ('uuid', 'md5(i::text)::uuid'), ('text', '''é "'' || i'), ('varchar(7)', '''id '' || i'),
        ('char(5)', 'i::text'), ('"char"', 'i::text::"char"'),
    ('name', '(''id '' || i)::name'), ('text COLLATE "POSIX"', 'i::text'), ('bytea', 'i::text::bytea'),
    ('numeric', 'i / 3.0'), ('numeric(5, 2)', 'i + 0.25'), ('double precision', 'i / 2.0'),
    ('date', 'date ''2020-01-01'' + i'),
    ('timestamptz', 'timestamptz ''2020-01-01'' + make_interval(i)'), ('planet', 'i::text::planet'),
    ('number_of_document', 'i'), ('"Two Parts"', 'ROW(i, ''ä'')::"Two Parts"'), ('int4range', 'int4range(i, i + 1)'),
    ('inet', '''::1''::inet + i'), ('tid', 'format(''(0,%s)'', i)::tid')) AS ids (type, value);
-- Ids of many kilobytes, which are short when they are compressed.
CREATE TABLE docs (id text PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('docs');
INSERT INTO docs SELECT i || repeat('long', 5000), minhash('Text ' || i) FROM generate_series(1, 200) i;
UPDATE docs SET id = '-' || id;
SELECT pg_temp.state('docs');
SELECT length(id) FROM lsh_candidates('docs', NULL::text, minhash('Text 12')) WHERE id LIKE '-12l%';
DROP TABLE docs;

-- A signature column that a trigger fills, of a fixed number of hashes; NULL ids; a table that triggers write while it
-- is written.
CREATE TABLE docs (n serial, id bigint UNIQUE, body text, sig minhash_signature(16), copies int);
CREATE FUNCTION sign_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.sig := minhash(NEW.body, num_hashes => 16);
    RETURN NEW; END $$;
CREATE TRIGGER sign_it BEFORE INSERT OR UPDATE OF body ON docs FOR EACH ROW EXECUTE FUNCTION sign_it();
CREATE FUNCTION copy_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO docs (id, body, copies) VALUES (NEW.id + 100, NEW.body || ' copied', NEW.copies - 1);
    UPDATE docs SET body = body || ' and touched' WHERE id = NEW.id AND copies = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER copy_it AFTER INSERT ON docs FOR EACH ROW WHEN (NEW.copies > 0) EXECUTE FUNCTION copy_it();
SELECT lsh_create_band_table('docs', threshold => 0.5);
SELECT * FROM lsh_band_tables;
INSERT INTO docs (id, body, copies) VALUES (1, 'It is copied', 3), (2, 'It is copied, too', 2),
    (NULL, 'Without an id', 0), (3, NULL, 0);
SELECT pg_temp.state('docs');
UPDATE docs SET id = 4 WHERE id IS NULL;
UPDATE docs SET id = NULL WHERE id = 1;
UPDATE docs SET body = 'With a body' WHERE id = 3;
SELECT id, body FROM docs ORDER BY n;
SELECT pg_temp.state('docs');
-- A row trigger that does away with what was just inserted, or takes back what was just changed.
CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' THEN DELETE FROM docs WHERE id = NEW.id;
    ELSIF TG_OP = 'DELETE' THEN INSERT INTO docs (id, body) VALUES (OLD.id, OLD.body || ' came back');
    ELSE UPDATE docs SET body = OLD.body, copies = 0 WHERE id = NEW.id; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER undo AFTER INSERT OR UPDATE OR DELETE ON docs FOR EACH ROW WHEN (pg_trigger_depth() = 0)
    EXECUTE FUNCTION undo();
INSERT INTO docs (id, body) VALUES (500, 'Never'), (501, 'Never ever');
UPDATE docs SET body = body || ', or not' WHERE id < 200;
DELETE FROM docs WHERE id > 200;
SELECT pg_temp.state('docs'), count(*) FROM docs;
DROP TRIGGER undo ON docs;
-- Signatures of fewer hashes than the bands need, more hashes, none.
CREATE TABLE mixed (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('mixed', bands => 4, rows => 5);
SELECT pg_temp.error_of('INSERT INTO mixed VALUES (1, minhash(''Few'', 16))'),
    pg_temp.error_of('INSERT INTO mixed VALUES (1, minhash('''', 16))');
INSERT INTO mixed VALUES (2, minhash('Enough', 20)), (3, minhash('Many', 4096)), (4, minhash('', 32)),
    (5, minhash('Classic', method => 'classic'));
UPDATE mixed SET sig = minhash('Changed', 30) WHERE id < 4;
ALTER TABLE mixed DISABLE TRIGGER USER;
INSERT INTO mixed VALUES (6, minhash('Few', 16)), (7, minhash('Few', 16));
ALTER TABLE mixed ENABLE TRIGGER USER;
SELECT pg_temp.error_of('SELECT lsh_refresh_band_table(''mixed'')');
UPDATE mixed SET sig = minhash('More') WHERE id = 6;
DELETE FROM mixed WHERE id = 7;
SELECT pg_temp.state('mixed');
DROP TABLE mixed;
-- Foreign keys that delete and change.
CREATE TABLE parents (id int PRIMARY KEY);
INSERT INTO parents VALUES (1), (2), (3);
CREATE TABLE children (id int PRIMARY KEY REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE,
    sig minhash_signature DEFAULT minhash('Default text'));
INSERT INTO children VALUES (1), (2), (3);
SELECT lsh_create_band_table('children');
UPDATE parents SET id = id + 10 WHERE id < 3;
DELETE FROM parents WHERE id > 11;
SELECT pg_temp.state('children'), (SELECT string_agg(id::text, ', ' ORDER BY id) FROM children);
DROP TABLE children, parents, docs;
DROP FUNCTION sign_it, copy_it, undo;
-- Temporary and unlogged tables; the band table is of the same kind. A table without rows, with the bands of 128
-- hashes.
CREATE TEMP TABLE docs (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('docs', band_table => 'of docs');
INSERT INTO docs VALUES (1, minhash('Temporary')), (2, minhash('Temporarily'));
TRUNCATE docs;
CREATE UNLOGGED TABLE logs (id int PRIMARY KEY, sig minhash_signature);
INSERT INTO logs VALUES (1, minhash('Unlogged', 64));
SELECT lsh_create_band_table('logs');
SELECT relname, relpersistence FROM pg_class WHERE relname IN ('of docs', 'logs_bands') ORDER BY 1;
SELECT pg_temp.state('docs'), pg_temp.state('logs'),
    (SELECT string_agg(format('%s x %s', bands, rows), ' and ' ORDER BY bands) FROM lsh_band_tables);
DROP TABLE docs, logs;

-- What cannot be: wrong arguments, tables, columns.
CREATE TABLE docs (id int PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    other int, late int UNIQUE DEFERRABLE, partial int, pair int, j json, list int[] UNIQUE, gone int,
    UNIQUE (id, pair));
CREATE UNIQUE INDEX ON docs (partial) WHERE partial > 0;
CREATE UNIQUE INDEX ON docs ((other + 1));
ALTER TABLE docs DROP gone;
CREATE VIEW a_view AS TABLE docs;
CREATE MATERIALIZED VIEW a_matview AS TABLE docs;
CREATE SEQUENCE a_sequence;
CREATE TABLE ancestor (id int PRIMARY KEY, sig minhash_signature);
CREATE TABLE heir () INHERITS (ancestor);
SELECT arguments, pg_temp.error_of('SELECT lsh_create_band_table(' || arguments || ')')
    FROM unnest(ARRAY['NULL', '''docs'', NULL', '''docs'', signature_column => NULL', '''docs'', threshold => NULL',
        '''docs'', recall => NULL', '''nowhere''', '123',
    '''docs'', ''nothing''', '''docs'', ''ID''', '''docs'', ''ctid''', '''docs'', ''........pg.dropped.10........''',
    '''docs'', signature_column => ''body''', '''docs'', ''other''', '''docs'', ''late''', '''docs'', ''partial''',
    '''docs'', ''pair''', '''docs'', ''j''', '''docs'', ''list''',
    '''docs'', threshold => 1.1', '''docs'', threshold => ''NaN''', '''docs'', threshold => 0', '''docs'', recall => 0',
    '''docs'', recall => 1', '''docs'', recall => ''NaN''', '''docs'', bands => 3', '''docs'', rows => 3',
    '''docs'', bands => 0, rows => 3', '''docs'', bands => 3, rows => 4097', '''docs'', bands => 20, rows => 7',
    '''docs'', threshold => 0.01, recall => 0.999999', '''docs'', band_table => ''docs''',
    '''docs'', band_table => ''''', '''a_view''', '''a_matview''', '''a_sequence''', '''docs_pkey''', '''ancestor''',
    '''pg_class'', ''oid''']) arguments;
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_drop_band_table(NULL)', 'lsh_drop_band_table(''docs'')', 'lsh_refresh_band_table(NULL)',
        'lsh_refresh_band_table(''docs'')', 'lsh_refresh_band_table(''docs'', ''ancestor'')',
        'lsh_drop_band_table(123)', 'lsh_maintain_band_table()']) call;
-- A table that inherits may: its rows also change through the one above.
ALTER TABLE heir ADD PRIMARY KEY (id);
SELECT lsh_create_band_table('heir', band_table => 'of heir');
INSERT INTO heir VALUES (1, minhash('An heir')), (2, minhash('Another heir'));
UPDATE ancestor SET sig = minhash('An ancestor') WHERE id = 1;
DELETE FROM ancestor WHERE id = 2;
SELECT pg_temp.state('heir');
TRUNCATE ancestor;
SELECT pg_temp.state('heir');
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''docs'', band_table => ''a_view'')');
DROP TABLE heir, ancestor;
DROP SEQUENCE a_sequence;
DROP VIEW a_view;
DROP MATERIALIZED VIEW a_matview;

-- Triggers that others define by the same function.
SELECT lsh_create_band_table('docs'), lsh_create_band_table('docs', band_table => 'more');
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_drop_band_table(''docs'')', 'lsh_refresh_band_table(''docs'')',
        'lsh_candidates(''docs'', minhash(''a''))']) call;
SELECT definition, pg_temp.error_of(format('CREATE TRIGGER wrong %s EXECUTE FUNCTION lsh_maintain_band_table();
    INSERT INTO docs VALUES (1) ON CONFLICT (id) DO UPDATE SET body = ''x''; TRUNCATE docs; DELETE FROM docs',
        definition))
FROM unnest(ARRAY['BEFORE INSERT ON docs FOR EACH ROW WHEN (''more''::regclass IS NOT NULL)',
    'AFTER INSERT ON docs WHEN (''more''::regclass IS NOT NULL)',
    'AFTER UPDATE ON docs REFERENCING NEW TABLE AS new_rows WHEN (''more''::regclass IS NOT NULL)',
    'AFTER DELETE ON docs', 'AFTER TRUNCATE ON docs',
    'BEFORE DELETE ON docs WHEN (''more''::regclass IS NOT NULL)', 'AFTER INSERT ON docs FOR EACH ROW',
    'AFTER INSERT ON docs FOR EACH ROW WHEN (''pg_class''::regclass IS NOT NULL)',
    'BEFORE UPDATE OF id, body ON docs FOR EACH ROW WHEN (''pg_class''::regclass IS NULL)']) definition;
CREATE TRIGGER nonsense BEFORE UPDATE OF id, sig ON docs WHEN ('docs'::regclass IS NULL)
    EXECUTE FUNCTION lsh_maintain_band_table('many', '99999999999999999999');
SELECT * FROM lsh_band_tables ORDER BY band_table;
SELECT pg_temp.error_of('SELECT lsh_refresh_band_table(''docs'', ''docs'')');

-- With the extension everything of it goes.
DROP TRIGGER nonsense ON docs;
BEGIN;
SELECT pg_temp.error_of('DROP EXTENSION minhash_lsh');
DROP EXTENSION minhash_lsh CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass AND NOT tgisinternal;
SELECT to_regclass('docs_bands') IS NULL AND to_regclass('more') IS NULL;
ROLLBACK;
DROP TABLE docs;
DROP TYPE planet, "Two Parts";
DROP DOMAIN number_of_document;

-- A missing column of signatures is added, if the texts are named.
CREATE TABLE "of Texts" (id int PRIMARY KEY, "a text" varchar, number int);
INSERT INTO "of Texts" VALUES (1, 'One text'), (2, 'one TEXT'), (3, NULL);
SELECT pg_temp.error_of(format('SELECT lsh_create_band_table(%s)', call)) FROM unnest(ARRAY[
    $$'"of Texts"'$$, $$'"of Texts"', text_column => 'text'$$, $$'"of Texts"', text_column => 'number'$$]) call;
SELECT lsh_create_band_table('"of Texts"', signature_column => 'its sig', text_column => 'a text');
SELECT pg_get_expr(adbin, adrelid), (SELECT count("its sig") FROM "of Texts") FROM pg_attrdef
    WHERE adrelid = '"of Texts"'::regclass;
SELECT id FROM lsh_near_duplicates('"of Texts"', minhash('one text')) ORDER BY id;
SELECT pg_temp.error_of($$SELECT lsh_create_band_table('"of Texts"', signature_column => 'its sig',
    text_column => 'a text', band_table => 'other')$$);
SELECT lsh_drop_band_table('"of Texts"');
CREATE TABLE "parted Texts" (id int PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE "part of Texts" PARTITION OF "parted Texts" FOR VALUES FROM (0) TO (10);
INSERT INTO "parted Texts" VALUES (1, 'One text');
SELECT lsh_create_band_table('"parted Texts"', text_column => 'body');
SELECT id FROM lsh_near_duplicates('"parted Texts"', minhash('one text'));
DROP TABLE "of Texts", "parted Texts";
