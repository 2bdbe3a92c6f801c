-- Guards made by lsh_create_guard() and dropped by lsh_drop_guard().

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE VIEW guards AS
    SELECT replace(pg_get_triggerdef(oid), ' EXECUTE FUNCTION ', E'\n    EXECUTE FUNCTION ') FROM pg_trigger
    WHERE tgfoid IN ('lsh_reject_near_duplicates'::regproc, 'lsh_mark_near_duplicates'::regproc) AND tgparentid = 0
    ORDER BY tgrelid::regclass::text, tgname;

CREATE TABLE docs (id int PRIMARY KEY, body text, copy_of int,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
SELECT lsh_create_band_table('docs');
INSERT INTO docs VALUES (1, 'Colourless green ideas sleep furiously, or so the linguists say.');
SELECT lsh_create_guard('docs', 0.7);
TABLE guards;
SELECT pg_temp.error_of(
    'INSERT INTO docs VALUES (2, ''Colorless green ideas sleep furiously, or so the linguists say.'')');
SELECT pg_temp.error_of('INSERT INTO docs VALUES (2, ''Nothing like it''), (3, ''nothing like it'')');
INSERT INTO docs VALUES (2, 'Nothing like it');
SELECT pg_temp.error_of(
    'UPDATE docs SET body = ''Colorless green ideas sleep furiously, or so the linguists say.'' WHERE id = 2');
SELECT lsh_drop_guard('docs');
TABLE guards;
SELECT lsh_create_guard('docs', mark => 'copy_of');
TABLE guards;
INSERT INTO docs VALUES (3, 'nothing like it'), (4, 'NOTHING like it'), (5, 'Something else');
SELECT id, copy_of FROM docs ORDER BY id;
UPDATE docs SET body = 'Something other' WHERE id = 3;
SELECT id, copy_of FROM docs ORDER BY id;
-- A second guard of the same table; both go at once.
SELECT lsh_create_guard('docs', 1);
TABLE guards;
SELECT * FROM lsh_guards ORDER BY trigger;
SELECT lsh_drop_guard('docs');
TABLE guards;

-- They fire after the triggers of the band table, whatever that is called; and of several band tables one is chosen.
SELECT lsh_create_band_table('docs', bands => 1, rows => 128, band_table => 'zzzz "only" equal');
SELECT pg_temp.error_of('SELECT lsh_create_guard(''docs'')');
SELECT lsh_create_guard('docs', 0.3, band_table => '"zzzz ""only"" equal"');
SELECT lsh_create_band_table('docs', band_table => repeat('long', 16)::name),
    lsh_create_guard('docs', band_table => repeat('long', 16)::regclass);
TABLE guards;
CREATE TRIGGER zzzzzz_by_hand AFTER UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION lsh_mark_near_duplicates('much', 'x');
CREATE TRIGGER zzzzzz_of_nothing AFTER UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION lsh_reject_near_duplicates();
SELECT * FROM lsh_guards ORDER BY trigger;
DROP TRIGGER zzzzzz_by_hand ON docs;
DROP TRIGGER zzzzzz_of_nothing ON docs;
SELECT pg_temp.error_of('INSERT INTO docs VALUES (6, ''Something else'')');
SELECT pg_temp.error_of('SELECT lsh_drop_guard(''docs'', ''docs_bands'')');
-- A band table goes when its guard is gone.
SELECT left(pg_temp.error_of('SELECT lsh_drop_band_table(''docs'', ''"zzzz ""only"" equal"'')'), 80);
SELECT lsh_drop_guard('docs', '"zzzz ""only"" equal"'), lsh_drop_band_table('docs', '"zzzz ""only"" equal"');
SELECT lsh_drop_guard('docs', repeat('long', 16)::regclass), lsh_drop_band_table('docs', repeat('long', 16)::regclass);
TABLE guards;

-- Checked when it is made.
CREATE TABLE bare (id int PRIMARY KEY, sig minhash_signature);
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY[
    'lsh_create_guard(NULL)', 'lsh_create_guard(''docs'', NULL)',
    'lsh_create_guard(''docs'', 1.1)', 'lsh_create_guard(''docs'', ''NaN'')', 'lsh_create_guard(''bare'')',
    'lsh_create_guard(''docs'', mark => ''nothing'')', 'lsh_create_guard(''docs'', mark => ''body'')',
    'lsh_create_guard(''docs'', mark => ''id'')', 'lsh_create_guard(''docs'', band_table => ''bare'')',
    'lsh_create_guard(123)', 'lsh_drop_guard(NULL)', 'lsh_drop_guard(''bare'')', 'lsh_drop_guard(''docs'')']) call;
CREATE ROLE regress_lsh_other;
GRANT ALL ON docs, docs_bands TO regress_lsh_other;
SET ROLE regress_lsh_other;
SELECT pg_temp.error_of('SELECT lsh_create_guard(''docs'')'), pg_temp.error_of('SELECT lsh_drop_guard(''docs'')');
RESET ROLE;
DROP TABLE docs, bare;
DROP ROLE regress_lsh_other;

-- Partitioned tables have one trigger, for rows.
CREATE TABLE docs (id int, copy_of int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES FROM (0) TO (100);
CREATE TABLE docs_2 PARTITION OF docs DEFAULT;
SELECT lsh_create_band_table('docs'), lsh_create_guard('docs', 0.5, 'copy_of');
TABLE guards;
INSERT INTO docs VALUES (1, NULL, minhash('a text')), (101, NULL, minhash('A text')), (102, NULL, minhash('another'));
SELECT id, copy_of FROM docs ORDER BY id;
SELECT lsh_drop_guard('docs');
SELECT count(*) FROM pg_trigger WHERE tgfoid = 'lsh_mark_near_duplicates'::regproc;
DROP TABLE docs;
DROP VIEW guards;
