-- Call the bulk functions with each of their arguments and each kind of query. Each argument must have an effect or
-- cause an error. The first query lists the arguments for which the table "given" has no value: if a function gets a
-- new argument, add a value for it to that table.

CREATE TABLE notes (id bigint PRIMARY KEY, body text);
INSERT INTO notes
SELECT n, 'The quick brown fox number ' || n % 7 || ' jumps over the lazy dog' FROM generate_series(1, 21) n;

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' -> '

CREATE TABLE given (argument text, call text);
INSERT INTO given VALUES ('threshold', '0.9'), ('recall', '0.99'), ('bands', '13, rows => 7'),
    ('rows', '7, bands => 13'), ('verify', $$'estimate'$$), ('max_bucket', '100'), ('num_hashes', '128'),
    ('shingle_size', '4'), ('unit', $$'word'$$),
    ('fold', 'false'), ('bag', 'true'), ('seed', '7'), ('method', $$'classic'$$), ('near_representative', 'true'),
    ('singletons', 'true'), ('other_query', NULL), ('anchors', '10'), ('thresholds', $$'{0.5}'$$),
    ('apart', $$'VALUES (1, 2)'$$), ('weight', $$'idf'$$), ('share', '0.5'), ('search_path', $$'public'$$);
CREATE TABLE queries (form text, query text, more text);
INSERT INTO queries VALUES ('texts', 'SELECT id, body FROM notes', ''),
    ('texts in bands', 'SELECT id, body FROM notes', 'bands => 20, rows => 5, '),
    ('signatures', 'SELECT id, minhash(body) FROM notes', ''),
    ('signatures in bands', 'SELECT id, minhash(body) FROM notes', 'bands => 20, rows => 5, '),
    ('pairs', 'SELECT id, id + 1, 0.5::float8 FROM notes', '');
CREATE VIEW arguments AS
SELECT DISTINCT p.proname::text AS function, argument
FROM pg_proc p, unnest(proargnames[:pronargs]) AS argument
WHERE starts_with(proname, 'lsh_')
    AND argument <> ALL ('{query,clusters,source}') AND 'query' = ANY (proargnames[:2]) AND proargnames[2] <> '';

SELECT DISTINCT argument FROM arguments WHERE argument NOT IN (SELECT argument FROM given);
SET client_min_messages = warning;
SELECT function, form, replace(outcome, argument, '...'), string_agg(argument, ', ' ORDER BY argument)
FROM arguments JOIN given USING (argument) CROSS JOIN queries CROSS JOIN LATERAL (
    SELECT pg_temp.error_of(format('SELECT count(*) FROM %s(%s%L, %s%s => %s)', function,
        CASE function WHEN 'lsh_create_clusters' THEN quote_literal(format('"kept: %s%s"', form, argument)) || ', ' END,
        query, more, argument, CASE
        WHEN argument = 'other_query' THEN quote_literal(query)
        ELSE call END), ' / ')) AS called (outcome)
WHERE (function = 'lsh_components') = (form = 'pairs')
    AND (more = '' OR function IN ('lsh_pairs', 'lsh_clusters') AND argument NOT IN ('bands', 'rows'))
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

RESET client_min_messages;
DO $$
DECLARE
    kept regclass;
BEGIN
    FOR kept IN SELECT oid FROM pg_class WHERE relname ~ '^kept: ' AND relname !~ '_settings$' AND relkind = 'r' LOOP
        EXECUTE format('DROP TABLE %s', kept);
    END LOOP;
END $$;

-- Only the type of the argument after the query matters: it is the type of the ids. A value other than NULL is an
-- error.
SELECT call, pg_temp.error_of(format('SELECT count(*) FROM %s', call)) FROM unnest(ARRAY[
    $$lsh_pairs('SELECT id, body FROM notes', 0.8::numeric, threshold => 0.9)$$,
    $$lsh_clusters('SELECT id::text, body FROM notes', 'id'::text, threshold => 0.9)$$,
    $$lsh_contained('SELECT id, body FROM notes', true)$$]) AS call;

