-- Sets whose members are given: arrays, tsvectors, columns.
\pset null '<null>'

-- A scheme of its own, which is read and written like any other.
SELECT * FROM minhash_scheme(minhash('{a,b,c}'::text[]));
SELECT minhash('{a,b,c}'::text[], 16, bag => true) AS signature;
SELECT minhash('{a,b,c}'::text[], 16)::text::minhash_signature = minhash('{a,b,c}'::text[], 16) AS read_back, minhash('{}'::text[], 16)::text::minhash_signature AS empty;
SELECT pg_typeof(minhash_union(minhash('{1,2}'::int[]), minhash('{2,3}'::int[]))) AS type, minhash_union(minhash('{1,2}'::int[]), minhash('{2,3}'::int[])) = minhash('{1,2,3}'::int[]) AS united;
\set VERBOSITY default
SELECT 'fss1:16x32:element5:raw:set:42:'::minhash_signature;
SELECT 'fss1:16x32:element1:fold:set:42:'::minhash_signature;
SELECT minhash_similarity(minhash('{a}'::text[]), minhash('a'));
SELECT minhash('a text', unit => 'element');
SELECT minhash('{1}'::int[], 15);
SELECT minhash('{1}'::int[], method => 'simhash');
\set VERBOSITY terse

-- What is no array or tsvector is a text, as ever: literals, parameters, NULL, other strings, domains.
CREATE DOMAIN body AS text;
CREATE DOMAIN title AS varchar(20);
CREATE DOMAIN tags AS text[] CHECK (cardinality(VALUE) < 10);
CREATE DOMAIN numbers AS integer[];
SELECT (minhash_scheme(signature)).unit, count(*), count(DISTINCT signature) AS signatures
FROM (VALUES (minhash('some text')), (minhash('some text'::varchar)), (minhash('some text'::name)), (minhash('some text'::char(9))), (minhash('some text'::body)), (minhash('some text'::title)),
             (minhash(document => 'some text')), (minhash('some text', 128)), (minhash('some text', 128, 5)), (minhash('some text', seed => 42))) AS made (signature) GROUP BY 1;
SELECT minhash(NULL) IS NULL AS unknown, (minhash_scheme(minhash('{a,b}'))).unit AS literal, (minhash_scheme(minhash('{1,2}', 16))).unit AS numbers;
PREPARE one AS SELECT minhash($1);
PREPARE two AS SELECT minhash($1, $2);
PREPARE three AS SELECT minhash($1, $2, $3);
PREPARE four AS SELECT minhash($1, $2, $3, $4);
PREPARE five AS SELECT minhash($1, $2, $3, $4, $5);
PREPARE all_of_them AS SELECT minhash($1, $2, $3, $4, $5, $6, $7, $8);
SELECT name, parameter_types FROM pg_prepared_statements WHERE statement ~ 'minhash' ORDER BY cardinality(parameter_types);
DEALLOCATE ALL;

-- Arrays of any such type, and of others that turn into one by themselves.
SELECT minhash('{a,b}'::varchar[]) = minhash('{a,b}'::text[]) AS varchar, minhash('{a,b}'::name[]) = minhash('{a,b}'::text[]) AS name, minhash('{a,b}'::tags) = minhash('{a,b}'::text[]) AS tags,
       minhash('{a,b}'::title[]) = minhash('{a,b}'::text[]) AS titles, minhash('{1,2}'::numbers) = minhash('{1,2}'::bigint[]) AS numbers;
-- Equal integers are one member, whatever their type; other types' values are others.
SELECT count(DISTINCT signature) FROM (VALUES (minhash('{1,2,-3}'::smallint[])), (minhash('{1,2,-3}'::integer[])), (minhash('{1,2,-3}'::bigint[]))) AS made (signature);
SELECT minhash_similarity(minhash('{97}'::int[]), minhash('{a}'::text[])) AS integer_and_text, minhash_similarity(minhash('{97}'::int[]), minhash(ARRAY['\x61'::bytea])) AS integer_and_bytes,
       minhash_similarity(minhash(ARRAY['\x61'::bytea]), minhash('{a}'::text[])) AS bytes_and_text, minhash_similarity(minhash(ARRAY['\x61'::bytea]), minhash(ARRAY['\x6100'::bytea])) AS trailing_zero,
       minhash('{00000000-0000-0000-0000-000000000061}'::uuid[]) = minhash(ARRAY['\x00000000000000000000000000000061'::bytea]) AS uuid_and_its_bytes;
SELECT count(DISTINCT minhash(ARRAY[n])) AS integers FROM generate_series(-100, 100) AS n;

