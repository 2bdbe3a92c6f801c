-- Soft errors of the type's input function. PostgreSQL has them since version 16.
\pset format unaligned
\pset tuples_only on
SELECT current_setting('server_version_num')::int < 160000 AS before_16 \gset
\if :before_16
\echo 'not available before 16'
\quit
\endif
-- Valid and invalid values, with and without a type modifier.
SELECT pg_input_is_valid('fss1:16x32:char5:fold:set:42:', 'minhash_signature');
SELECT pg_input_is_valid('fss1:16x32:char5:fold:set:42:', 'minhash_signature(16)');
SELECT pg_input_is_valid('fss1:17x32:char5:fold:set:42:', 'minhash_signature(16)');
SELECT pg_input_is_valid('oops', 'minhash_signature');
SELECT pg_input_is_valid('{fss1:16x32:char5:fold:set:42:,oops}', 'minhash_signature[]');
-- Details of the errors.
SELECT message, detail, hint, sql_error_code FROM pg_input_error_info('oops', 'minhash_signature');
SELECT message, detail, hint, sql_error_code
    FROM pg_input_error_info('fss1:16x32:char5:fold:set:42:0', 'minhash_signature');
SELECT message, detail, hint, sql_error_code
    FROM pg_input_error_info('fss1:17x32:char5:fold:set:42:', 'minhash_signature(16)');
