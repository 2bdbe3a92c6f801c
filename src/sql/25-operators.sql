-- Equality, order and hashing of whole signatures.

CREATE FUNCTION _minhash_lt(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_lt(minhash_signature, minhash_signature) IS 'implementation of < operator';
CREATE FUNCTION _minhash_le(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_le(minhash_signature, minhash_signature) IS 'implementation of <= operator';
CREATE FUNCTION _minhash_eq(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_eq(minhash_signature, minhash_signature) IS 'implementation of = operator';
CREATE FUNCTION _minhash_ne(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_ne(minhash_signature, minhash_signature) IS 'implementation of <> operator';
CREATE FUNCTION _minhash_ge(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_ge(minhash_signature, minhash_signature) IS 'implementation of >= operator';
CREATE FUNCTION _minhash_gt(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_gt(minhash_signature, minhash_signature) IS 'implementation of > operator';
CREATE FUNCTION _minhash_cmp(minhash_signature, minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME', 'minhash_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_cmp(minhash_signature, minhash_signature) IS 'less-equal-greater of two signatures';
CREATE FUNCTION _minhash_hash(minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME', 'minhash_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_hash(minhash_signature) IS 'hash of a signature';
CREATE FUNCTION _minhash_hash_extended(minhash_signature, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'minhash_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_hash_extended(minhash_signature, bigint) IS 'hash of a signature with a seed';

CREATE OPERATOR < (
    FUNCTION = _minhash_lt, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minhash_signature, minhash_signature) IS 'less than, by stored bytes';
CREATE OPERATOR <= (
    FUNCTION = _minhash_le, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minhash_signature, minhash_signature) IS 'less than or equal, by stored bytes';
CREATE OPERATOR = (
    FUNCTION = _minhash_eq, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minhash_signature, minhash_signature) IS 'same scheme and same slots';
CREATE OPERATOR <> (
    FUNCTION = _minhash_ne, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minhash_signature, minhash_signature) IS 'another scheme or other slots';
CREATE OPERATOR >= (
    FUNCTION = _minhash_ge, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minhash_signature, minhash_signature) IS 'greater than or equal, by stored bytes';
CREATE OPERATOR > (
    FUNCTION = _minhash_gt, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minhash_signature, minhash_signature) IS 'greater than, by stored bytes';

CREATE OPERATOR FAMILY minhash_ops USING btree;
COMMENT ON OPERATOR FAMILY minhash_ops USING btree IS 'order of signatures by their stored bytes';
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING btree FAMILY minhash_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 _minhash_cmp(minhash_signature, minhash_signature);
COMMENT ON OPERATOR CLASS minhash_ops USING btree IS 'order of signatures by their stored bytes';

CREATE OPERATOR FAMILY minhash_ops USING hash;
COMMENT ON OPERATOR FAMILY minhash_ops USING hash IS 'equality of signatures';
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING hash FAMILY minhash_ops AS
    OPERATOR 1 =,
    FUNCTION 1 _minhash_hash(minhash_signature),
    FUNCTION 2 _minhash_hash_extended(minhash_signature, bigint);
COMMENT ON OPERATOR CLASS minhash_ops USING hash IS 'equality of signatures';
