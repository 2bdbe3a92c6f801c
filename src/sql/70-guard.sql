-- Guards on writing.

CREATE FUNCTION lsh_reject_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_reject_near_duplicates() IS
    'trigger function that refuses rows near another; its argument is the threshold';

CREATE FUNCTION lsh_mark_near_duplicates() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_mark_near_duplicates() IS
    'trigger function that writes the id of the nearest other row; its arguments are threshold and column';
