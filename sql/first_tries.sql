-- What people type first. Each function for users has a line here with a call that looks right and is not; the first
-- query lists those that have none. An error must say what to do, without showing the extension's own functions in its
-- context; and if its hint shows a statement, this must run as it is.

CREATE TABLE articles (id int PRIMARY KEY, body text, data jsonb, sig minhash_signature);
INSERT INTO articles SELECT n, body, jsonb_build_object('body', body), minhash(body)
FROM (VALUES (1, 'The quick brown fox jumps over the lazy dog near the bank of the river'),
    (2, 'A quick brown fox jumps over the lazy dog near the bank of the river')) AS v (n, body);
CREATE SCHEMA shop;
CREATE TABLE shop."Product Items" ("Item No" uuid PRIMARY KEY, title text);
CREATE INDEX ON articles USING lsh (sig);
CREATE TABLE pages (site text, nr bigint, body text, PRIMARY KEY (nr, site));
CREATE TABLE documents (id uuid PRIMARY KEY, data jsonb);
CREATE TABLE "Customers" (id text PRIMARY KEY, name varchar);
SELECT lsh_create_clusters('kept', 'SELECT id, body FROM articles');
CREATE TABLE links AS SELECT 1 AS url, 2 AS other_url;

-- Runs a statement, and returns its error: SQLSTATE, message, detail, hint, and what the statement in the hint returns.
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
    context text;
    advised text;
BEGIN
    EXECUTE statement;
    RAISE 'undo' USING ERRCODE = 'LSH00';
EXCEPTION WHEN SQLSTATE 'LSH00' THEN
    RETURN 'works';
WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
        context = PG_EXCEPTION_CONTEXT;
    advised := substring(hint FROM '((?:SELECT [^'']* FROM lsh_|UPDATE |CREATE |ALTER ).*)$');
    advised := regexp_replace(advised, '\.$', '');
    BEGIN
        EXECUTE advised;
        RAISE 'undo' USING ERRCODE = 'LSH00';
    EXCEPTION WHEN SQLSTATE 'LSH00' THEN
        advised := '(It runs.)';
    WHEN null_value_not_allowed THEN -- the hint has no statement
        advised := NULL;
    WHEN OTHERS THEN
        advised := 'It fails: ' || SQLERRM;
    END;
    RETURN concat_ws(E'\n    ', SQLSTATE || ': ' || message, nullif(detail, ''), nullif(hint, ''), advised,
        CASE WHEN context ~ '\m_(lsh|minhash)' THEN 'CONTEXT: ' || context END);
END $$;

