-- Functions of sets whose elements the user passes as arrays or tsvectors. None of these functions has a variant for
-- texts. So if a list is written as an untyped literal, the call raises an error, instead of signing the list as a
-- text.

CREATE FUNCTION minhash_elements(
    elements anyarray,
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(anyarray, integer, bigint, text, boolean) IS
    'MinHash signature of the elements of an array of text, smallint, integer, bigint, uuid or bytea. '
    'Example: minhash_elements(''{red,green,blue}''::text[])';

CREATE FUNCTION minhash_elements(
    lexemes tsvector,
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_elements_of_lexemes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_elements(tsvector, integer, bigint, text, boolean) IS
    'MinHash signature of a tsvector''s lexemes. Example: minhash_elements(to_tsvector(''english'', body))';

-- Exact similarities of these sets, computed without signatures.

CREATE FUNCTION element_jaccard(a anycompatiblearray, b anycompatiblearray, bag boolean DEFAULT false)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION element_jaccard(anycompatiblearray, anycompatiblearray, boolean) IS
    'exact Jaccard similarity of two arrays as sets or bags: elements they share over elements of either. '
    'Example: element_jaccard(''{red,green}''::text[], ''{green,blue}''::text[])';

CREATE FUNCTION element_containment(a anycompatiblearray, b anycompatiblearray, bag boolean DEFAULT false)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION element_containment(anycompatiblearray, anycompatiblearray, boolean) IS
    'exact containment of arrays as sets or bags: the share of the first one''s elements that the second has. '
    'Example: element_containment(''{red,green}''::text[], ''{green,blue}''::text[])';