-- A set has no order and no repetitions, a bag has repetitions.
SELECT minhash('{a,b,c}'::text[]) = minhash('{c,b,a,a,b}'::text[]) AS sets, minhash('{a,b,c}'::text[], bag => true) = minhash('{c,b,a}'::text[], bag => true) AS bags,
       minhash('{a,b,b}'::text[], bag => true) <> minhash('{a,b}'::text[], bag => true) AS repeated, minhash('{1,2,2}'::int[], bag => true)::bigint[] <> minhash('{1,2,2}'::int[])::bigint[] AS of_integers,
       minhash('{1,2}'::int[], bag => true)::bigint[] = minhash('{1,2}'::int[])::bigint[] AS nothing_repeated;
-- NULL elements are no members; all dimensions are.
SELECT minhash('{1,NULL,2,NULL}'::int[]) = minhash('{1,2}'::int[]) AS integers, minhash('{NULL,a,NULL,b}'::text[]) = minhash('{a,b}'::text[]) AS texts, minhash(ARRAY[NULL, '\x00'::bytea]) = minhash(ARRAY['\x00'::bytea]) AS bytes,
       minhash('{{1,2},{NULL,3}}'::smallint[]) = minhash('{1,2,3}'::smallint[]) AS dimensions, minhash('[5:6]={x,y}'::text[]) = minhash('{x,y}'::text[]) AS bounds;
SELECT bool_and(minhash(array_agg) = minhash(array_remove(array_agg, NULL))) AS nulls_anywhere
FROM generate_series(0, 40) AS size, LATERAL (SELECT array_agg(CASE WHEN n % (size % 5 + 2) <> 0 THEN n END ORDER BY n) FROM generate_series(0, size) n) AS arrays;
SELECT minhash('{}'::int[], 16) AS empty, minhash('{NULL}'::text[], 16) AS only_nulls, minhash(NULL::uuid[]) AS unknown, minhash('{1}'::int[], NULL) AS no_hashes, minhash('{1}'::int[], bag => NULL) AS no_bag,
       minhash_similarity(minhash('{}'::int[]), minhash('{}'::text[])) AS similarity;
-- An empty text is a member.
SELECT minhash_cardinality(minhash('{""}'::text[])) > 0.9 AS one, minhash('{""}'::text[]) <> minhash('{}'::text[]) AS not_empty;

-- Lexemes are members as texts are; the positions of a bag are occurrences, no position is one.
SELECT minhash('a b c'::tsvector) = minhash('{a,b,c}'::text[]) AS lexemes, minhash('a:1,5,9 b:2 c'::tsvector) = minhash('{a,b,c}'::text[]) AS positions,
       minhash('a:1,5,9 b:2 c'::tsvector, bag => true) = minhash('{a,a,a,b,c}'::text[], bag => true) AS bag, minhash(''::tsvector, 16) AS empty, minhash(NULL::tsvector) AS unknown;
SELECT minhash(to_tsvector('simple', 'To be or not to be'), bag => true) = minhash('{to,be,or,not,to,be}'::text[], bag => true) AS text,
       minhash(to_tsvector('simple', string_agg('w' || n % 700, ' ')), bag => true) = minhash(array_agg('w' || n % 700), bag => true) AS long FROM generate_series(1, 2500) n;
-- PostgreSQL keeps at most 255 positions of a lexeme.
SELECT minhash(to_tsvector('simple', repeat('a ', 300)), bag => true) = minhash(array_fill('a'::text, ARRAY[255]), bag => true) AS most_positions;
-- Shingles of characters are members of the set of shingles.
SELECT bool_and(minhash(shingles(body, size), seed => 7)::bigint[] = minhash(body, shingle_size => size, seed => 7)::bigint[]) AS equal
FROM (VALUES ('The quick brown fox jumps over the lazy dog'), ('Größe, 日本語 und 🙂'), ('')) AS texts (body), generate_series(1, 12) AS size;

-- The union of signatures is the signature of the union, whatever the size.
CREATE TABLE collections AS
    SELECT id, array_agg(n) AS numbers, array_agg('member ' || n) AS texts, array_agg(md5(n::text)::uuid) AS ids, array_agg(decode(md5(n::text), 'hex')) AS bytes, array_agg(n::smallint) AS small, array_agg(n::bigint << 32) AS large
    FROM generate_series(1, 24) AS id, generate_series(id * 50, id * 50 + id * id * 5) AS n GROUP BY id;
