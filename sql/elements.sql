-- Signatures and exact similarities of sets that callers pass as arrays or tsvectors.
\pset null '<null>'

-- Signatures of elements have their own scheme. They are read and written like other signatures.
SELECT * FROM minhash_scheme(minhash_elements('{a,b,c}'::text[]));
SELECT minhash_elements('{a,b,c}'::text[], 16, bag => true) AS signature;
SELECT minhash_elements('{a,b,c}'::text[], 16)::text::minhash_signature = minhash_elements('{a,b,c}'::text[],
    16) AS read_back, minhash_elements('{}'::text[], 16)::text::minhash_signature AS empty;
SELECT pg_typeof(minhash_union(minhash_elements('{1,2}'::int[]), minhash_elements('{2,3}'::int[]))) AS type,
    minhash_union(minhash_elements('{1,2}'::int[]), minhash_elements('{2,3}'::int[])) =
    minhash_elements('{1,2,3}'::int[]) AS united;
\set VERBOSITY default
SELECT 'fss1:16x32:element5:raw:set:42:'::minhash_signature;
SELECT 'fss1:16x32:element1:fold:set:42:'::minhash_signature;
SELECT minhash_similarity(minhash_elements('{a}'::text[]), minhash('a'));
SELECT minhash('a text', unit => 'element');
SELECT minhash_elements('{1}'::int[], 7);
SELECT minhash_elements('{1}'::int[], method => 'simhash');
\set VERBOSITY terse

-- A text is never read as a set, nor a set as a text. minhash_elements() raises an error if the type of its argument is
-- unknown, as drivers may send it, and minhash() accepts only texts. (The functions of exact similarities read unknown
-- types as text[].)
CREATE DOMAIN body AS text;
CREATE DOMAIN title AS varchar(20);
CREATE DOMAIN tags AS text[] CHECK (cardinality(VALUE) < 10);
CREATE DOMAIN numbers AS integer[];
SELECT (minhash_scheme(signature)).unit, count(*), count(DISTINCT signature) AS signatures
FROM (VALUES (minhash('some text')), (minhash('some text'::varchar)), (minhash('some text'::name)),
             (minhash('some text'::char(9))), (minhash('some text'::body)), (minhash('some text'::title)),
             (minhash(document => 'some text')), (minhash('some text', 128)), (minhash('some text', 128, 5)),
             (minhash('some text', seed => 42))) AS made (signature) GROUP BY 1;
SELECT minhash_elements('{a,b}');
SELECT minhash_elements(NULL);
SELECT minhash_elements('a text'::text);
SELECT minhash('{a,b}'::text[]);
SELECT minhash('{1,2}'::int[], 16);
PREPARE elements AS SELECT minhash_elements($1);
PREPARE three_arguments AS SELECT minhash_elements($1, $2, $3);
PREPARE one AS SELECT minhash($1);
PREPARE all_of_them AS SELECT minhash($1, $2, $3, $4, $5, $6, $7, $8);
PREPARE exact AS SELECT element_jaccard($1, $2), element_containment($3, $4, $5);
SELECT name, parameter_types FROM pg_prepared_statements WHERE name <> '' ORDER BY name;
DEALLOCATE ALL;

-- Arrays of supported types, arrays of domains over them, and domains over arrays are accepted. Other arrays are
-- refused.
SELECT minhash_elements('{a,b}'::varchar[]) = minhash_elements('{a,b}'::text[]) AS varchar,
    minhash_elements('{a,b}'::tags) = minhash_elements('{a,b}'::text[]) AS tags,
       minhash_elements('{a,b}'::title[]) = minhash_elements('{a,b}'::text[]) AS titles,
       minhash_elements('{1,2}'::numbers) = minhash_elements('{1,2}'::bigint[]) AS numbers;
