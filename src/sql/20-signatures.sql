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
    'MinHash signature of a text''s shingles';

-- Signatures of sets whose members are given. The arguments stand where those of texts have a type of the same
-- category, so that calls with parameters of unknown types go on to mean texts.

CREATE FUNCTION minhash(
    elements text[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements smallint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_smallints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(smallint[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements integer[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_integers' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(integer[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements bigint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_bigints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bigint[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements uuid[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_uuids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(uuid[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements bytea[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_byteas' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bytea[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    lexemes tsvector,
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_lexemes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(tsvector, integer, bigint, text, boolean) IS
    'MinHash signature of a tsvector''s lexemes';

-- What signatures can be asked.

CREATE FUNCTION minhash_similarity(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similarity(minhash_signature, minhash_signature) IS
    'estimated Jaccard similarity: the share of equal slots';

CREATE FUNCTION minhash_distance(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_distance(minhash_signature, minhash_signature) IS
    'estimated Jaccard distance: 1 - minhash_similarity';

-- STABLE, as the setting may change between statements.
CREATE FUNCTION minhash_similar(a minhash_signature, b minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similar(minhash_signature, minhash_signature) IS
    'whether minhash_similarity reaches the setting minhash_lsh.similarity_threshold';

CREATE FUNCTION minhash_similar_sel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_similar_sel(internal, oid, internal, integer) IS
    'restriction selectivity of the operator %';

CREATE FUNCTION minhash_similar_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_similar_joinsel(internal, oid, internal, smallint, internal) IS
    'join selectivity of the operator %';

CREATE OPERATOR % (
    FUNCTION = minhash_similar, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = %, RESTRICT = minhash_similar_sel, JOIN = minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_signature, minhash_signature) IS
    'estimated similarity of at least minhash_lsh.similarity_threshold';
CREATE OPERATOR <%> (
    FUNCTION = minhash_distance, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (minhash_signature, minhash_signature) IS 'estimated Jaccard distance';

CREATE FUNCTION minhash_num_hashes(signature minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_num_hashes(minhash_signature) IS 'number of hashes, which are slots, of a signature';

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
COMMENT ON FUNCTION minhash_scheme(minhash_signature) IS 'how a signature was made';

CREATE FUNCTION minhash_standard_error(
    similarity double precision,
    num_hashes integer DEFAULT 128,
    bits integer DEFAULT 32
) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_standard_error(double precision, integer, integer) IS
    'standard error of an estimate from independent hashes: sqrt(J (1 - J) / num_hashes), and more for few bits';

CREATE FUNCTION minhash_slots(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_slots(minhash_signature) IS 'the slots of a signature; none for the empty set';

CREATE FUNCTION minhash_compress(signature minhash_signature, bits integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_compress(minhash_signature, integer) IS
    'signature of 1, 2, 4, 8 or 16 bits per slot: smaller, to be compared but not united';

CREATE FUNCTION minhash(signature minhash_signature, num_hashes integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_truncate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash(minhash_signature, integer) IS
    'signature of fewer hashes, as of the text; of the methods classic and external only';

CREATE FUNCTION minhash_values(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_values(minhash_signature) IS
    'one value for each hash, for other systems; 4294967295 each for the empty set';

CREATE FUNCTION minhash_from_values("values" bigint[], seed bigint DEFAULT 42) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_values(bigint[], bigint) IS
    'signature made elsewhere, of 32-bit values; seed tells families of hash functions apart';

CREATE CAST (minhash_signature AS bigint[]) WITH FUNCTION minhash_slots(minhash_signature);
COMMENT ON CAST (minhash_signature AS bigint[]) IS 'the slots of a signature';
