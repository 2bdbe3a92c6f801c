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

-- Band keys packed into blocks, for lsh_distributed_pairs() in doc/distributed. Each of these functions runs the query
-- that it is given, on the server on which the function is called.

CREATE FUNCTION _lsh_scatter(
    query text, place integer, parts integer, OUT part integer, OUT entries integer, OUT block bytea
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_scatter' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION _lsh_scatter(text, integer, integer) IS
    'packs the ids and band keys of a query into blocks, each of one part of all keys';

CREATE FUNCTION _lsh_gather(
    query text,
    places integer,
    star_above integer,
    OUT place integer,
    OUT left_ids bigint[],
    OUT right_ids bigint[],
    OUT right_places bigint[],
    OUT stars integer
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_gather' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION _lsh_gather(text, integer, integer) IS
    'candidates among a query''s blocks, by the place of the left text; if many texts share a key, the first with each';
