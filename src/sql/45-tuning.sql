-- Tuning.

CREATE FUNCTION lsh_probability(similarity double precision, bands integer, rows integer)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_probability(double precision, integer, integer) IS
    'probability that a pair of this similarity becomes a candidate: 1 - (1 - similarity^rows)^bands. '
    'Example: lsh_probability(0.8, bands => 13, rows => 7)';

CREATE FUNCTION lsh_threshold(bands integer, rows integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_threshold(integer, integer) IS
    'rule of thumb for the similarity from which most pairs become candidates: (1 / bands)^(1 / rows). '
    'Example: lsh_threshold(bands => 13, rows => 7)';

CREATE FUNCTION _lsh_curve_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'lsh_curve_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_curve_support(internal) IS 'planner support: lsh_curve yields one row more than steps';

CREATE FUNCTION lsh_curve(
    bands integer,
    rows integer,
    steps integer DEFAULT 20,
    OUT similarity double precision,
    OUT probability double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 21 SUPPORT _lsh_curve_support;
COMMENT ON FUNCTION lsh_curve(integer, integer, integer) IS
    'lsh_probability at similarities from 0 to 1 in equal steps. Example: lsh_curve(bands => 13, rows => 7)';

CREATE FUNCTION lsh_params(
    threshold double precision DEFAULT 0.8,
    num_hashes integer DEFAULT 128,
    recall double precision DEFAULT NULL,
    rule text DEFAULT 'recall',
    false_candidate_weight double precision DEFAULT NULL,
    missed_pair_weight double precision DEFAULT NULL,
    OUT bands integer,
    OUT rows integer,
    OUT hashes_used integer,
    OUT probability_at_threshold double precision,
    OUT steepest_point double precision
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION lsh_params(double precision, integer, double precision, text, double precision, double precision) IS
    'bands and rows that reach the recall at the threshold, or that weigh false candidates against missed pairs. '
    'Example: lsh_params(threshold => 0.8, recall => 0.95)';
