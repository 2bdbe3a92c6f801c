-- Signatures of columns. (Aggregates accept neither named arguments nor defaults.)

CREATE FUNCTION minhash_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_combine(internal, internal) IS 'combine function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION minhash_agg_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_agg_serial(internal) IS 'serialization function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION minhash_agg_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_agg_deserial(bytea, internal) IS 'deserialization function of minhash_agg and minhash_elements_agg';
CREATE FUNCTION minhash_agg_final(internal) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_agg_final(internal) IS 'final function of minhash_agg and minhash_elements_agg';

-- Texts, by their shingles.

CREATE FUNCTION minhash_agg_add(internal, text) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash_agg_add(internal, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(document text) (
    SFUNC = minhash_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_agg(text) IS
    'signature of the shingles of all texts: that of minhash_union_agg(minhash(document))';

-- Elements of a set, by type.

CREATE FUNCTION minhash_elements_agg_add(internal, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, text) IS 'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element text) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(text) IS
    'signature of the set of all values, texts: that of minhash_elements(array_agg(element))';
CREATE FUNCTION minhash_elements_agg_add(internal, text, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_text_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, text, integer, bigint, text) IS
    'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element text, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(text, integer, bigint, text) IS
    'signature of the set of all values, texts, with the arguments of minhash_elements';

CREATE FUNCTION minhash_elements_agg_add(internal, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, bigint) IS 'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element bigint) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(bigint) IS
    'signature of the set of all values, integers: that of minhash_elements(array_agg(element))';
CREATE FUNCTION minhash_elements_agg_add(internal, bigint, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_bigint_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, bigint, integer, bigint, text) IS
    'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element bigint, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(bigint, integer, bigint, text) IS
    'signature of the set of all values, integers, with the arguments of minhash_elements';

CREATE FUNCTION minhash_elements_agg_add(internal, uuid) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, uuid) IS 'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element uuid) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(uuid) IS
    'signature of the set of all values, UUIDs: that of minhash_elements(array_agg(element))';
CREATE FUNCTION minhash_elements_agg_add(internal, uuid, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_uuid_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, uuid, integer, bigint, text) IS
    'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element uuid, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(uuid, integer, bigint, text) IS
    'signature of the set of all values, UUIDs, with the arguments of minhash_elements';

CREATE FUNCTION minhash_elements_agg_add(internal, bytea) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, bytea) IS 'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element bytea) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(bytea) IS
    'signature of the set of all values, byte strings: that of minhash_elements(array_agg(element))';
CREATE FUNCTION minhash_elements_agg_add(internal, bytea, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_elements_agg_add_bytea_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_elements_agg_add(internal, bytea, integer, bigint, text) IS
    'transition function of minhash_elements_agg';
CREATE AGGREGATE minhash_elements_agg(element bytea, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_elements_agg_add, STYPE = internal, SSPACE = 256, FINALFUNC = minhash_agg_final, PARALLEL = SAFE,
    COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serial, DESERIALFUNC = minhash_agg_deserial
);
COMMENT ON AGGREGATE minhash_elements_agg(bytea, integer, bigint, text) IS
    'signature of the set of all values, byte strings, with the arguments of minhash_elements';
