-- The expressions and the predicate of an lsh index are computed only where PostgreSQL computes those of a btree index,
-- and by the same role; besides, by lsh_check() as the table's owner, and by a constraint as the writer. No scan
-- computes anything that its query does not contain: otherwise whoever reads a table would run functions of its owner,
-- and a function of the index would see rows that a policy hides from the reader.

SET client_min_messages = warning;
\getenv abs_srcdir PG_ABS_SRCDIR
\set errors :abs_srcdir '/sql/include/errors.sql'
\i :errors
CREATE ROLE regress_lsh_owner;
CREATE ROLE regress_lsh_writer;
CREATE ROLE regress_lsh_reader;
CREATE SCHEMA lsh_rights AUTHORIZATION regress_lsh_owner;
GRANT USAGE ON SCHEMA lsh_rights TO PUBLIC;
SET search_path = lsh_rights, public;
SET ROLE regress_lsh_owner;

-- A function that an index computes notes the role that it runs as. An advisory lock of the session is such a note; it
-- outlives everything that may be undone.
CREATE FUNCTION lsh_rights.note(access_method text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.pg_advisory_lock(CASE access_method WHEN 'lsh' THEN 1 ELSE 2 END,
        (SELECT r.oid::pg_catalog.int4 FROM pg_catalog.pg_roles r WHERE r.rolname = current_user));
END $$;
CREATE FUNCTION lsh_rights.seen(OUT by_lsh text, OUT by_btree text) LANGUAGE plpgsql AS $$
BEGIN
    SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FILTER (WHERE classid = 1),
        string_agg(DISTINCT name, ', ' ORDER BY name) FILTER (WHERE classid = 2) INTO by_lsh, by_btree
    FROM pg_locks l, LATERAL (SELECT CASE WHEN rolsuper THEN 'superuser' ELSE rolname END AS name
        FROM pg_roles r WHERE r.oid = l.objid) r
    WHERE locktype = 'advisory' AND pid = pg_backend_pid();
    PERFORM pg_advisory_unlock_all();
END $$;
CREATE FUNCTION lsh_rights.lsh_text(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$BEGIN PERFORM lsh_rights.note('lsh'); RETURN value; END$$;
CREATE FUNCTION lsh_rights.lsh_signature(value text) RETURNS public.minhash_signature IMMUTABLE LANGUAGE plpgsql AS
    $$BEGIN PERFORM lsh_rights.note('lsh'); RETURN public.minhash(value); END$$;
CREATE FUNCTION lsh_rights.lsh_wanted(value int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
    $$BEGIN PERFORM lsh_rights.note('lsh'); RETURN true; END$$;
CREATE FUNCTION lsh_rights.btree_text(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$BEGIN PERFORM lsh_rights.note('btree'); RETURN value; END$$;
CREATE FUNCTION lsh_rights.btree_wanted(value int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
    $$BEGIN PERFORM lsh_rights.note('btree'); RETURN true; END$$;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA lsh_rights FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA lsh_rights TO regress_lsh_writer;
GRANT EXECUTE ON FUNCTION lsh_rights.seen TO PUBLIC;

CREATE TABLE docs (id int, lang text, body text, sig minhash_signature) WITH (autovacuum_enabled = false);
INSERT INTO docs SELECT n, 'en', 'text number ' || n, minhash('text number ' || n) FROM generate_series(1, 3000) n;
INSERT INTO docs VALUES (0, 'en', NULL, NULL), (-1, 'en', '', minhash(''));
GRANT SELECT ON docs TO regress_lsh_reader;
GRANT ALL ON docs TO regress_lsh_writer;
CREATE INDEX docs_scope ON docs USING lsh (sig, lsh_text(lang)) WHERE lsh_wanted(id) OR id IS NOT NULL;
CREATE INDEX docs_body ON docs USING lsh (lsh_signature(body)) WHERE lsh_wanted(id) OR id IS NOT NULL;
CREATE INDEX docs_btree ON docs (btree_text(lang)) WHERE btree_wanted(id) OR id IS NOT NULL;
SELECT 'CREATE INDEX' AS action, * FROM seen();
RESET ROLE;
REINDEX TABLE docs;
SELECT 'REINDEX by a superuser' AS action, * FROM seen();
ANALYZE docs;
SELECT 'ANALYZE by a superuser' AS action, * FROM seen();
SET ROLE regress_lsh_writer;
INSERT INTO docs SELECT n, 'en', 'text number ' || n, minhash('text number ' || n) FROM generate_series(3001, 3100) n;
INSERT INTO docs VALUES (3200, 'en', NULL, NULL);
SELECT 'INSERT' AS action, * FROM seen();
UPDATE docs SET sig = minhash('new text'), lang = 'fr' WHERE id = 17;
SELECT 'UPDATE' AS action, * FROM seen();
DELETE FROM docs WHERE id > 3;      -- a LIMIT of a few rows reaches the end of a scan
SELECT 'DELETE' AS action, * FROM seen();

RESET ROLE;
DROP INDEX docs_btree;

-- Scans of each kind, by a superuser, and by a reader who may not call the functions.
CREATE FUNCTION pg_temp.read_all(OUT query text, OUT rows bigint, OUT by_index boolean, OUT computed_by text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOREACH query IN ARRAY ARRAY[
        'ORDER BY sig <%> minhash(''text number 1'')', 'ORDER BY sig <%> minhash('''')',
        'ORDER BY sig <%> minhash(''text number 1'') LIMIT 2', 'AND sig % minhash(''text number 1'')',
        'AND minhash_similar(sig, minhash(''text number 1''), 0.1)',
        'AND minhash_similar(sig, minhash(''text number 1''), 0.1) ORDER BY sig <%> minhash(''text number 2'')']
    LOOP
        EXECUTE 'SELECT count(*) FROM (SELECT id FROM docs WHERE id >= -1 ' || query || ') s' INTO rows;
        by_index := false;
        FOR line IN EXECUTE 'EXPLAIN (COSTS off) SELECT id FROM docs WHERE id >= -1 ' || query LOOP
            by_index := by_index OR line ~ 'Index Scan .*docs_scope';
        END LOOP;
        SELECT s.by_lsh INTO computed_by FROM lsh_rights.seen() s;
        RETURN NEXT;
    END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_sort = off;
-- PostgreSQL repeats the predicate of an index in the plan of a bitmap scan, whatever the access method is, and
-- computes it as the reader, too.
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.read_all();
SET ROLE regress_lsh_reader;
SELECT pg_temp.error_of('SELECT lsh_text(lang) FROM docs');
SELECT * FROM pg_temp.read_all();
-- A cursor, and a prepared statement with a generic plan.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM docs WHERE id >= -1 ORDER BY sig <%> minhash('text number 1'), id;
FETCH ALL FROM c;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE nearest(minhash_signature) AS SELECT id FROM docs WHERE id >= -1 ORDER BY sig <%> $1, id LIMIT 50;
EXECUTE nearest(minhash('text number 2'));
EXECUTE nearest(NULL);
RESET plan_cache_mode;
SELECT 'cursor, generic plan' AS action, * FROM seen();
-- Under a policy, nothing is computed from hidden rows.
RESET ROLE;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON docs FOR SELECT USING (id = 2);
SET ROLE regress_lsh_reader;
SELECT * FROM pg_temp.read_all();
RESET ROLE;
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
-- Bitmap scans of an index without a predicate.
SET ROLE regress_lsh_owner;
DROP INDEX docs_scope, docs_body;
CREATE INDEX docs_scope ON docs USING lsh (sig, lsh_text(lang));
SET ROLE regress_lsh_reader;
SELECT FROM lsh_rights.seen();
RESET enable_bitmapscan;
RESET enable_sort;
SET enable_indexscan = off;
SELECT * FROM pg_temp.read_all() WHERE query LIKE 'AND %';
RESET enable_indexscan;
SET ROLE regress_lsh_owner;
CREATE INDEX docs_body ON docs USING lsh (lsh_signature(body)) WHERE lsh_wanted(id) OR id IS NOT NULL;
SELECT FROM lsh_rights.seen();
-- A query that contains the expression runs the function itself, whatever the plan is.
RESET ROLE;
SELECT id FROM docs WHERE id >= -1 ORDER BY lsh_signature(body) <%> minhash('text number 2');
SELECT 'a query with the expression, by a superuser' AS action, * FROM seen();

SET ROLE regress_lsh_owner;
CREATE INDEX docs_btree ON docs (btree_text(lang)) WHERE btree_wanted(id) OR id IS NOT NULL;
RESET ROLE;
SELECT FROM seen();

-- VACUUM computes nothing, lsh_check() as the owner of the table.
VACUUM (INDEX_CLEANUP on) docs;
SELECT 'VACUUM by a superuser' AS action, * FROM seen();
VACUUM (ANALYZE) docs;
SELECT 'VACUUM ANALYZE by a superuser' AS action, * FROM seen();
SELECT records FROM lsh_check('docs_scope');
SELECT 'lsh_check() of the index by a superuser' AS action, * FROM seen();
SELECT records FROM lsh_check('docs_scope', heap => true);
SELECT 'lsh_check() of the table by a superuser' AS action, * FROM seen();
REINDEX TABLE CONCURRENTLY docs;
SELECT 'REINDEX CONCURRENTLY by a superuser' AS action, * FROM seen();

-- A constraint computes the columns of the rows that it finds as the writer, as PostgreSQL's own constraints do.
SET ROLE regress_lsh_owner;
CREATE TABLE single (id int, lang text, sig minhash_signature);
GRANT ALL ON single TO regress_lsh_writer;
INSERT INTO single VALUES (1, 'en', minhash('a text that is there already'));
ALTER TABLE single ADD EXCLUDE USING lsh (sig WITH %, lsh_text(lang) WITH =) WHERE (lsh_wanted(id) OR id IS NOT NULL);
ALTER TABLE single ADD EXCLUDE USING btree (id WITH =, btree_text(lang) WITH =)
    WHERE (btree_wanted(id) OR id IS NOT NULL);
SELECT 'ADD EXCLUDE' AS action, * FROM seen();
SET ROLE regress_lsh_writer;
SELECT left(pg_temp.error_of($$INSERT INTO single VALUES (2, 'en', minhash('a text that is there already'))$$), 100);
INSERT INTO single VALUES (3, 'fr', minhash('a text that is there already')), (4, 'en', NULL);
SELECT 'INSERT with a constraint' AS action, * FROM seen();
RESET ROLE;
DROP SCHEMA lsh_rights CASCADE;
DROP ROLE regress_lsh_owner, regress_lsh_writer, regress_lsh_reader;
