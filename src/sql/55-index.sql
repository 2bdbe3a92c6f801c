-- The access method lsh: an index type for signatures.

CREATE FUNCTION _lsh_handler(internal) RETURNS index_am_handler
    AS 'MODULE_PATHNAME', 'lsh_handler' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_handler(internal) IS 'the access method lsh';
CREATE ACCESS METHOD lsh TYPE INDEX HANDLER _lsh_handler;
COMMENT ON ACCESS METHOD lsh IS 'index of MinHash signatures: similar ones, and the nearest first';

-- In errors about an exclusion constraint, PostgreSQL shows values by the output function of the operator class's type.
-- So this type is minhash_abridged, whose output is only the start of a signature: that is enough in such errors.
CREATE TYPE minhash_abridged;
CREATE FUNCTION _minhash_abridged_in(cstring) RETURNS minhash_abridged
    AS 'MODULE_PATHNAME', 'minhash_abridged_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_abridged_in(cstring) IS 'input of minhash_abridged: an error';
CREATE FUNCTION _minhash_abridged_out(minhash_abridged) RETURNS cstring
    AS 'MODULE_PATHNAME', 'minhash_abridged_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_abridged_out(minhash_abridged) IS 'output of minhash_abridged';
CREATE TYPE minhash_abridged (
    INPUT = _minhash_abridged_in,
    OUTPUT = _minhash_abridged_out,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE minhash_abridged IS 'signature as EXPLAIN and errors of exclusion constraints show it';
CREATE CAST (minhash_signature AS minhash_abridged) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (minhash_signature AS minhash_abridged) IS 'for operator classes of access method lsh';
-- EXPLAIN shows constant signatures as values of this type (pg/similar/abridge.cpp). With this cast, it need not name
-- the schema of the operators and functions that have such arguments.
CREATE CAST (minhash_abridged AS minhash_signature) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (minhash_abridged AS minhash_signature) IS 'for EXPLAIN';

CREATE OPERATOR FAMILY lsh_minhash_ops USING lsh;
COMMENT ON OPERATOR FAMILY lsh_minhash_ops USING lsh IS 'similar and nearest signatures';
CREATE OPERATOR CLASS lsh_minhash_ops DEFAULT FOR TYPE minhash_abridged USING lsh FAMILY lsh_minhash_ops AS
    OPERATOR 1 % (minhash_signature, minhash_signature),
    OPERATOR 2 % (minhash_signature, minhash_query),
    OPERATOR 3 <%> (minhash_signature, minhash_signature) FOR ORDER BY pg_catalog.float_ops;
COMMENT ON OPERATOR CLASS lsh_minhash_ops USING lsh IS 'similar and nearest signatures';

-- Operator classes for the other columns of an index, which are compared by = or <>. Each type has its own class,
-- because errors about an exclusion constraint show values by the output function of the class's type. For types
-- without a class here, users can write CREATE OPERATOR CLASS ... FOR TYPE ... USING lsh FAMILY lsh_equality_ops AS
-- OPERATOR 4 =, OPERATOR 5 <>.

CREATE OPERATOR FAMILY lsh_equality_ops USING lsh;
COMMENT ON OPERATOR FAMILY lsh_equality_ops USING lsh IS 'equal values beside similar signatures';
-- each: bool char int2 int4 int8 oid float4 float8 numeric text name bpchar bytea uuid
-- each: date time timestamp timestamptz interval inet macaddr jsonb anyenum anyarray record
CREATE OPERATOR CLASS lsh_@_ops DEFAULT FOR TYPE pg_catalog."@" USING lsh FAMILY lsh_equality_ops AS
    OPERATOR 4 pg_catalog.=, OPERATOR 5 pg_catalog.<>;
COMMENT ON OPERATOR CLASS lsh_@_ops USING lsh IS 'equal values beside similar signatures';
-- end
-- Equal integers have the same hash, whatever their type.
ALTER OPERATOR FAMILY lsh_equality_ops USING lsh ADD
    OPERATOR 4 pg_catalog.= (bigint, integer), OPERATOR 4 pg_catalog.= (bigint, smallint),
    OPERATOR 4 pg_catalog.= (integer, bigint),
    OPERATOR 4 pg_catalog.= (integer, smallint), OPERATOR 4 pg_catalog.= (smallint, integer),
    OPERATOR 4 pg_catalog.= (smallint, bigint);

CREATE FUNCTION lsh_check(index regclass, heap boolean DEFAULT false,
    OUT records bigint, OUT dead bigint, OUT in_tail bigint, OUT runs integer, OUT run_records bigint[],
    OUT contents bigint, OUT lost_pages bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_check(regclass, boolean) IS
    'verifies an lsh index, with heap also against its table, and counts what it holds. '
    'Example: lsh_check(''articles_minhash'')';
