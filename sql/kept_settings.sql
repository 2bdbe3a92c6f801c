-- The settings of kept clusters are a row that the owner changes; and clusters that others damage are repaired.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
SET client_min_messages = warning;
CREATE SCHEMA kept_settings;
SET search_path = kept_settings, public;

CREATE TABLE docs (id int PRIMARY KEY, body text, rank int, scope text);
INSERT INTO docs VALUES (1, 'the quick brown fox jumps over the lazy dog'),
    (2, 'the quick brown fox jumps over the lazy cat'),
    (3, 'the quick brown fox jumps over my lazy cats'), (4, 'a text that is near nothing of what is there');
-- The rows in which kept clusters differ from those of lsh_clusters(), with the settings of the clusters.
CREATE FUNCTION wrong(kept regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    s record;
    found bigint;
BEGIN
    EXECUTE format('SELECT * FROM %s', _lsh_kept_settings_table(kept)) INTO s;
    EXECUTE format('SELECT count(*) FROM lsh_clusters($1, NULL::%s, threshold => $2, near_representative => $3,
            singletons => true) AS c FULL JOIN %s AS k USING (id, representative, similarity)
        WHERE c.cluster_id IS NULL OR k.cluster_id IS NULL', (SELECT format_type(atttypid, -1) FROM pg_attribute
            WHERE attrelid = kept AND attname = 'id'), kept) INTO found USING s.query, s.threshold,
                s.near_representative;
    RETURN found;
END $$;

-- A change of settings is noticed whatever the query returns, also if all ranks and scopes are NULL.
SELECT clusters_made, query, settings.* FROM (VALUES ('a', 'SELECT id, body FROM docs'),
    ('b', 'SELECT id, body, rank FROM docs'), ('c', 'SELECT id, body, scope FROM docs'),
    ('d', 'SELECT id, body, scope, rank FROM docs')) AS q (name, query),
    LATERAL lsh_create_clusters(name, query, threshold => 0.95), LATERAL (SELECT wrong(name::regclass)) AS settings;
UPDATE a_settings SET threshold = 0.5;
UPDATE b_settings SET threshold = 0.5;
UPDATE c_settings SET threshold = 0.5;
UPDATE d_settings SET threshold = 0.5;
SELECT name, r.*, wrong(name::regclass) FROM unnest('{a,b,c,d}'::text[]) AS name,
    lsh_refresh_clusters(name::regclass) AS r;
UPDATE d_settings SET near_representative = false, query = 'SELECT id, body FROM docs WHERE id > 1';
SELECT *, wrong('d') FROM lsh_refresh_clusters('d');
-- NULL and the empty text are different scopes, and a rank that becomes NULL is a change.
UPDATE docs SET scope = '' WHERE id = 2;
SELECT *, wrong('c') FROM lsh_refresh_clusters('c');
UPDATE docs SET rank = 1 WHERE id = 3;
SELECT *, wrong('b') FROM lsh_refresh_clusters('b');
UPDATE docs SET rank = NULL, scope = NULL;
SELECT *, wrong('b') FROM lsh_refresh_clusters('b');
SELECT *, wrong('c') FROM lsh_refresh_clusters('c');

-- The settings are found wherever the tables go.
SELECT refreshes FROM a_settings;
CREATE SCHEMA "the % other";
ALTER TABLE a SET SCHEMA "the % other";
ALTER TABLE "the % other".a RENAME TO "A %1$s";
ALTER TABLE a_settings RENAME TO "all ""settings""";
SELECT * FROM lsh_refresh_clusters('"the % other"."A %1$s"', log => '"the % other"."log %s"');
ALTER SCHEMA "the % other" RENAME TO other;
INSERT INTO docs VALUES (5, 'the quick brown fox jumps over the lazy dogs');
SELECT * FROM lsh_refresh_clusters('other."A %1$s"', log => 'other."log %s"');
SELECT refreshes, clusters, row_count FROM "all ""settings""";
DROP TABLE "all ""settings""";
DROP TABLE other."A %1$s";
SELECT to_regclass('"all ""settings"""');
DELETE FROM docs WHERE id = 5;