\set VERBOSITY default
SELECT minhash_elements('{a,b}'::name[]);
SELECT minhash_elements('{t,f}'::boolean[]);
SELECT minhash_elements(ARRAY['{}'::json]);
\set VERBOSITY terse
-- Equal integers of different types are the same member. Values of other types are different members.
SELECT count(DISTINCT signature) FROM (VALUES (minhash_elements('{1,2,-3}'::smallint[])),
    (minhash_elements('{1,2,-3}'::integer[])), (minhash_elements('{1,2,-3}'::bigint[]))) AS made (signature);
SELECT minhash_similarity(minhash_elements('{97}'::int[]), minhash_elements('{a}'::text[])) AS integer_and_text,
    minhash_similarity(minhash_elements('{97}'::int[]), minhash_elements(ARRAY['\x61'::bytea])) AS integer_and_bytes,
       minhash_similarity(minhash_elements(ARRAY['\x61'::bytea]), minhash_elements('{a}'::text[])) AS bytes_and_text,
       minhash_similarity(minhash_elements(ARRAY['\x61'::bytea]),
       minhash_elements(ARRAY['\x6100'::bytea])) AS trailing_zero,
       minhash_elements('{00000000-0000-0000-0000-000000000061}'::uuid[]) =
       minhash_elements(ARRAY['\x00000000000000000000000000000061'::bytea]) AS uuid_and_its_bytes;
SELECT count(DISTINCT minhash_elements(ARRAY[n])) AS integers FROM generate_series(-100, 100) AS n;

-- The order of elements never matters. Repeated elements count in a bag, but not in a set.
SELECT minhash_elements('{a,b,c}'::text[]) = minhash_elements('{c,b,a,a,b}'::text[]) AS sets,
    minhash_elements('{a,b,c}'::text[], bag => true) = minhash_elements('{c,b,a}'::text[], bag => true) AS bags,
       minhash_elements('{a,b,b}'::text[], bag => true) <> minhash_elements('{a,b}'::text[], bag => true) AS repeated,
       minhash_elements('{1,2,2}'::int[], bag => true)::bigint[] <>
       minhash_elements('{1,2,2}'::int[])::bigint[] AS of_integers,
       minhash_elements('{1,2}'::int[], bag => true)::bigint[] =
       minhash_elements('{1,2}'::int[])::bigint[] AS nothing_repeated;
-- NULL elements are not members. In multidimensional arrays, the elements of all dimensions are members.
SELECT minhash_elements('{1,NULL,2,NULL}'::int[]) = minhash_elements('{1,2}'::int[]) AS integers,
    minhash_elements('{NULL,a,NULL,b}'::text[]) = minhash_elements('{a,b}'::text[]) AS texts,
    minhash_elements(ARRAY[NULL, '\x00'::bytea]) = minhash_elements(ARRAY['\x00'::bytea]) AS bytes,
       minhash_elements('{{1,2},{NULL,3}}'::smallint[]) = minhash_elements('{1,2,3}'::smallint[]) AS dimensions,
       minhash_elements('[5:6]={x,y}'::text[]) = minhash_elements('{x,y}'::text[]) AS bounds;
SELECT bool_and(minhash_elements(array_agg) = minhash_elements(array_remove(array_agg, NULL))) AS nulls_anywhere
FROM generate_series(0, 40) AS size, LATERAL (SELECT array_agg(CASE WHEN n % (size % 5 + 2) <> 0 THEN n END ORDER BY n)
    FROM generate_series(0, size) n) AS arrays;
SELECT minhash_elements('{}'::int[], 16) AS empty, minhash_elements('{NULL}'::text[], 16) AS only_nulls,
    minhash_elements(NULL::uuid[]) AS unknown, minhash_elements('{1}'::int[], NULL) AS no_hashes,
    minhash_elements('{1}'::int[], bag => NULL) AS no_bag,
       minhash_similarity(minhash_elements('{}'::int[]), minhash_elements('{}'::text[])) AS similarity;
-- An empty text is a member.
SELECT minhash_cardinality(minhash_elements('{""}'::text[])) > 0.9 AS one,
    minhash_elements('{""}'::text[]) <> minhash_elements('{}'::text[]) AS not_empty;

