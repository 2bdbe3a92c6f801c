-- Exact shingles, and exact comparisons of texts by their shingles.

CREATE FUNCTION shingles(
    document text,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false
) RETURNS text[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingles(text, integer, text, boolean, boolean) IS
    'the shingles of a text in its order: all distinct ones, or each occurrence if bag. '
    'Example: shingles(''a small cat'', 3)';

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
    'exact Jaccard similarity of two texts: shingles they share over shingles of either. '
    'Example: shingle_jaccard(''a small cat'', ''a small car'')';

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
    'exact containment: the share of the first text''s shingles that the second has. '
    'Example: shingle_containment(''a small cat'', ''the tale of a small cat'')';

CREATE FUNCTION shingle_difference(
    a text,
    b text,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    OUT side text,
    OUT "position" integer,
    OUT length integer,
    OUT passage text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 20;
COMMENT ON FUNCTION shingle_difference(text, text, integer, text, boolean, boolean) IS
    'the passages of a and of b that no shingle of both covers, by their place in the text as it is. '
    'Example: shingle_difference(''a small cat'', ''a small car'')';

CREATE FUNCTION shingle_headline(
    a text,
    b text,
    options text DEFAULT '',
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false
) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION shingle_headline(text, text, text, integer, text, boolean, boolean) IS
    'fragments of a in which the passages that shingle_difference() finds are marked. '
    'Example: shingle_headline(''a small cat'', ''a small car'')';

-- Passages of a text.

CREATE FUNCTION lsh_windows(
    document text,
    words integer DEFAULT 40,
    step integer DEFAULT NULL,
    OUT "position" integer,
    OUT passage text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 20;
COMMENT ON FUNCTION lsh_windows(text, integer, integer) IS
    'windows of some words, one at every step (by default, half of words), with the number of their first character. '
    'Example: lsh_windows(body, words => 5, step => 2)';
