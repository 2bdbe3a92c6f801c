-- Guards that refuse: every kind of statement, who is told what, what is locked, what is no definition of a guard,
-- partitioned tables.

-- An error in one line, with all that a client can ask for: SQLSTATE and message; detail; hint; schema, table and
-- constraint.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\set error_separator ' | '
\set error_objects true
\i :common
-- A text of 20 words, unlike that of every other number. The first words can be replaced: one leaves a similarity of
-- about 0.9, five of about 0.6.
CREATE FUNCTION pg_temp.doc(number int, replaced int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(format('%s %s %s', number, word, word <= replaced)), ' ' ORDER BY word)
        FROM generate_series(1, 20) word;
$$;
-- What a statement does to a table, undone again: the error, or the rows whose ids are above 100.
CREATE FUNCTION pg_temp.tried(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE statement;
    SELECT 'done: ' || string_agg(id::text, ' ' ORDER BY id) INTO result FROM docs WHERE id > 100;
    RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = coalesce(result, 'done');
EXCEPTION WHEN raise_exception THEN
    RETURN SQLERRM;
WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS result = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' | ', SQLERRM, result);
END $$;
-- The error of statements, which are undone.
CREATE FUNCTION pg_temp.undone(statements text) RETURNS text LANGUAGE sql AS $$
    SELECT replace(pg_temp.error_of(statements || '; DO $x$ BEGIN RAISE EXCEPTION ''no error''; END $x$'),
        'P0001: no error', 'no error');
$$;
-- Advisory locks of this session by their modes: how many, and in which space.
CREATE FUNCTION pg_temp.locks() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s %s', count, mode), ', ' ORDER BY mode)
        FROM (SELECT mode, count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = x'4c53'::int
            AND pid = pg_backend_pid() AND granted GROUP BY mode) held;
$$;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

CREATE TABLE docs (id int PRIMARY KEY, body text, note text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
SELECT lsh_create_band_table('docs');
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(1, 10) i;
INSERT INTO docs VALUES (11, ''), (12, NULL), (13, 'cat'), (14, 'cat');
SELECT n, round(minhash_similarity(minhash(pg_temp.doc(1)), minhash(pg_temp.doc(1, n)))::numeric, 3)
    FROM unnest(ARRAY[0, 1, 2, 5, 20]) n;
CREATE TRIGGER zz_insert AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
CREATE TRIGGER zz_update AFTER UPDATE ON docs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');

-- One row: equal, near, not near, short.
SELECT pg_temp.error_of(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1)));
SELECT pg_temp.error_of(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(2, 1)));
SELECT replaced, round(minhash_similarity(minhash(pg_temp.doc(3)), minhash(pg_temp.doc(3, replaced)))::numeric, 3),
    pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(3, replaced)))
    FROM generate_series(0, 5) replaced;
SELECT pg_temp.tried('INSERT INTO docs VALUES (101, ''cat'')');
-- An empty text is near nothing, not even another; neither is NULL.
SELECT pg_temp.tried('INSERT INTO docs VALUES (101, ''''), (102, NULL), (103, ''''), (104, NULL)');
-- As an error that nobody catches.
INSERT INTO docs VALUES (101, pg_temp.doc(4, 1));
DO $$ BEGIN INSERT INTO docs VALUES (101, pg_temp.doc(4, 1));
    EXCEPTION WHEN unique_violation THEN RAISE WARNING 'a unique violation, as of a constraint'; END $$;
SELECT count(*) FROM docs WHERE id > 100;
SELECT added, removed FROM lsh_refresh_band_table('docs');

-- Rows of one statement, which find each other, and the old ones.
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L), (102, %L)', pg_temp.doc(101), pg_temp.doc(102)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L), (102, %L), (103, %L)', pg_temp.doc(101),
    pg_temp.doc(102), pg_temp.doc(102, 1)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L), (102, %L)', pg_temp.doc(101), pg_temp.doc(5, 1)));
