-- lsh_pairs(): all near-duplicate pairs of a query's rows, compared with what plain SQL finds.

-- 200 different documents of 40 words each; 60 documents that differ from one of these in a few words; 60 copies of one
-- document with another last word, which make large buckets; 20 copies each of two documents, one of them in capitals;
-- and some empty texts.
CREATE TABLE documents (id int PRIMARY KEY, body text);
INSERT INTO documents
SELECT id, string_agg(left(md5(id || ' ' || word), 3 + word % 5), ' ' ORDER BY word) FROM generate_series(1, 200) id,
    generate_series(1, 40) word GROUP BY id;
INSERT INTO documents
SELECT 200 + id, string_agg(CASE WHEN word % 10 = 3
    AND word / 10 <= id % 6 THEN 'changed' || id ELSE left(md5(id * 3 || ' ' || word), 3 + word % 5) END, ' '
    ORDER BY word)
FROM generate_series(1, 60) id, generate_series(1, 40) word GROUP BY id;
INSERT INTO documents SELECT 260 + n, regexp_replace(body, '\S+$', md5(n::text))
    FROM documents, generate_series(1, 60) n WHERE id = 7;
INSERT INTO documents SELECT 320 + 20 * (id - 10) + n, CASE id WHEN 10 THEN body ELSE upper(body) END
    FROM documents, generate_series(1, 20) n WHERE id IN (10, 11);
INSERT INTO documents VALUES (361, ''), (362, ''), (363, ' '), (364, 'cat'), (365, 'Cat'), (366, 'dog'), (367, 'x y z'),
    (368, 'x y z x y z');

-- Counts the rows that a query returns, the expected rows that are missing, and the rows that are not expected.
CREATE FUNCTION compare(actual text, expected text, OUT rows bigint, OUT missing bigint, OUT surplus bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH a AS MATERIALIZED (%s), e AS MATERIALIZED (%s) SELECT (SELECT count(*) FROM a),
        (SELECT count(*) FROM (TABLE e EXCEPT ALL TABLE a) d), (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE e) d)',
        actual, expected)
    INTO rows, missing, surplus;
END $$;
-- Compares lsh_pairs() with the pairs that share a band key: on signatures, on texts with estimates, and on texts with
-- exact comparison.
CREATE FUNCTION check_pairs(threshold float8, bands int, rows int, num_hashes int = 128, size int = 5,
    unit text = 'char', fold bool = true, bag bool = false, seed bigint = 42, method text = 'fss')
RETURNS TABLE (verify text, pairs bigint, missing bigint, surplus bigint) LANGUAGE plpgsql AS $$
DECLARE
    scheme text := format('%s, %s, %L, %L, %L, %s, %L', num_hashes, size, unit, fold, bag, seed, method);
    shared text := format('WITH s AS MATERIALIZED (SELECT id::bigint, body, minhash(body, %s) AS sig FROM documents),
        k AS MATERIALIZED (SELECT *, lsh_band_keys(sig, %s, %s) AS keys FROM s)
        SELECT a.id AS a, b.id AS b, minhash_similarity(a.sig, b.sig) AS estimate,
            shingle_jaccard(a.body, b.body, %s, %L, %L, %L) AS exact FROM k a JOIN k b ON a.id < b.id
                AND a.keys && b.keys',
        scheme, bands, rows, size, unit, fold, bag);
    given text := format('%s, NULL, %s, %s', threshold, bands, rows);
BEGIN
    EXECUTE 'CREATE TEMP TABLE shared ON COMMIT DROP AS ' || shared;
    RETURN QUERY SELECT 'signatures', c.*
        FROM compare(format('SELECT * FROM lsh_pairs(%L, %s)',
            format('SELECT id, minhash(body, %s) FROM documents', scheme), given),
            format('SELECT a, b, estimate FROM shared WHERE estimate >= %s', threshold)) c;
    RETURN QUERY SELECT v, c.* FROM unnest(ARRAY['estimate', 'exact']) v,
        compare(format('SELECT * FROM lsh_pairs(''SELECT id, body FROM documents'', %s, %L, NULL, %s)', given, v,
        scheme), format('SELECT a, b, %I FROM shared WHERE %1$I >= %s', v, threshold)) c;
    DROP TABLE shared;
