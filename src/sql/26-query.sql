-- Tests whether two signatures are similar, with a threshold from an argument, so that no setting matters. The type
-- minhash_query combines this threshold with the signature to search for. Indexes can serve the operator that has
-- minhash_query on its right side.

CREATE TYPE minhash_query;

CREATE FUNCTION _minhash_query_in(cstring) RETURNS minhash_query
    AS 'MODULE_PATHNAME', 'minhash_query_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_query_in(cstring) IS 'input of minhash_query: an error';
CREATE FUNCTION _minhash_query_out(minhash_query) RETURNS cstring
    AS 'MODULE_PATHNAME', 'minhash_query_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_query_out(minhash_query) IS 'output of minhash_query';
CREATE TYPE minhash_query (
    INPUT = _minhash_query_in,
    OUTPUT = _minhash_query_out,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE minhash_query IS
    'signature that is looked for, with its threshold, as the planner makes it; cannot be stored';

CREATE FUNCTION _minhash_query(signature minhash_signature, threshold double precision) RETURNS minhash_query
    AS 'MODULE_PATHNAME', 'minhash_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_query(minhash_signature, double precision) IS
    'the right side of the operator %: finds signatures whose estimated similarity reaches the threshold';

CREATE FUNCTION _minhash_rough_query(signature minhash_signature, threshold double precision) RETURNS minhash_query
    AS 'MODULE_PATHNAME', 'minhash_rough_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_rough_query(minhash_signature, double precision) IS
    'the right side of the operator %: an lsh index may also find signatures that are a little farther';

CREATE FUNCTION _minhash_similar(signature minhash_signature, query minhash_query) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_to_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_similar(minhash_signature, minhash_query) IS
    'whether minhash_similarity reaches the threshold of the query';
CREATE FUNCTION _minhash_similar(query minhash_query, signature minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_from_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_similar(minhash_query, minhash_signature) IS
    'whether minhash_similarity reaches the threshold of the query';

CREATE OPERATOR % (
    FUNCTION = _minhash_similar, LEFTARG = minhash_signature, RIGHTARG = minhash_query,
    COMMUTATOR = %, RESTRICT = _minhash_similar_sel, JOIN = _minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_signature, minhash_query) IS
    'estimated similarity of at least the threshold of the query';
CREATE OPERATOR % (
    FUNCTION = _minhash_similar, LEFTARG = minhash_query, RIGHTARG = minhash_signature,
    COMMUTATOR = %, RESTRICT = _minhash_similar_sel, JOIN = _minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_query, minhash_signature) IS
    'estimated similarity of at least the threshold of the query';

-- Indexes can serve calls of minhash_similar(), just as they serve the operators.

CREATE FUNCTION _minhash_similar_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_similar_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_similar_support(internal) IS 'planner support of minhash_similar';

CREATE FUNCTION minhash_similar(a minhash_signature, b minhash_signature, threshold double precision DEFAULT 0.8)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_from' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
    SUPPORT _minhash_similar_support;
COMMENT ON FUNCTION minhash_similar(minhash_signature, minhash_signature, double precision) IS
    'whether minhash_similarity reaches the threshold. '
    'Example: minhash_similar(sig, minhash(''a small cat''), threshold => 0.8)';

-- For lookups that only need to miss nothing, such as those of kept clusters: without an index the same, but rows that
-- an lsh index finds are not signed again.
CREATE FUNCTION _minhash_roughly_similar(a minhash_signature, b minhash_signature, threshold double precision)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_roughly_similar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
    SUPPORT _minhash_similar_support;
COMMENT ON FUNCTION _minhash_roughly_similar(minhash_signature, minhash_signature, double precision) IS
    'minhash_similar, except that rows which an lsh index finds may be a little farther';
