-- Band tables of a table's signatures, with triggers that keep them in step.

CREATE FUNCTION _lsh_require_band_table(band_table regclass, name text, privileges text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsh_require_band_table' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_require_band_table(regclass, text, text) IS
    'for triggers of lsh_create_band_table: true, or an error that says what a writer lacks';

CREATE FUNCTION lsh_create_band_table(
    source regclass,
    id_column name DEFAULT 'id',
    signature_column name DEFAULT NULL,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    band_table name DEFAULT NULL
) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_band_table(regclass, name, name, double precision, double precision, integer, integer, name) IS
    'makes a table (key, id) of band keys, fills it, and writes triggers that keep it in step with its source. '
    'Example: lsh_create_band_table(''articles'')';

CREATE FUNCTION lsh_drop_band_table(band_table regclass) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_drop_band_table(regclass) IS 
    'drops a band table, its triggers and their functions. Example: lsh_drop_band_table(''articles_bands'')';