SELECT bool_and(minhash_union(minhash(a.numbers), minhash(b.numbers)) = minhash(a.numbers || b.numbers)) AS integers, bool_and(minhash_union(minhash(a.texts), minhash(b.texts)) = minhash(a.texts || b.texts)) AS texts,
       bool_and(minhash_union(minhash(a.ids), minhash(b.ids)) = minhash(a.ids || b.ids)) AS uuids, bool_and(minhash_union(minhash(a.bytes), minhash(b.bytes)) = minhash(a.bytes || b.bytes)) AS bytes,
       bool_and(minhash_union(minhash(a.large, 16, 1, 'classic'), minhash(b.large, 16, 1, 'classic')) = minhash(a.large || b.large, 16, 1, 'classic')) AS large, count(*)
FROM collections a, collections b WHERE a.id <= b.id;
SELECT bool_and(minhash(small) = minhash(numbers)) AS small, bool_and(minhash(ids) = minhash(bytes)) AS ids FROM collections;
-- Estimates are near the truth: standard error 0.011 for 2048 hashes.
SELECT max(abs(minhash_similarity(minhash(a.numbers, 2048), minhash(b.numbers, 2048))
               - (SELECT count(*) FROM (SELECT unnest(a.numbers) INTERSECT SELECT unnest(b.numbers)) AS shared)::float8 / (SELECT count(*) FROM (SELECT unnest(a.numbers) UNION SELECT unnest(b.numbers)) AS either))) < 0.045 AS near
FROM collections a, collections b WHERE a.id < b.id;
-- Arguments that change from row to row, and an array out of line.
SELECT bool_and(minhash_num_hashes(minhash(numbers, 16 + id)) = 16 + id) AS hashes, bool_and((minhash_scheme(minhash(texts, seed => id))).seed = id) AS seeds, bool_and((minhash_scheme(minhash(ids, bag => id > 5))).bag = (id > 5)) AS bags FROM collections;
SELECT minhash(array_agg(n)) = minhash(array_agg(n) || array_agg(n)) AS equal, abs(minhash_cardinality(minhash(array_agg(n), 1024)) / 100000 - 1) < 0.13 AS size FROM generate_series(1, 100000) AS n;
SELECT minhash(array_agg(n % 1000), bag => true) = minhash(array_agg(n % 1000 ORDER BY n DESC), bag => true) AS equal, abs(minhash_cardinality(minhash(array_agg(n % 1000), 1024, bag => true)) / 50000 - 1) < 0.13 AS size FROM generate_series(1, 50000) AS n;
-- All tables of kernels give the same.
CREATE TEMP TABLE signed AS SELECT id, minhash(numbers) AS numbers, minhash(texts) AS texts FROM collections;
SET minhash_lsh.instruction_set = 'baseline';
SELECT count(*) AS equal FROM collections c JOIN signed s USING (id) WHERE minhash(c.numbers) = s.numbers AND minhash(c.texts) = s.texts;
RESET minhash_lsh.instruction_set;

-- Exact similarities of arrays: as sets, as bags, without NULLs.
SELECT shingle_jaccard('{1,2,3}'::int[], '{2,3,4}'::int[]) AS half, shingle_containment('{1,2}'::int[], '{2,3,4}'::int[]) AS of_the_first, shingle_containment('{2,3,4}'::int[], '{1,2}'::int[]) AS of_the_other, shingle_jaccard('{1,2,2,2}'::int[], '{2,1}'::int[]) AS sets,
       shingle_bag_jaccard('{1,2,2,2}'::int[], '{2,1}'::int[]) AS bags, shingle_bag_containment('{1,2,2,2}'::int[], '{2,2,5}'::int[]) AS bag_in_bag, shingle_bag_jaccard('{1,NULL,NULL}'::int[], '{1,NULL}'::int[]) AS nulls, shingle_jaccard('{{1,2},{3,4}}'::int[], '{4,3,2,1}'::int[]) AS dimensions;
-- Nothing shares nothing, as with texts; NULL is unknown.
SELECT shingle_jaccard('{}'::int[], '{}'::int[]) AS empty, shingle_jaccard('', '') AS as_texts, shingle_containment('{}'::int[], '{1}'::int[]) AS of_nothing, shingle_containment('', 'text') AS of_no_text, shingle_containment('{1}'::int[], '{}'::int[]) AS in_nothing, shingle_jaccard('{NULL}'::int[], '{NULL}'::int[]) AS nulls,
       shingle_jaccard(NULL, '{1}'::int[]) AS unknown, shingle_containment('{1}'::int[], NULL) AS unknown_too, shingle_bag_jaccard('{1}'::int[], NULL) AS unknown_bag, shingle_bag_containment('{}'::int[], '{}'::int[]) AS empty_bags;
