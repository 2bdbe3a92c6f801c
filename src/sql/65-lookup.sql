-- Look-ups through a managed band table. Results are of the type of id_type, whose value is not used.

CREATE FUNCTION lsh_candidates(
    source regclass,
    signature minhash_signature,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL,
    id_type anyelement DEFAULT NULL::bigint
) RETURNS TABLE (id anyelement)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_candidates(regclass, minhash_signature, integer, regclass, anyelement) IS
    'ids of the rows that share a band key with a signature';

CREATE FUNCTION lsh_near_duplicates(
    source regclass,
    signature minhash_signature,
    threshold double precision DEFAULT 0.8,
    max_results integer DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL
) RETURNS TABLE (id bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_near_duplicates(regclass, minhash_signature, double precision, integer, integer, regclass) IS
    'candidates whose estimated similarity reaches the threshold, the most similar first';

CREATE FUNCTION lsh_near_duplicates(
    source regclass,
    signature minhash_signature,
    id_type anyelement,
    threshold double precision DEFAULT 0.8,
    max_results integer DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    band_table regclass DEFAULT NULL
) RETURNS TABLE (id anyelement, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION lsh_near_duplicates(regclass, minhash_signature, anyelement, double precision, integer, integer, regclass) IS
    'the same for ids of any type, for instance id_type => NULL::uuid';

CREATE FUNCTION lsh_largest_buckets(
    source regclass,
    max_results integer DEFAULT 10,
    band_table regclass DEFAULT NULL,
    OUT key bigint,
    OUT documents bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION lsh_largest_buckets(regclass, integer, regclass) IS
    'the band keys that most rows share, which make look-ups and joins slow';