CREATE TEMP TABLE tries (n int GENERATED ALWAYS AS IDENTITY, call text);
INSERT INTO tries (call) VALUES
    -- A table and its columns instead of a query.
    ($$lsh_pairs('articles')$$),
    ($$lsh_pairs('articles', 'id', 'body')$$),
    ($$lsh_pairs('articles', 'body')$$),
    ($$lsh_pairs('articles', 'id', 'body', 0.8)$$),
    ($$lsh_pairs('articles', 'id', 'body', threshold => 0.8)$$),
    ($$lsh_pairs('articles', 'body', threshold => 0.8)$$),
    ($$lsh_pairs('none', 'id', 'body', 0.8)$$),
    ($$lsh_clusters('articles', 'id', 'body', 0.8)$$),
    ($$lsh_contained('articles', 'id', 'body', threshold => 0.9)$$),
    ($$lsh_pairs('SELECT (site, nr), body FROM pages')$$),
    ($$lsh_components('links', 'url', 'other_url')$$),
    ($$lsh_evaluate('articles', 'id', 'body', 0.8)$$),
    ($$lsh_sample('articles', 'id', 'body', 0.8)$$),
    ($$lsh_sample('articles')$$),
    ($$lsh_create_clusters('new_clusters', 'articles')$$),
    ($$lsh_pairs('Customers')$$),
    ($$lsh_pairs('Customers', 'id', 'name', 0.5)$$),
    ($$lsh_pairs('shop.Product Items')$$),
    ($$lsh_pairs('pages')$$),
    ($$lsh_evaluate('pages')$$),
    ($$lsh_clusters('documents')$$),
    ($$lsh_create_clusters('new_clusters', 'pages')$$),
    ($$lsh_clusters('shop."Product Items"', 'Item No', 'title', 0.5)$$),
    -- Queries that are none, or of which the function sees nothing.
    ($$lsh_pairs('')$$),
    ($$lsh_pairs('articles WHERE id < 3')$$),
    ($$lsh_pairs((SELECT body FROM articles WHERE id = 1))$$),
    ($$lsh_pairs(' -- all')$$),
    ($$lsh_pairs('SELECT id, body FROM articles; SELECT 1')$$),
    ($$lsh_pairs('SELECT id, bodi FROM articles')$$),
    ($$lsh_pairs('SELECT id, body FROM articles WHERE id < $1')$$),
    ($$lsh_pairs('SELECT id, data FROM articles')$$),
    ($$lsh_pairs('SELECT body, id FROM articles')$$),
    ($$lsh_contained('SELECT id, sig FROM articles')$$),
    ($$lsh_clusters('SELECT id FROM articles')$$),
    ($$lsh_components('pairs')$$),
    ($$lsh_components('SELECT id FROM articles')$$),
    ($$lsh_components('SELECT id, body FROM articles')$$),
    ($$lsh_components('SELECT 1, 2, 0.9::float8', 0.8)$$),
    ($$lsh_pairs('SELECT id, body FROM articles WHERE id = d.id')$$),
    ($$lsh_pairs('SELECT id, body, id AS rank FROM articles')$$),
    -- Two queries; ids; numbers.
    ($$lsh_pairs('SELECT id, body FROM articles', 'SELECT id, body FROM articles')$$),
    ($$lsh_contained('SELECT id, body FROM articles', 'SELECT id, body FROM articles')$$),
    ($$lsh_pairs('SELECT id, body FROM articles', other_query => 'articles')$$),
    ($$lsh_pairs('SELECT id, body FROM articles', other_query => 'SELECT id, name FROM "Customers"')$$),
    ($$lsh_pairs('SELECT id, body FROM articles', apart => 'articles')$$),
    ($$lsh_pairs('SELECT id::text, body FROM articles')$$),
    ($$lsh_pairs('SELECT id, body FROM articles', 80)$$),
    ($$lsh_sample('SELECT id, body FROM articles', NULL::uuid)$$),
    ($$lsh_sample('SELECT id, body FROM articles', NULL::uuid, 0.8)$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', NULL::uuid)$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', 0.8)$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', bands => '{20}')$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', bands => 20, rows => 5)$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', bands => 20)$$),
    ($$lsh_evaluate('SELECT id, body FROM articles', bands => 20.5, rows => 5)$$),
    -- Kept clusters.
    ($$lsh_create_clusters('SELECT id, body FROM articles')$$),
    ($$lsh_create_clusters('SELECT id, body FROM articles', 'new_clusters')$$),
    ($$lsh_create_clusters('new_clusters')$$),
    ($$lsh_create_clusters('new clusters', 'SELECT id, body FROM articles')$$),
    ($$lsh_create_clusters('new_clusters', 'SELECT id, body FROM articles', NULL::uuid)$$),
    ($$lsh_create_clusters('new_clusters', 'SELECT id, body FROM articles', singletons => true)$$),
    ($$lsh_create_clusters('kept_too', 'SELECT id, body FROM articles', singletons => false)$$),
    ($$lsh_create_clusters('new_clusters', 'SELECT id, bodi FROM articles')$$),
    ($$lsh_create_clusters('new_clusters', '')$$),
    ($$lsh_create_clusters('kept', 'SELECT id, body FROM articles')$$),
    ($$lsh_create_clusters('articles', 'SELECT id, body FROM articles')$$),
    ($$lsh_refresh_clusters('kept', threshold => 0.9)$$),
    ($$lsh_refresh_clusters('kept', 0.9)$$),
    ($$lsh_refresh_clusters('kept', changed => '{1,2}')$$),
    ($$lsh_refresh_clusters('kept', changed => '1, 2')$$),
    ($$lsh_refresh_clusters('kept', changed => 'articles_changed')$$),
    ($$lsh_refresh_clusters('kept', changed => 'SELECT idd FROM articles')$$),
    ($$lsh_refresh_clusters('kept', log => 'kept log')$$),
    ($$lsh_refresh_clusters('articles')$$),
    -- Band tables and indexes.
    ($$lsh_create_band_table('"Customers"')$$),
    ($$lsh_create_band_table('articles', id_column => 'nr')$$),
    ($$lsh_drop_band_table('articles')$$),
    ($$lsh_check('articles')$$),
    ($$lsh_check('pages')$$),
    ($$lsh_check('pages_pkey')$$),
    -- Texts, signatures and elements in each other's place.
    ($$minhash_similarity('a', 'b')$$),
    ($$minhash_similarity(body, body) FROM articles$$),
    ($$minhash_similar(sig, minhash('a')) FROM articles$$),
    ($$minhash_similar(body, 'a', 0.8) FROM articles$$),
    ($$minhash_scheme(body) FROM articles$$),
    ($$minhash_compress(body, 8) FROM articles$$),
    ($$minhash_truncate(sig, 64) FROM articles$$),
    ($$minhash_to_values(body) FROM articles$$),
    ($$minhash_from_values('{1,2}', 1)$$),
    ($$minhash_union(body, body) FROM articles$$),
    ($$minhash_union_agg(body) FROM articles$$),
    ($$minhash_cardinality(body) FROM articles$$),
    ($$minhash_intersection_cardinality(body, body) FROM articles$$),
    ($$minhash_containment(body, body) FROM articles$$),
    ($$lsh_bands(body, 13, 7) FROM articles$$),
    ($$lsh_band_keys(body, 13, 7) FROM articles$$),
    ($$minhash(ARRAY['a', 'b'])$$),
    ($$minhash(body, unit => 'words') FROM articles$$),
    ($$minhash_elements(ARRAY[true])$$),
    ($$minhash_agg(body) FROM articles$$),
    ($$minhash_elements_agg(true)$$),
    ($$shingles(body, 0) FROM articles$$),
    ($$shingle_jaccard(body, body, unit => 'words') FROM articles$$),
    ($$shingle_containment(body, body, 300) FROM articles$$),
    ($$shingle_difference(body, body, unit => 'line') FROM articles$$),
    ($$shingle_headline(body, body, 'Start=<b>') FROM articles$$),
    ($$element_jaccard(ARRAY[point(1, 1)], ARRAY[point(1, 1)])$$),
    ($$element_containment(ARRAY[point(1, 1)], ARRAY[point(1, 1)])$$),
    ($$lsh_windows(body, 0) FROM articles$$),
    -- Tuning.
    ($$lsh_params(80)$$),
    ($$lsh_probability(80, 13, 7)$$),
    ($$lsh_threshold(0, 7)$$),
    ($$lsh_curve(13, 0)$$),
    ($$minhash_standard_error(80)$$);