-- Numbers are not used twice, whatever copy of the tables is refreshed.
SELECT lsh_create_clusters('first', 'SELECT id, body FROM docs');
CREATE TABLE second (LIKE first INCLUDING ALL);
INSERT INTO second TABLE first;
INSERT INTO docs VALUES (6, 'a second text that is like none of all the others');
SELECT rows_added, clusters_made FROM lsh_refresh_clusters('second');
SELECT cluster_id, component, array_agg(id ORDER BY id) FROM second GROUP BY 1, 2 ORDER BY 1;
UPDATE first_settings SET last_cluster_id = 0;
INSERT INTO docs VALUES (7, 'and this is yet another one, which nobody has written before');
SELECT rows_added, clusters_made FROM lsh_refresh_clusters('first');
SELECT cluster_id, component, array_agg(id ORDER BY id) FROM first GROUP BY 1, 2 ORDER BY 1;
DROP TABLE first CASCADE;
DROP TABLE second;

-- Rows that a foreign key deletes from the kept table, and rows that somebody changes there.
DELETE FROM docs WHERE id > 3;
SELECT lsh_create_clusters('kept', 'SELECT id, body FROM docs', threshold => 0.5);
ALTER TABLE kept ADD FOREIGN KEY (id) REFERENCES docs ON DELETE CASCADE;
DELETE FROM docs WHERE id = 1;
SELECT *, wrong('kept') FROM lsh_refresh_clusters('kept');
SELECT id, cluster_id, representative FROM kept ORDER BY id;
UPDATE kept SET representative = 3, cluster_id = 77 WHERE id = 3;
SELECT *, wrong('kept') FROM lsh_refresh_clusters('kept');
UPDATE kept SET similarity = 0.123 WHERE id = 3;
SELECT *, wrong('kept') FROM lsh_refresh_clusters('kept');
DELETE FROM kept;
SELECT *, wrong('kept') FROM lsh_refresh_clusters('kept');
TRUNCATE kept;
INSERT INTO kept (id, cluster_id, representative, similarity, component) VALUES (2, 1, 2, 1, 1);
SELECT *, wrong('kept') FROM lsh_refresh_clusters('kept');

-- The log has what others do to the kept table, who need no rights on it, and what refreshes without the log do. So who
-- replays the log has the table. What refreshes with the log write is not there twice.
CREATE ROLE regress_lsh_clerk;
CREATE SCHEMA logged;
GRANT USAGE ON SCHEMA logged TO regress_lsh_clerk;
CREATE TABLE logged.letters AS SELECT i AS id, 'the quick brown fox jumps over the lazy dog number ' || i / 4 AS body
    FROM generate_series(1, 40) AS i;
