-- Guards on writing.

CREATE FUNCTION lsh_reject_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_reject_near_duplicates() IS
    'trigger function that refuses rows near another; its argument is the threshold';

CREATE FUNCTION lsh_mark_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_mark_near_duplicates() IS
    'trigger function that writes the id of the nearest other row; its arguments are threshold and column';

CREATE FUNCTION lsh_create_guard(
    source regclass,
    threshold double precision DEFAULT 0.8,
    mark name DEFAULT NULL,
    band_table regclass DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_guard(regclass, double precision, name, regclass) IS
    'makes the triggers that refuse rows near another, or mark them in a column';

CREATE FUNCTION lsh_drop_guard(source regclass, band_table regclass DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_drop_guard(regclass, regclass) IS 'drops the triggers that lsh_create_guard made';

CREATE FUNCTION lsh_list_guards() RETURNS TABLE (
    source regclass,
    band_table regclass,
    trigger name,
    threshold double precision,
    mark name,
    scope_column name
)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_list_guards() IS 'the rows of the view lsh_guards';

CREATE VIEW lsh_guards AS SELECT * FROM lsh_list_guards();
COMMENT ON VIEW lsh_guards IS 'the triggers of guards, with their band tables, thresholds and columns to mark, and scopes';
GRANT SELECT ON lsh_guards TO PUBLIC;