SELECT DISTINCT proname FROM pg_proc AS p JOIN pg_depend ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minhash_lsh')
    AND NOT starts_with(proname, '_') AND proname NOT IN (SELECT split_part(call, '(', 1) FROM tries) ORDER BY 1;

\pset format unaligned
\pset tuples_only on
\pset fieldsep '\n    '
SELECT call, pg_temp.outcome('SELECT * FROM ' || call) FROM tries WHERE call !~ '\) FROM articles$|_agg\(' ORDER BY n;
SELECT call, pg_temp.outcome('SELECT ' || call) FROM tries WHERE call ~ '\) FROM articles$|_agg\(' ORDER BY n;
SELECT call, pg_temp.outcome(call) FROM unnest(ARRAY[
    $$SELECT FROM articles WHERE body % minhash('a')$$,
    $$SELECT FROM articles WHERE sig % 'a'$$,
    $$CREATE INDEX ON articles USING lsh (body)$$,
    $$CREATE INDEX ON articles USING gin (sig gin_minhash_ops (threshold = 0.6))$$,
    $$INSERT INTO articles (id, sig) SELECT 3, body FROM articles WHERE id = 1$$]) AS call;

-- Errors that PostgreSQL raises before a function of the extension runs. doc/reference.md has a table of them, in which
-- people find the message; the query below shows those that are missing there.
\getenv abs_srcdir PG_ABS_SRCDIR
\set reference `cat "$PG_ABS_SRCDIR/doc/reference.md"`
CREATE TEMP TABLE parsed AS
SELECT call, split_part(pg_temp.outcome('SELECT ' || call), E'\n', 1) AS error FROM unnest(ARRAY[
    $$lsh_create_band_table('SELECT id, sig FROM articles')$$,
    $$lsh_refresh_clusters('SELECT id, body FROM articles')$$,
    $$lsh_drop_band_table('SELECT key, id FROM articles_bands')$$,
    $$lsh_check('SELECT')$$,
    $$minhash(body, 128, 'word') FROM articles$$,
    $$shingles(body, 'word') FROM articles$$,
    $$lsh_bands(body) FROM articles$$,
    $$shingle_jaccard(sig, sig) FROM articles$$,
    $$lsh_pairs('SELECT id, body FROM articles', shinglesize => 3)$$,
    $$lsh_pairs(articles)$$,
    $$lsh_pairs(SELECT id, body FROM articles)$$,
    $$(left_id).f1 FROM lsh_pairs('SELECT (id, id), body FROM articles', NULL::record)$$]) AS call
