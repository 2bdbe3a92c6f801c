-- Similarity from a threshold that is given, which does not depend on a setting. The type minhash_query is a
-- signature that is looked for, with its threshold: the right side of an operator that indexes can serve.

CREATE TYPE minhash_query;

CREATE FUNCTION minhash_query_in(cstring) RETURNS minhash_query
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_query_in(cstring) IS 'input of minhash_query';
CREATE FUNCTION minhash_query_out(minhash_query) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_query_out(minhash_query) IS 'output of minhash_query';
CREATE FUNCTION minhash_query_recv(internal) RETURNS minhash_query
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_query_recv(internal) IS 'binary input of minhash_query';
CREATE FUNCTION minhash_query_send(minhash_query) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_query_send(minhash_query) IS 'binary output of minhash_query';

CREATE TYPE minhash_query (
    INPUT = minhash_query_in,
    OUTPUT = minhash_query_out,
    RECEIVE = minhash_query_recv,
    SEND = minhash_query_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE minhash_query IS 'signature that is looked for, with the least similarity of what is found';

CREATE FUNCTION minhash_query(signature minhash_signature, threshold double precision) RETURNS minhash_query
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_query(minhash_signature, double precision) IS
    'the right side of the operator %: finds signatures whose estimated similarity reaches the threshold';

CREATE FUNCTION minhash_similar(signature minhash_signature, query minhash_query) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_to_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similar(minhash_signature, minhash_query) IS
    'whether minhash_similarity reaches the threshold of the query';
CREATE FUNCTION minhash_similar(query minhash_query, signature minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_from_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similar(minhash_query, minhash_signature) IS
    'whether minhash_similarity reaches the threshold of the query';

CREATE OPERATOR % (
    FUNCTION = minhash_similar, LEFTARG = minhash_signature, RIGHTARG = minhash_query,
    COMMUTATOR = %, RESTRICT = minhash_similar_sel, JOIN = minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_signature, minhash_query) IS
    'estimated similarity of at least the threshold of the query';
CREATE OPERATOR % (
    FUNCTION = minhash_similar, LEFTARG = minhash_query, RIGHTARG = minhash_signature,
    COMMUTATOR = %, RESTRICT = minhash_similar_sel, JOIN = minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_query, minhash_signature) IS
    'estimated similarity of at least the threshold of the query';

-- Indexes serve calls of the functions as they serve the operators.

CREATE FUNCTION minhash_similar_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_similar_support(internal) IS 'planner support of minhash_similar';

CREATE FUNCTION minhash_similar(a minhash_signature, b minhash_signature, threshold double precision) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar_from' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
    SUPPORT minhash_similar_support;
COMMENT ON FUNCTION minhash_similar(minhash_signature, minhash_signature, double precision) IS
    'whether minhash_similarity reaches the threshold';

ALTER FUNCTION minhash_similar(minhash_signature, minhash_signature) SUPPORT minhash_similar_support;
