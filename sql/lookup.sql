-- Lookups through a managed band table against the plain SQL that they stand for; whose rights they run with; what a
-- search_path cannot change.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
-- Whether two queries give the same rows in the same order, and how many.
CREATE FUNCTION pg_temp.same(a text, b text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    rows_of_a text[];
    rows_of_b text[];
BEGIN
    EXECUTE format('SELECT coalesce(array_agg(r::text), ''{}'') FROM (%s) r', a) INTO rows_of_a;
    EXECUTE format('SELECT coalesce(array_agg(r::text), ''{}'') FROM (%s) r', b) INTO rows_of_b;
    RETURN CASE WHEN rows_of_a = rows_of_b THEN format('the same %s rows', cardinality(rows_of_a))
        ELSE format('%s <> %s', rows_of_a, rows_of_b) END;
END $$;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Texts in families of near-duplicates, some equal, some empty, some NULL.
CREATE TABLE docs (id bigint PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO docs SELECT i, (SELECT string_agg(md5((i / 10 * 100 + CASE WHEN word < i % 10 THEN i % 10 * 7919 + word
    ELSE word END)::text), ' ' ORDER BY word) FROM generate_series(1, 20) word) FROM generate_series(1, 200) i;
INSERT INTO docs VALUES (1001, ''), (1002, NULL), (1003, 'The same'), (1004, 'The same'), (1005, 'The same');
SELECT lsh_create_band_table('docs');

-- Every row's candidates, near-duplicates and the largest buckets.
SELECT pg_temp.same('SELECT d.id, c FROM docs d, lsh_candidates(''docs'', d.sig) c ORDER BY 1, 2',
    'SELECT DISTINCT d.id, b.id FROM docs d, lsh_bands(d.sig, 13, 7) k JOIN docs_bands b USING (key) ORDER BY 1, 2');
SELECT pg_temp.same('SELECT d.id, c.* FROM docs d, lsh_near_duplicates(''docs'', d.sig) c ORDER BY 1, 3 DESC, 2',
    'SELECT DISTINCT d.id, s.id, minhash_similarity(d.sig, s.sig) FROM docs d, lsh_bands(d.sig, 13, 7) k
        JOIN docs_bands b USING (key) JOIN docs s ON s.id = b.id WHERE minhash_similarity(d.sig, s.sig) >= 0.8
            ORDER BY 1, 3 DESC, 2');
SELECT threshold, max_results,
    pg_temp.same(format('SELECT * FROM lsh_near_duplicates(''docs'', (SELECT sig FROM docs WHERE id = 24), %s, %s)',
    threshold, max_results),
    format('SELECT DISTINCT s.id, minhash_similarity(d.sig, s.sig) FROM docs d, lsh_bands(d.sig, 13, 7) k
        JOIN docs_bands b USING (key) JOIN docs s ON s.id = b.id WHERE d.id = 24
            AND minhash_similarity(d.sig, s.sig) >= %s ORDER BY 2 DESC, 1 LIMIT %s', threshold, max_results))
FROM unnest(ARRAY[0, 0.5, 0.8, 0.9, 1]) threshold, unnest(ARRAY['NULL', '1', '3', '2147483647']) max_results
    ORDER BY threshold, max_results COLLATE "C";
-- In the order given: the most similar first, of equals the smaller id.
SELECT id, round(similarity::numeric, 3) FROM lsh_near_duplicates('docs', (SELECT sig FROM docs WHERE id = 24), 0.5);
SELECT * FROM lsh_near_duplicates('docs', minhash('The same'));
SELECT * FROM lsh_near_duplicates('docs', minhash('the SAME'), max_results => 2);
SELECT pg_temp.same(format('SELECT * FROM lsh_largest_buckets(''docs'', %s)', n),
    format('SELECT key, count(*) FROM docs_bands GROUP BY key HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT %s', n))
    FROM unnest(ARRAY[1, 10, 1000000]) n;
SELECT count(*), min(size), max(size) FROM lsh_largest_buckets('docs');
-- Of a bucket that is too large, no row; in the others, all.
SELECT max_bucket, pg_temp.same(format('SELECT d.id, c FROM docs d, lsh_candidates(''docs'', d.sig, max_bucket => %s) c
    ORDER BY 1, 2', max_bucket),
    format('SELECT DISTINCT d.id, b.id FROM docs d, lsh_bands(d.sig, 13, 7) k JOIN docs_bands b USING (key)
        WHERE (SELECT count(*) FROM docs_bands o WHERE o.key = b.key) <= %s ORDER BY 1, 2', max_bucket)),
    pg_temp.same(format('SELECT d.id, c.* FROM docs d, lsh_near_duplicates(''docs'', d.sig, 0.7, max_bucket => %s) c
        ORDER BY 1, 3 DESC, 2', max_bucket),
    format('SELECT DISTINCT d.id, s.id, minhash_similarity(d.sig, s.sig) FROM docs d, lsh_bands(d.sig, 13, 7) k
        JOIN docs_bands b USING (key) JOIN docs s ON s.id = b.id WHERE minhash_similarity(d.sig, s.sig) >= 0.7
            AND (SELECT count(*) FROM docs_bands o WHERE o.key = b.key) <= %s ORDER BY 1, 3 DESC, 2', max_bucket))
FROM unnest(ARRAY[1, 2, 3, 5, 10, 2147483647]) max_bucket;
SELECT count(*) FROM lsh_candidates('docs', minhash('The same'), 2);
SELECT count(*) FROM lsh_candidates('docs', minhash('The same'), 3);

-- NULLs and empty signatures find nothing; a NULL limit is none.
SELECT * FROM lsh_candidates(NULL, minhash('The same'));
SELECT * FROM lsh_candidates('docs', NULL);
SELECT * FROM lsh_candidates('docs', minhash(''));
SELECT * FROM lsh_near_duplicates(NULL::regclass, minhash('The same'));
SELECT * FROM lsh_near_duplicates('docs', NULL::minhash_signature);
SELECT * FROM lsh_near_duplicates('docs', minhash(''), 0);
SELECT * FROM lsh_near_duplicates('docs', NULL::int, NULL, 0.5);
SELECT * FROM lsh_largest_buckets(NULL);
SELECT * FROM lsh_largest_buckets('docs', NULL);
SELECT count(*) FROM lsh_candidates('docs', minhash('The same'), NULL, NULL);
SELECT count(*) FROM lsh_near_duplicates('docs', minhash('The same'), 0.8, NULL, NULL, NULL);
-- As a volatile statement's part, a set in the target list, in a prepared plan, in parallel, in a cursor.
SELECT lsh_candidates('docs', minhash('The same')) ORDER BY 1;
PREPARE near(text) AS SELECT id FROM lsh_near_duplicates('docs', minhash($1));
EXECUTE near('The same');
EXECUTE near('Nothing');
-- What the statement itself, or another after it, has written: as with any query.
BEGIN;
INSERT INTO docs VALUES (1006, 'The same');
EXECUTE near('The same');
DELETE FROM docs WHERE id = 1006;
EXECUTE near('The same');
WITH added AS (INSERT INTO docs VALUES (1007, 'The same') RETURNING sig) SELECT id
    FROM added, lsh_near_duplicates('docs', sig);
DECLARE found CURSOR FOR SELECT id FROM lsh_near_duplicates('docs', minhash('The same'));
DELETE FROM docs WHERE id > 1003;
FETCH ALL FROM found;
ROLLBACK;
-- A band table out of step: what its keys say is looked up in the source.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM docs WHERE id = 1004;
SELECT lsh_candidates('docs', minhash('The same')) ORDER BY 1;
EXECUTE near('The same');
ROLLBACK;
DEALLOCATE near;

-- Ids of other types: as they are, or cast without loss.
CREATE DOMAIN name_of_document AS text;
CREATE TABLE names (id text PRIMARY KEY, sig minhash_signature);
INSERT INTO names VALUES ('b', minhash('A name')), ('ä', minhash('A name')), ('a', minhash('A name')),
    ('c', minhash('Another'));
SELECT lsh_create_band_table('names');
SELECT * FROM lsh_candidates('names', NULL::text, minhash('A name')) AS id ORDER BY id COLLATE "C";
SELECT pg_typeof(id), * FROM lsh_near_duplicates('names', NULL::text, minhash('A name')) ORDER BY id COLLATE "C";
SELECT pg_typeof(id), * FROM lsh_near_duplicates('names', NULL::varchar, minhash('Another'), 0.5, 10, 10,
    'names_bands');
SELECT pg_typeof(id), id FROM lsh_near_duplicates('names', NULL::name_of_document, minhash('Another'));
CREATE TABLE small (id smallint PRIMARY KEY, sig minhash_signature);
INSERT INTO small VALUES (-1, minhash('Small')), (2, minhash('Small'));
SELECT lsh_create_band_table('small');
SELECT pg_typeof(id), * FROM lsh_near_duplicates('small', minhash('Small'));
SELECT pg_typeof(id), * FROM lsh_near_duplicates('small', 0::smallint, minhash('Small'), max_results => 1);
SELECT pg_typeof(id), * FROM lsh_near_duplicates('small', NULL::numeric, signature => minhash('Small'));
SELECT pg_typeof(c), c FROM lsh_candidates('small', 0, minhash('Small')) c ORDER BY c;
CREATE TYPE place AS (shelf int, "number of it" text);
CREATE TABLE places (id place PRIMARY KEY, sig minhash_signature);
INSERT INTO places VALUES ((1, 'a'), minhash('A place'));
SELECT lsh_create_band_table('places');
SELECT * FROM lsh_candidates('places', NULL::place, minhash('A place'));
SELECT (id)."number of it", similarity FROM lsh_near_duplicates('places', NULL::place, minhash('A place'));

-- What is refused.
SELECT lsh_create_band_table('docs', bands => 2, rows => 2, band_table => 'second');
CREATE TABLE bare (id int PRIMARY KEY, sig minhash_signature);
SELECT call, pg_temp.error_of('SELECT * FROM ' || call)
    FROM unnest(ARRAY['lsh_candidates(''bare'', minhash(''a''))', 'lsh_near_duplicates(''bare'', minhash(''a''))',
        'lsh_largest_buckets(''bare'')',
    'lsh_candidates(''docs'', minhash(''a''))', 'lsh_near_duplicates(''docs'', minhash(''a''))',
    'lsh_largest_buckets(''docs'')',
    'lsh_candidates(''docs'', minhash(''a''), band_table => ''bare'')',
    'lsh_candidates(''docs'', minhash(''a''), band_table => ''names_bands'')',
    'lsh_candidates(''docs_bands'', minhash(''a''))', 'lsh_candidates(123, minhash(''a''))',
    'lsh_largest_buckets(''docs_pkey'')',
    'lsh_candidates(''names'', minhash(''a''))', 'lsh_near_duplicates(''names'', minhash(''a''))',
    'lsh_near_duplicates(''names'', NULL::int, minhash(''a''))',
    'lsh_candidates(''docs'', NULL::int, minhash(''a''), band_table => ''second'')',
    'lsh_near_duplicates(''small'', NULL::text, minhash(''a''))',
    'lsh_candidates(''small'', minhash(''a''), 0)', 'lsh_candidates(''small'', minhash(''a''), -1)',
    'lsh_near_duplicates(''small'', minhash(''a''), 1.1)', 'lsh_near_duplicates(''small'', minhash(''a''), -0.1)',
    'lsh_near_duplicates(''small'', minhash(''a''), ''NaN'')',
    'lsh_near_duplicates(''small'', minhash(''a''), NULL::float8)',
    'lsh_near_duplicates(''small'', NULL::smallint, minhash(''a''), NULL)',
    'lsh_near_duplicates(''small'', minhash(''a''), max_results => 0)',
    'lsh_near_duplicates(''small'', minhash(''a''), max_bucket => 0)',
    'lsh_near_duplicates(''small'', NULL::smallint, minhash(''a''), max_bucket => 0)',
    'lsh_largest_buckets(''small'', 0)',
    'lsh_candidates(''small'', minhash(''a'', 64))', 'lsh_near_duplicates(''small'', minhash(''Small'', seed => 7))',
    'lsh_near_duplicates(''small'', minhash(''Small'', shingle_size => 2))',
    'lsh_near_duplicates(''small'', minhash(''Small'', 256))']) call;
SELECT count(*) FROM lsh_candidates('docs', minhash('The same'), band_table => 'second');
SELECT count(*) FROM lsh_near_duplicates('docs', minhash('The same'), 0.8, NULL, 3, 'second');
SELECT count(*) > 0 FROM lsh_largest_buckets('docs', band_table => 'second');
SELECT lsh_drop_band_table('docs', 'second');

-- Rights: those of who asks, on the band table and on what is read of the source.
CREATE ROLE regress_lsh_reader;
CREATE ROLE regress_lsh_writer;
CREATE FUNCTION pg_temp.as_role(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', role);
    BEGIN
        EXECUTE format('SELECT string_agg(r::text, '' '') FROM (%s) r', statement) INTO result;
    EXCEPTION WHEN OTHERS THEN
        result := SQLSTATE || ': ' || SQLERRM;
    END;
    RESET ROLE;
    RETURN result;
END $$;
CREATE FUNCTION pg_temp.reader() RETURNS TABLE (candidates text, near text, largest text) LANGUAGE sql AS $$
    SELECT pg_temp.as_role('regress_lsh_reader',
        'SELECT lsh_candidates(''docs'', minhash(''The same'')) AS id ORDER BY 1'),
        pg_temp.as_role('regress_lsh_reader', 'SELECT lsh_near_duplicates(''docs'', minhash(''The same''))'),
        pg_temp.as_role('regress_lsh_reader', 'SELECT size FROM lsh_largest_buckets(''docs'', 1)');
$$;
SELECT * FROM pg_temp.reader();
GRANT SELECT ON docs TO regress_lsh_reader;
SELECT * FROM pg_temp.reader();
GRANT SELECT ON docs_bands TO regress_lsh_reader;
SELECT * FROM pg_temp.reader();
REVOKE SELECT ON docs FROM regress_lsh_reader;
SELECT * FROM pg_temp.reader();
GRANT SELECT (id, body) ON docs TO regress_lsh_reader;
SELECT * FROM pg_temp.reader();
REVOKE SELECT (body) ON docs FROM regress_lsh_reader;
GRANT SELECT (sig) ON docs TO regress_lsh_reader;
SELECT * FROM pg_temp.reader();
-- Policies for rows of the source hold for near-duplicates; ids alone are the band table's, which may have its own.
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
SELECT * FROM pg_temp.reader();
CREATE POLICY odd ON docs TO regress_lsh_reader USING (id % 2 = 1);
SELECT * FROM pg_temp.reader();
ALTER TABLE docs_bands ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON docs_bands TO regress_lsh_reader USING (id % 2 = 1);
SELECT * FROM pg_temp.reader();
-- A plan that was made for one role is not run for another in the same session.
SELECT count(*) FROM lsh_near_duplicates('docs', minhash('The same'));
SELECT near FROM pg_temp.reader();
DROP POLICY odd ON docs;
DROP POLICY odd ON docs_bands;
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
ALTER TABLE docs_bands DISABLE ROW LEVEL SECURITY;
-- A leak: a cast or operator of the reader's must not be called with rows that he may not see. There is none of his in
-- the statement. Who writes the source needs no rights on the band table, has none, and is told nothing by it.
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON docs TO regress_lsh_writer;
SET ROLE regress_lsh_writer;
INSERT INTO docs VALUES (2001, 'By the writer'), (2002, 'By the writer, too');
UPDATE docs SET body = body || ' again' WHERE id = 2001;
DELETE FROM docs WHERE id = 2002;
SELECT current_user, pg_temp.error_of('SELECT FROM docs_bands'), pg_temp.error_of('DELETE FROM docs_bands'),
    pg_temp.error_of('INSERT INTO docs_bands VALUES (1, 1)'), pg_temp.error_of('SELECT lsh_drop_band_table(''docs'')'),
    pg_temp.error_of('SELECT lsh_refresh_band_table(''docs'')'),
    pg_temp.error_of('SELECT lsh_create_band_table(''docs'', band_table => ''mine'')');
RESET ROLE;
SELECT lsh_candidates('docs', minhash('By the writer again'));
-- His policies do not keep the owner's triggers from the band table.
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
ALTER TABLE docs_bands ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON docs TO regress_lsh_writer USING (id > 2000) WITH CHECK (id > 2000);
SET ROLE regress_lsh_writer;
INSERT INTO docs VALUES (2003, 'Under a policy');
SELECT pg_temp.error_of('INSERT INTO docs VALUES (2000, ''Not under a policy'')');
UPDATE docs SET body = body || ' changed';
RESET ROLE;
SELECT * FROM lsh_refresh_band_table('docs');
BEGIN;
SET LOCAL ROLE regress_lsh_writer;
TRUNCATE docs;
RESET ROLE;
SELECT count(*) FROM docs_bands;
ROLLBACK;
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
ALTER TABLE docs_bands DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_lsh_reader, regress_lsh_writer;

-- Functions, operators and types of the same names in schemas that come first.
CREATE SCHEMA trap;
CREATE FUNCTION trap.caught(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'caught: %', what;
    END $$;
CREATE FUNCTION trap.eq(a bigint, b bigint) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('bigint ='); RETURN true; END $$;
CREATE FUNCTION trap.eq(a int, b int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('int =');
    RETURN true; END $$;
CREATE FUNCTION trap.compare(a float8, b float8) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('float8 >='); RETURN true; END $$;
CREATE FUNCTION trap.compare(a bigint, b int) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('bigint <= int'); RETURN true; END $$;
CREATE FUNCTION trap.compare(a bigint, b bigint) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('bigint <= bigint'); RETURN true; END $$;
CREATE OPERATOR trap.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.eq);
CREATE OPERATOR trap.= (LEFTARG = int, RIGHTARG = int, FUNCTION = trap.eq);
CREATE OPERATOR trap.<> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.eq);
CREATE OPERATOR trap.>= (LEFTARG = float8, RIGHTARG = float8, FUNCTION = trap.compare);
CREATE OPERATOR trap.<= (LEFTARG = bigint, RIGHTARG = int, FUNCTION = trap.compare);
CREATE OPERATOR trap.> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = trap.compare);
CREATE OPERATOR trap.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.compare);
CREATE FUNCTION trap.unnest(anyarray) RETURNS SETOF anyelement
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('unnest'); END $$;
CREATE FUNCTION trap.unnest(bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('unnest of bigint[]'); END $$;
CREATE FUNCTION trap.count_step(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('count');
    END $$;
CREATE AGGREGATE trap.count(*) (SFUNC = trap.count_step, STYPE = bigint, INITCOND = '0');
CREATE FUNCTION trap.minhash_similarity(minhash_signature, minhash_signature) RETURNS float8
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('minhash_similarity'); RETURN 1; END $$;
CREATE FUNCTION trap.lsh_band_keys(minhash_signature, int, int) RETURNS bigint[]
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('lsh_band_keys'); RETURN NULL; END $$;
CREATE FUNCTION trap.lsh_maintain_band_table() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN PERFORM trap.caught('lsh_maintain_band_table'); RETURN NULL; END $$;
CREATE TYPE trap.regclass AS (x int);
CREATE TYPE trap.bigint AS (x int);
CREATE TYPE trap.int8 AS (x int);
CREATE TABLE trap.docs (id bigint PRIMARY KEY, sig minhash_signature);
CREATE TABLE trap.docs_bands (key bigint, id bigint);
SET search_path = trap, public, pg_catalog, pg_temp;
-- The traps work.
SELECT pg_temp.error_of('SELECT 1::pg_catalog.int8 = 2::pg_catalog.int8'),
    pg_temp.error_of('SELECT 1::float8 >= 2::float8'), pg_temp.error_of('SELECT unnest(''{1}''::pg_catalog.int8[])'),
    pg_temp.error_of('SELECT count(*) FROM pg_class'),
    pg_temp.error_of('SELECT minhash_similarity(minhash(''a''), minhash(''a''))');
SELECT public.lsh_candidates('public.docs', minhash('The same')) ORDER BY 1;
SELECT public.lsh_candidates('public.docs', minhash('The same'), 5) ORDER BY 1;
SELECT public.lsh_near_duplicates('public.docs', minhash('The same'));
SELECT public.lsh_near_duplicates('public.docs', NULL::numeric, minhash('The same'), 0.5, 2, 5);
SELECT size FROM public.lsh_largest_buckets('public.docs', 1);
INSERT INTO public.docs VALUES (3001, 'Into the trap'), (3002, 'Into the trap, too');
UPDATE public.docs SET body = body || '!' WHERE id OPERATOR(pg_catalog.>) 3000;
UPDATE public.docs SET id = -id WHERE id OPERATOR(pg_catalog.>) 3000;
DELETE FROM public.docs WHERE id OPERATOR(pg_catalog.<) -3001;
SELECT * FROM public.lsh_refresh_band_table('public.docs');
SELECT public.lsh_create_band_table('public.docs', bands => 3, rows => 3, band_table => 'third');
INSERT INTO public.docs VALUES (3003, 'In both');
SELECT public.lsh_drop_band_table('public.docs', 'public.third');
-- Row triggers, marks and refusals, where rows decide.
CREATE TABLE public.parted (id pg_catalog.int8, mark pg_catalog.int8, sig minhash_signature) PARTITION BY HASH (id);
CREATE TABLE public.parted_0 PARTITION OF public.parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT public.lsh_create_band_table('public.parted');
SET session_replication_role = replica;
INSERT INTO public.parted VALUES (1, NULL, minhash('Missing keys'));
RESET session_replication_role;
UPDATE public.parted SET sig = minhash('Where rows decide');
CREATE TRIGGER zz AFTER INSERT OR UPDATE ON public.parted
    FOR EACH ROW WHEN (pg_trigger_depth() OPERATOR(pg_catalog.=) 0)
        EXECUTE FUNCTION public.lsh_mark_near_duplicates('0.9', 'mark');
INSERT INTO public.parted VALUES (2, NULL, minhash('Where rows decide')), (3, NULL, minhash('Where nothing decides'));
SELECT id, mark FROM public.parted ORDER BY 1;
TRUNCATE public.parted_0;
SELECT public.lsh_refresh_band_table('public.parted');
DROP TABLE public.parted;
RESET search_path;
DROP SCHEMA trap CASCADE;
SELECT added, removed FROM lsh_refresh_band_table('docs');
-- Temporary objects, which come before all schemas.
CREATE TEMP TABLE docs_bands (key bigint, id bigint);
CREATE TEMP TABLE docs (id bigint, sig minhash_signature);
INSERT INTO public.docs VALUES (4001, 'Beside temporary tables');
SELECT lsh_candidates('public.docs', minhash('Beside temporary tables'));
SELECT id FROM lsh_near_duplicates('public.docs', minhash('Beside temporary tables'));
SELECT pg_temp.error_of('SELECT lsh_candidates(''docs'', minhash(''a''))');
DROP TABLE pg_temp.docs, pg_temp.docs_bands;
DROP TABLE docs, names, small, places, bare;
DROP TYPE place;
DROP DOMAIN name_of_document;
DROP ROLE regress_lsh_reader, regress_lsh_writer;