END $$;

SELECT * FROM check_pairs(0.8, 13, 7);
SELECT * FROM check_pairs(0.5, 40, 3);
SELECT * FROM check_pairs(1, 1, 128);
SELECT * FROM check_pairs(0, 64, 1);
SELECT * FROM check_pairs(0.05, 40, 2, size => 2);
SELECT * FROM check_pairs(0.6, 20, 5, 100, size => 3);
SELECT * FROM check_pairs(0.7, 4, 4, 16, seed => -7);
SELECT * FROM check_pairs(0.7, 40, 6, 251, unit => 'word', size => 1);
SELECT * FROM check_pairs(0.7, 20, 5, unit => 'word', size => 2, bag => true);
SELECT * FROM check_pairs(0.7, 20, 5, bag => true, size => 2, fold => false);
SELECT * FROM check_pairs(0.7, 20, 5, method => 'classic');
-- If bands and rows are not given, lsh_pairs() chooses them by cost. The choice finds the same pairs as the bands and
-- rows that lsh_params() chooses for the requested recall, or for 0.99 or more if texts are compared exactly.
SELECT c.* FROM lsh_params(0.8) p, compare('SELECT * FROM lsh_pairs(''SELECT id, minhash(body) FROM documents'')',
    format('SELECT * FROM lsh_pairs(''SELECT id, minhash(body) FROM documents'', bands => %s, rows => %s)', bands,
    rows)) c;
SELECT c.* FROM lsh_params(0.6, recall => 0.99) p,
    compare('SELECT * FROM lsh_pairs(''SELECT id, body FROM documents'', 0.6)',
    format('SELECT * FROM lsh_pairs(''SELECT id, body FROM documents'', 0.6, bands => %s, rows => %s)', bands, rows)) c;
