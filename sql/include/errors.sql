-- Tests of errors include this file. Two variables say how error_of() writes an error: error_separator goes between the
-- error's parts (by default, it is a line break), and error_objects adds the objects that the error names.

\if :{?error_separator}
\else
\set error_separator '\n    '
\endif
\if :{?error_objects}
\else
\set error_objects false
\endif

-- Runs a statement, and returns its error: SQLSTATE, message, detail and hint. If "objects" is true, also returns the
-- schema, table and constraint. Leaves out the line numbers of the source.
CREATE FUNCTION pg_temp.error_of(statement text, separator text DEFAULT :'error_separator',
    objects boolean DEFAULT :error_objects) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    code text;
    message text;
    detail text;
    hint text;
    schema_of text;
    table_of text;
    constraint_of text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, schema_of = SCHEMA_NAME, table_of = TABLE_NAME, constraint_of = CONSTRAINT_NAME;
    RETURN concat_ws(separator, code || ': ' || message, nullif(detail, ''), nullif(hint, ''), CASE WHEN objects
        THEN '[' || nullif(concat_ws('.', nullif(schema_of, ''), nullif(table_of, ''), nullif(constraint_of, '')), '')
            || ']' END);
END $$;