SELECT pg_temp.tried('INSERT INTO docs SELECT id + 100, body FROM docs');
SELECT pg_temp.tried('INSERT INTO docs SELECT id + 100, body FROM docs WHERE false');
SELECT pg_temp.tried('INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 110) i');

-- COPY: all of it or nothing.
COPY docs (id, body) FROM stdin;
101	Nothing like it has been copied to this table before, and nothing like it will ever be again
102	Something else is copied to this table here for once, and something like it comes right after it
103	Something else is copied to this table here for once, and something like it comes right after this
\.
SELECT count(*) FROM docs WHERE id > 100;
COPY docs (id, body) FROM stdin;
101	Nothing like it has been copied to this table before, and nothing like it will ever be again
102	Something else is copied to this table here for once, and something like it comes right after it
\.
COPY docs (id, body) FROM stdin;
103	Something else is copied to this table here for once, and something like it comes right after this
\.
DELETE FROM docs WHERE id > 100 RETURNING id;

-- UPDATE: into a near-duplicate, into something else, like itself; ids alone; rows that exchange their texts.
SELECT pg_temp.tried(format('UPDATE docs SET body = %L WHERE id = 2', pg_temp.doc(1, 1)));
SELECT pg_temp.tried('UPDATE docs SET body = (SELECT body FROM docs WHERE id = 1) WHERE id = 11');
SELECT pg_temp.tried(format('UPDATE docs SET id = 102, body = %L WHERE id = 2', pg_temp.doc(2, 1)));
SELECT pg_temp.tried(format('UPDATE docs SET id = 102, body = %L WHERE id = 2', pg_temp.doc(102)));
SELECT pg_temp.tried('UPDATE docs SET body = ''all the same text for everybody''');
SELECT pg_temp.tried('UPDATE docs SET id = id + 100 WHERE id <= 10');
SELECT pg_temp.tried('UPDATE docs SET body = other.body FROM docs other
    WHERE (docs.id, other.id) IN ((1, 2), (2, 3), (3, 1))');
SELECT pg_temp.tried('UPDATE docs SET body = NULL, id = 101 WHERE id = 1');
-- Near-duplicates from before the guard may be changed as long as their signatures stay. A new id makes a row new.
SELECT pg_temp.tried('UPDATE docs SET note = 'changed', body = ''Cat'' WHERE id IN (13, 14)');
SELECT pg_temp.tried('UPDATE docs SET id = 113 WHERE id = 13');
SELECT pg_temp.tried('UPDATE docs SET body = ''dog'' WHERE id = 13');
-- Without OLD TABLE, every row that is written is judged.
ALTER TABLE docs DISABLE TRIGGER zz_update;
CREATE TRIGGER zz_update_new AFTER UPDATE ON docs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried('UPDATE docs SET note = 'changed' WHERE id = 13');
SELECT pg_temp.tried('UPDATE docs SET id = id + 100 WHERE id <= 10');
DROP TRIGGER zz_update_new ON docs;
ALTER TABLE docs ENABLE TRIGGER zz_update;

-- Statements that do several things: a conflict's action, MERGE, WITH. What is deleted is no longer in the way.
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (1, %L), (101, %L) ON CONFLICT DO NOTHING', pg_temp.doc(2),
    pg_temp.doc(101)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (1, %L), (101, %L) ON CONFLICT DO NOTHING', pg_temp.doc(2),
    pg_temp.doc(2, 1)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (1, %L), (101, %L)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body', pg_temp.doc(1, 2), pg_temp.doc(101)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (1, %L), (101, %L)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body', pg_temp.doc(2, 1), pg_temp.doc(101)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (1, %L), (101, %L)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body', pg_temp.doc(101, 1), pg_temp.doc(101)));
SELECT pg_temp.tried(format('MERGE INTO docs USING (VALUES (1, NULL), (2, %L), (101, %L)) given (n, t) ON id = n
    WHEN MATCHED AND t IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET body = t WHEN NOT MATCHED THEN INSERT (id, body)
        VALUES (n, t)',
    pg_temp.doc(101), pg_temp.doc(1, 1)));
SELECT pg_temp.tried(format('MERGE INTO docs USING (VALUES (1, NULL), (2, %L), (101, %L)) given (n, t) ON id = n
    WHEN MATCHED AND t IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET body = t WHEN NOT MATCHED THEN INSERT (id, body)
        VALUES (n, t)',
    pg_temp.doc(3, 1), pg_temp.doc(1, 1)));
SELECT pg_temp.tried(format('MERGE INTO docs USING (VALUES (2, %L), (101, %L)) given (n, t) ON id = n
    WHEN MATCHED THEN UPDATE SET body = t WHEN NOT MATCHED THEN INSERT (id, body) VALUES (n, t)', pg_temp.doc(101),
    pg_temp.doc(101, 1)));
SELECT pg_temp.tried('WITH gone AS (DELETE FROM docs WHERE id <= 10 RETURNING *) INSERT INTO docs SELECT id + 100, body
    FROM gone');
SELECT pg_temp.tried(format('WITH first AS (INSERT INTO docs VALUES (101, %L)) INSERT INTO docs VALUES (102, %L)',
    pg_temp.doc(101), pg_temp.doc(101, 1)));

-- What a trigger changes or deletes before the guard fires is judged as it has become.
CREATE FUNCTION pg_temp.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_ARGV[0] = 'delete' THEN
        DELETE FROM docs WHERE id = NEW.id;
    ELSE
        UPDATE docs SET body = pg_temp.doc(TG_ARGV[0]::int) WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER changes AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION pg_temp.change('delete');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1)));
