-- Managed band tables: made, kept in step by triggers, dropped. They define tables and triggers,
-- which parallel workers may not.

CREATE FUNCTION lsh_maintain_band_table() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_maintain_band_table() IS
    'trigger function that keeps a band table in step; lsh_create_band_table makes its triggers';

CREATE FUNCTION lsh_create_band_table(
    source regclass,
    id_column name DEFAULT 'id',
    signature_column name DEFAULT 'sig',
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    band_table name DEFAULT NULL
) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_band_table(regclass, name, name, double precision, double precision, integer, integer, name) IS
    'makes a table (key, id) of band keys, fills it, and keeps it in step with its source by triggers';

CREATE FUNCTION lsh_drop_band_table(source regclass, band_table regclass DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_drop_band_table(regclass, regclass) IS 'drops a band table and the triggers that keep it';

CREATE FUNCTION lsh_refresh_band_table(
    source regclass,
    band_table regclass DEFAULT NULL,
    OUT added bigint,
    OUT removed bigint
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_refresh_band_table(regclass, regclass) IS
    'adds and removes the keys that changed while no trigger fired, as when partitions come and go';

-- PostgreSQL keeps what a trigger's WHEN refers to among its dependencies.
CREATE VIEW lsh_band_tables AS
    SELECT t.tgrelid::pg_catalog.regclass AS source,
           d.refobjid::pg_catalog.regclass AS band_table,
           (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.tgrelid AND a.attnum = t.tgattr[0])
               AS id_column,
           (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.tgrelid AND a.attnum = t.tgattr[1])
               AS signature_column,
           pg_catalog."substring"(pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 1), '^[0-9]{1,4}$')::pg_catalog.int4 AS bands,
           pg_catalog."substring"(pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 2), '^[0-9]{1,4}$')::pg_catalog.int4 AS rows
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND d.objid = t.oid
     AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjsubid = 0
     AND d.deptype = 'n'
    WHERE t.tgfoid = 'lsh_maintain_band_table()'::pg_catalog.regprocedure AND t.tgnargs = 2;
COMMENT ON VIEW lsh_band_tables IS 'the managed band tables, with their sources and settings';
GRANT SELECT ON lsh_band_tables TO PUBLIC;
