-- The access method lsh: an index of signatures of its own.

CREATE FUNCTION lsh_handler(internal) RETURNS index_am_handler
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_handler(internal) IS 'the access method lsh';
CREATE ACCESS METHOD lsh TYPE INDEX HANDLER lsh_handler;
COMMENT ON ACCESS METHOD lsh IS 'index of MinHash signatures: similar ones, and the nearest first';

CREATE OPERATOR FAMILY lsh_minhash_ops USING lsh;
COMMENT ON OPERATOR FAMILY lsh_minhash_ops USING lsh IS 'similar and nearest signatures';
CREATE OPERATOR CLASS lsh_minhash_ops DEFAULT FOR TYPE minhash_signature USING lsh FAMILY lsh_minhash_ops AS
    OPERATOR 1 % (minhash_signature, minhash_signature),
    OPERATOR 2 % (minhash_signature, minhash_query),
    OPERATOR 3 <%> (minhash_signature, minhash_signature) FOR ORDER BY pg_catalog.float_ops;
COMMENT ON OPERATOR CLASS lsh_minhash_ops USING lsh IS 'similar and nearest signatures';

CREATE FUNCTION lsh_check(index regclass, heap boolean DEFAULT false,
    OUT records bigint, OUT dead bigint, OUT in_tail bigint, OUT runs integer, OUT contents bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_check(regclass, boolean) IS
    'verifies an lsh index, with heap also against its table, and counts what it holds';
