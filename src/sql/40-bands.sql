-- Bands.

CREATE FUNCTION lsh_band_keys(signature minhash_signature, bands integer, rows integer) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION lsh_band_keys(minhash_signature, integer, integer) IS
    'band keys of a signature; signatures with equal keys are candidates. '
    'Example: lsh_band_keys(sig, bands => 13, rows => 7)';

CREATE FUNCTION _lsh_bands_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'lsh_bands_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_bands_support(internal) IS 'planner support: lsh_bands yields as many rows as bands';

CREATE FUNCTION lsh_bands(
    signature minhash_signature,
    bands integer,
    rows integer,
    OUT band integer,
    OUT key bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 16 SUPPORT _lsh_bands_support;
COMMENT ON FUNCTION lsh_bands(minhash_signature, integer, integer) IS
    'band keys of a signature as rows, bands counted from 1. Example: lsh_bands(sig, bands => 13, rows => 7)';