ALTER TABLE logged.letters ADD PRIMARY KEY (id);
GRANT SELECT, DELETE ON logged.letters TO regress_lsh_clerk;
CREATE VIEW letters AS SELECT id, body FROM logged.letters;
SELECT * FROM lsh_create_clusters('logged.k', 'SELECT id, body FROM kept_settings.letters', threshold => 0.95);
ALTER TABLE logged.k ADD FOREIGN KEY (id) REFERENCES logged.letters ON DELETE CASCADE;
SELECT * FROM lsh_refresh_clusters('logged.k', log => 'logged.k_log');
CREATE TABLE copied AS SELECT id, cluster_id, representative FROM logged.k;
CREATE FUNCTION replay(log regclass, kept regclass, after bigint) RETURNS TABLE (entries bigint, not_of_copy bigint,
    differences bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE news AS SELECT id, old_cluster_id, cluster_id, old_representative, representative
        FROM %s WHERE refresh > $1', log) USING after;
    entries := (SELECT count(*) FROM news);
    not_of_copy := (SELECT count(*) FROM news AS n LEFT JOIN copied AS c USING (id)
        WHERE (n.old_cluster_id, n.old_representative) IS DISTINCT FROM (c.cluster_id, c.representative));
    DELETE FROM copied AS c USING news AS n WHERE c.id = n.id;
    INSERT INTO copied SELECT id, cluster_id, representative FROM news WHERE cluster_id IS NOT NULL;
    EXECUTE format('SELECT count(*) FROM copied AS c FULL JOIN %s AS k USING (id, cluster_id, representative)
        WHERE c IS NULL OR k IS NULL', kept) INTO differences;
    DROP TABLE news;
    RETURN NEXT;
END $$;
SET ROLE regress_lsh_clerk;
DELETE FROM logged.letters WHERE id IN (4, 9, 10);
RESET ROLE;
SELECT * FROM logged.k_to_log ORDER BY id;
SELECT * FROM lsh_refresh_clusters('logged.k', log => 'logged.k_log');
SELECT refresh, event, id, old_cluster_id, cluster_id, old_representative, representative FROM logged.k_log
    ORDER BY id;
SELECT * FROM replay('logged.k_log', 'logged.k', 2);
-- A row that is deleted and comes back, as it was, has no entry. Others write what the next refresh would, and rows
-- that are not of the query. And a refresh does without the log.
DELETE FROM logged.letters WHERE id = 39;
INSERT INTO logged.letters VALUES (39, 'the quick brown fox jumps over the lazy dog number 9');
DELETE FROM logged.letters WHERE id = 5;
UPDATE logged.k SET representative = 6 WHERE id IN (6, 7, 11);
INSERT INTO logged.letters VALUES (50, 'and another letter'), (60, NULL);
INSERT INTO logged.k VALUES (50, 50, 50, 1, 50), (60, 77, 60, 1, 77);
SELECT * FROM lsh_refresh_clusters('logged.k');
INSERT INTO logged.letters VALUES (51, 'and another letter'), (52, 'and one more that is like no other here');
SELECT * FROM lsh_refresh_clusters('logged.k');
DELETE FROM logged.letters WHERE id = 52;
ALTER SCHEMA logged RENAME TO "logged %s";
ALTER TABLE "logged %s".k RENAME TO "k ""x""";
ALTER TABLE "logged %s".k_to_log RENAME TO "not ""k""";
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""', log => '"logged %s".k_log');
SELECT refresh, event, id, old_cluster_id, cluster_id, old_representative, representative FROM "logged %s".k_log
    WHERE refresh > 3 ORDER BY id;
SELECT * FROM replay('"logged %s".k_log', '"logged %s"."k ""x"""', 3);
INSERT INTO "logged %s".letters VALUES (53, 'and one more that is like no other here');
DELETE FROM "logged %s".letters WHERE id = 51;
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""', log => '"logged %s".k_log');
SELECT * FROM replay('"logged %s".k_log', '"logged %s"."k ""x"""', 6);
SELECT count(*) FROM "logged %s"."not ""k""";
TRUNCATE "logged %s".letters CASCADE;
INSERT INTO "logged %s".letters VALUES (1, 'the quick brown fox jumps over the lazy dog number 0');
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""', changed => 'SELECT 1',
    log => '"logged %s".k_log');
SELECT * FROM replay('"logged %s".k_log', '"logged %s"."k ""x"""', 7);
-- DROP EXTENSION ... CASCADE drops the triggers, too. The next refresh with the log makes them again, and says so.
BEGIN;
DROP EXTENSION minhash_lsh CASCADE;
CREATE EXTENSION minhash_lsh SCHEMA public;
CREATE FUNCTION pg_temp.idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER lsh_log_insert AFTER INSERT ON "logged %s"."k ""x""" EXECUTE FUNCTION pg_temp.idle();
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('"logged %s"."k ""x"""', log => '"logged %s".k_log')$$);
DROP TRIGGER lsh_log_insert ON "logged %s"."k ""x""";
INSERT INTO "logged %s".letters VALUES (70, 'and one more that is like no other here');
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""', log => '"logged %s".k_log');
DELETE FROM "logged %s".letters WHERE id = 1;
INSERT INTO "logged %s".letters VALUES (71, 'and yet another one, the last of all letters');
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""');
SELECT rows_added, rows_removed FROM lsh_refresh_clusters('"logged %s"."k ""x"""', log => '"logged %s".k_log');
SELECT * FROM replay('"logged %s".k_log', '"logged %s"."k ""x"""', 8);
ROLLBACK;

