-- Plans that are kept for the session are freed when their table changes or goes, and when there are too many.

\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- The statements that the extension keeps, which name the table with its schema.
CREATE FUNCTION pg_temp.kept() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident ~ 'public[.]planned';
$$;
CREATE TABLE planned (id bigint PRIMARY KEY, copy_of bigint, sig minhash_signature);
SELECT lsh_create_band_table('planned');
CREATE TRIGGER zz AFTER INSERT ON planned REFERENCING NEW TABLE AS n FOR EACH STATEMENT
    EXECUTE FUNCTION lsh_mark_near_duplicates('0.8', 'copy_of');
INSERT INTO planned VALUES (1, NULL, minhash('a text')), (2, NULL, minhash('a text'));
DELETE FROM planned WHERE id = 2;
SELECT lsh_candidates('planned', minhash('a text'));
SELECT pg_temp.kept() BETWEEN 5 AND 10;
SELECT lsh_candidates('planned', minhash('a text'));
SELECT pg_temp.kept() BETWEEN 5 AND 10;
-- A definition that changes while one of them runs: by a trigger of the table that is marked.
CREATE FUNCTION pg_temp.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    COMMENT ON TABLE planned_bands IS 'changed';
    ALTER TABLE planned_bands SET (fillfactor = 90);
    RETURN NULL;
END $$;
CREATE TRIGGER change AFTER UPDATE ON planned FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.change();
INSERT INTO planned VALUES (3, NULL, minhash('a text')), (4, NULL, minhash('a text'));
SELECT id, copy_of FROM planned ORDER BY id;
DROP TABLE planned;
SELECT pg_temp.kept();

-- Rolled back with their table: at the end of the next transaction.
BEGIN;
CREATE TABLE planned (id bigint PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('planned');
INSERT INTO planned VALUES (1, minhash('a text'));
SELECT pg_temp.kept() > 0;
ROLLBACK;
SELECT;
SELECT pg_temp.kept();

-- Each max_bucket is a statement of its own.
CREATE TABLE planned (id bigint PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('planned');
SELECT count(id) FROM generate_series(1, 500) AS most, lsh_candidates('planned', minhash('a text'), most) AS id;
SELECT pg_temp.kept() BETWEEN 500 AND 510;
SELECT count(id) FROM generate_series(501, 530) AS most, lsh_candidates('planned', minhash('a text'), most) AS id;
SELECT pg_temp.kept();
SELECT lsh_candidates('planned', minhash('a text'));
DROP TABLE planned;

-- Plans that were made for empty tables are made anew as these grow, also within one transaction: then
-- no row makes a guard read a table whole.
CREATE TABLE planned (id bigint PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('planned');
SELECT lsh_create_guard('planned', 0.8);
CREATE FUNCTION pg_temp.insert_rows(first int, last int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN first..last LOOP
        INSERT INTO planned VALUES (i, minhash(md5(i::text)));
    END LOOP;
    RETURN pg_stat_get_xact_numscans('planned_bands'::regclass) + pg_stat_get_xact_numscans('planned'::regclass);
END $$;
BEGIN;
SELECT pg_temp.insert_rows(1, 600) AS seq_scans \gset
SELECT pg_temp.insert_rows(601, 800) = :seq_scans;
COMMIT;
DROP TABLE planned;
