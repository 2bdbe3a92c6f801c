-- Guards that mark: the column holds the id of the nearest row that is not marked itself, or NULL.

-- A text of 20 words, unlike that of every other number. The first words can be replaced: one leaves a similarity of
-- about 0.9, five of about 0.6.
CREATE FUNCTION pg_temp.doc(number int, replaced int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(format('%s %s %s', number, word, word <= replaced)), ' ' ORDER BY word)
        FROM generate_series(1, 20) word;
$$;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

CREATE TABLE docs (id int PRIMARY KEY, body text, copy_of int,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
SELECT lsh_create_band_table('docs');
INSERT INTO docs SELECT i, pg_temp.doc(i) FROM generate_series(1, 10) i;
INSERT INTO docs VALUES (11, ''), (12, NULL), (13, 'cat'), (14, 'cat');
-- Of several near-duplicates the first stays unmarked, and the others have its id.
CREATE TRIGGER zz_insert AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
CREATE TRIGGER zz_update AFTER UPDATE ON docs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
UPDATE docs SET copy_of = NULL;
INSERT INTO docs VALUES (101, pg_temp.doc(1, 1)), (102, pg_temp.doc(102)), (103, ''), (104, NULL);
INSERT INTO docs VALUES (105, pg_temp.doc(1, 1)), (106, pg_temp.doc(102));
SELECT id, copy_of FROM docs WHERE id > 100 OR copy_of IS NOT NULL ORDER BY id;
-- The nearest, of equals the smallest id.
INSERT INTO docs VALUES (107, pg_temp.doc(107)), (108, pg_temp.doc(107, 4)), (109, pg_temp.doc(107, 3));
SELECT id, copy_of, round(minhash_similarity(sig, minhash(pg_temp.doc(107)))::numeric, 3),
    round(minhash_similarity(sig, minhash(pg_temp.doc(107, 4)))::numeric, 3) FROM docs WHERE id BETWEEN 107 AND 109
    ORDER BY id;
INSERT INTO docs VALUES (110, 'cat');
SELECT id, copy_of FROM docs WHERE id = 110;
DELETE FROM docs WHERE id > 100;
-- Near-duplicates in one statement: whatever their order, none refers to one that is marked itself.
INSERT INTO docs VALUES (101, pg_temp.doc(101)), (102, pg_temp.doc(101, 1)), (103, pg_temp.doc(101)),
    (104, pg_temp.doc(101, 1));
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
DELETE FROM docs WHERE id > 100;
INSERT INTO docs VALUES (104, pg_temp.doc(101)), (102, pg_temp.doc(101)), (103, pg_temp.doc(101)),
    (101, pg_temp.doc(101));
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
DELETE FROM docs WHERE id > 100;
-- Set and cleared by UPDATE: near another, not any more, empty, NULL; like itself, and by other columns alone it stays.
INSERT INTO docs VALUES (101, pg_temp.doc(1, 1)), (102, pg_temp.doc(1)), (103, pg_temp.doc(1)), (104, pg_temp.doc(104)),
    (105, pg_temp.doc(2));
UPDATE docs SET id = id WHERE id > 100;
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
UPDATE docs SET body = CASE id WHEN 101 THEN pg_temp.doc(101) WHEN 102 THEN '' WHEN 103 THEN NULL
    WHEN 104 THEN pg_temp.doc(3, 1) ELSE pg_temp.doc(3) END WHERE id > 100;
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
UPDATE docs SET id = id + 10, copy_of = 4 WHERE id > 103;
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
-- A mark that comes with a new row is judged like any; one set by hand stays while the signature does.
INSERT INTO docs VALUES (106, pg_temp.doc(106), 5);
UPDATE docs SET copy_of = 6 WHERE id = 101;
SELECT id, copy_of FROM docs WHERE id IN (101, 106) ORDER BY id;
-- The band table is not touched by marks.
SELECT added, removed FROM lsh_refresh_band_table('docs');
DELETE FROM docs WHERE id > 100;
-- The other kinds of statement.
COPY docs (id, body) FROM stdin;
101	Something is copied to this table here for once, and something like it comes right after it
102	Something is copied to this table here for once, and something like it comes right after this
\.
INSERT INTO docs VALUES (101, pg_temp.doc(2, 1)), (103, pg_temp.doc(2)), (104, pg_temp.doc(104))
    ON CONFLICT (id) DO UPDATE SET body = excluded.body;
MERGE INTO docs USING (VALUES (102, pg_temp.doc(4)), (103, NULL), (104, pg_temp.doc(5, 1)),
    (105, pg_temp.doc(5, 1))) given (n, t) ON id = n
WHEN MATCHED AND t IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET body = t WHEN NOT MATCHED THEN INSERT (id, body)
VALUES (n, t);
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
-- More rows than locks.
INSERT INTO docs SELECT i, pg_temp.doc(i % 60) FROM generate_series(201, 300) i;
SELECT count(*), count(copy_of), bool_and(copy_of % 60 = id % 60),
    bool_or(copy_of IN (SELECT id FROM docs WHERE copy_of IS NOT NULL)) FROM docs WHERE id > 200;
DELETE FROM docs WHERE id > 100;
-- A row that a trigger changes before the guard fires has the mark of what it has become.
CREATE FUNCTION pg_temp.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE docs SET body = CASE id WHEN 103 THEN '' ELSE pg_temp.doc(id - 100) END WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER changes AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION pg_temp.change();
INSERT INTO docs VALUES (101, pg_temp.doc(101), 5), (102, '', 5), (103, pg_temp.doc(3), NULL),
    (150, pg_temp.doc(4), NULL);
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
DROP TRIGGER changes ON docs;
DELETE FROM docs WHERE id > 100;
-- Without OLD TABLE, a guard for UPDATE would judge a row once more as its mark is written, against rows of its
-- statement that are yet to be judged.
DROP TRIGGER zz_update ON docs;
CREATE TRIGGER zz_update AFTER UPDATE ON docs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
\set SHOW_CONTEXT never
INSERT INTO docs VALUES (101, pg_temp.doc(1, 1)), (102, pg_temp.doc(1, 1));
\set SHOW_CONTEXT errors
UPDATE docs SET body = body WHERE id = 1;
DROP TRIGGER zz_update ON docs;
CREATE TRIGGER zz_update AFTER UPDATE ON docs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
-- More rows than memory holds.
SET work_mem = '64kB';
INSERT INTO docs SELECT i, pg_temp.doc(i % 300) FROM generate_series(301, 900) i;
UPDATE docs SET body = body || ' again' WHERE id > 300;
RESET work_mem;
SELECT count(*), count(copy_of), bool_and(copy_of % 300 = id % 300),
    bool_or(copy_of IN (SELECT id FROM docs WHERE copy_of IS NOT NULL)) FROM docs WHERE id > 300;
DELETE FROM docs WHERE id > 100;
-- Marks are written with the rights of whoever writes the row.
CREATE ROLE regress_lsh_marker;
CREATE FUNCTION pg_temp.marker(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    hint text;
BEGIN
    SET LOCAL ROLE regress_lsh_marker;
    BEGIN
        EXECUTE statement;
        message := 'done';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    END;
    message := concat_ws(' | ', message, hint, current_user);
    RESET ROLE;
    RETURN message;
END $$;
GRANT INSERT (id, body) ON docs TO regress_lsh_marker;
SELECT pg_temp.marker('INSERT INTO docs (id, body) VALUES (101, ''nothing like it'')');
GRANT SELECT (id, copy_of) ON docs TO regress_lsh_marker;
SELECT pg_temp.marker('INSERT INTO docs (id, body) VALUES (101, ''nothing like it'')');
GRANT UPDATE (copy_of) ON docs TO regress_lsh_marker;
SELECT pg_temp.marker(format('INSERT INTO docs (id, body) VALUES (101, ''nothing like it''), (102, %L)',
    pg_temp.doc(1)));
SELECT id, copy_of FROM docs WHERE id > 100 ORDER BY id;
-- The table's own triggers run as the writer, not as the owner.
CREATE FUNCTION pg_temp.who() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'row % is marked by %', NEW.id, current_user;
    RETURN NULL;
END $$;
CREATE TRIGGER who AFTER UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION pg_temp.who();
\set SHOW_CONTEXT never
SELECT pg_temp.marker(format('INSERT INTO docs (id, body) VALUES (103, %L)', pg_temp.doc(2)));
DROP TRIGGER who ON docs;
-- A mark never has the id of a row that policies hide from the writer: that of the nearest that he sees, or none. A row
-- that he may not change is not marked.
DELETE FROM docs WHERE id > 100;
INSERT INTO docs VALUES (100, pg_temp.doc(1, 2));
UPDATE docs SET copy_of = NULL;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_new ON docs FOR INSERT TO regress_lsh_marker WITH CHECK (true);
CREATE POLICY large ON docs FOR SELECT TO regress_lsh_marker USING (id >= 100);
CREATE POLICY larger ON docs FOR UPDATE TO regress_lsh_marker USING (id <> 103);
SELECT pg_temp.marker(format('INSERT INTO docs (id, body) VALUES (101, %L), (102, %L), (103, %1$L)',
    pg_temp.doc(1), pg_temp.doc(2)));
SELECT id, copy_of FROM docs WHERE id >= 100 ORDER BY id;
-- Whoever policies do not bind gets the nearest.
INSERT INTO docs (id, body) VALUES (104, pg_temp.doc(1)), (105, pg_temp.doc(2));
SELECT id, copy_of FROM docs WHERE id >= 104 ORDER BY id;
DROP TABLE docs;

-- Ids of other types, and names that want quotes.
CREATE DOMAIN name_of_document AS text;
CREATE TABLE names (id name_of_document PRIMARY KEY, "Copy ""of""" text, sig minhash_signature);
SELECT lsh_create_band_table('names');
CREATE TRIGGER zz_insert AFTER INSERT ON names REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'Copy "of"');
CREATE TRIGGER zz_update AFTER UPDATE ON names REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION lsh_reject_near_duplicates('0.8');
INSERT INTO names (id, sig) VALUES ('it''s', minhash('A name')), ('"it"', minhash('a  NAME')), ('', minhash('Another'));
UPDATE names SET id = id || '!' WHERE id = '';
SELECT id, "Copy ""of""" FROM names ORDER BY id COLLATE "C";
UPDATE names SET sig = minhash('A name') WHERE id = '!';
DROP TABLE names;
DROP DOMAIN name_of_document;
CREATE TABLE pairs (id int4range PRIMARY KEY, copy_of int4range, sig minhash_signature(64));
SELECT lsh_create_band_table('pairs');
CREATE TRIGGER zz_insert AFTER INSERT ON pairs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
INSERT INTO pairs (id, sig) VALUES ('[1,2)', minhash('A range', 64)), ('[2,3)', minhash('A range', 64)), ('[3,4)',
    minhash('A range', 64));
SELECT id, copy_of FROM pairs ORDER BY id;
DROP TABLE pairs;
CREATE TYPE point_of AS (x int, what text);
CREATE TABLE places (id point_of PRIMARY KEY, copy_of point_of, sig minhash_signature);
SELECT lsh_create_band_table('places');
CREATE TRIGGER zz_insert AFTER INSERT ON places REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
INSERT INTO places (id, sig) SELECT ROW(i, repeat('long ', 1000))::point_of, minhash('A place')
    FROM generate_series(1, 3) i;
SELECT (id).x, (copy_of).x FROM places ORDER BY 1;
DROP TABLE places;
DROP TYPE point_of;

-- Partitioned tables.
CREATE TABLE docs (id int, copy_of int, body text, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES FROM (0) TO (100);
CREATE TABLE docs_2 (sig minhash_signature, body text, gone int, id int, copy_of int);
ALTER TABLE docs_2 DROP gone;
ALTER TABLE docs ATTACH PARTITION docs_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE docs_3 PARTITION OF docs FOR VALUES FROM (200) TO (300);
SELECT lsh_create_band_table('docs');
INSERT INTO docs (id, body, sig) SELECT i, 'body', minhash(pg_temp.doc(i)) FROM generate_series(1, 3) i;
CREATE TRIGGER zz AFTER INSERT OR UPDATE ON docs FOR EACH ROW
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
INSERT INTO docs (id, sig) VALUES (101, minhash(pg_temp.doc(101))), (102, minhash(pg_temp.doc(101, 1))),
    (201, minhash(pg_temp.doc(101))), (202, minhash(pg_temp.doc(1))), (203, minhash(''));
INSERT INTO docs_3 (id, sig) VALUES (204, minhash(pg_temp.doc(2)));
SELECT tableoid::regclass, id, copy_of FROM docs ORDER BY id;
UPDATE docs SET id = id - 150, sig = CASE id WHEN 201 THEN NULL WHEN 202 THEN minhash('')
    WHEN 203 THEN minhash(pg_temp.doc(3)) ELSE minhash(pg_temp.doc(204)) END WHERE id > 200;
UPDATE docs SET sig = CASE id WHEN 101 THEN minhash(pg_temp.doc(1)) ELSE minhash('') END WHERE id > 100;
SELECT tableoid::regclass, id, copy_of FROM docs ORDER BY id;
SELECT added, removed FROM lsh_refresh_band_table('docs');
DROP TABLE docs;
DROP ROLE regress_lsh_marker;