-- A lexeme of a tsvector is the same member as an equal text. In a bag, each position is an occurrence, and a lexeme
-- without positions occurs once.
SELECT minhash_elements('a b c'::tsvector) = minhash_elements('{a,b,c}'::text[]) AS lexemes,
    minhash_elements('a:1,5,9 b:2 c'::tsvector) = minhash_elements('{a,b,c}'::text[]) AS positions,
       minhash_elements('a:1,5,9 b:2 c'::tsvector, bag => true) = minhash_elements('{a,a,a,b,c}'::text[],
       bag => true) AS bag, minhash_elements(''::tsvector, 16) AS empty, minhash_elements(NULL::tsvector) AS unknown;
SELECT minhash_elements(to_tsvector('simple', 'To be or not to be'),
    bag => true) = minhash_elements('{to,be,or,not,to,be}'::text[], bag => true) AS text,
       minhash_elements(to_tsvector('simple', string_agg('w' || n % 700, ' ')),
       bag => true) = minhash_elements(array_agg('w' || n % 700), bag => true) AS long FROM generate_series(1, 2500) n;
-- PostgreSQL stores at most 255 positions of a lexeme.
SELECT minhash_elements(to_tsvector('simple', repeat('a ', 300)),
    bag => true) = minhash_elements(array_fill('a'::text, ARRAY[255]), bag => true) AS most_positions;
-- If the elements are a text's shingles of characters, their signature has the same slots as the text's own signature.
SELECT bool_and(minhash_elements(shingles(body, size), seed => 7)::bigint[] = minhash(body, shingle_size => size,
    seed => 7)::bigint[]) AS equal
FROM (VALUES ('The quick brown fox jumps over the lazy dog'), ('Größe, 日本語 und 🙂'), ('')) AS texts (body),
    generate_series(1, 12) AS size;

-- The union of two signatures is the signature of the union of their sets, for sets of all sizes.
CREATE TABLE collections AS
    SELECT id, array_agg(n) AS numbers, array_agg('member ' || n) AS texts, array_agg(md5(n::text)::uuid) AS ids,
    array_agg(decode(md5(n::text), 'hex')) AS bytes, array_agg(n::smallint) AS small,
    array_agg(n::bigint << 32) AS large
    FROM generate_series(1, 24) AS id, generate_series(id * 50, id * 50 + id * id * 5) AS n GROUP BY id;
SELECT bool_and(minhash_union(minhash_elements(a.numbers), minhash_elements(b.numbers)) =
    minhash_elements(a.numbers || b.numbers)) AS integers,
    bool_and(minhash_union(minhash_elements(a.texts), minhash_elements(b.texts)) =
    minhash_elements(a.texts || b.texts)) AS texts,
       bool_and(minhash_union(minhash_elements(a.ids), minhash_elements(b.ids)) =
       minhash_elements(a.ids || b.ids)) AS uuids,
       bool_and(minhash_union(minhash_elements(a.bytes), minhash_elements(b.bytes)) =
       minhash_elements(a.bytes || b.bytes)) AS bytes,
       bool_and(minhash_union(minhash_elements(a.large, 16, 1, 'classic'),
       minhash_elements(b.large, 16, 1, 'classic')) = minhash_elements(a.large || b.large, 16, 1, 'classic')) AS large,
       count(*)
FROM collections a, collections b WHERE a.id <= b.id;
SELECT bool_and(minhash_elements(small) = minhash_elements(numbers)) AS small,
    bool_and(minhash_elements(ids) = minhash_elements(bytes)) AS ids FROM collections;
-- Estimates are close to the exact similarity: with 2048 hashes, the standard error is 0.011.
SELECT max(abs(minhash_similarity(minhash_elements(a.numbers, 2048), minhash_elements(b.numbers, 2048))
               - (SELECT count(*) FROM (SELECT unnest(a.numbers) INTERSECT
               SELECT unnest(b.numbers)) AS shared)::float8 / (SELECT count(*)
               FROM (SELECT unnest(a.numbers) UNION SELECT unnest(b.numbers)) AS either))) < 0.045 AS near