-- Who may make triggers on the clusters, and tables that refer to them, cannot have notes written to another table.
GRANT USAGE, CREATE ON SCHEMA "logged %s" TO regress_lsh_clerk;
GRANT TRIGGER ON "logged %s"."k ""x""" TO regress_lsh_clerk;
SET ROLE regress_lsh_clerk;
CREATE TABLE "logged %s".bait (id int, cluster_id bigint DEFAULT '"logged %s"."k ""x"""'::regclass::bigint);
CREATE TRIGGER decoy AFTER DELETE ON "logged %s"."k ""x""" REFERENCING OLD TABLE AS old_rows
    WHEN ('"logged %s".bait'::regclass IS NOT NULL) EXECUTE FUNCTION public._lsh_kept_note();
CREATE FUNCTION pg_temp.spy() RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a decoy''; END';
CREATE TEMP VIEW old_rows AS SELECT pg_temp.spy() AS id, 1::bigint AS cluster_id, 1 AS representative;
CREATE TRIGGER without_rows AFTER DELETE ON "logged %s"."k ""x""" EXECUTE FUNCTION public._lsh_kept_note();
SELECT pg_temp.error_of('DELETE FROM "logged %s".letters');
DROP VIEW old_rows;
DROP FUNCTION pg_temp.spy();
RESET ROLE;
DROP TRIGGER without_rows ON "logged %s"."k ""x""";
SET ROLE regress_lsh_clerk;
DELETE FROM "logged %s".letters;
RESET ROLE;
SELECT count(*) AS noted, (SELECT count(*) FROM "logged %s".bait) AS bait FROM "logged %s"."not ""k""";
SELECT pg_temp.error_of('SELECT _lsh_kept_note()');
-- The owner of a schema could put another table in the place of the clusters while a TRUNCATE notes their rows.
CREATE SCHEMA of_clerk AUTHORIZATION regress_lsh_clerk;
ALTER TABLE "logged %s"."k ""x""" SET SCHEMA of_clerk;
SELECT split_part(pg_temp.error_of('TRUNCATE of_clerk."k ""x"""'), E'\n', 1) AS error;
ALTER TABLE of_clerk."k ""x""" SET SCHEMA "logged %s";
DROP SCHEMA of_clerk;
-- The table of what is to be logged goes with the clusters.
DROP TABLE "logged %s".bait CASCADE;
SELECT split_part(pg_temp.error_of('DROP TABLE "logged %s"."not ""k"""'), E'\n', 1) AS error;
DROP TABLE "logged %s"."k ""x""";
SELECT relname FROM pg_class WHERE relnamespace = '"logged %s"'::regnamespace AND relkind = 'r' ORDER BY 1;
DROP SCHEMA "logged %s" CASCADE;
DROP TABLE copied;
DROP ROLE regress_lsh_clerk;

-- DROP TABLE of clusters that were restored from a dump leaves the tables beside them. Here others have their names.
CREATE TABLE "restored %s_settings" (only_row boolean);
CREATE TABLE "restored %s_to_log" (id int);
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('"restored %s"', 'SELECT id, body FROM docs')$$);
DROP TABLE "restored %s_settings";
SELECT rows_added FROM lsh_create_clusters('"restored %s"', 'SELECT id, body FROM docs');
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('"restored %s"', log => 'restored_log')$$);
DROP TABLE "restored %s", "restored %s_to_log";

