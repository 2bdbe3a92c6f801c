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
    band_table name DEFAULT NULL,
    text_column name DEFAULT NULL,
    scope_column name DEFAULT NULL
) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_band_table(regclass, name, name, double precision, double precision, integer, integer, name, name,
    name) IS
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

CREATE FUNCTION lsh_list_band_tables() RETURNS TABLE (
    source regclass,
    band_table regclass,
    id_column name,
    signature_column name,
    bands integer,
    rows integer,
    scope_column name
)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_list_band_tables() IS 'the rows of the view lsh_band_tables';

CREATE VIEW lsh_band_tables AS SELECT * FROM lsh_list_band_tables();
COMMENT ON VIEW lsh_band_tables IS 'the managed band tables, with their sources and settings';
GRANT SELECT ON lsh_band_tables TO PUBLIC;