-- Any type that has an order, and two that have a common one. Elements are equal as their type says.
SELECT shingle_jaccard('{a,b}'::text[], '{b,c}'::varchar[]) AS strings, shingle_jaccard('{1,2}'::smallint[], '{2,3}'::bigint[]) AS integers, shingle_jaccard('{1,2}'::int[], '{2.0,3}'::numeric[]) AS numbers, shingle_bag_jaccard('{1.0,1.00}'::numeric[], '{1}'::numeric[]) AS equal_numbers,
       shingle_jaccard('{0}'::float8[], '{-0}'::float8[]) AS zeros, shingle_jaccard('{NaN}'::float8[], '{NaN}'::float8[]) AS not_numbers, shingle_jaccard('{2024-01-01}'::date[], '{2024-01-01,2024-01-02}'::date[]) AS dates, shingle_jaccard(ARRAY[ROW(1, 'a'::text), ROW(2, 'b'::text)], ARRAY[ROW(2, 'b'::text)]) AS rows,
       shingle_jaccard('{a,b}'::tags, '{b}'::text[]) AS domains, shingle_jaccard('{1,2}'::int[], '{2,3}') AS literal;
-- A collation that takes other bytes for equal; a server without ICU has none, and skips this.
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS has_icu \gset
\set same_letters 1
\set other_letters 0
\set bag 0.3333333333333333
\if :has_icu
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT shingle_jaccard(ARRAY['a', 'B'] COLLATE ignore_case, ARRAY['A', 'b']) AS same_letters,
       shingle_jaccard(ARRAY['a', 'B'], ARRAY['A', 'b']) AS other_letters,
       shingle_bag_jaccard(ARRAY['a', 'A', 'a'] COLLATE ignore_case, ARRAY['A']) AS bag \gset
DROP COLLATION ignore_case;
\endif
\echo :same_letters :other_letters :bag
\set VERBOSITY default
SELECT shingle_jaccard(ARRAY[point(1, 2)], ARRAY[point(1, 2)]);
SELECT shingle_containment(ARRAY['{}'::json], ARRAY['{}'::json]);
SELECT shingle_jaccard('{1}'::int[], '{a}'::text[]);
\set VERBOSITY terse
-- Literals and parameters of unknown type are texts.
SELECT shingle_jaccard('{a,b}', '{a,b}', 3) AS texts, shingle_jaccard('{a,b}', '{a,b}', '3') AS also_texts, shingle_jaccard('a', 'a', NULL) AS no_size, shingle_jaccard('{a,b}'::text, '{a,c}') AS text, shingle_containment('abcdef', 'abcdefg') AS contained, shingle_jaccard(NULL, NULL) AS unknown, shingle_jaccard('one two', 'two one', 1, 'word') AS words;
PREPARE two AS SELECT shingle_jaccard($1, $2);
PREPARE four AS SELECT shingle_containment($1, $2, $3, $4);
PREPARE three AS SELECT shingle_jaccard($1, $2, $3);
SELECT name, parameter_types FROM pg_prepared_statements WHERE statement ~ 'shingle' ORDER BY name;
DEALLOCATE ALL;
-- The same as SQL says, and as the shingles of texts.
SELECT bool_and(shingle_jaccard(a.numbers, b.numbers) = coalesce(shared / nullif(first + second - shared, 0), 0)) AS jaccard, bool_and(shingle_containment(a.texts, b.texts) = coalesce(shared / nullif(first, 0), 0)) AS containment,
       bool_and(shingle_jaccard(a.ids || a.ids, b.ids) = shingle_jaccard(a.bytes, b.bytes)) AS repeated, bool_and(shingle_bag_jaccard(a.large || a.large, b.large || b.large) = shingle_jaccard(a.small, b.small)) AS doubled, count(*)
FROM collections a, collections b, LATERAL (SELECT cardinality(a.numbers)::float8 AS first, cardinality(b.numbers)::float8 AS second, (SELECT count(*) FROM unnest(a.numbers) AS n WHERE n = ANY (b.numbers))::float8 AS shared) AS sizes WHERE a.id < 12 AND b.id < 12;
SELECT bool_and(shingle_jaccard(shingles(a, size), shingles(b, size)) = shingle_jaccard(a, b, size)) AS jaccard, bool_and(shingle_containment(shingles(a, size), shingles(b, size)) = shingle_containment(a, b, size)) AS containment,
       bool_and(shingle_bag_jaccard(shingles(a, size, bag => true), shingles(b, size, bag => true)) = shingle_jaccard(a, b, size, bag => true)) AS jaccard_of_bags, bool_and(shingle_bag_containment(shingles(a, size, bag => true), shingles(b, size, bag => true)) = shingle_containment(a, b, size, bag => true)) AS containment_of_bags
FROM (VALUES ('to be or not to be', 'not to be'), ('Größe', 'größer'), ('', 'x'), ('', '')) AS texts (a, b), generate_series(1, 6) AS size;

DROP TABLE collections, signed;
DROP DOMAIN body, title, tags, numbers;
