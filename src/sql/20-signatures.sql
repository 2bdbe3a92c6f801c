-- Signatures.

CREATE FUNCTION minhash(
    document text,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss'
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash(text, integer, integer, text, boolean, boolean, bigint, text) IS
    'MinHash signature of a text''s shingles. Example: minhash(body, shingle_size => 3)';

CREATE FUNCTION minhash(list anyarray, num_hashes integer DEFAULT NULL) RETURNS minhash_signature
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'minhash() signs a text, not an array' USING ERRCODE = 'datatype_mismatch',
        HINT = 'Sign a set of elements with minhash_elements(), and each of several texts by itself.';
END $$;
COMMENT ON FUNCTION minhash(anyarray, integer) IS
    'an error that names the function for arrays. Example: minhash(ARRAY[''a'', ''b''])';

-- Functions that return information about signatures.

CREATE FUNCTION minhash_similarity(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similarity(minhash_signature, minhash_signature) IS
    'estimated Jaccard similarity: the share of equal slots. '
    'Example: minhash_similarity(sig, minhash(''a small cat''))';

CREATE FUNCTION _minhash_distance(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME', 'minhash_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_distance(minhash_signature, minhash_signature) IS
    'estimated Jaccard distance: 1 - minhash_similarity';

-- STABLE, because the setting may change between statements.
CREATE FUNCTION _minhash_similar(a minhash_signature, b minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_similar' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_similar(minhash_signature, minhash_signature) IS
    'whether minhash_similarity reaches the setting minhash_lsh.similarity_threshold';

CREATE FUNCTION _minhash_similar_sel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'minhash_similar_sel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_similar_sel(internal, oid, internal, integer) IS
    'restriction selectivity of the operator %';

CREATE FUNCTION _minhash_similar_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'minhash_similar_joinsel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_similar_joinsel(internal, oid, internal, smallint, internal) IS
    'join selectivity of the operator %';

CREATE OPERATOR % (
    FUNCTION = _minhash_similar, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = %, RESTRICT = _minhash_similar_sel, JOIN = _minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_signature, minhash_signature) IS
    'estimated similarity of at least minhash_lsh.similarity_threshold';
CREATE OPERATOR <%> (
    FUNCTION = _minhash_distance, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (minhash_signature, minhash_signature) IS
    'estimated Jaccard distance, 1 - minhash_similarity(): small for near texts';

CREATE FUNCTION minhash_scheme(
    signature minhash_signature,
    OUT method text,
    OUT num_hashes integer,
    OUT bits integer,
    OUT unit text,
    OUT shingle_size integer,
    OUT fold boolean,
    OUT bag boolean,
    OUT seed bigint,
    OUT version integer
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_scheme(minhash_signature) IS
    'how a signature was made. Example: minhash_scheme(sig)';

CREATE FUNCTION minhash_standard_error(
    similarity double precision,
    num_hashes integer DEFAULT 128,
    bits integer DEFAULT 32
) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_standard_error(double precision, integer, integer) IS
    'standard error of an estimate from independent hashes: sqrt(J (1 - J) / num_hashes), and more for few bits. '
    'Example: minhash_standard_error(0.8, num_hashes => 128)';

CREATE FUNCTION _minhash_slots(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'minhash_slots' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION _minhash_slots(minhash_signature) IS 'the slots of a signature; none for the empty set';

CREATE FUNCTION _minhash_signature_to_bit(signature minhash_signature, length integer, explicit boolean) RETURNS bit
    AS 'MODULE_PATHNAME', 'minhash_signature_to_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_to_bit(minhash_signature, integer, boolean) IS
    'the slots of a signature of one bit per slot; NULL for the empty set';
CREATE CAST (minhash_signature AS bit) WITH FUNCTION _minhash_signature_to_bit(minhash_signature, integer, boolean);
COMMENT ON CAST (minhash_signature AS bit) IS 'the slots of a signature of one bit per slot';

CREATE FUNCTION minhash_compress(signature minhash_signature, bits integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_compress(minhash_signature, integer) IS
    'signature of 1, 2, 4, 8 or 16 bits per slot: smaller, to be compared but not united. '
    'Example: minhash_compress(sig, bits => 8)';

CREATE FUNCTION minhash_truncate(signature minhash_signature, num_hashes integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_truncate(minhash_signature, integer) IS
    'first num_hashes slots of a signature of method classic or external, which are the signature of fewer hashes. '
    'Example: minhash_truncate(minhash(body, method => ''classic''), num_hashes => 64)';

CREATE FUNCTION minhash_to_values(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_to_values(minhash_signature) IS
    'inverse of minhash_from_values: one value for each hash; 4294967295 each for the empty set. '
    'Example: minhash_to_values(sig)';

CREATE FUNCTION minhash_from_values("values" bigint[], seed bigint) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_values(bigint[], bigint) IS
    'signature made elsewhere, of 32-bit values; seed tells families of hash functions apart. '
    'Example: minhash_from_values(''{7,2,9,4,5,8,1,3}'', seed => 1)';

CREATE CAST (minhash_signature AS bigint[]) WITH FUNCTION _minhash_slots(minhash_signature);
COMMENT ON CAST (minhash_signature AS bigint[]) IS 'the slots of a signature';
