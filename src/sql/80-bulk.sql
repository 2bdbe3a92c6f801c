-- Bulk functions: all near-duplicates of a query's rows. The query yields (id, signature) or (id, text), and
-- runs as the user, with parallel workers where it allows them; so the functions themselves are not parallel safe.
-- The argument that gives the type of ids has no name: PostgreSQL takes the types of result columns from the order in
-- which a call gives its arguments, so one that is given by name in another place would crash the server.

CREATE FUNCTION lsh_pairs(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    measure text DEFAULT 'jaccard',
    other_query text DEFAULT NULL
) RETURNS TABLE (left_id bigint, right_id bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, text) IS
    'the pairs of a query''s rows, or across two queries, whose similarity reaches the threshold';

CREATE FUNCTION lsh_pairs(
    query text,
    anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    measure text DEFAULT 'jaccard',
    other_query text DEFAULT NULL
) RETURNS TABLE (left_id anyelement, right_id anyelement, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_pairs_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, text) IS
    'the pairs of a query''s rows, or across two queries, whose similarity reaches the threshold; ids are of the second argument''s type';

CREATE FUNCTION lsh_clusters(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    measure text DEFAULT 'jaccard',
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false
) RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, boolean, boolean) IS
    'clusters of a query''s rows that are connected by pairs whose similarity reaches the threshold';

CREATE FUNCTION lsh_clusters(
    query text,
    anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    measure text DEFAULT 'jaccard',
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false
) RETURNS TABLE (id anyelement, cluster_id anyelement, representative anyelement, size bigint, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_clusters_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text, boolean, boolean) IS
    'clusters of a query''s rows that are connected by pairs whose similarity reaches the threshold; ids are of the second argument''s type';

CREATE FUNCTION lsh_components(query text, thresholds double precision[] DEFAULT NULL)
    RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, threshold double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_components(text, double precision[]) IS
    'the connected components of a query''s pairs, all or those that reach each threshold';

CREATE FUNCTION lsh_components(query text, anyelement, thresholds double precision[] DEFAULT NULL)
    RETURNS TABLE (id anyelement, cluster_id anyelement, representative anyelement, size bigint, threshold double precision)
    AS 'MODULE_PATHNAME', 'lsh_components_typed' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_components(text, anyelement, double precision[]) IS
    'the connected components of a query''s pairs, all or those that reach each threshold; ids are of the second argument''s type';

CREATE FUNCTION lsh_evaluate(
    query text,
    anchors integer DEFAULT 2000,
    threshold double precision DEFAULT 0.8,
    bands integer[] DEFAULT NULL,
    rows integer[] DEFAULT NULL,
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
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 6;
COMMENT ON FUNCTION lsh_evaluate(text, integer, double precision, integer[], integer[], integer, integer, text, boolean, boolean, bigint, text) IS
    'how many near-duplicates and false candidates bands and rows find among the pairs of some texts with all';
