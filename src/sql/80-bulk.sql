-- Bulk functions find all near-duplicates among the rows of a query that returns (id, signature) or (id, text). The
-- query runs with the user's rights, and with parallel workers if the query allows them. So the functions themselves
-- are not parallel safe. If an argument's default is NULL, the function chooses a value, or uses the default of
-- minhash(). It is an error to pass an argument of this kind where it would have no effect. The argument that specifies
-- the type of ids has no name, so that users cannot pass it by name, at another position. Such a call would crash the
-- server, because PostgreSQL derives the types of result columns from the order of the arguments in a call.

CREATE FUNCTION lsh_pairs(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL,
    method text DEFAULT NULL,
    other_query text DEFAULT NULL,
    apart text DEFAULT NULL,
    weight text DEFAULT NULL
) RETURNS TABLE (left_id bigint, right_id bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, text, text) IS
    'the pairs of a query''s rows, or across two queries, whose similarity reaches the threshold. '
    'Example: lsh_pairs(''SELECT id, body FROM articles'', threshold => 0.8)';

CREATE FUNCTION lsh_pairs(
    query text,
    anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL,
    method text DEFAULT NULL,
    other_query text DEFAULT NULL,
    apart text DEFAULT NULL,
    weight text DEFAULT NULL
) RETURNS TABLE (left_id anyelement, right_id anyelement, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_pairs_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, text, text) IS
    'the pairs of a query''s rows, or across two queries, whose similarity reaches the threshold; '
    'ids are of the second argument''s type. '
    'Example: lsh_pairs(''SELECT url, body FROM articles'', NULL::text, threshold => 0.8)';

CREATE FUNCTION lsh_clusters(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL,
    method text DEFAULT NULL,
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false,
    apart text DEFAULT NULL,
    weight text DEFAULT NULL
) RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean, text, text) IS
    'clusters of a query''s rows that are connected by pairs whose similarity reaches the threshold. '
    'Example: lsh_clusters(''SELECT id, body FROM articles'', near_representative => true)';

CREATE FUNCTION lsh_clusters(
    query text,
    anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL,
    method text DEFAULT NULL,
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false,
    apart text DEFAULT NULL,
    weight text DEFAULT NULL
) RETURNS TABLE (id anyelement, cluster_id anyelement, representative anyelement, size bigint,
    similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_clusters_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean, text, text) IS
    'clusters of a query''s rows that are connected by pairs whose similarity reaches the threshold; '
    'ids are of the second argument''s type. '
    'Example: lsh_clusters(''SELECT url, body FROM articles'', NULL::text)';

