-- Signatures of the values of a column. (In calls of aggregates, arguments have neither names nor defaults.)

CREATE FUNCTION _minhash_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _minhash_agg_combine(internal, internal) IS 'combine function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION _minhash_agg_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'minhash_agg_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_agg_serial(internal) IS 'serialization function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION _minhash_agg_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_agg_deserial(bytea, internal) IS 'deserialization function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION _minhash_agg_final(internal) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _minhash_agg_final(internal) IS 'final function of minhash_agg and minhash_elements_agg';

-- For texts: the signature of their shingles.

CREATE FUNCTION _minhash_agg_add(internal, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION _minhash_agg_add(internal, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(document text) (
    SFUNC = _minhash_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = _minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = _minhash_agg_combine, SERIALFUNC = _minhash_agg_serial, DESERIALFUNC = _minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_agg(text) IS
    'signature of the shingles of all texts: that of minhash_union_agg(minhash(document)). Example: minhash_agg(body)';

-- For values: the signature of the set of these values.

CREATE FUNCTION _minhash_elements_agg_add(internal, anyelement) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_elements_agg_add(internal, anyelement) IS 'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element anyelement) (
    SFUNC = _minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = _minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = _minhash_agg_combine, SERIALFUNC = _minhash_agg_serial, DESERIALFUNC = _minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(anyelement) IS
    'signature of the set of all values: that of minhash_elements(array_agg(element)). '
    'Example: minhash_elements_agg(id)';
CREATE FUNCTION _minhash_elements_agg_add(internal, anyelement, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_elements_agg_add(internal, anyelement, integer, bigint, text) IS
    'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element anyelement, num_hashes integer, seed bigint, method text) (
    SFUNC = _minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = _minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = _minhash_agg_combine, SERIALFUNC = _minhash_agg_serial, DESERIALFUNC = _minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(anyelement, integer, bigint, text) IS
    'signature of the set of all values, with the arguments of minhash_elements. '
    'Example: minhash_elements_agg(id, 64, 42, ''fss'')';