DROP TRIGGER changes ON docs;
CREATE TRIGGER changes AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION pg_temp.change('101');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L), (102, %L)', pg_temp.doc(1), pg_temp.doc(102)));
DROP TRIGGER changes ON docs;
CREATE TRIGGER changes AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION pg_temp.change('1');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(101)));
DROP TRIGGER changes ON docs;

-- One guard, of several transactions' statements: savepoints, and what a rollback takes back.
BEGIN;
INSERT INTO docs VALUES (101, pg_temp.doc(101));
SAVEPOINT one;
INSERT INTO docs VALUES (102, pg_temp.doc(102));
ROLLBACK TO one;
INSERT INTO docs VALUES (103, pg_temp.doc(102, 1));
SAVEPOINT two;
INSERT INTO docs VALUES (104, pg_temp.doc(101, 1));
ROLLBACK TO two;
SELECT pg_temp.error_of(format('INSERT INTO docs VALUES (104, %L)', pg_temp.doc(102)));
DELETE FROM docs WHERE id = 101;
INSERT INTO docs VALUES (104, pg_temp.doc(101, 1));
SELECT current_user = session_user;
COMMIT;
SELECT id FROM docs WHERE id > 100 ORDER BY id;
DELETE FROM docs WHERE id > 100;

-- Locks: one for each band of each row, and the table's in share mode; from the 257th on, the whole table.
SELECT bands FROM lsh_band_tables WHERE source = 'docs'::regclass;
BEGIN;
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 119) i;
SELECT pg_temp.locks();
ROLLBACK;
SELECT pg_temp.locks();
BEGIN;
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 120) i;
SELECT pg_temp.locks();
INSERT INTO docs VALUES (121, pg_temp.doc(121));
SELECT pg_temp.error_of(format('INSERT INTO docs VALUES (122, %L)', pg_temp.doc(120, 1)));
ROLLBACK;
BEGIN;
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 115) i;
SAVEPOINT one;
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(116, 120) i;
SELECT pg_temp.locks();
ROLLBACK TO one;
SELECT pg_temp.locks();
COMMIT;
-- Nothing to judge, nothing to lock.
BEGIN;
INSERT INTO docs VALUES (121, ''), (122, NULL);
UPDATE docs SET note = 'changed';
UPDATE docs SET body = NULL WHERE id = 101;
DELETE FROM docs WHERE id > 100;
SELECT pg_temp.locks();
COMMIT;
-- Rows beyond the first 256 locks are judged, too: among each other, and with the old ones.
SELECT pg_temp.tried('INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 150) i UNION ALL
    SELECT 151, pg_temp.doc(149, 1)');
SELECT pg_temp.tried('INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 150) i UNION ALL
    SELECT 151, pg_temp.doc(9, 1)');
SELECT pg_temp.tried('INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(101, 150) i') = 'done: '
    || (SELECT string_agg(i::text, ' ' ORDER BY i) FROM generate_series(101, 150) i);

-- While triggers do not fire, nothing is refused; a refresh makes what came in known to the guard.
SET session_replication_role = replica;
INSERT INTO docs VALUES (101, pg_temp.doc(1, 1)), (102, pg_temp.doc(102));
RESET session_replication_role;
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (103, %L)', pg_temp.doc(102, 1)));
SELECT added, removed FROM lsh_refresh_band_table('docs');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (103, %L)', pg_temp.doc(102, 1)));
ALTER TABLE docs DISABLE TRIGGER zz_insert;
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (103, %L)', pg_temp.doc(102, 1)));
ALTER TABLE docs ENABLE TRIGGER zz_insert;
DELETE FROM docs WHERE id > 100;

-- Who is told which ids: whoever may read them, and all rows.
CREATE ROLE regress_lsh_writer;
CREATE FUNCTION pg_temp.told(statement text DEFAULT 'INSERT INTO docs VALUES (101, pg_temp.doc(1))') RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    SET LOCAL ROLE regress_lsh_writer;
    result := pg_temp.error_of(statement) || ', ' || current_user;
    RESET ROLE;
    RETURN result;
END $$;
GRANT INSERT, UPDATE ON docs TO regress_lsh_writer;
SELECT pg_temp.told();
SELECT pg_temp.told('INSERT INTO docs VALUES (101, pg_temp.doc(1, 5))');
DELETE FROM docs WHERE id > 100;
GRANT SELECT (body, sig) ON docs TO regress_lsh_writer;
SELECT pg_temp.told();
SELECT pg_temp.told('UPDATE docs SET body = pg_temp.doc(1) WHERE body = pg_temp.doc(2)');
GRANT SELECT (id) ON docs TO regress_lsh_writer;
SELECT pg_temp.told();
REVOKE SELECT (id, body, sig) ON docs FROM regress_lsh_writer;
GRANT SELECT ON docs TO regress_lsh_writer;
SELECT pg_temp.told();
-- Policies may hide the very row: they do not blind the guard, and it does not tell.
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON docs TO regress_lsh_writer USING (id > 100);
SELECT pg_temp.told();
SET row_security = off;
SELECT pg_temp.told();
RESET row_security;
-- Whoever policies do not apply to is told, as the owner. With FORCE the guard still sees all, but he is not told.
ALTER ROLE regress_lsh_writer BYPASSRLS;
SELECT pg_temp.told();
ALTER ROLE regress_lsh_writer NOBYPASSRLS;
ALTER TABLE docs OWNER TO regress_lsh_writer;
ALTER TABLE docs_bands OWNER TO regress_lsh_writer;
SELECT pg_temp.told();
ALTER TABLE docs FORCE ROW LEVEL SECURITY;
SELECT pg_temp.told();
ALTER TABLE docs NO FORCE ROW LEVEL SECURITY;
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
ALTER TABLE docs OWNER TO CURRENT_USER;
ALTER TABLE docs_bands OWNER TO CURRENT_USER;
DROP POLICY own ON docs;
REVOKE ALL ON docs FROM regress_lsh_writer;

-- Renamed, moved: a guard follows its table, and its error has the current names.
ALTER TABLE docs RENAME id TO "Number of it";
ALTER TABLE docs RENAME sig TO "Signature";
ALTER TABLE docs RENAME TO "The docs";
ALTER TABLE docs_bands RENAME TO "The bands";
ALTER TRIGGER zz_insert ON "The docs" RENAME TO "zz insert";
CREATE SCHEMA "another place";
ALTER TABLE "The docs" SET SCHEMA "another place";
SELECT pg_temp.error_of(format('INSERT INTO "another place"."The docs" VALUES (101, %L)', pg_temp.doc(1)));
ALTER TABLE "another place"."The docs" SET SCHEMA public;
DROP SCHEMA "another place";
ALTER TRIGGER "zz insert" ON "The docs" RENAME TO zz_insert;
ALTER TABLE "The bands" RENAME TO docs_bands;
ALTER TABLE "The docs" RENAME TO docs;
ALTER TABLE docs RENAME "Number of it" TO id;
ALTER TABLE docs RENAME "Signature" TO sig;

-- Of two band tables, WHEN chooses; bands that miss make a guard that misses.
SELECT lsh_create_band_table('docs', bands => 1, rows => 128, band_table => 'only_equal');
SELECT pg_temp.error_of(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1, 1)));
DROP TRIGGER zz_insert ON docs;
CREATE TRIGGER zz_insert AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT WHEN ('only_equal'::regclass IS NOT NULL) EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1, 1)));
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1)));
DROP TRIGGER zz_insert ON docs;
CREATE TRIGGER zz_insert AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT WHEN ('docs_bands'::regclass IS NOT NULL) EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried(format('INSERT INTO docs VALUES (101, %L)', pg_temp.doc(1, 1)));
SELECT lsh_drop_band_table('docs', 'only_equal');
DROP TRIGGER zz_insert ON docs;
DROP TRIGGER zz_update ON docs;