CREATE FUNCTION lsh_contained(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    other_query text DEFAULT NULL
) RETURNS TABLE (contained_id bigint, container_id bigint, containment double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_contained(text, double precision, double precision, integer, text, boolean, boolean, text) IS
    'the texts of a query that lie within others of it, or of another query, with the share of their shingles found '
    'there. '
    'Example: lsh_contained(''SELECT id, body FROM articles'', threshold => 0.9)';

CREATE FUNCTION lsh_contained(
    query text,
    anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    other_query text DEFAULT NULL
) RETURNS TABLE (contained_id anyelement, container_id anyelement, containment double precision)
    AS 'MODULE_PATHNAME', 'lsh_contained_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_contained(text, anyelement, double precision, double precision, integer, text, boolean, boolean, text) IS
    'the texts of a query that lie within others of it, or of another query; ids are of the second argument''s type. '
    'Example: lsh_contained(''SELECT url, body FROM articles'', NULL::text)';

CREATE FUNCTION lsh_components(query text, thresholds double precision[] DEFAULT NULL)
    RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, threshold double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_components(text, double precision[]) IS
    'the connected components of a query''s pairs, all or those that reach each threshold. '
    'Example: lsh_components(''SELECT left_id, right_id FROM article_pairs'')';

CREATE FUNCTION lsh_components(query text, anyelement, thresholds double precision[] DEFAULT NULL)
    RETURNS TABLE (id anyelement, cluster_id anyelement, representative anyelement, size bigint,
        threshold double precision)
    AS 'MODULE_PATHNAME', 'lsh_components_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_components(text, anyelement, double precision[]) IS
    'the connected components of a query''s pairs, all or those that reach each threshold; '
    'ids are of the second argument''s type. '
    'Example: lsh_components(''SELECT url, other_url FROM links'', NULL::text)';

-- The type anycompatible lets bands and rows be numbers, arrays, or literals without a type, which arrive as text.
CREATE FUNCTION lsh_evaluate(
    query text,
    threshold double precision DEFAULT 0.8,
    anchors integer DEFAULT 2000,
    bands anycompatible DEFAULT NULL,
    rows anycompatible DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    OUT bands integer,
    OUT rows integer,
    OUT anchors integer,
    OUT candidates bigint,
    OUT true_pairs bigint,
    OUT found bigint,
    OUT recall double precision,
    OUT recall_low double precision,
    OUT recall_high double precision,
    OUT predicted_recall double precision,
    OUT false_candidates bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 6
    SET extra_float_digits = 1 SET datestyle = 'ISO'; -- anchors are drawn by the text of their ids
COMMENT ON FUNCTION lsh_evaluate(text, double precision, integer, anycompatible, anycompatible, integer, integer, text, boolean, boolean, bigint, text) IS
    'how many near-duplicates and false candidates bands and rows would find, as pairs of a few texts with all show. '
    'Example: lsh_evaluate(''SELECT id, body FROM articles'', bands => ''{20,16}'', rows => ''{5,8}'')';

-- Many users first try to pass the names of a table and of its columns. The parser would only report that no function
-- matches, or that several do. So the functions below catch such calls, and raise an error that says what to write.
-- Only an untyped literal converts to _lsh_column. So if the second argument has a type, PostgreSQL calls the function
-- whose second argument specifies the type of ids. The first argument of a function that only raises an error is named
-- source, so that psql lists the function after those of its name that work.

CREATE TYPE _lsh_column;
CREATE FUNCTION _lsh_column_in(cstring) RETURNS _lsh_column AS 'textin'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_column_in(cstring) IS 'input of _lsh_column';
CREATE FUNCTION _lsh_column_out(_lsh_column) RETURNS cstring AS 'textout'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_column_out(_lsh_column) IS 'output of _lsh_column';
CREATE TYPE _lsh_column (INPUT = _lsh_column_in, OUTPUT = _lsh_column_out, LIKE = text, CATEGORY = 'S');
COMMENT ON TYPE _lsh_column IS 'literal that may be the name of a column, given by mistake';

CREATE FUNCTION lsh_pairs(
    source text,
    id_column _lsh_column,
    text_column _lsh_column DEFAULT NULL,
    threshold double precision DEFAULT NULL
) RETURNS TABLE (left_id bigint, right_id bigint, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_pairs(text, _lsh_column, _lsh_column, double precision) IS
    'an error that writes the query to give instead. Example: lsh_pairs(''articles'', ''id'', ''body'')';
CREATE FUNCTION lsh_clusters(
    source text,
    id_column _lsh_column,
    text_column _lsh_column DEFAULT NULL,
    threshold double precision DEFAULT NULL
) RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_clusters(text, _lsh_column, _lsh_column, double precision) IS
    'an error that writes the query to give instead. Example: lsh_clusters(''articles'', ''id'', ''body'')';
CREATE FUNCTION lsh_contained(
    source text,
    id_column _lsh_column,
    text_column _lsh_column DEFAULT NULL,
    threshold double precision DEFAULT NULL
) RETURNS TABLE (contained_id bigint, container_id bigint, containment double precision)
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_contained(text, _lsh_column, _lsh_column, double precision) IS
    'an error that writes the query to give instead. Example: lsh_contained(''articles'', ''id'', ''body'')';
CREATE FUNCTION lsh_components(
    source text,
    id_column _lsh_column,
    text_column _lsh_column DEFAULT NULL
) RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, threshold double precision)
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_components(text, _lsh_column, _lsh_column) IS
    'an error that writes the query to give instead. Example: lsh_components(''articles'', ''id'', ''body'')';
CREATE FUNCTION lsh_evaluate(
    source text,
    id_column _lsh_column,
    text_column _lsh_column DEFAULT NULL,
    threshold double precision DEFAULT NULL,
    OUT bands integer,
    OUT rows integer,
    OUT anchors integer,
    OUT candidates bigint,
    OUT true_pairs bigint,
    OUT found bigint,
    OUT recall double precision,
    OUT recall_low double precision,
    OUT recall_high double precision,
    OUT predicted_recall double precision,
    OUT false_candidates bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_evaluate(text, _lsh_column, _lsh_column, double precision) IS
    'an error that writes the query to give instead. Example: lsh_evaluate(''articles'', ''id'', ''body'')';

-- The other bulk functions have an argument for the type of ids, but lsh_evaluate() has none. If a call passes one, the
-- error says to leave it out.
CREATE FUNCTION lsh_evaluate(
    source text,
    anyelement,
    threshold double precision DEFAULT NULL,
    OUT bands integer,
    OUT rows integer,
    OUT anchors integer,
    OUT candidates bigint,
    OUT true_pairs bigint,
    OUT found bigint,
    OUT recall double precision,
    OUT recall_low double precision,
    OUT recall_high double precision,
    OUT predicted_recall double precision,
    OUT false_candidates bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_call_with_type' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_evaluate(text, anyelement, double precision) IS
    'an error that says to leave out the type of ids. '
    'Example: lsh_evaluate(''SELECT id, body FROM articles'', NULL::uuid)';
