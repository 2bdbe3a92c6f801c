-- A source that takes no triggers, as a table that Citus distributes: an error before its rows are read.

CREATE TABLE docs (id bigint PRIMARY KEY, sig minhash_signature(128));
INSERT INTO docs VALUES (1, minhash('a text')), (2, minhash('another'));
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE internal_error USING MESSAGE = 'triggers are not supported on distributed tables',
        DETAIL = format('%s rows were read.', pg_stat_get_xact_tuples_returned('docs'::regclass));
END $$;
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '%', tg_tag;
END $$;
CREATE EVENT TRIGGER tell ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS', 'ALTER TABLE') EXECUTE FUNCTION tell();
CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE TRIGGER') EXECUTE FUNCTION refuse();
SELECT lsh_create_band_table('docs');
SELECT to_regclass('docs_bands') AS band_table;
DROP EVENT TRIGGER refuse;
-- One that takes them has those of the band table in the end, and no other.
SELECT lsh_create_band_table('docs');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'docs'::regclass ORDER BY tgname;
SELECT lsh_drop_band_table('docs');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
-- A partitioned table; a trigger that has the name already.
CREATE TABLE parted (id bigint PRIMARY KEY, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER parted_bands_settings BEFORE TRUNCATE ON parted EXECUTE FUNCTION nothing();
SELECT lsh_create_band_table('parted');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'parted'::regclass ORDER BY tgname;
-- Within a query on the source.
DROP EVENT TRIGGER tell;
SELECT id, lsh_create_band_table('docs', band_table => 'docs_bands' || id) FROM docs ORDER BY id;
DROP TABLE docs, parted;
DROP FUNCTION refuse, tell, nothing;
