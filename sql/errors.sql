-- SQLSTATE, message, detail and hint of every error that an argument can cause.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' -> '

-- num_hashes must be 8 to 4096.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash(''a'', 7)', 'minhash(''a'', 8)', 'minhash(''a'', 4096)', 'minhash(''a'', 4097)',
    'minhash(''a'', 0)', 'minhash(''a'', -2147483648)']) call;
-- shingle_size must be 1 to 255 in all functions.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash(''a'', shingle_size => 0)', 'minhash(''a'', shingle_size => 256)',
    'minhash(''a'', shingle_size => 65541)', 'shingles(''a'', 0)', 'shingles(''a'', 1)',
    'shingles(''a'', 255)', 'shingles(''a'', 256)', 'shingle_jaccard(''a'', ''b'', 0)',
    'shingle_containment(''a'', ''b'', -1)']) call;
-- If unit or method is unknown, the hint lists the choices. Upper case is not accepted.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash(''a'', unit => ''line'')', 'minhash(''a'', unit => '''')',
    'minhash(''a'', unit => ''Char'')', 'shingles(''a'', 5, ''words'')', 'shingle_jaccard(''a'', ''b'', unit => ''x'')',
    'shingle_containment(''a'', ''b'', unit => ''é'')', 'minhash(''a'', method => ''simhash'')',
    'minhash(''a'', method => ''FSS'')', 'minhash(''a'', method => '''')']) call;
-- The arguments are checked even if the text is empty. If an argument is NULL, the result is NULL and nothing is
-- checked.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash('''', 7)', 'shingles('''', 0)', 'lsh_band_keys(minhash(''''), 0, 1)',
    'lsh_band_keys(minhash(''''), 129, 1)', 'minhash(NULL, 7)', 'lsh_params(NULL, 0)']) call;

-- Comparing signatures of different schemes is an error. The error shows both schemes.
SELECT difference, pg_temp.error_of(format('SELECT minhash_similarity(minhash(''a''), minhash(''a'', %s))', difference))
    FROM unnest(ARRAY['num_hashes => 127', 'shingle_size => 4', 'unit => ''word''', 'fold => false', 'bag => true',
    'seed => -43', 'method => ''classic''']) difference;
SELECT pg_temp.error_of('SELECT minhash(''a'', 64) <%>
    minhash(''b'', 4096, 255, ''word'', false, true, -9223372036854775808, ''classic'')');
SELECT pg_temp.error_of('SELECT minhash_similarity(minhash(''''), minhash('''', 16))');

-- The hint depends on how the schemes differ and says what to do.
SELECT call, pg_temp.error_of('SELECT minhash_similarity(' || call || ')')
FROM unnest(ARRAY['minhash_elements(''{1}''::int[]), minhash_elements(''{1}''::int[], seed => 7)',
    'minhash_elements(''{a}''::text[]), minhash(''a'')',
    'minhash(''a''), minhash_compress(minhash(''a''), 8)',
    'minhash(''a'', 16), minhash_from_values(minhash_to_values(minhash(''a'', 16)), 1)',
    'minhash_from_values(minhash_to_values(minhash(''a'')), 2),
        minhash_from_values(minhash_to_values(minhash(''a'')), 1)']) call;

-- bands and rows must be 1 to 4096, and their product must not exceed the signature's number of hashes. The hint says
-- what fits.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_band_keys(minhash(''a''), 0, 1)', 'lsh_band_keys(minhash(''a''), 1, 0)',
    'lsh_band_keys(minhash(''a''), -1, 1)', 'lsh_band_keys(minhash(''a''), 4097, 1)',
    'lsh_band_keys(minhash(''a''), 1, 4097)',
    'lsh_band_keys(minhash(''a''), 20, 7)', 'lsh_band_keys(minhash(''a''), 129, 1)',
    'lsh_band_keys(minhash(''a''), 1, 129)', 'lsh_band_keys(minhash(''a''), 2, 65)',
    'lsh_band_keys(minhash(''a''), 4096, 4096)',
    'lsh_bands(minhash(''a''), 20, 7)', 'lsh_bands(minhash(''a''), 0, 7)', 'lsh_band_keys(minhash(''a'', 16), 16, 1)',
    'lsh_band_keys(minhash(''a'', 16), 1, 16)', 'lsh_band_keys(minhash(''a'', 16), 4, 5)']) call;
SELECT pg_temp.error_of('SELECT * FROM lsh_bands(minhash(''a'', 16), 5, 4)');

-- Functions of the S-curve. A similarity must be between 0 and 1, so NaN is refused.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_probability(-0.1, 20, 5)', 'lsh_probability(1.1, 20, 5)', 'lsh_probability(''NaN'', 20, 5)',
    'lsh_probability(''Infinity'', 20, 5)', 'lsh_probability(0.5, 0, 5)', 'lsh_probability(0.5, 20, 0)',
    'lsh_probability(0.5, 4097, 5)', 'lsh_threshold(0, 5)', 'lsh_threshold(20, 4097)',
     'lsh_curve(0, 5)', 'lsh_curve(20, 0)', 'lsh_curve(20, 5, 0)', 'lsh_curve(20, 5, -1)',
    'lsh_curve(20, 5, 1000001)',
    'minhash_standard_error(-0.1)', 'minhash_standard_error(1.1)', 'minhash_standard_error(''NaN'')',
    'minhash_standard_error(0.5, 0)', 'minhash_standard_error(0.5, 4097)']) call;