SELECT c.* FROM lsh_params(0.6, recall => 0.8) p,
    compare('SELECT * FROM lsh_pairs(''SELECT id, body FROM documents'', 0.6, 0.8, verify => ''estimate'')',
    format('SELECT * FROM lsh_pairs(''SELECT id, body FROM documents'', 0.6, verify => ''estimate'', bands => %s,
        rows => %s)', bands, rows)) c;
-- A debug message shows the choice. If there are many candidates, a notice reports this before they are compared. With
-- max_bucket, lsh_pairs() chooses the bands with the most rows that still reach the recall.
SET client_min_messages = debug1;
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id < 40', 0.95);
SELECT count(*) FROM lsh_pairs('SELECT id, minhash(body) FROM documents WHERE id < 40', 0.95);
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id < 40', 0.95, num_hashes => 200);
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id < 40', 0.95, verify => 'estimate');
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id < 40', 0.95, max_bucket => 1000);
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id < 40', bands => 4, rows => 5);
RESET client_min_messages;
SET maintenance_work_mem = '1GB'; -- with less, candidates would go to files, which is reported, too
SELECT count(*) FROM lsh_pairs('SELECT i, md5(i::text) FROM generate_series(1, 3000) i', 0.1, shingle_size => 2);
RESET maintenance_work_mem;

-- The result depends neither on the order of rows nor on the available memory. (Some texts are longer than a chunk of
-- memory.)
CREATE TEMP TABLE pairs AS SELECT * FROM lsh_pairs('SELECT id, body FROM documents', 0.7);
SELECT c.* FROM (VALUES ('ORDER BY id DESC'), ('ORDER BY md5(id::text)')) o (shuffled),
    compare(format('SELECT * FROM lsh_pairs(%L, 0.7)', 'SELECT id, body FROM documents ' || shuffled), 'TABLE pairs') c;
CREATE TABLE large AS
SELECT n AS id, md5(n::text)::uuid AS uuid,
    repeat('x', n % 7) || string_agg(md5(n / 3 || ' ' || word), ' ' ORDER BY word) || n % 3 AS body
    FROM generate_series(1, 600) n, generate_series(1, 100) word GROUP BY n;
INSERT INTO large SELECT 1000 + n, md5(n || 'long')::uuid,
    string_agg(md5(n / 2 || ' ' || word), ' ' ORDER BY word) || n % 2
    FROM generate_series(2, 5) n, generate_series(1, 40000) word GROUP BY n;
INSERT INTO large SELECT 2000 + n, md5(n || 'wide')::uuid, md5((n / 2)::text) FROM generate_series(2, 30001) n;
CREATE TEMP TABLE roomy AS SELECT * FROM lsh_pairs('SELECT id, body FROM large WHERE id < 4000');
CREATE TEMP TABLE roomy_by_signature AS SELECT * FROM lsh_pairs('SELECT uuid, minhash(body) FROM large', NULL::uuid);
SELECT count(*), count(*) FILTER (WHERE right_id < 1000) AS of_three,
    count(*) FILTER (WHERE left_id > 1000 AND right_id < 2000) AS long FROM roomy;
SET maintenance_work_mem = '1MB';
CREATE TEMP TABLE cramped AS SELECT * FROM lsh_pairs('SELECT id, body FROM large WHERE id < 4000');
CREATE TEMP TABLE cramped_by_signature AS SELECT * FROM lsh_pairs('SELECT uuid, minhash(body) FROM large', NULL::uuid);
RESET maintenance_work_mem;
SELECT * FROM compare('TABLE cramped', 'TABLE roomy');
SELECT * FROM compare('TABLE cramped_by_signature', 'TABLE roomy_by_signature');
-- Most bands have one large bucket. Its rows go to a file, too.
CREATE TABLE alike AS SELECT n AS id, minhash('all are alike but for the number ' || n, 512) AS sig
    FROM generate_series(1, 600) n;
CREATE TEMP TABLE roomy_alike AS SELECT * FROM lsh_pairs('SELECT id, sig FROM alike', 0.9, bands => 512, rows => 1);
SET maintenance_work_mem = '1MB';
CREATE TEMP TABLE cramped_alike AS SELECT * FROM lsh_pairs('SELECT id, sig FROM alike', 0.9, bands => 512, rows => 1);
RESET maintenance_work_mem;
SELECT * FROM compare('TABLE cramped_alike', 'TABLE roomy_alike');
DROP TABLE alike;

-- Pairs between two queries. The left ids come from the first query. A row that is in both queries makes a pair with
-- itself.
CREATE VIEW evens AS SELECT * FROM documents WHERE id % 2 = 0 OR id > 340;
CREATE VIEW odds AS SELECT * FROM documents WHERE id % 2 = 1 OR id > 340;
CREATE TEMP TABLE across AS
SELECT a.id::bigint AS left_id, b.id::bigint AS right_id, shingle_jaccard(a.body, b.body) AS similarity
    FROM evens a, odds b
WHERE lsh_band_keys(minhash(a.body), 20, 5) && lsh_band_keys(minhash(b.body), 20, 5)
    AND shingle_jaccard(a.body, b.body) >= 0.6;
SELECT * FROM compare('SELECT *
    FROM lsh_pairs(''TABLE evens'', 0.6, bands => 20, rows => 5, other_query => ''TABLE odds'')', 'TABLE across');
SELECT * FROM compare('SELECT *
    FROM lsh_pairs(''TABLE odds'', 0.6, bands => 20, rows => 5, other_query => ''TABLE evens ORDER BY id DESC'')',
        'SELECT right_id, left_id, similarity FROM across');
SELECT count(*) FROM lsh_pairs('TABLE evens', other_query => 'TABLE odds LIMIT 0');
SELECT count(*) FROM lsh_pairs('TABLE evens LIMIT 0', other_query => 'TABLE odds');
-- Comparing a few new rows with many equal rows takes time only for the pairs that they make.
SET statement_timeout = '60s';
SELECT count(*), min(left_id), max(left_id)
    FROM lsh_pairs('VALUES (1, repeat(''new '', 9)), (2, ''old old old''), (3, ''none of it'')',
        other_query => 'SELECT n, ''old old old'' FROM generate_series(1, 100000) n');
RESET statement_timeout;

-- With a column named scope, the pairs are the same as from a separate call for each scope. NULL is a scope, too.
CREATE TEMP VIEW scoped AS SELECT id, body, nullif(id % 3, 0) AS scope FROM documents;
SELECT c.form, d.*
FROM (VALUES ('signatures', 'minhash(body)'), ('exact', 'body')) c (form, value), compare(
    format('SELECT * FROM lsh_pairs(''SELECT id, %s, scope FROM scoped'', 0.6, bands => 20, rows => 5)', value),
    format('SELECT p.* FROM generate_series(0, 2) s, lsh_pairs(format(''SELECT id, %s FROM scoped
                WHERE coalesce(scope, 0) = %%s'', s), 0.6, bands => 20, rows => 5) p', value)) d;
SELECT * FROM compare('SELECT * FROM lsh_pairs(''TABLE scoped'', 0.6)',
    'SELECT p.* FROM lsh_pairs(''SELECT id, body FROM scoped'', 0.6) p WHERE (left_id - right_id) % 3 = 0');
SELECT * FROM compare(
    'SELECT * FROM lsh_pairs(''SELECT * FROM scoped WHERE id % 2 = 0'', 0.6,
         other_query => ''SELECT * FROM scoped WHERE id % 2 = 1'')',
    'SELECT p.* FROM lsh_pairs(''SELECT id, body FROM scoped WHERE id % 2 = 0'', 0.6,
         other_query => ''SELECT id, body FROM scoped WHERE id % 2 = 1'') p WHERE (left_id - right_id) % 3 = 0');
DROP VIEW scoped;
-- There are more rows than in the sample from which bands are chosen, and enough text for workers. Each text is in four
-- rows, two in each scope, so each row makes a pair with one other row.
CREATE TEMP VIEW scoped AS SELECT n, repeat(md5((n / 4)::text), 8) AS body, n % 2 AS scope
    FROM generate_series(4, 15003) n;
SELECT call, (SELECT count(*) || ' pairs, of other scopes ' || count(*) FILTER (WHERE right_id - left_id <> 2)
    FROM lsh_pairs(call, threshold => 0.9)) AS result
FROM unnest(ARRAY['TABLE scoped', 'SELECT n, minhash(body), scope FROM scoped']) call;
SELECT count(*), count(DISTINCT cluster_id), count(*) FILTER (WHERE (id - cluster_id) % 2 = 1) AS of_other_scopes
    FROM lsh_clusters('SELECT n, body, scope, -n AS rank FROM scoped', threshold => 0.9) WHERE representative % 4 > 1;
DROP VIEW scoped;

-- Ids of many types.
CREATE DOMAIN document_number AS int;
CREATE DOMAIN long_number AS bigint CHECK (value > 0);
CREATE DOMAIN document_name AS text COLLATE "C";
CREATE TYPE kind AS ENUM ('b', 'a');
CREATE TYPE place AS (page int, line text);
CREATE TABLE two AS SELECT id, body FROM documents WHERE id IN (321, 322);
SELECT * FROM lsh_pairs('SELECT id::smallint, body FROM two');
SELECT * FROM lsh_pairs('SELECT -id, body FROM two');
SELECT * FROM lsh_pairs('SELECT (-id)::document_number, body FROM two');
SELECT * FROM lsh_pairs('SELECT -id::bigint, body FROM two');
SELECT * FROM lsh_pairs('SELECT id, body FROM two', NULL::int, threshold => 0.8);
SELECT *, pg_typeof(left_id) FROM lsh_pairs('SELECT id::long_number, body FROM two', NULL::long_number,
    threshold => 0.8);
SELECT * FROM lsh_pairs('SELECT md5(id::text)::uuid, body FROM two', NULL::uuid);
SELECT * FROM lsh_pairs('SELECT CASE id WHEN 321 THEN ''b'' ELSE ''A'' END, body FROM two', NULL::text);
SELECT * FROM lsh_pairs('SELECT CASE id WHEN 321 THEN ''b'' ELSE ''A'' END::varchar, body FROM two', NULL::text);
SELECT * FROM lsh_pairs('SELECT CASE id WHEN 321 THEN ''b'' ELSE ''A'' END::document_name, body FROM two',
    NULL::document_name);
SELECT left(left_id, 9) AS left_id, left(right_id, 9) AS right_id
    FROM lsh_pairs('SELECT CASE id WHEN 321 THEN ''b'' ELSE ''A'' END || repeat(md5(id::text), 100000), body FROM two',
        NULL::text);
SELECT * FROM lsh_pairs('SELECT 1e30 / id, body FROM two', NULL::numeric, threshold => 0.8);
SELECT * FROM lsh_pairs('SELECT (''x'' || id)::name, body FROM two', NULL::name);
SELECT * FROM lsh_pairs('SELECT id = 321, body FROM two', NULL::bool);
SELECT * FROM lsh_pairs('SELECT date ''2000-01-01'' - id, body FROM two', NULL::date);
SELECT * FROM lsh_pairs('SELECT -id::float4, body FROM two', NULL::float4, threshold => 0.8);
SELECT * FROM lsh_pairs('SELECT CASE id WHEN 321 THEN ''a'' ELSE ''b'' END::kind, body FROM two', NULL::kind);
SELECT * FROM lsh_pairs('SELECT row(-id, body)::place, body FROM (SELECT id, left(body, 3) AS body FROM two) t',
    NULL::place);
SELECT left_id, right_id FROM lsh_pairs('SELECT t, body FROM two t', NULL::two) p WHERE left_id = right_id;
SELECT * FROM lsh_pairs('SELECT row(-id, id), body FROM two', NULL::record);
-- Ids that are arrays and rows from PL/pgSQL functions, which return them in expanded form.
CREATE FUNCTION expanded_array(n int) RETURNS int[] LANGUAGE plpgsql AS $$ DECLARE a int[] := '{}'; BEGIN a[1] := -n;
    a[2] := n; RETURN a; END $$;
CREATE FUNCTION expanded_row(n int) RETURNS place LANGUAGE plpgsql AS $$ DECLARE p place; BEGIN p.page := -n;
    p.line := 'l'; RETURN p; END $$;
SELECT * FROM lsh_pairs('SELECT expanded_array(id), body FROM two', NULL::int[]);
SELECT * FROM lsh_pairs('SELECT expanded_row(id), body FROM two', NULL::place);
SELECT lsh_pairs('SELECT id, body FROM two', NULL::int, threshold => 0.8);
-- The argument that gives the type of the ids has no name. If a call could give it by name in another position,
-- PostgreSQL would use the type of another argument instead, which once crashed the server. Without this argument, a
-- number after the query is the threshold.
SELECT q.n, p.left_id, p.right_id
FROM (VALUES (1), (2)) q (n), LATERAL lsh_pairs('SELECT id, body FROM two WHERE 0 < ' || q.n, NULL::int,
    threshold => 0.8, verify => 'estimate') p;
\set VERBOSITY terse
SELECT q.n, p.left_id
FROM (VALUES (1)) q (n), LATERAL lsh_pairs('SELECT id, body FROM two WHERE 0 < ' || q.n, verify => 'estimate',
    id_type => NULL::int, threshold => 0.8) p;
\set VERBOSITY default
SELECT f.form, p.*
FROM (VALUES ('query'), ('threshold'), ('integer threshold'), ('by name'), ('type'), ('numeric type'),
    ('type and threshold')) f (form),
LATERAL (
    SELECT pg_typeof(left_id) FROM lsh_pairs('TABLE two') WHERE form = 'query' UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('TABLE two', 0.7) WHERE form = 'threshold' UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('TABLE two', 1) WHERE form = 'integer threshold' UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('TABLE two', verify => 'exact') WHERE form = 'by name' UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('SELECT id::text, body FROM two', NULL::text) WHERE form = 'type' UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('TABLE two', NULL::int, threshold => 1) WHERE form = 'numeric type'
        UNION ALL
    SELECT pg_typeof(left_id) FROM lsh_pairs('SELECT id::text, body FROM two', NULL::text, 1)
        WHERE form = 'type and threshold'
) p (type);
-- A NULL of a numeric type after the query is read as the threshold, unless the threshold is given by name.
SELECT * FROM lsh_pairs('TABLE two', NULL::numeric);
\set VERBOSITY terse
SELECT * FROM lsh_pairs('TABLE two', NULL);
\set VERBOSITY default

-- Rows with the same id make no pair with each other. Each of them makes its own pairs with other rows.
SELECT * FROM lsh_pairs('SELECT id / 322, body FROM documents WHERE id IN (321, 322, 323)') ORDER BY 1, 2;
-- Rows with a NULL are left out. An empty text is similar to nothing.
SELECT * FROM lsh_pairs('SELECT id, body FROM two UNION ALL VALUES (NULL, ''x''), (5, NULL), (NULL, NULL), (6, '''')');
SELECT * FROM lsh_pairs('SELECT id, minhash(body) FROM two UNION ALL SELECT 5, NULL');
SELECT * FROM lsh_pairs('SELECT 1, NULL');
SELECT * FROM lsh_pairs('SELECT id, body FROM documents WHERE id BETWEEN 361 AND 363');
SELECT * FROM lsh_pairs('SELECT id, minhash(body) FROM documents WHERE body = ''''', threshold => 0, bands => 128,
    rows => 1);
SELECT * FROM lsh_pairs('SELECT id, body FROM documents WHERE id = 1');
SELECT * FROM lsh_pairs('SELECT id, body FROM documents WHERE false');
SELECT * FROM lsh_pairs('SELECT id, minhash(body) FROM documents WHERE false');

-- A bucket of more than max_bucket different rows is left out. A notice reports this.
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM documents WHERE id > 260', max_bucket => 1000);
SELECT count(*) < 60 * 59 / 2 AS fewer
    FROM lsh_pairs('SELECT id, body FROM documents WHERE id BETWEEN 261 AND 320', bands => 1, rows => 7,
        max_bucket => 30);
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM two', max_bucket => 1);
-- Five rows share the first of 16 slots and no other. If their bucket has exactly max_bucket rows, it is kept.
SELECT max_bucket, count(p.left_id)
FROM (VALUES (4), (5), (6)) m (max_bucket), LATERAL lsh_pairs(
    'SELECT n, minhash_from_values(7::bigint || array_fill(n::bigint, ARRAY[15]), seed => 1)
        FROM generate_series(1, 5) n',
    threshold => 0.05, bands => 16, rows => 1, max_bucket => m.max_bucket) p
GROUP BY max_bucket ORDER BY max_bucket;

-- Calls within the query of another call, with LIMIT, in a cursor, and in PL/pgSQL with an error that is caught.
SELECT * FROM lsh_pairs($$SELECT left_id, minhash('same')
    FROM lsh_pairs('SELECT id, body FROM documents WHERE id BETWEEN 321 AND 323')$$) ORDER BY 1, 2;
SELECT count(*) FROM (SELECT FROM lsh_pairs('SELECT id, body FROM documents') LIMIT 3) l;
SELECT n, count(*) FROM generate_series(1, 2) n,
    lsh_pairs(format('SELECT id, body FROM documents WHERE id %% 2 = %s', n % 2)) GROUP BY n ORDER BY n;
BEGIN;
DECLARE few SCROLL CURSOR WITH HOLD FOR SELECT left_id, right_id
    FROM lsh_pairs('SELECT id, body FROM documents WHERE id BETWEEN 321 AND 323') ORDER BY 1, 2;
FETCH 2 FROM few;
SAVEPOINT here;
SELECT * FROM lsh_pairs('SELECT id, body FROM documents WHERE 1 / (id - 300) < 5');
ROLLBACK TO here;
FETCH BACKWARD 1 FROM few;
COMMIT;
FETCH LAST FROM few;
CLOSE few;
CREATE FUNCTION pairs_or_none(query text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM lsh_pairs(query));
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '%: %', SQLSTATE, SQLERRM;
    RETURN -1;
END $$;
SELECT pairs_or_none('SELECT id, body FROM two'), pairs_or_none('SELECT 1 / (id - 322), body FROM two'),
    pairs_or_none('SELECT id, body FROM two');
SET maintenance_work_mem = '1MB';
SELECT pairs_or_none('SELECT 1 / (id - 3999), body FROM large WHERE id < 4000 ORDER BY id') FROM generate_series(1, 2);
RESET maintenance_work_mem;
-- The query sees what the calling statement sees. The query is planned again at each call.
BEGIN;
INSERT INTO two VALUES (1, 'new in here'), (2, 'new in here');
SELECT left_id, right_id FROM lsh_pairs('SELECT id, body FROM two') ORDER BY 1, 2;
ROLLBACK;
PREPARE pairs_of (text) AS SELECT count(*) FROM lsh_pairs($1);
EXECUTE pairs_of('SELECT id, body FROM two');
EXECUTE pairs_of('SELECT id, body || left(random()::text, 0) FROM documents WHERE id > 320 AND id < 361');
-- Functions that the query calls may write to tables.
CREATE TABLE noted (id int);
CREATE FUNCTION note(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO noted VALUES (n) RETURNING id';
SELECT count(*) FROM lsh_pairs('SELECT note(id), body FROM two');
TABLE noted ORDER BY id;

-- The query runs with the rights of the caller.
CREATE ROLE regress_minhash_reader;
SET ROLE regress_minhash_reader;
SELECT * FROM lsh_pairs('SELECT id, body FROM two');
RESET ROLE;
GRANT SELECT (id) ON two TO regress_minhash_reader;
SET ROLE regress_minhash_reader;
SELECT * FROM lsh_pairs('SELECT id, ''same text''::text FROM two');
SELECT * FROM lsh_pairs('SELECT id, body FROM two');
RESET ROLE;

-- Calls that are refused, each in a subtransaction.
CREATE FUNCTION refusal(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
BEGIN
    EXECUTE 'SELECT FROM ' || call;
    RETURN 'nothing is wrong';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n    ', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
\pset format unaligned
\pset tuples_only on
SELECT call || E'\n  ' || refusal(call) FROM (VALUES
    ($$lsh_pairs(NULL)$$),
    ($$lsh_pairs('TABLE two', threshold => NULL)$$),
    ($$lsh_pairs('TABLE two', threshold => 1.5)$$),
    ($$lsh_pairs('TABLE two', recall => 'NaN')$$),
    ($$lsh_pairs('TABLE two', threshold => 0)$$),
    ($$lsh_pairs('TABLE two', bands => 3)$$),
    ($$lsh_pairs('TABLE two', bands => 3, rows => 2, recall => 0.9)$$),
    ($$lsh_pairs('TABLE two', bands => 0, rows => 1)$$),
    ($$lsh_pairs('TABLE two', bands => 65, rows => 2)$$),
    ($$lsh_pairs('TABLE two', max_bucket => 0)$$),
    ($$lsh_pairs('TABLE two', num_hashes => 7)$$),
    ($$lsh_pairs('TABLE two', verify => 'thoroughly')$$),
    ($$lsh_pairs('SELECT id, minhash(body) FROM two', verify => 'exact')$$),
    ($$lsh_pairs('SELECT id, minhash(body) FROM two', other_query => 'TABLE two')$$),
    ($$lsh_pairs('TABLE two', other_query => 'SELECT id::text, body FROM two')$$),
    ($$lsh_pairs('SELECT id FROM two')$$),
    ($$lsh_pairs('SELECT FROM two')$$),
    ($$lsh_pairs('SELECT id, body, 1 FROM two')$$),
    ($$lsh_pairs('SELECT id, body, 1 AS rank FROM two')$$),
    ($$lsh_pairs('SELECT id, body, 1 AS scope, 2 AS scope FROM two')$$),
    ($$lsh_pairs('SELECT id, body, point(1, 2) AS scope FROM two')$$),
    ($$lsh_pairs('SELECT id, body, 1 AS scope FROM two', other_query => 'TABLE two')$$),
    ($$lsh_pairs('SELECT id, body, 1 AS scope FROM two', other_query => 'SELECT id, body, 1.0 AS scope FROM two')$$),
    ($$lsh_pairs('SELECT id::text, body FROM two')$$),
    ($$lsh_pairs('SELECT id, body FROM two', NULL::uuid)$$),
    ($$lsh_pairs('SELECT id, body FROM two', NULL::point)$$),
    ($$lsh_pairs('SELECT id::bigint, body FROM two', NULL::long_number, threshold => 0.8)$$),
    ($$lsh_pairs('SELECT (id - 322)::long_number, body FROM two', NULL::long_number, threshold => 0.8)$$),
    ($$lsh_pairs('SELECT id, body::char(9) FROM two')$$),
    ($$lsh_pairs('SELECT id, id FROM two')$$),
    ($$lsh_pairs('SELECT body, id FROM two')$$), ($$lsh_pairs('SELECT minhash(body), id FROM two', NULL::text)$$),
    ($$lsh_pairs('SELECT id, convert_to(body, ''UTF8'') FROM two')$$),
    ($$lsh_pairs('SELECT id, ARRAY[body] FROM two')$$), ($$lsh_pairs('SELECT id, to_tsvector(body) FROM two')$$),
    ($$lsh_pairs('SELECT id, body, body AS "Title" FROM two')$$),
    ($$lsh_pairs('SELECT id, body, body AS title, body AS scope FROM two')$$),
    ($$lsh_pairs('SELECT id, body, body || '''' FROM two')$$),
    ($$lsh_pairs('SELECT body, ARRAY[id] FROM two', NULL::text)$$),
    ($$lsh_pairs('TABLE two', threshold => 0)$$), ($$lsh_pairs('TABLE two', threshold => 0, max_bucket => 9)$$),
    ($$lsh_pairs('SELECT id, minhash(body, 16 * (id - 320)) FROM two')$$),
    ($$lsh_pairs('SELECT id::text, minhash(body, seed => id) FROM two', NULL::text)$$),
    ($$lsh_pairs('SELECT id, minhash(body) FROM two', other_query => 'SELECT id, minhash(body, 64) FROM two')$$),
    ($$lsh_pairs('')$$),
    ($$lsh_pairs('two')$$),
    ($$lsh_pairs(' "two" ')$$),
    ($$lsh_pairs('public.two')$$),
    ($$lsh_pairs('none_such')$$),
    ($$lsh_pairs('a.b.c')$$),
    ($$lsh_pairs('TABLE two', other_query => 'two')$$),
    ($$lsh_pairs('TABLE two; TABLE two')$$),
    ($$lsh_pairs('SELECT nothing FROM two')$$),
    ($$lsh_pairs('INSERT INTO two VALUES (9, ''x'') RETURNING id, body')$$),
    ($$lsh_pairs('WITH gone AS (DELETE FROM two RETURNING id, body) TABLE gone')$$),
    ($$lsh_pairs('SELECT id, body FROM two FOR SHARE')$$),
    ($$lsh_pairs('EXPLAIN TABLE two')$$),
    ($$lsh_pairs('COMMIT')$$)
) v (call);
\pset tuples_only off
\pset format aligned
SELECT count(*) AS still_there FROM two;

DROP TABLE documents, large, two, noted CASCADE;
DROP FUNCTION compare, check_pairs, expanded_array, expanded_row, pairs_or_none, note, refusal;
DROP TYPE kind, place, document_number, long_number, document_name;
DROP ROLE regress_minhash_reader;
-- Rows wait until bands are chosen. They wait in memory, or in a file if they need too much memory. As the engine
-- receives them, more rows may go to the file.
CREATE TEMP TABLE large AS
SELECT n AS id, minhash_compress(minhash(string_agg(md5(concat(n / 3, word)), ' '), 4096), 16) AS sig
FROM generate_series(3, 1202) n, generate_series(1, 20) word GROUP BY n;
SET client_min_messages = warning;
SET maintenance_work_mem = '1MB';
SELECT count(*) FROM lsh_pairs('SELECT id::text, sig, id % 2 AS scope FROM large', NULL::text);
SELECT count(*) FROM lsh_clusters('SELECT id::text, sig, -id AS rank FROM large', NULL::text, threshold => 0.5);
RESET maintenance_work_mem;
RESET client_min_messages;
