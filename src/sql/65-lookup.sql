-- Lookups through a managed band table. Ids are bigint, or of the type of an argument whose value is not used. That
-- has no name: PostgreSQL would mistake the types of the result if it were not written in its place. The scope is of any
-- type: as anycompatible, untyped parameters of clients are texts, but beside anyelement it would want to be given.

CREATE FUNCTION lsh_candidates(
    source regclass,
    signature minhash_signature,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL,
    scope anycompatible DEFAULT NULL
) RETURNS TABLE (id bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_candidates(regclass, minhash_signature, integer, regclass, anycompatible) IS
    'ids of the rows that share a band key with a signature';

CREATE FUNCTION lsh_candidates(
    source regclass,
    anyelement,
    signature minhash_signature,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL,
    scope "any" DEFAULT NULL
) RETURNS TABLE (id anyelement)
    AS 'MODULE_PATHNAME', 'lsh_candidates_typed' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_candidates(regclass, anyelement, minhash_signature, integer, regclass, "any") IS
    'ids, of the type of the second argument, of the rows that share a band key with a signature';

CREATE FUNCTION lsh_near_duplicates(
    source regclass,
    signature minhash_signature,
    threshold double precision DEFAULT 0.8,
    max_results integer DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL,
    scope anycompatible DEFAULT NULL
) RETURNS TABLE (id bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_near_duplicates(regclass, minhash_signature, double precision, integer, integer, regclass, anycompatible) IS
    'candidates whose estimated similarity reaches the threshold, the most similar first';

CREATE FUNCTION lsh_near_duplicates(
    source regclass,
    anyelement,
    signature minhash_signature,
    threshold double precision DEFAULT 0.8,
    max_results integer DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL,
    scope "any" DEFAULT NULL
) RETURNS TABLE (id anyelement, similarity double precision)
    AS 'MODULE_PATHNAME', 'lsh_near_duplicates_typed' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_near_duplicates(regclass, anyelement, minhash_signature, double precision, integer, integer, regclass,
    "any") IS
    'candidates, with ids of the type of the second argument, whose estimated similarity reaches the threshold';

CREATE FUNCTION lsh_largest_buckets(
    source regclass,
    max_results integer DEFAULT 10,
    band_table regclass DEFAULT NULL,
    OUT key bigint,
    OUT size bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION lsh_largest_buckets(regclass, integer, regclass) IS
    'the band keys that most rows share, which make lookups and joins slow';