-- Policies that hold for the owner, too, could hide rows from a refresh.
CREATE ROLE regress_lsh_owner;
CREATE SCHEMA forced AUTHORIZATION regress_lsh_owner;
GRANT USAGE ON SCHEMA kept_settings TO regress_lsh_owner;
GRANT SELECT ON docs TO regress_lsh_owner;
SET ROLE regress_lsh_owner;
SELECT rows_added FROM lsh_create_clusters('forced.k', 'SELECT id, body FROM kept_settings.docs');
SELECT rows_added FROM lsh_refresh_clusters('forced.k', log => 'forced.k_log');
ALTER TABLE forced.k ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON forced.k USING (false) WITH CHECK (true);
SELECT rows_added FROM lsh_refresh_clusters('forced.k');
ALTER TABLE forced.k FORCE ROW LEVEL SECURITY;
ALTER TABLE forced.k_to_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('forced.k', changed => 'SELECT 1')$$);
ALTER TABLE forced.k NO FORCE ROW LEVEL SECURITY;
ALTER TABLE forced.k_to_log NO FORCE ROW LEVEL SECURITY;
SELECT rows_added FROM lsh_refresh_clusters('forced.k', changed => 'SELECT 1');
RESET ROLE;
DROP OWNED BY regress_lsh_owner;
DROP ROLE regress_lsh_owner;

-- A queue: ids may be there several times, and those that were looked at are gone.
CREATE TABLE queue (id bigint, noted timestamptz DEFAULT now());
INSERT INTO docs VALUES (8, 'the quick brown fox jumps over the lazy fox'), (9, 'none of these');
INSERT INTO queue VALUES (8), (8), (NULL), (99);
SELECT rows_added, wrong('kept') AS not_told FROM lsh_refresh_clusters('kept', changed => 'queue');
SELECT count(*) FROM queue;
INSERT INTO queue VALUES (9);
SELECT rows_added, wrong('kept') FROM lsh_refresh_clusters('kept', changed => 'kept_settings.queue');
CREATE UNIQUE INDEX queue_id ON queue (id);
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('kept', changed => 'queue')$$);

-- Equal ids in a queue may be written differently, and ids that are rows may have NULLs.
CREATE TABLE of_numeric AS SELECT i::numeric AS id, 'text number ' || i AS body FROM generate_series(1, 3) AS i;
CREATE TABLE numeric_queue (id numeric);
SELECT * FROM lsh_create_clusters('kept_numeric', 'SELECT id, body FROM of_numeric');
UPDATE of_numeric SET body = 'another text' WHERE id = 1;
INSERT INTO of_numeric VALUES (4, 'another text');
INSERT INTO numeric_queue VALUES (1.0), (1.00), (4), (4.0);
SELECT rows_added, rows_changed FROM lsh_refresh_clusters('kept_numeric', changed => 'numeric_queue');
CREATE TYPE half_key AS (site text, nr int);
CREATE TABLE of_halves AS SELECT ROW('a', NULLIF(i, 2))::half_key AS id, 'page number ' || i AS body
FROM generate_series(1, 3) AS i;
SELECT * FROM lsh_create_clusters('kept_halves', 'SELECT id, body FROM of_halves');
UPDATE of_halves SET body = body || ' has changed';
SELECT rows_changed
FROM lsh_refresh_clusters('kept_halves', changed => 'SELECT id FROM of_halves UNION ALL SELECT NULL');

