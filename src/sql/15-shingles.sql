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
