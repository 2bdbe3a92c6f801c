-- Bands.

CREATE FUNCTION lsh_band_keys(signature minhash_signature, bands integer, rows integer) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION lsh_band_keys(minhash_signature, integer, integer) IS
    'band keys of a signature; signatures with equal keys are candidates';

CREATE FUNCTION lsh_band_keys(signature minhash_signature, bands integer, rows integer, scope anyelement)
    RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'lsh_band_keys_scoped' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION lsh_band_keys(minhash_signature, integer, integer, anyelement) IS
    'band keys of a signature within a scope; signatures of other scopes have other keys';

CREATE FUNCTION lsh_bands_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_bands_support(internal) IS 'planner support: lsh_bands yields as many rows as bands';

CREATE FUNCTION lsh_bands(
    signature minhash_signature,
    bands integer,
    rows integer,
    OUT band integer,
    OUT key bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 16 SUPPORT lsh_bands_support;
COMMENT ON FUNCTION lsh_bands(minhash_signature, integer, integer) IS
    'band keys of a signature as rows, bands counted from 1';

CREATE FUNCTION lsh_bands(
    signature minhash_signature,
    bands integer,
    rows integer,
    scope anyelement,
    OUT band integer,
    OUT key bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_bands_scoped' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 16
    SUPPORT lsh_bands_support;
COMMENT ON FUNCTION lsh_bands(minhash_signature, integer, integer, anyelement) IS
    'band keys of a signature within a scope as rows, bands counted from 1';
