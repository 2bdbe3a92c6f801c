-- An inverted index of band keys.

CREATE FUNCTION _gin_minhash_extract_value(minhash_signature, internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gin_minhash_extract_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _gin_minhash_extract_value(minhash_signature, internal, internal) IS
    'band keys of an indexed signature';
CREATE FUNCTION _gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal,
    internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gin_minhash_extract_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal, internal) IS
    'band keys of the signature that is looked for';
CREATE FUNCTION _gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal,
    internal) RETURNS boolean
    AS 'MODULE_PATHNAME', 'gin_minhash_consistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal, internal) IS
    'whether a row is a candidate';
CREATE FUNCTION _gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal)
    RETURNS "char"
    AS 'MODULE_PATHNAME', 'gin_minhash_triconsistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal) IS
    'whether a row may be a candidate, where some keys are not known';
CREATE FUNCTION _gin_minhash_options(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'gin_minhash_options' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _gin_minhash_options(internal) IS 'the options bands and rows of an index';

CREATE OPERATOR FAMILY gin_minhash_ops USING gin;
COMMENT ON OPERATOR FAMILY gin_minhash_ops USING gin IS 'similar signatures by their band keys';
CREATE OPERATOR CLASS gin_minhash_ops DEFAULT FOR TYPE minhash_signature USING gin FAMILY gin_minhash_ops AS
    OPERATOR 1 % (minhash_signature, minhash_signature),
    OPERATOR 2 % (minhash_signature, minhash_query),
    FUNCTION 1 btint8cmp(bigint, bigint),
    FUNCTION 2 _gin_minhash_extract_value(minhash_signature, internal, internal),
    FUNCTION 3 _gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal,
        internal),
    FUNCTION 4 _gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal,
        internal),
    FUNCTION 6 _gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal),
    FUNCTION 7 _gin_minhash_options(internal),
    STORAGE bigint;
COMMENT ON OPERATOR CLASS gin_minhash_ops USING gin IS
    'similar signatures by their band keys; options bands and rows';
