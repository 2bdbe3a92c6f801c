-- The type minhash_signature. Its storage is external, because pseudo-random bytes cannot be compressed.

CREATE TYPE minhash_signature;

CREATE FUNCTION _minhash_signature_in(cstring, oid, integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_signature_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_in(cstring, oid, integer) IS 'input of minhash_signature';

CREATE FUNCTION _minhash_signature_out(minhash_signature) RETURNS cstring
    AS 'MODULE_PATHNAME', 'minhash_signature_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_out(minhash_signature) IS 'output of minhash_signature';

CREATE FUNCTION _minhash_signature_recv(internal, oid, integer) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_signature_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_recv(internal, oid, integer) IS 'binary input of minhash_signature';

CREATE FUNCTION _minhash_signature_send(minhash_signature) RETURNS bytea
    AS 'MODULE_PATHNAME', 'minhash_signature_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_send(minhash_signature) IS 'binary output of minhash_signature';

CREATE FUNCTION _minhash_signature_typmod_in(cstring[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'minhash_signature_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_typmod_in(cstring[]) IS 'type modifier of minhash_signature';

CREATE FUNCTION _minhash_typanalyze(internal) RETURNS boolean
    AS 'MODULE_PATHNAME', 'minhash_typanalyze' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_typanalyze(internal) IS 'statistics of minhash_signature: also keeps a sample';

CREATE TYPE minhash_signature (
    INPUT = _minhash_signature_in,
    OUTPUT = _minhash_signature_out,
    RECEIVE = _minhash_signature_recv,
    SEND = _minhash_signature_send,
    TYPMOD_IN = _minhash_signature_typmod_in,
    ANALYZE = _minhash_typanalyze,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE minhash_signature IS 'MinHash signature of a set of shingles, with the scheme it was made by';

CREATE FUNCTION _minhash_signature(minhash_signature, integer, boolean) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_signature' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature(minhash_signature, integer, boolean) IS
    'enforces the type modifier: minhash_signature(128) takes signatures of 128 hashes only';

CREATE CAST (minhash_signature AS minhash_signature)
    WITH FUNCTION _minhash_signature(minhash_signature, integer, boolean) AS IMPLICIT;
COMMENT ON CAST (minhash_signature AS minhash_signature) IS 'enforces the type modifier';

-- A text that is given where a signature is wanted converts implicitly if it is one, and is an error that says what to
-- write otherwise. Without this cast, PostgreSQL would only say that there is no such function.
CREATE FUNCTION _minhash_signature_of_text(text) RETURNS minhash_signature
    AS 'MODULE_PATHNAME', 'minhash_signature_of_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _minhash_signature_of_text(text) IS 'a signature from its text form';
CREATE CAST (text AS minhash_signature) WITH FUNCTION _minhash_signature_of_text(text) AS IMPLICIT;
COMMENT ON CAST (text AS minhash_signature) IS 'a signature from its text form';
CREATE CAST (varchar AS minhash_signature) WITH FUNCTION _minhash_signature_of_text(text) AS IMPLICIT;
COMMENT ON CAST (varchar AS minhash_signature) IS 'a signature from its text form';