-- A table from which the clusters are made is not taken for a queue: a refresh deletes the rows of a queue.
CREATE TABLE loose AS SELECT i AS id, 'text number ' || i AS body FROM generate_series(1, 3) AS i;
CREATE VIEW loose_texts AS SELECT * FROM loose;
SELECT * FROM lsh_create_clusters('kept_loose', 'SELECT id, body FROM loose_texts');
CREATE TABLE loose_child () INHERITS (loose);
CREATE TABLE loose_parent (id int);
ALTER TABLE loose INHERIT loose_parent;
SELECT name, pg_temp.error_of(format('SELECT lsh_refresh_clusters(''kept_loose'', changed => %L)', name))
FROM unnest(ARRAY['loose', 'loose_child', 'loose_parent', 'kept_loose']) AS name;
SELECT count(*) FROM loose;
-- Nor is the log: who leaves out its name means no queue.
SELECT rows_added FROM lsh_refresh_clusters('kept_loose', log => 'loose_log');
INSERT INTO loose VALUES (4, 'and a text that is like none of the others');
SELECT rows_added FROM lsh_refresh_clusters('kept_loose', log => 'loose_log');
SELECT name, pg_temp.error_of(format('SELECT lsh_refresh_clusters(''kept_loose'', %L)', name))
FROM unnest(ARRAY['loose_log', 'kept_loose_to_log']) AS name;
SELECT count(*) FROM loose_log;

-- A temporary table of the same name does not get in the way.
CREATE TEMP TABLE beside AS SELECT 1 AS one;
SELECT rows_added, clusters_made FROM lsh_create_clusters('beside', 'SELECT id, body FROM docs');
SELECT count(*) FROM pg_temp.beside;
SELECT count(*), wrong('kept_settings.beside') FROM kept_settings.beside;
INSERT INTO docs VALUES (10, 'none of those, either');
SELECT rows_added FROM lsh_refresh_clusters('kept_settings.beside');
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('beside', 'SELECT id, body FROM docs')$$);

-- The tables must be in a schema whose owner is trusted, and belong to one owner.
CREATE ROLE regress_lsh_eve;
CREATE SCHEMA regress_lsh_eve AUTHORIZATION regress_lsh_eve;
SELECT regexp_replace(pg_temp.error_of(
    $$SELECT lsh_create_clusters('regress_lsh_eve.kept', 'SELECT id, body FROM docs')$$), 'schema of \S+$',
    'schema of owner') AS error;
ALTER TABLE kept_settings OWNER TO regress_lsh_eve;
SELECT regexp_replace(pg_temp.error_of($$SELECT lsh_refresh_clusters('kept')$$), 'OWNER TO .*', 'OWNER TO …') AS error;
ALTER TABLE kept_settings OWNER TO CURRENT_USER;
SELECT rows_added FROM lsh_refresh_clusters('kept');
DROP SCHEMA regress_lsh_eve;
DROP ROLE regress_lsh_eve;

-- Keys and ranks of several columns, and ranks of types that have no hash function of their own.
CREATE TYPE page_key AS (site text, nr bigint);
CREATE TABLE pages AS SELECT i % 2 AS site, i AS nr, 'the quick brown fox jumps over the lazy dog' || i AS body
    FROM generate_series(1, 6) AS i;
