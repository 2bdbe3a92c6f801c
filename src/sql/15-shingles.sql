-- Shingles, exactly.

CREATE FUNCTION shingles(
    document text,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false
) RETURNS text[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingles(text, integer, text, boolean, boolean) IS
    'the shingles of a text in its order: all distinct ones, or each occurrence if bag';

CREATE FUNCTION shingle_jaccard(
    a text,
    b text,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false
) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_jaccard(text, text, integer, text, boolean, boolean) IS
    'exact Jaccard similarity of two texts: shingles they share over shingles of either';

CREATE FUNCTION shingle_containment(
    a text,
    b text,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false
) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_containment(text, text, integer, text, boolean, boolean) IS
    'exact containment: the share of the first text''s shingles that the second has';

-- Sets that are given, exactly.

CREATE FUNCTION shingle_jaccard(a anycompatiblearray, b anycompatiblearray) RETURNS double precision
    AS 'MODULE_PATHNAME', 'shingle_jaccard_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_jaccard(anycompatiblearray, anycompatiblearray) IS
    'exact Jaccard similarity of two arrays as sets: elements they share over elements of either';

CREATE FUNCTION shingle_containment(a anycompatiblearray, b anycompatiblearray) RETURNS double precision
    AS 'MODULE_PATHNAME', 'shingle_containment_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_containment(anycompatiblearray, anycompatiblearray) IS
    'exact containment of arrays as sets: the share of the first one''s elements that the second has';

CREATE FUNCTION shingle_bag_jaccard(a anycompatiblearray, b anycompatiblearray) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_bag_jaccard(anycompatiblearray, anycompatiblearray) IS
    'exact Jaccard similarity of two arrays as bags, in which repeated elements count';

CREATE FUNCTION shingle_bag_containment(a anycompatiblearray, b anycompatiblearray) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_bag_containment(anycompatiblearray, anycompatiblearray) IS
    'exact containment of arrays as bags, in which repeated elements count';