-- If a caller passes the name of a table instead of a query, alone or with names of columns, the error's hint shows the
-- statement to type.
CREATE SCHEMA "Support";
CREATE TABLE "Support"."Tickets" ("Ticket No" uuid PRIMARY KEY, customer int, "Text" varchar, title text);
CREATE TABLE "Support".pages (site int, nr int, sig minhash_signature, PRIMARY KEY (nr, site));
CREATE TABLE "Support".keys (site text, nr int, body text, PRIMARY KEY (site, nr));
CREATE TABLE "Support".lines (body text);
CREATE VIEW "Support".open AS SELECT 'x'::text AS body, 7 AS id;
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY['lsh_pairs(''notes'')',
    'lsh_clusters(''"Support"."Tickets"'')', 'lsh_contained(''"Support".pages'')',
    'lsh_evaluate(''"Support"."Tickets"'')',
    'lsh_components(''notes'')', 'lsh_pairs(''"Support".open'')', 'lsh_pairs(''notes_pkey'')',
    'lsh_pairs(''note'')', 'lsh_pairs(''notes'', ''id'', ''body'')', 'lsh_pairs(''notes'', ''nr'', NULL)',
    'lsh_clusters(''"Support"."Tickets"'', ''Ticket No'', ''title'')', 'lsh_contained(NULL, ''id'', ''body'')',
    'lsh_evaluate(''"Support"."Tickets"'', ''Ticket No'', ''Text'')',
    'lsh_pairs(''SELECT id, body FROM notes'', ''id'', ''body'')', 'lsh_pairs(''notes'', ''body'')',
    'lsh_clusters(''notes'', ''none'')', 'lsh_contained(''none'', ''body'')', 'lsh_evaluate(''notes'', ''body'')',
    'lsh_evaluate(''SELECT id, body FROM notes'', NULL::uuid)',
    'lsh_clusters(''SELECT id, body FROM notes'', ''uuid'')',
    'lsh_pairs(''SELECT id, body FROM notes'', ''0.8'', ''1'')',
    'lsh_evaluate(''SELECT id, body FROM notes'', ''uuid'')',
    'lsh_pairs(''"Support".keys'')', 'lsh_clusters(''"Support".lines'')', 'lsh_evaluate(''"Support".lines'')',
    'lsh_contained(''notes'', ''id'', ''none'', 0.9)']) AS call;
SELECT pg_temp.error_of('WITH new AS (TABLE notes) SELECT lsh_pairs(''TABLE new'') FROM new');
SELECT pg_temp.error_of('SELECT lsh_pairs(''SELECT id, body FROM notes WHERE id < $1'')');
-- The statements from the hints work unchanged.
SELECT * FROM lsh_pairs('SELECT id, body FROM notes') LIMIT 0;
SELECT * FROM lsh_clusters('SELECT "Ticket No", "Text" FROM "Support"."Tickets"', NULL::uuid);
SELECT * FROM lsh_contained('SELECT (nr, site), sig::text FROM "Support".pages', NULL::record);
CREATE TYPE pages_key AS (nr integer, site integer);
SELECT * FROM lsh_clusters('SELECT (nr, site)::pages_key, sig FROM "Support".pages', NULL::pages_key);
DROP TYPE pages_key;
SELECT * FROM lsh_clusters('SELECT row_number() OVER (), body FROM "Support".lines');
DROP VIEW arguments;
DROP TABLE notes, given, queries;
SET client_min_messages = warning;
DROP SCHEMA "Support" CASCADE;

-- Ids of a numeric type: what the hint says works. A NULL of such a type alone is taken for the threshold.
SELECT * FROM lsh_pairs('SELECT 1::numeric, ''a text''');
SELECT * FROM lsh_pairs('SELECT id::numeric, ''a text'' FROM generate_series(1, 2) id', NULL::numeric,
                        threshold => 0.8);