SELECT rows_added, clusters_made
FROM lsh_create_clusters('of_pages', 'SELECT (site, nr)::page_key, body, (length(body), -nr) AS rank FROM pages');
UPDATE pages SET body = 'not the same at all' WHERE nr = 6;
SELECT rows_changed, wrong('of_pages') FROM lsh_refresh_clusters('of_pages');
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('x', 'SELECT (site, nr), body FROM pages')$$);
CREATE FUNCTION try_rank(rank text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    PERFORM lsh_create_clusters('ranked', format('SELECT nr, body, %s AS rank FROM pages', rank));
    UPDATE pages SET nr = -nr WHERE nr = 3;
    changed := (SELECT rows_added + rows_changed FROM lsh_refresh_clusters('ranked'));
    UPDATE pages SET nr = -nr WHERE nr = -3;
    PERFORM lsh_refresh_clusters('ranked');
    RETURN format('%s changed, %s wrong', changed, wrong('ranked'));
END $$;
SELECT try_rank('nr::int::bit(8)');
DROP TABLE ranked;
SELECT try_rank('to_tsvector(body)');
DROP TABLE ranked;
SELECT try_rank('nr::money');
DROP TABLE ranked;

-- The settings of a session do not matter. (A new session reads the functions by its own settings.)
\c -
\set ECHO none
\i :common
\set ECHO all
SET client_min_messages = warning;
SET search_path = kept_settings, public;
-- (PostgreSQL 19 has one fewer.)
SELECT current_setting('server_version_num')::int < 190000 AS has_nonconforming_strings \gset
\if :has_nonconforming_strings
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
SELECT rows_added, clusters_made FROM lsh_create_clusters('nonconforming', 'SELECT id, body FROM docs');
SELECT rows_added FROM lsh_refresh_clusters('nonconforming', changed => 'SELECT 1', log => 'nonconforming_log');
\if :has_nonconforming_strings
RESET standard_conforming_strings;
RESET escape_string_warning;
\endif
SET datestyle = 'SQL, DMY';
SELECT rows_added
FROM lsh_create_clusters('by_day', $$SELECT id, body FROM docs WHERE date '31/12/2026' > '30/12/2026'$$);
SELECT rows_changed FROM lsh_refresh_clusters('by_day');
RESET datestyle;
CREATE TYPE "f%1$s" AS (a int);
SELECT rows_added, clusters_made FROM lsh_create_clusters('"100%s"', 'SELECT row(id)::"f%1$s", body FROM docs');
UPDATE docs SET body = body || '%s' WHERE id = 2;
SELECT rows_changed, wrong('"100%s"') FROM lsh_refresh_clusters('"100%s"', changed => 'SELECT row(2)::"f%1$s"',
    log => '"%I"');
SELECT event, id FROM "%I";

RESET search_path;
DROP SCHEMA kept_settings, other CASCADE;

-- Rows that a person has told apart: they are in no cluster together, and a new verdict is seen by the next refresh.
CREATE TABLE told_apart (left_id int, right_id int);
CREATE TABLE judged (id int PRIMARY KEY, body text);
INSERT INTO judged SELECT id, 'The quick brown fox jumps over the lazy dog near the bank of river number ' || id % 3
    FROM generate_series(1, 9) id;
INSERT INTO told_apart VALUES (2, 1), (77, 1);
SELECT * FROM lsh_create_clusters('judged_clusters', 'SELECT id, body FROM judged', threshold => 0.8,
    apart => 'SELECT left_id, right_id FROM told_apart');
CREATE FUNCTION differs() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM judged_clusters k FULL JOIN lsh_clusters('SELECT id, body FROM judged', threshold => 0.8,
        near_representative => true, singletons => true, apart => 'SELECT left_id, right_id FROM told_apart') c
        USING (id)
    WHERE (k.representative, k.similarity) IS DISTINCT FROM (c.representative, c.similarity)
$$;
SELECT differs(), count(DISTINCT cluster_id) FROM judged_clusters;
SELECT * FROM lsh_refresh_clusters('judged_clusters');
INSERT INTO told_apart VALUES (4, 1), (4, 2), (5, 5);
SELECT * FROM lsh_refresh_clusters('judged_clusters', changed => 'SELECT 1 WHERE false');
SELECT differs(), count(DISTINCT cluster_id) FROM judged_clusters;
DELETE FROM told_apart WHERE left_id = 2;
INSERT INTO judged VALUES (10, 'The quick brown fox jumps over the lazy dog near the bank of river number 1');
SELECT * FROM lsh_refresh_clusters('judged_clusters');
SELECT differs(), count(DISTINCT cluster_id) FROM judged_clusters;
UPDATE judged_clusters_settings SET apart = NULL;
SELECT * FROM lsh_refresh_clusters('judged_clusters');
SELECT count(DISTINCT cluster_id) FROM judged_clusters;
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('connected', 'SELECT id, body FROM judged',
    near_representative => false, apart => 'SELECT left_id, right_id FROM told_apart')$$);
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('connected', 'SELECT id, body FROM judged',
    apart => 'TABLE none')$$);
DROP FUNCTION differs;
DROP TABLE judged_clusters, judged, told_apart;