-- lsh_params(): threshold must be above 0, and recall between 0 and 1. Weights and the rule's name are checked, too.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_params(0)', 'lsh_params(-0.5)', 'lsh_params(1.5)', 'lsh_params(''NaN'')',
    'lsh_params(0.8, 0)', 'lsh_params(0.8, 4097)', 'lsh_params(0.8, 128, 0)', 'lsh_params(0.8, 128, 1)',
    'lsh_params(0.8, recall => -1)',
    'lsh_params(0.8, recall => ''NaN'')', 'lsh_params(0.8, recall => 95)', 'lsh_params(rule => ''best'')',
    'lsh_params(rule => '''')', 'lsh_params(rule => ''Area'')',
    'lsh_params(rule => ''area'', false_candidate_weight => -1)',
    'lsh_params(rule => ''area'', missed_pair_weight => -0.1)',
    'lsh_params(rule => ''area'', false_candidate_weight => 0, missed_pair_weight => 0)',
    'lsh_params(rule => ''area'', false_candidate_weight => ''NaN'')',
    'lsh_params(rule => ''area'', missed_pair_weight => ''Infinity'')',
    'lsh_params(rule => ''area'', false_candidate_weight => 0)', 'lsh_params(rule => ''area'', recall => 0.95)',
    'lsh_params(false_candidate_weight => 0.5)', 'lsh_params(missed_pair_weight => 0.5)']) call;
-- A recall that no choice of bands and rows reaches.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['lsh_params(0.01, 16)', 'lsh_params(0.5, 4, 0.99)', 'lsh_params(0.1, 128, 0.999999999)']) call;

-- Options of a GIN index: bands and rows only work together, and must fit the signatures.
CREATE TEMP TABLE signed AS SELECT minhash('a') AS sig;
SELECT options, pg_temp.error_of(format('CREATE INDEX ON signed USING gin (sig gin_minhash_ops (%s))', options))
    FROM unnest(ARRAY['bands = 13', 'rows = 7', 'bands = 13, rows = 7', 'bands = 20, rows = 7']) options;

-- Signatures that a function does not accept, and invalid elements and values.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash_compress(minhash(''a''), 3)', 'minhash_compress(minhash_compress(minhash(''a''), 1), 8)',
    'minhash(''a'')::bit(128)', 'minhash_compress(minhash(''a''), 1)::bit(64)',
    'lsh_band_keys(minhash_compress(minhash(''a''), 1), 1, 1)', 'minhash_truncate(minhash(''a''), 16)',
    'minhash_elements(ARRAY[true])',
    'minhash_from_values(''{}'', 1)', 'minhash_from_values(array_fill(-1::bigint, ARRAY[16]), 1)',
    'minhash_cardinality(minhash_from_values(array_fill(1::bigint, ARRAY[16]), 1))',
    'minhash_elements_agg(n, n, 42, ''fss'') FROM generate_series(16, 17) n',
    'lsh_evaluate(''SELECT 1, ''''a'''''', bands => ''{13}'', rows => ''{7,5}'')']) call;

-- An array instead of a text is an error. A text literal that looks like an array gives a notice, unless it looks like
-- JSON.
SELECT call, pg_temp.error_of('SELECT ' || call)
    FROM unnest(ARRAY['minhash(ARRAY[''a'', ''b''])', 'minhash(''{1,2}''::int[], 64)', 'minhash(''{a,b}'')']) call;
SELECT shingle_jaccard('{a,b}', '{a,b,c}'), shingle_containment('{a,b}', '{a,b,c}');
SELECT shingle_jaccard('{a,b}', 'a,b'), shingle_jaccard('{"a": 1}', '{"a": 2}'), shingle_jaccard(a, a)
FROM (VALUES ('{a,b}'), ('{a,b,c}')) AS texts (a);

-- An error in a query over a table. Afterwards, signing still works.
CREATE TEMP TABLE schemes (n int);
INSERT INTO schemes VALUES (8), (7), (17);
SELECT pg_temp.error_of('SELECT minhash(''a'', n) FROM schemes');
SELECT n, (minhash_scheme(minhash('a', n))).num_hashes FROM schemes WHERE n > 7;
DROP TABLE schemes;

-- Some of the errors above, as psql shows them.
\set VERBOSITY default
SELECT lsh_band_keys(minhash('a'), 20, 7);
\echo :SQLSTATE
SELECT minhash_similarity(minhash('a'), minhash('a', seed => 7));
\echo :SQLSTATE
SELECT minhash('a', unit => 'line');
\echo :SQLSTATE