UNION ALL SELECT call, split_part(pg_temp.outcome(call), E'\n', 1) FROM unnest(ARRAY[
    $$CREATE INDEX ON articles USING lsh (minhash(concat_ws(' ', id, body)))$$,
    $$ALTER TABLE articles ADD s minhash_signature GENERATED ALWAYS AS (minhash(concat_ws(' ', id, body))) STORED$$])
    AS call;
CREATE TABLE renamed (id int PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('renamed');
ALTER TABLE renamed RENAME id TO nr;
INSERT INTO parsed SELECT call, split_part(pg_temp.outcome(call), E'\n', 1)
FROM (VALUES ($$INSERT INTO renamed VALUES (1, minhash('a text'))$$)) AS calls (call);
DROP TABLE renamed;
SELECT call, error FROM parsed;
SELECT error FROM parsed WHERE position(format('`%s`', regexp_replace(error, '^\w+: ', '')) IN :'reference') = 0;
DROP TABLE parsed;

-- The user's own functions are shown in the context, and so is whoever called.
CREATE FUNCTION failing(body text) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'no text'; END$$;
DO $$BEGIN PERFORM lsh_create_clusters('new_clusters', 'SELECT id, failing(body) FROM articles'); END$$;
DO $$BEGIN PERFORM lsh_create_clusters('kept', 'SELECT id, body FROM articles'); END$$;
-- A signature in the form of a text is one. Texts are compared as texts if a function takes both.
SELECT minhash_similarity(sig, sig::text), minhash_similarity(sig::text::varchar, sig) FROM articles WHERE id = 1;
SELECT minhash_similarity(NULL::text, sig) IS NULL FROM articles WHERE id = 1;

DROP FUNCTION failing(text);
DROP TABLE articles, kept, links, pages, documents, "Customers";
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