-- Thresholds: both ends, and between.
SELECT threshold, replaced, pg_temp.undone(format('CREATE TRIGGER zz AFTER INSERT ON docs
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION lsh_reject_near_duplicates(%L);
        INSERT INTO docs VALUES (101, pg_temp.doc(1, %s))', threshold, replaced))
FROM (VALUES ('1', 0), ('1', 1), ('0', 1), ('0', 20), ('.89', 1), (' 93e-2 ', 1), ('1.01', 0), ('-0.1', 0), ('NaN', 0),
    ('infinity', 0), ('', 0), ('80 %', 0), ('0,8', 0)) given (threshold, replaced);

-- What is no guard: its first use says so.
CREATE TABLE bare (id int PRIMARY KEY, sig minhash_signature);
CREATE VIEW seen AS SELECT id, body FROM docs;
SELECT format('AFTER %s ON docs%s FOR EACH %s %s', event, given, level, function),
    pg_temp.undone(format('CREATE TRIGGER zz AFTER %s ON docs%s FOR EACH %s EXECUTE FUNCTION %s; INSERT INTO docs
        VALUES (101, ''new''); UPDATE docs SET body = body; DELETE FROM docs; TRUNCATE docs', event, given, level,
        function))
FROM (VALUES ('INSERT', '', 'STATEMENT'), ('UPDATE', '', 'STATEMENT'),
    ('UPDATE', ' REFERENCING OLD TABLE AS o', 'STATEMENT'), ('INSERT OR UPDATE', '', 'STATEMENT'),
    ('UPDATE', ' REFERENCING NEW TABLE AS n', 'STATEMENT'), ('DELETE', ' REFERENCING OLD TABLE AS o', 'STATEMENT'),
    ('DELETE', '', 'ROW'), ('TRUNCATE', '', 'STATEMENT'),
    ('INSERT OR UPDATE', '', 'ROW'), ('INSERT', ' REFERENCING NEW TABLE AS n', 'ROW')) t (event, given, level),
    unnest(ARRAY['lsh_reject_near_duplicates(0.8)', 'lsh_mark_near_duplicates(0.8, ''copy_of'')']) function;
SELECT function, pg_temp.undone(format('CREATE TRIGGER zz AFTER INSERT ON docs REFERENCING NEW TABLE AS n
    FOR EACH STATEMENT EXECUTE FUNCTION %s; INSERT INTO docs VALUES (101, ''new'')', function))
FROM unnest(ARRAY['lsh_reject_near_duplicates()', 'lsh_reject_near_duplicates(0.8, ''note'')',
    'lsh_mark_near_duplicates()', 'lsh_mark_near_duplicates(0.8)', 'lsh_mark_near_duplicates(0.8, ''note'', ''id'')',
    'lsh_mark_near_duplicates(0.8, ''nothing'')',
    'lsh_mark_near_duplicates(0.8, ''Note'')', 'lsh_mark_near_duplicates(0.8, ''tableoid'')',
    'lsh_mark_near_duplicates(0.8, '''')', 'lsh_mark_near_duplicates(0.8, ''note'')',
    'lsh_mark_near_duplicates(0.8, ''id'')', 'lsh_mark_near_duplicates(2, ''id'')']) function;
SELECT definition, pg_temp.undone(format('CREATE TRIGGER %s EXECUTE FUNCTION lsh_reject_near_duplicates(0.8);
    INSERT INTO docs VALUES (101, ''new''); UPDATE docs SET body = body; INSERT INTO bare VALUES (1, minhash(''new''));
        INSERT INTO seen VALUES (102, ''newer'')', definition))
FROM unnest(ARRAY['zz BEFORE INSERT ON docs FOR EACH ROW', 'zz BEFORE UPDATE ON docs FOR EACH STATEMENT',
    'zz INSTEAD OF INSERT ON seen FOR EACH ROW',
    'zz AFTER INSERT ON bare REFERENCING NEW TABLE AS n FOR EACH STATEMENT',
    'zz AFTER INSERT ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT WHEN (''bare''::regclass IS NOT NULL)',
    'zz AFTER INSERT ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT WHEN (pg_trigger_depth() < 5)',
    -- A guard's name comes after that of the trigger for the same event, wherever the others are.
    'a_guard AFTER INSERT ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT',
    'a_guard AFTER UPDATE ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT',
    'docs_bands_insert_guard AFTER INSERT ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT',
    'docs_bands_insert_guard AFTER UPDATE ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT',
    'docs_bands_update_guard AFTER UPDATE ON docs REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT'])
    definition;
SELECT pg_temp.error_of('SELECT lsh_reject_near_duplicates()'), pg_temp.error_of('SELECT lsh_mark_near_duplicates()');
DROP VIEW seen;
DROP TABLE bare;
-- A guard whose band table is gone, unless its condition holds on to it.
CREATE TRIGGER zz AFTER INSERT ON docs REFERENCING NEW TABLE AS n
    FOR EACH STATEMENT WHEN ('docs_bands'::regclass IS NOT NULL) EXECUTE FUNCTION lsh_reject_near_duplicates(0.8);
SELECT pg_temp.error_of('SELECT lsh_drop_band_table(''docs'')');
DROP TRIGGER zz ON docs;
CREATE TRIGGER zz AFTER INSERT ON docs REFERENCING NEW TABLE AS n FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates(0.8);
SELECT lsh_drop_band_table('docs');
SELECT pg_temp.error_of('INSERT INTO docs VALUES (101, ''new'')');
-- Many bands: two rows take all 256 locks that there are.
SELECT lsh_create_band_table('docs', bands => 128, rows => 1);
BEGIN;
INSERT INTO docs VALUES (101, 'one'), (102, 'other');
SELECT pg_temp.locks();
INSERT INTO docs VALUES (103, 'third');
SELECT pg_temp.locks();
ROLLBACK;
DROP TABLE docs;

-- Partitioned tables: one trigger for rows, which all partitions get, including future ones.
CREATE TABLE docs (id int, copy_of int, body text, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES FROM (0) TO (100);
CREATE TABLE docs_2 (sig minhash_signature, body text, gone int, id int, copy_of int);
ALTER TABLE docs_2 DROP gone;
ALTER TABLE docs ATTACH PARTITION docs_2 FOR VALUES FROM (100) TO (200);
SELECT lsh_create_band_table('docs');
INSERT INTO docs (id, body, sig) SELECT i, 'body', minhash(pg_temp.doc(i)) FROM generate_series(1, 3) i;
CREATE TRIGGER zz AFTER INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
CREATE TABLE docs_3 PARTITION OF docs FOR VALUES FROM (200) TO (300);
SELECT pg_temp.error_of('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(1, 1)))');
SELECT pg_temp.error_of('INSERT INTO docs_3 (id, sig) VALUES (201, minhash(pg_temp.doc(1, 1)))');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(101))),
    (201, minhash(pg_temp.doc(201)))');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(101))),
    (201, minhash(pg_temp.doc(101)))');
SELECT pg_temp.tried('UPDATE docs SET sig = minhash(pg_temp.doc(1)) WHERE id = 2');
-- Moved to another partition with its id, or changed where it is.
SELECT pg_temp.tried('UPDATE docs SET id = id + 100, body = ''moved''');
SELECT pg_temp.tried('UPDATE docs SET id = id + 100, sig = minhash(pg_temp.doc(1)) WHERE id < 3');
SELECT pg_temp.tried('UPDATE docs SET body = ''changed''');
-- Near-duplicates from before the guard.
ALTER TABLE docs DISABLE TRIGGER zz;
INSERT INTO docs (id, sig) VALUES (4, minhash(pg_temp.doc(1)));
ALTER TABLE docs ENABLE TRIGGER zz;
SELECT pg_temp.tried('UPDATE docs SET body = ''changed'', sig = minhash(pg_temp.doc(1)) WHERE id = 4');
COPY docs (id, sig) FROM stdin;
5	\N
6	fss1:128x32:char5:fold:set:42:
\.
SELECT count(*) FROM docs WHERE id > 3;
DELETE FROM docs WHERE id > 3;
-- Each row takes its locks.
BEGIN;
INSERT INTO docs (id, sig) SELECT i, minhash(pg_temp.doc(i)) FROM generate_series(101, 119) i;
SELECT pg_temp.locks();
INSERT INTO docs (id, sig) VALUES (120, minhash(pg_temp.doc(120)));
SELECT pg_temp.locks();
ROLLBACK;
-- A partition's owner is told nothing by the guard of the whole table.
GRANT INSERT ON docs_2 TO regress_lsh_writer;
ALTER TABLE docs_2 OWNER TO regress_lsh_writer;
SELECT pg_temp.told('INSERT INTO docs_2 (id, sig) VALUES (101, minhash(pg_temp.doc(1)))');
-- A guard of one partition compares its rows with those of all.
DROP TRIGGER zz ON docs;
CREATE TRIGGER zz_own AFTER INSERT ON docs_3 FOR EACH ROW EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(1)))');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (201, minhash(pg_temp.doc(1)))');
DROP TRIGGER zz_own ON docs_3;
-- A trigger for statements does as long as nobody writes to a partition by its own name.
CREATE TRIGGER zz AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(101))),
    (201, minhash(pg_temp.doc(101)))');
SELECT pg_temp.tried('INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(1)))');
SELECT pg_temp.tried('INSERT INTO docs_3 (id, sig) VALUES (201, minhash(pg_temp.doc(1)))');
CREATE TRIGGER zz_update AFTER UPDATE ON docs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
SELECT pg_temp.tried('UPDATE docs SET id = id + 100, body = ''moved''');
SELECT pg_temp.tried('UPDATE docs SET id = id + CASE id WHEN 2 THEN 200 ELSE 100 END,
    sig = CASE id WHEN 2 THEN minhash(pg_temp.doc(1, 1)) ELSE sig END');
DROP TRIGGER zz_update ON docs;
DROP TRIGGER zz ON docs;
SELECT added, removed FROM lsh_refresh_band_table('docs');
DROP TABLE docs;
DROP ROLE regress_lsh_writer;
