-- Signatures as sets.

CREATE FUNCTION minhash_union(a minhash_signature, b minhash_signature) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union(minhash_signature, minhash_signature) IS
    'signature of the union of two sets, exactly: the smaller of each two slots. '
    'Example: minhash_union(minhash(''one text''), minhash(''another''))';

CREATE FUNCTION _minhash_union_agg_final(signature minhash_signature) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_union_agg_final' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _minhash_union_agg_final(minhash_signature) IS 'final function of minhash_union_agg';
CREATE AGGREGATE minhash_union_agg(signature minhash_signature) (
    SFUNC = minhash_union,
    STYPE = minhash_signature,
    FINALFUNC = _minhash_union_agg_final,
    COMBINEFUNC = minhash_union,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_union_agg(minhash_signature) IS
    'signature of the union of all sets. Example: minhash_union_agg(sig)';

-- Sizes of sets.

CREATE FUNCTION minhash_cardinality(signature minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_cardinality(minhash_signature) IS
    'estimated number of elements; its relative standard error is at most about 1 / sqrt(num_hashes). '
    'Example: minhash_cardinality(sig)';

CREATE FUNCTION minhash_intersection_cardinality(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_intersection_cardinality(minhash_signature, minhash_signature) IS
    'estimated number of elements in both sets: similarity times the size of the union. '
    'Example: minhash_intersection_cardinality(minhash(''a small cat''), minhash(''a small dog''))';

CREATE FUNCTION minhash_containment(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_containment(minhash_signature, minhash_signature) IS
    'estimated share of the first set''s elements that the second has. '
    'Example: minhash_containment(minhash(''a small cat''), minhash(''the tale of a small cat''))';