FROM collections a, collections b WHERE a.id < b.id;
-- Arguments that change from row to row, and large arrays.
SELECT bool_and((minhash_scheme(minhash_elements(numbers, 16 + id))).num_hashes = 16 + id) AS hashes,
    bool_and((minhash_scheme(minhash_elements(texts, seed => id))).seed = id) AS seeds,
    bool_and((minhash_scheme(minhash_elements(ids, bag => id > 5))).bag = (id > 5)) AS bags FROM collections;
SELECT minhash_elements(array_agg(n)) = minhash_elements(array_agg(n) || array_agg(n)) AS equal,
    abs(minhash_cardinality(minhash_elements(array_agg(n), 1024)) / 100000 - 1) < 0.13 AS size
    FROM generate_series(1, 100000) AS n;
SELECT minhash_elements(array_agg(n % 1000), bag => true) = minhash_elements(array_agg(n % 1000 ORDER BY n DESC),
    bag => true) AS equal, abs(minhash_cardinality(minhash_elements(array_agg(n % 1000), 1024, bag => true)) / 50000 -
    1) < 0.13 AS size FROM generate_series(1, 50000) AS n;
-- The kernels for all instruction sets give the same signatures.
CREATE TEMP TABLE signed AS SELECT id, minhash_elements(numbers) AS numbers, minhash_elements(texts) AS texts
    FROM collections;
SET minhash_lsh.instruction_set = 'baseline';
SELECT count(*) AS equal FROM collections c JOIN signed s USING (id) WHERE minhash_elements(c.numbers) = s.numbers
    AND minhash_elements(c.texts) = s.texts;
RESET minhash_lsh.instruction_set;

-- Exact similarities of arrays as sets and as bags. NULL elements are ignored.
SELECT element_jaccard('{1,2,3}'::int[], '{2,3,4}'::int[]) AS half,
    element_containment('{1,2}'::int[], '{2,3,4}'::int[]) AS of_the_first,
    element_containment('{2,3,4}'::int[], '{1,2}'::int[]) AS of_the_other,
    element_jaccard('{1,2,2,2}'::int[], '{2,1}'::int[]) AS sets,
       element_jaccard('{1,2,2,2}'::int[], '{2,1}'::int[], bag => true) AS bags,
       element_containment('{1,2,2,2}'::int[], '{2,2,5}'::int[], bag => true) AS bag_in_bag,
       element_jaccard('{1,NULL,NULL}'::int[], '{1,NULL}'::int[], bag => true) AS nulls,
       element_jaccard('{{1,2},{3,4}}'::int[], '{4,3,2,1}'::int[]) AS dimensions;
-- The similarity of empty arrays is 0, as it is for empty texts. If an argument is NULL, the result is NULL.
SELECT element_jaccard('{}'::int[], '{}'::int[]) AS empty, element_containment('{}'::int[], '{1}'::int[]) AS of_nothing,
    element_containment('{1}'::int[], '{}'::int[]) AS in_nothing,
    element_jaccard('{NULL}'::int[], '{NULL}'::int[]) AS nulls,
       element_jaccard(NULL, '{1}'::int[]) AS unknown, element_containment('{1}'::int[], NULL) AS unknown_too,
       element_jaccard('{1}'::int[], NULL, bag => true) AS unknown_bag,
       element_containment('{}'::int[], '{}'::int[], bag => true) AS empty_bags;
