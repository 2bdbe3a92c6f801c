-- Sets whose elements are given: arrays, tsvectors. No text can be taken for one of these, so that an untyped list is
-- an error here and not the signature of a text.

CREATE FUNCTION minhash_elements(
    elements text[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(text[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a text array';

CREATE FUNCTION minhash_elements(
    elements smallint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_smallints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(smallint[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a smallint array';

CREATE FUNCTION minhash_elements(
    elements integer[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_integers' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(integer[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a integer array';

CREATE FUNCTION minhash_elements(
    elements bigint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_bigints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(bigint[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a bigint array';

CREATE FUNCTION minhash_elements(
    elements uuid[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_uuids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(uuid[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a uuid array';

CREATE FUNCTION minhash_elements(
    elements bytea[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_byteas' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(bytea[], integer, bigint, text, boolean) IS
    'MinHash signature of the elements of a bytea array';

CREATE FUNCTION minhash_elements(
    lexemes tsvector,
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_lexemes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(tsvector, integer, bigint, text, boolean) IS
    'MinHash signature of a tsvector''s lexemes';

-- Exactly.

CREATE FUNCTION element_jaccard(a anycompatiblearray, b anycompatiblearray, bag boolean DEFAULT false)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION element_jaccard(anycompatiblearray, anycompatiblearray, boolean) IS
    'exact Jaccard similarity of two arrays as sets or bags: elements they share over elements of either';

CREATE FUNCTION element_containment(a anycompatiblearray, b anycompatiblearray, bag boolean DEFAULT false)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION element_containment(anycompatiblearray, anycompatiblearray, boolean) IS
    'exact containment of arrays as sets or bags: the share of the first one''s elements that the second has';
