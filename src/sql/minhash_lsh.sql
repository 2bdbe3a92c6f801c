-- The install script, unversioned: the Makefile copies it to minhash_lsh--<version>.sql.
-- Every object has its COMMENT ON beside it; sql/catalog.sql fails on one that has none.

\echo Use "CREATE EXTENSION minhash_lsh" to load this file. \quit

-- The type. Signatures are pseudo-random bytes, which do not compress: storage external.

CREATE TYPE minhash_signature;

CREATE FUNCTION minhash_signature_in(cstring, oid, integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_in(cstring, oid, integer) IS 'input of minhash_signature';

CREATE FUNCTION minhash_signature_out(minhash_signature) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_out(minhash_signature) IS 'output of minhash_signature';

CREATE FUNCTION minhash_signature_recv(internal, oid, integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_recv(internal, oid, integer) IS 'binary input of minhash_signature';

CREATE FUNCTION minhash_signature_send(minhash_signature) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_send(minhash_signature) IS 'binary output of minhash_signature';

CREATE FUNCTION minhash_signature_typmod_in(cstring[]) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature_typmod_in(cstring[]) IS 'type modifier of minhash_signature';

CREATE TYPE minhash_signature (
    INPUT = minhash_signature_in,
    OUTPUT = minhash_signature_out,
    RECEIVE = minhash_signature_recv,
    SEND = minhash_signature_send,
    TYPMOD_IN = minhash_signature_typmod_in,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE minhash_signature IS 'MinHash signature of a set of shingles, with the scheme it was made by';

CREATE FUNCTION minhash_signature(minhash_signature, integer, boolean) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_signature(minhash_signature, integer, boolean) IS
    'enforces the type modifier: minhash_signature(128) takes signatures of 128 hashes only';

CREATE CAST (minhash_signature AS minhash_signature)
    WITH FUNCTION minhash_signature(minhash_signature, integer, boolean) AS IMPLICIT;
COMMENT ON CAST (minhash_signature AS minhash_signature) IS 'enforces the type modifier';

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

-- Signatures.

CREATE FUNCTION minhash(
    document text,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss'
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash(text, integer, integer, text, boolean, boolean, bigint, text) IS
    'MinHash signature of a text''s shingles';

-- Signatures of sets whose members are given. The arguments stand where those of texts have a type of the same
-- category, so that calls with parameters of unknown types go on to mean texts.

CREATE FUNCTION minhash(
    elements text[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements smallint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_smallints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(smallint[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements integer[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_integers' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(integer[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements bigint[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_bigints' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bigint[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements uuid[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_uuids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(uuid[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    elements bytea[],
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_byteas' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bytea[], integer, bigint, text, boolean) IS
    'MinHash signature of an array''s elements';

CREATE FUNCTION minhash(
    lexemes tsvector,
    num_hashes integer DEFAULT 128,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    bag boolean DEFAULT false
) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_lexemes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(tsvector, integer, bigint, text, boolean) IS
    'MinHash signature of a tsvector''s lexemes';

-- What signatures can be asked.

CREATE FUNCTION minhash_similarity(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similarity(minhash_signature, minhash_signature) IS
    'estimated Jaccard similarity: the share of equal slots';

CREATE FUNCTION minhash_distance(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_distance(minhash_signature, minhash_signature) IS
    'estimated Jaccard distance: 1 - minhash_similarity';

-- STABLE, as the setting may change between statements.
CREATE FUNCTION minhash_similar(a minhash_signature, b minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_similar(minhash_signature, minhash_signature) IS
    'whether minhash_similarity reaches the setting minhash_lsh.similarity_threshold';

CREATE FUNCTION minhash_similar_sel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_similar_sel(internal, oid, internal, integer) IS
    'restriction selectivity of the operator %';

CREATE FUNCTION minhash_similar_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_similar_joinsel(internal, oid, internal, smallint, internal) IS
    'join selectivity of the operator %';

CREATE OPERATOR % (
    FUNCTION = minhash_similar, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = %, RESTRICT = minhash_similar_sel, JOIN = minhash_similar_joinsel
);
COMMENT ON OPERATOR % (minhash_signature, minhash_signature) IS
    'estimated similarity of at least minhash_lsh.similarity_threshold';
CREATE OPERATOR <%> (
    FUNCTION = minhash_distance, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (minhash_signature, minhash_signature) IS 'estimated Jaccard distance';

CREATE FUNCTION minhash_num_hashes(signature minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_num_hashes(minhash_signature) IS 'number of hashes, which are slots, of a signature';

CREATE FUNCTION minhash_scheme(
    signature minhash_signature,
    OUT method text,
    OUT num_hashes integer,
    OUT bits integer,
    OUT unit text,
    OUT shingle_size integer,
    OUT fold boolean,
    OUT bag boolean,
    OUT seed bigint,
    OUT version integer
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_scheme(minhash_signature) IS 'how a signature was made';

CREATE FUNCTION minhash_standard_error(
    similarity double precision,
    num_hashes integer DEFAULT 128,
    bits integer DEFAULT 32
) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_standard_error(double precision, integer, integer) IS
    'standard error of an estimate from independent hashes: sqrt(J (1 - J) / num_hashes), and more for few bits';

CREATE FUNCTION minhash_slots(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_slots(minhash_signature) IS 'the slots of a signature; none for the empty set';

CREATE FUNCTION minhash_compress(signature minhash_signature, bits integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_compress(minhash_signature, integer) IS
    'signature of 1, 2, 4, 8 or 16 bits per slot: smaller, to be compared but not united';

CREATE FUNCTION minhash(signature minhash_signature, num_hashes integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_truncate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash(minhash_signature, integer) IS
    'signature of fewer hashes, as of the text; of the methods classic and external only';

CREATE FUNCTION minhash_values(signature minhash_signature) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_values(minhash_signature) IS
    'one value for each hash, for other systems; 4294967295 each for the empty set';

CREATE FUNCTION minhash_from_values("values" bigint[], seed bigint DEFAULT 42) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_values(bigint[], bigint) IS
    'signature made elsewhere, of 32-bit values; seed tells families of hash functions apart';

CREATE CAST (minhash_signature AS bigint[]) WITH FUNCTION minhash_slots(minhash_signature);
COMMENT ON CAST (minhash_signature AS bigint[]) IS 'the slots of a signature';

-- Bands.

CREATE FUNCTION lsh_band_keys(signature minhash_signature, bands integer, rows integer) RETURNS bigint[]
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION lsh_band_keys(minhash_signature, integer, integer) IS
    'band keys of a signature; signatures with equal keys are candidates';

CREATE FUNCTION lsh_bands_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_bands_support(internal) IS 'planner support: lsh_bands yields as many rows as bands';

CREATE FUNCTION lsh_bands(
    signature minhash_signature,
    bands integer,
    rows integer,
    OUT band integer,
    OUT key bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 16 SUPPORT lsh_bands_support;
COMMENT ON FUNCTION lsh_bands(minhash_signature, integer, integer) IS
    'band keys of a signature as rows, bands counted from 1';

-- Tuning.

CREATE FUNCTION lsh_probability(similarity double precision, bands integer, rows integer)
    RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_probability(double precision, integer, integer) IS
    'probability that a pair of this similarity becomes a candidate: 1 - (1 - similarity^rows)^bands';

CREATE FUNCTION lsh_threshold(bands integer, rows integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_threshold(integer, integer) IS
    'rule of thumb for the similarity where candidates set in: (1 / bands)^(1 / rows)';

CREATE FUNCTION lsh_steepest_point(bands integer, rows integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_steepest_point(integer, integer) IS
    'similarity where lsh_probability rises most: ((rows - 1) / (bands * rows - 1))^(1 / rows)';

CREATE FUNCTION lsh_curve_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_curve_support(internal) IS 'planner support: lsh_curve yields one row more than steps';

CREATE FUNCTION lsh_curve(
    bands integer,
    rows integer,
    steps integer DEFAULT 20,
    OUT similarity double precision,
    OUT probability double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 21 SUPPORT lsh_curve_support;
COMMENT ON FUNCTION lsh_curve(integer, integer, integer) IS
    'lsh_probability at similarities from 0 to 1 in equal steps';

CREATE FUNCTION lsh_params(
    threshold double precision DEFAULT 0.8,
    num_hashes integer DEFAULT 128,
    recall double precision DEFAULT 0.95,
    rule text DEFAULT 'recall',
    false_positive_weight double precision DEFAULT 0.5,
    false_negative_weight double precision DEFAULT 0.5,
    OUT bands integer,
    OUT rows integer,
    OUT hashes_used integer,
    OUT probability_at_threshold double precision,
    OUT probability_below double precision,
    OUT steepest_point double precision
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION lsh_params(double precision, integer, double precision, text, double precision, double precision) IS
    'bands and rows that find the wanted share of the pairs at the threshold, or that weigh the areas of errors';

-- Equality, order and hashing of whole signatures.

CREATE FUNCTION minhash_lt(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_lt(minhash_signature, minhash_signature) IS 'implementation of < operator';
CREATE FUNCTION minhash_le(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_le(minhash_signature, minhash_signature) IS 'implementation of <= operator';
CREATE FUNCTION minhash_eq(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_eq(minhash_signature, minhash_signature) IS 'implementation of = operator';
CREATE FUNCTION minhash_ne(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_ne(minhash_signature, minhash_signature) IS 'implementation of <> operator';
CREATE FUNCTION minhash_ge(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_ge(minhash_signature, minhash_signature) IS 'implementation of >= operator';
CREATE FUNCTION minhash_gt(minhash_signature, minhash_signature) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gt(minhash_signature, minhash_signature) IS 'implementation of > operator';
CREATE FUNCTION minhash_cmp(minhash_signature, minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_cmp(minhash_signature, minhash_signature) IS 'less-equal-greater of two signatures';
CREATE FUNCTION minhash_hash(minhash_signature) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_hash(minhash_signature) IS 'hash of a signature';
CREATE FUNCTION minhash_hash_extended(minhash_signature, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_hash_extended(minhash_signature, bigint) IS 'hash of a signature with a seed';

CREATE OPERATOR < (
    FUNCTION = minhash_lt, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minhash_signature, minhash_signature) IS 'less than, by stored bytes';
CREATE OPERATOR <= (
    FUNCTION = minhash_le, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minhash_signature, minhash_signature) IS 'less than or equal, by stored bytes';
CREATE OPERATOR = (
    FUNCTION = minhash_eq, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minhash_signature, minhash_signature) IS 'same scheme and same slots';
CREATE OPERATOR <> (
    FUNCTION = minhash_ne, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minhash_signature, minhash_signature) IS 'another scheme or other slots';
CREATE OPERATOR >= (
    FUNCTION = minhash_ge, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minhash_signature, minhash_signature) IS 'greater than or equal, by stored bytes';
CREATE OPERATOR > (
    FUNCTION = minhash_gt, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minhash_signature, minhash_signature) IS 'greater than, by stored bytes';

CREATE OPERATOR FAMILY minhash_ops USING btree;
COMMENT ON OPERATOR FAMILY minhash_ops USING btree IS 'order of signatures by their stored bytes';
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING btree FAMILY minhash_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 minhash_cmp(minhash_signature, minhash_signature);
COMMENT ON OPERATOR CLASS minhash_ops USING btree IS 'order of signatures by their stored bytes';

CREATE OPERATOR FAMILY minhash_ops USING hash;
COMMENT ON OPERATOR FAMILY minhash_ops USING hash IS 'equality of signatures';
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash_signature USING hash FAMILY minhash_ops AS
    OPERATOR 1 =,
    FUNCTION 1 minhash_hash(minhash_signature),
    FUNCTION 2 minhash_hash_extended(minhash_signature, bigint);
COMMENT ON OPERATOR CLASS minhash_ops USING hash IS 'equality of signatures';

-- An inverted index of band keys.

CREATE FUNCTION gin_minhash_extract_value(minhash_signature, internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gin_minhash_extract_value(minhash_signature, internal, internal) IS
    'band keys of an indexed signature';
CREATE FUNCTION gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal, internal) IS
    'band keys of the signature that is looked for';
CREATE FUNCTION gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal, internal) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal, internal) IS
    'whether a row is a candidate';
CREATE FUNCTION gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal) RETURNS "char"
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal) IS
    'whether a row may be a candidate, where some keys are not known';
CREATE FUNCTION gin_minhash_options(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gin_minhash_options(internal) IS 'the options bands and rows of an index';

CREATE OPERATOR FAMILY gin_minhash_ops USING gin;
COMMENT ON OPERATOR FAMILY gin_minhash_ops USING gin IS 'similar signatures by their band keys';
CREATE OPERATOR CLASS gin_minhash_ops DEFAULT FOR TYPE minhash_signature USING gin FAMILY gin_minhash_ops AS
    OPERATOR 1 %,
    FUNCTION 1 btint8cmp(bigint, bigint),
    FUNCTION 2 gin_minhash_extract_value(minhash_signature, internal, internal),
    FUNCTION 3 gin_minhash_extract_query(minhash_signature, internal, smallint, internal, internal, internal, internal),
    FUNCTION 4 gin_minhash_consistent(internal, smallint, minhash_signature, integer, internal, internal, internal, internal),
    FUNCTION 6 gin_minhash_triconsistent(internal, smallint, minhash_signature, integer, internal, internal, internal),
    FUNCTION 7 gin_minhash_options(internal),
    STORAGE bigint;
COMMENT ON OPERATOR CLASS gin_minhash_ops USING gin IS
    'similar signatures by their band keys; options bands and rows';

-- Managed band tables: made, kept in step by triggers, dropped. They define tables and triggers,
-- which parallel workers may not.

CREATE FUNCTION lsh_maintain_band_table() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_maintain_band_table() IS
    'trigger function that keeps a band table in step; lsh_create_band_table makes its triggers';

CREATE FUNCTION lsh_create_band_table(
    source regclass,
    id_column name DEFAULT 'id',
    signature_column name DEFAULT 'sig',
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    band_table name DEFAULT NULL
) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_band_table(regclass, name, name, double precision, double precision, integer, integer, name) IS
    'makes a table (key, id) of band keys, fills it, and keeps it in step with its source by triggers';

CREATE FUNCTION lsh_drop_band_table(source regclass, band_table regclass DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_drop_band_table(regclass, regclass) IS 'drops a band table and the triggers that keep it';

CREATE FUNCTION lsh_refresh_band_table(
    source regclass,
    band_table regclass DEFAULT NULL,
    OUT added bigint,
    OUT removed bigint
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_refresh_band_table(regclass, regclass) IS
    'adds and removes the keys that changed while no trigger fired, as when partitions come and go';

-- PostgreSQL keeps what a trigger's WHEN refers to among its dependencies.
CREATE VIEW lsh_band_tables AS
    SELECT t.tgrelid::pg_catalog.regclass AS source,
           d.refobjid::pg_catalog.regclass AS band_table,
           (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.tgrelid AND a.attnum = t.tgattr[0])
               AS id_column,
           (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.tgrelid AND a.attnum = t.tgattr[1])
               AS signature_column,
           pg_catalog."substring"(pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 1), '^[0-9]{1,4}$')::pg_catalog.int4 AS bands,
           pg_catalog."substring"(pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 2), '^[0-9]{1,4}$')::pg_catalog.int4 AS rows
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND d.objid = t.oid
     AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjsubid = 0
     AND d.deptype = 'n'
    WHERE t.tgfoid = 'lsh_maintain_band_table()'::pg_catalog.regprocedure AND t.tgnargs = 2;
COMMENT ON VIEW lsh_band_tables IS 'the managed band tables, with their sources and settings';
GRANT SELECT ON lsh_band_tables TO PUBLIC;

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

-- Guards on writing.

CREATE FUNCTION lsh_reject_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_reject_near_duplicates() IS
    'trigger function that refuses rows near another; its argument is the threshold';

CREATE FUNCTION lsh_mark_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_mark_near_duplicates() IS
    'trigger function that writes the id of the nearest other row; its arguments are threshold and column';

-- Bulk functions: all near-duplicates of a query's rows. The query yields (id, signature) or (id, text), and
-- runs as the user, with parallel workers where it allows them; so the functions themselves are not parallel safe.

CREATE FUNCTION lsh_pairs(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    other_query text DEFAULT NULL
) RETURNS TABLE (left_id bigint, right_id bigint, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text) IS
    'the pairs of a query''s rows, or across two queries, whose similarity reaches the threshold';

CREATE FUNCTION lsh_pairs(
    query text,
    id_type anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    other_query text DEFAULT NULL
) RETURNS TABLE (left_id anyelement, right_id anyelement, similarity double precision)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_pairs(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text) IS
    'the same for ids of any type, for instance id_type => NULL::uuid';

CREATE FUNCTION lsh_clusters(
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false
) RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean) IS
    'clusters of a query''s rows that are connected by pairs whose similarity reaches the threshold';

CREATE FUNCTION lsh_clusters(
    query text,
    id_type anyelement,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT 0.95,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    near_representative boolean DEFAULT false,
    singletons boolean DEFAULT false
) RETURNS TABLE (id anyelement, cluster_id anyelement, representative anyelement, size bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION lsh_clusters(text, anyelement, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean) IS
    'the same for ids of any type, for instance id_type => NULL::uuid';

CREATE FUNCTION lsh_evaluate(
    query text,
    sample_size integer DEFAULT 1000,
    threshold double precision DEFAULT 0.8,
    sweep_bands integer[] DEFAULT NULL,
    sweep_rows integer[] DEFAULT NULL,
    num_hashes integer DEFAULT 128,
    shingle_size integer DEFAULT 5,
    unit text DEFAULT 'char',
    fold boolean DEFAULT true,
    bag boolean DEFAULT false,
    seed bigint DEFAULT 42,
    method text DEFAULT 'fss',
    OUT bands integer,
    OUT rows integer,
    OUT candidates bigint,
    OUT true_pairs bigint,
    OUT found bigint,
    OUT recall double precision,
    OUT predicted_recall double precision,
    OUT candidates_in_vain bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 6;
COMMENT ON FUNCTION lsh_evaluate(text, integer, double precision, integer[], integer[], integer, integer, text, boolean, boolean, bigint, text) IS
    'what bands and rows find and propose in vain, by exact comparison of all pairs of a sample of texts';

-- Signatures as sets.

CREATE FUNCTION minhash_union(a minhash_signature, b minhash_signature) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union(minhash_signature, minhash_signature) IS
    'signature of the union of two sets, exactly: the smaller of each two slots';

CREATE FUNCTION minhash_union_agg_final(signature minhash_signature) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION minhash_union_agg_final(minhash_signature) IS 'final function of minhash_union_agg';
CREATE AGGREGATE minhash_union_agg(signature minhash_signature) (
    SFUNC = minhash_union,
    STYPE = minhash_signature,
    FINALFUNC = minhash_union_agg_final,
    COMBINEFUNC = minhash_union,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_union_agg(minhash_signature) IS 'signature of the union of all sets';

-- Signatures of columns. (Aggregates know neither named arguments nor defaults.)

CREATE FUNCTION minhash_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_combine(internal, internal) IS 'combine function of minhash_agg';
CREATE FUNCTION minhash_agg_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_agg_serial(internal) IS 'serialization function of minhash_agg';
CREATE FUNCTION minhash_agg_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_agg_deserial(bytea, internal) IS 'deserialization function of minhash_agg';
CREATE FUNCTION minhash_agg_final(internal) RETURNS minhash_signature
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_agg_final(internal) IS 'final function of minhash_agg';

CREATE FUNCTION minhash_agg_add(internal, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, text) IS 'transition function of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer, bigint, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(element text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text) IS
    'signature of the set of all values, texts: that of minhash(array_agg(element))';
CREATE AGGREGATE minhash_agg(element text, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, integer, bigint, text) IS
    'signature of the set of all values, texts, with the arguments of minhash()';

CREATE FUNCTION minhash_agg_add(internal, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, bigint) IS 'transition function of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, bigint, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, bigint, integer, bigint, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(element bigint) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(bigint) IS
    'signature of the set of all values, integers: that of minhash(array_agg(element))';
CREATE AGGREGATE minhash_agg(element bigint, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(bigint, integer, bigint, text) IS
    'signature of the set of all values, integers, with the arguments of minhash()';

CREATE FUNCTION minhash_agg_add(internal, uuid) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, uuid) IS 'transition function of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, uuid, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, uuid, integer, bigint, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(element uuid) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(uuid) IS
    'signature of the set of all values, UUIDs: that of minhash(array_agg(element))';
CREATE AGGREGATE minhash_agg(element uuid, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(uuid, integer, bigint, text) IS
    'signature of the set of all values, UUIDs, with the arguments of minhash()';

CREATE FUNCTION minhash_agg_add(internal, bytea) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, bytea) IS 'transition function of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, bytea, integer, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash_agg_add(internal, bytea, integer, bigint, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(element bytea) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(bytea) IS
    'signature of the set of all values, byte strings: that of minhash(array_agg(element))';
CREATE AGGREGATE minhash_agg(element bytea, num_hashes integer, seed bigint, method text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(bytea, integer, bigint, text) IS
    'signature of the set of all values, byte strings, with the arguments of minhash()';

CREATE FUNCTION minhash_agg_add(internal, text, integer, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_document' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer, text) IS 'transition function of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer, integer, text, boolean, boolean, bigint, text) RETURNS internal
    AS 'MODULE_PATHNAME', 'minhash_agg_add_document' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer, integer, text, boolean, boolean, bigint, text) IS 'transition function of minhash_agg';
CREATE AGGREGATE minhash_agg(document text, shingle_size integer, unit text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, integer, text) IS
    'signature of the shingles of all texts: that of minhash_union_agg(minhash(document, ...))';
CREATE AGGREGATE minhash_agg(document text, num_hashes integer, shingle_size integer, unit text, fold boolean, bag boolean, seed bigint, method text) (
    SFUNC = minhash_agg_add,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = minhash_agg_final,
    COMBINEFUNC = minhash_agg_combine,
    SERIALFUNC = minhash_agg_serial,
    DESERIALFUNC = minhash_agg_deserial,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, integer, integer, text, boolean, boolean, bigint, text) IS
    'signature of the shingles of all texts, with the arguments of minhash()';

-- Sizes of sets.

CREATE FUNCTION minhash_cardinality(signature minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_cardinality(minhash_signature) IS
    'estimated number of elements; its relative standard error is at most about 1 / sqrt(num_hashes)';

CREATE FUNCTION minhash_union_cardinality(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union_cardinality(minhash_signature, minhash_signature) IS
    'estimated number of elements in either set';

CREATE FUNCTION minhash_intersection_cardinality(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_intersection_cardinality(minhash_signature, minhash_signature) IS
    'estimated number of elements in both sets: similarity times union cardinality';

CREATE FUNCTION minhash_containment(a minhash_signature, b minhash_signature) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_containment(minhash_signature, minhash_signature) IS
    'estimated share of the first set''s elements that the second has';