-- Elements can have any type that has an order. The two arrays' types may differ if there is a common type. The type
-- decides which elements are equal.
SELECT element_jaccard('{a,b}'::text[], '{b,c}'::varchar[]) AS strings,
    element_jaccard('{1,2}'::smallint[], '{2,3}'::bigint[]) AS integers,
    element_jaccard('{1,2}'::int[], '{2.0,3}'::numeric[]) AS numbers,
    element_jaccard('{1.0,1.00}'::numeric[], '{1}'::numeric[], bag => true) AS equal_numbers,
       element_jaccard('{0}'::float8[], '{-0}'::float8[]) AS zeros,
       element_jaccard('{NaN}'::float8[], '{NaN}'::float8[]) AS not_numbers,
       element_jaccard('{2024-01-01}'::date[], '{2024-01-01,2024-01-02}'::date[]) AS dates,
       element_jaccard(ARRAY[ROW(1, 'a'::text), ROW(2, 'b'::text)], ARRAY[ROW(2, 'b'::text)]) AS rows,
       element_jaccard('{a,b}'::tags, '{b}'::text[]) AS domains, element_jaccard('{1,2}'::int[], '{2,3}') AS literal;
-- A collation that treats different bytes as equal. Servers without ICU have no such collation and skip this test.
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS has_icu \gset
\set same_letters 1
\set other_letters 0
\set bag 0.3333333333333333
\if :has_icu
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT element_jaccard(ARRAY['a', 'B'] COLLATE ignore_case, ARRAY['A', 'b']) AS same_letters,
       element_jaccard(ARRAY['a', 'B'], ARRAY['A', 'b']) AS other_letters,
       element_jaccard(ARRAY['a', 'A', 'a'] COLLATE ignore_case, ARRAY['A'], bag => true) AS bag \gset
DROP COLLATION ignore_case;
\endif
\echo :same_letters :other_letters :bag
\set VERBOSITY default
SELECT element_jaccard(ARRAY[point(1, 2)], ARRAY[point(1, 2)]);
SELECT element_containment(ARRAY['{}'::json], ARRAY['{}'::json]);
\set VERBOSITY terse
SELECT element_jaccard('{1}'::int[], '{a}'::text[]);
-- With the argument bag, arrays are compared as bags, as texts are.
SELECT element_jaccard('{a,b}', '{a,b,b}', true) AS positional, element_jaccard('{a,b}', '{a,b,b}') AS sets,
       element_jaccard(NULL, '{a}', bag => NULL) AS unknown, shingle_jaccard('{a,b}', '{a,b}', 3) AS texts;
-- The results are the same as from plain SQL, and for shingles the same as from the functions for texts.
SELECT bool_and(element_jaccard(a.numbers, b.numbers) = coalesce(shared / nullif(first + second - shared, 0),
    0)) AS jaccard, bool_and(element_containment(a.texts, b.texts) = coalesce(shared / nullif(first, 0),
    0)) AS containment,
       bool_and(element_jaccard(a.ids || a.ids, b.ids) = element_jaccard(a.bytes, b.bytes)) AS repeated,
       bool_and(element_jaccard(a.large || a.large, b.large || b.large, bag => true) = element_jaccard(a.small,
       b.small)) AS doubled, count(*)
FROM collections a, collections b, LATERAL (SELECT cardinality(a.numbers)::float8 AS first,
    cardinality(b.numbers)::float8 AS second, (SELECT count(*) FROM unnest(a.numbers) AS n
    WHERE n = ANY (b.numbers))::float8 AS shared) AS sizes WHERE a.id < 12 AND b.id < 12;
SELECT bool_and(element_jaccard(shingles(a, size), shingles(b, size)) = shingle_jaccard(a, b, size)) AS jaccard,
    bool_and(element_containment(shingles(a, size), shingles(b, size)) = shingle_containment(a, b,
    size)) AS containment,
       bool_and(element_jaccard(shingles(a, size, bag => true), shingles(b, size, bag => true),
       bag => true) = shingle_jaccard(a, b, size, bag => true)) AS jaccard_of_bags,
       bool_and(element_containment(shingles(a, size, bag => true), shingles(b, size, bag => true),
       bag => true) = shingle_containment(a, b, size, bag => true)) AS containment_of_bags
FROM (VALUES ('to be or not to be', 'not to be'), ('Größe', 'größer'), ('', 'x'), ('', '')) AS texts (a, b),
    generate_series(1, 6) AS size;

DROP TABLE collections, signed;
DROP DOMAIN body, title, tags, numbers;
