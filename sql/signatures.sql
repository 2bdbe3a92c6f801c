-- Signatures and estimates.
\pset null '<null>'

-- The defaults of minhash(), and the scheme that minhash_scheme() shows.
SELECT * FROM minhash_scheme(minhash('some text'));
SELECT (minhash_scheme(minhash('some text'))).num_hashes AS default,
    (minhash_scheme(minhash('some text', 16))).num_hashes AS least,
    (minhash_scheme(minhash('some text', 4096))).num_hashes AS most;
SELECT (minhash_scheme(minhash('Some text', num_hashes => 200, shingle_size => 3, unit => 'word', fold => false,
    bag => true, seed => -7, method => 'classic'))).*;

-- Arguments by name, in any order, give the same signature as the defaults in their positions.
SELECT minhash('some text') = minhash('some text', 128, 5, 'char', true, false, 42, 'fss') AS defaults,
       minhash(method => 'fss', document => 'some text', seed => 42) = minhash('some text') AS named;
-- A change of any argument changes the signature.
SELECT count(DISTINCT signature) FROM (VALUES
    (minhash('The cat, the cat')), (minhash('The cat, the cat', num_hashes => 127)),
    (minhash('The cat, the cat', shingle_size => 4)),
    (minhash('The cat, the cat', unit => 'word')), (minhash('The cat, the cat', fold => false)),
    (minhash('The cat, the cat', bag => true)),
    (minhash('The cat, the cat', seed => 43)), (minhash('The cat, the cat', method => 'classic'))) AS made (signature);

-- If any argument is NULL, the result is NULL.
SELECT minhash(NULL), minhash('a', NULL), minhash('a', shingle_size => NULL), minhash('a', unit => NULL),
    minhash('a', fold => NULL),
       minhash('a', bag => NULL), minhash('a', seed => NULL), minhash('a', method => NULL);
SELECT minhash_similarity(NULL, minhash('a')), minhash_similarity(minhash('a'), NULL),
    NULL <%> minhash('a'), (minhash_scheme(NULL)).num_hashes,
       minhash_scheme(NULL), NULL::minhash_signature::bigint[], minhash_standard_error(NULL),
       minhash_standard_error(0.5, NULL),
       lsh_band_keys(NULL, 1, 1);

-- Texts with the same set of shingles have a similarity of 1, even if their order of words, case or white space
-- differs.
SELECT minhash_similarity(minhash('a text'), minhash('a text')) AS same,
    minhash('a text') <%> minhash('a text') AS distance,
       minhash_similarity(minhash('A Text'), minhash('  a   text ')) AS folded,
       minhash_similarity(minhash('one two three', shingle_size => 1, unit => 'word'),
       minhash('three, two, two, one!', shingle_size => 1, unit => 'word')) AS same_words,
       minhash_similarity(minhash('A Text', fold => false), minhash('a text', fold => false)) AS as_it_is;
SELECT minhash('a text') = minhash('A   TEXT') AS equal_signatures, minhash('aaaaa') = minhash('aaaaaaaaaa') AS as_sets,
    minhash('aaaaa', bag => true) = minhash('aaaaaaaaaa', bag => true) AS as_bags;
-- If nothing occurs twice, the bag has the same slots as the set. The signatures still have different schemes.
SELECT minhash('abcdefgh', bag => true)::bigint[] = minhash('abcdefgh')::bigint[] AS slots,
    minhash('abcdefgh', bag => true) = minhash('abcdefgh') AS signatures;

SELECT minhash_similarity(a, b) = minhash_similarity(b, a) AS symmetric
FROM (SELECT minhash('this is really rude') AS a, minhash('this is really crude') AS b) AS pair;

-- The standard error of n independent slots.
SELECT minhash_standard_error(0.5, 100) AS n_100, round(minhash_standard_error(0.8, 128)::numeric, 4) AS n_128,
    round(minhash_standard_error(0.5, 200)::numeric, 4) AS n_200,
       minhash_standard_error(0.8) = minhash_standard_error(similarity => 0.8, num_hashes => 128) AS default,
       minhash_standard_error(0) AS at_0, minhash_standard_error(1, 1) AS at_1;

-- Estimate the worked examples with 200 seeds each. All estimates must be within four standard errors, and their mean
-- within four of its own standard errors. With 1000 hashes, the spread must be clearly smaller than with 100 (in
-- theory, 0.316 times).
WITH pairs (pair, a, b, size, bag) AS (VALUES
    ('rude', 'this is really rude', 'this is really crude', 3, false),
    ('rude, bag', 'this is really rude', 'this is really crude', 3, true),
    ('lorem', 'Lorem Ipsum dolor sit amet', 'Lorem Ipsum dolor sit amet is how dummy text starts', 5, false),
    ('charlotte', 'Charlotte Brown', 'Charlene Browning', 2, false),
    ('olivia', 'Olivia Thomas', 'Olive Thomason', 2, false)
), estimates AS (
    SELECT pair, method, n, shingle_jaccard(a, b, size, bag => bag) AS exact,
           minhash_similarity(minhash(a, n, size, bag => bag, seed => seed, method => method),
                              minhash(b, n, size, bag => bag, seed => seed, method => method)) AS estimate
    FROM pairs, unnest(ARRAY[100, 1000]) n, generate_series(1, 200) seed, unnest(ARRAY['fss', 'classic']) method
), summary AS (
    SELECT pair, method, n, exact, max(abs(estimate - exact)) AS worst, avg(estimate) AS mean,
    sqrt(avg((estimate - exact) ^ 2)) AS spread, count(*) AS seeds
    FROM estimates GROUP BY pair, method, n, exact
)
SELECT pair, method, round(exact::numeric, 4) AS exact,
       bool_and(worst <= 4 * minhash_standard_error(exact, n)) AS within_4,
       bool_and(abs(mean - exact) <= 4 * minhash_standard_error(exact, n) / sqrt(seeds)) AS mean_within_4,
       max(spread) FILTER (WHERE n = 1000) < 0.5 * max(spread) FILTER (WHERE n = 100) AS spread_shrinks
FROM summary GROUP BY pair, method, exact ORDER BY pair, method;

-- Do the same for shingles of words, on texts of a few hundred shingles.
WITH texts AS (
    SELECT string_agg(md5(i::text), ' ' ORDER BY i) FILTER (WHERE i <= 300) AS a,
    string_agg(md5(i::text), ' ' ORDER BY i) FILTER (WHERE i > 100) AS b
    FROM generate_series(1, 400) i
), estimates AS (
    SELECT method, n, minhash_similarity(minhash(a, n, 1, 'word', seed => seed, method => method),
    minhash(b, n, 1, 'word', seed => seed, method => method)) AS estimate
    FROM texts, unnest(ARRAY[100, 1000]) n, generate_series(1, 20) seed, unnest(ARRAY['fss', 'classic']) method
)
SELECT method, n, bool_and(abs(estimate - 0.5) <= 4 * minhash_standard_error(0.5, n)) AS within_4
FROM estimates GROUP BY method, n ORDER BY method, n;

-- Slots match only in the same position. If all values are moved by one slot, none match. If half of them stay in
-- place, half match.
CREATE FUNCTION pg_temp.signature_of(slots bigint[]) RETURNS minhash_signature LANGUAGE sql AS $$
    SELECT (format('fss1:%sx32:char5:fold:set:42:', cardinality(slots)) || string_agg(lpad(to_hex(slot), 8, '0'), ''
    ORDER BY position))::minhash_signature
    FROM unnest(slots) WITH ORDINALITY AS given (slot, position)
$$;
SELECT minhash_similarity(pg_temp.signature_of(a), pg_temp.signature_of(a)) AS same,
       minhash_similarity(pg_temp.signature_of(a), pg_temp.signature_of(a[2:20] || a[1])) AS rotated,
       minhash_similarity(pg_temp.signature_of(a), pg_temp.signature_of(a[1:10] || a[12:20] || a[11])) AS half,
       minhash_similarity(pg_temp.signature_of(a),
       pg_temp.signature_of(a[1:14] || array_fill(0::bigint, ARRAY[6]))) AS fourteen
FROM (SELECT array_agg(i) AS a FROM generate_series(1::bigint, 20) i) AS slots;

-- The cast to bigint[] gives the slots of the text form as unsigned numbers.
SELECT pg_temp.signature_of(a)::bigint[] = a AS slots
FROM (SELECT array_agg(i * 268435455) AS a FROM generate_series(1::bigint, 16) i) AS slots;
SELECT cardinality(minhash('some text', 100)::bigint[]) AS slots,
    bool_and(slot BETWEEN 0 AND 4294967295) AS in_range FROM unnest(minhash('some text', 100)::bigint[]) slot;

-- An empty text has the empty signature. It has no slots and no band keys, and is similar to nothing, not even to
-- itself.
SELECT document, minhash(document, 16) AS signature, minhash(document, 16)::bigint[] AS slots,
    lsh_band_keys(minhash(document, 16), 4, 4) AS keys,
       (SELECT count(*) FROM lsh_bands(minhash(document, 16), 4, 4)) AS bands
FROM (VALUES (''), ('   ')) AS texts (document);
SELECT minhash_similarity(minhash(''), minhash('')) AS itself, minhash('') <%> minhash('') AS distance,
    minhash_similarity(minhash(''), minhash('text')) AS to_text,
       minhash_similarity(minhash('text'), minhash(' ')) AS of_text, minhash('') = minhash('  ') AS equal_as_values,
       (minhash_scheme(minhash(''))).num_hashes AS num_hashes;
SELECT minhash('!?', unit => 'word')::bigint[] AS only_punctuation,
    minhash('', method => 'classic')::bigint[] AS classic, minhash('', bag => true)::bigint[] AS bag,
    minhash(' ', fold => false)::bigint[] = '{}' AS a_space_unfolded;

-- Texts that are shorter than a shingle are one shingle. No two of these texts have an equal slot with any seed, so
-- their similarity is 0 and they are never candidates.
WITH signatures AS (
    SELECT document, method, seed, minhash(document, seed => seed, method => method) AS signature
    FROM unnest(ARRAY['cat', 'dog', 'a', 'b', 'x', 'é', '東', 'cats', '']) document, generate_series(1, 20) seed,
    unnest(ARRAY['fss', 'classic']) method
)
SELECT count(*) AS compared, count(*) FILTER (WHERE minhash_similarity(a.signature, b.signature) > 0) AS similar,
       count(*) FILTER (WHERE lsh_band_keys(a.signature, 128, 1) && lsh_band_keys(b.signature, 128, 1)) AS candidates
FROM signatures a JOIN signatures b USING (method, seed) WHERE a.document < b.document;
SELECT minhash_similarity(minhash('a'), minhash('a')) AS one_character,
    minhash_similarity(minhash('cat'), minhash('CAT')) AS one_word;

-- Literals and parameters of unknown type are texts to sign, not signatures to read.
SELECT pg_typeof(minhash('a literal')), minhash('a literal') = minhash('a literal'::text) AS literal;
PREPARE p AS SELECT minhash($1) = minhash('a literal'::text) AS parameter;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'p';
EXECUTE p('a literal');
DEALLOCATE p;
SELECT minhash('a literal'::varchar) = minhash('a literal') AS varchar,
    minhash('a literal'::char(9)) = minhash('a literal') AS char,
    minhash('a literal'::name) = minhash('a literal') AS name;

-- Prepared statements whose parameters decide the scheme of a signature, in custom and generic plans.
PREPARE p (text, int, text) AS SELECT method, num_hashes
    FROM minhash_scheme(minhash($1, num_hashes => $2, method => $3));
SET plan_cache_mode = force_custom_plan;
EXECUTE p('a text', 16, 'fss');
EXECUTE p('a text', 17, 'classic');
SET plan_cache_mode = force_generic_plan;
EXECUTE p('a text', 16, 'fss');
EXECUTE p('a text', 17, 'classic');
RESET plan_cache_mode;
DEALLOCATE p;

-- Arguments that decide the scheme change between the rows of a query, and between calls in PL/pgSQL.
SELECT n, (minhash_scheme(minhash('a text', n))).num_hashes, (minhash_scheme(minhash('a text', seed => n))).seed
    FROM generate_series(16, 18) n;
CREATE FUNCTION pg_temp.loop() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    hashes int;
    how text;
    signature minhash_signature;
BEGIN
    FOR hashes, how IN VALUES (16, 'fss'), (17, 'classic'), (18, 'fss') LOOP
        signature := minhash('a text', num_hashes => hashes, method => how);
        RETURN NEXT format('%s %s: %s', hashes, how, minhash_scheme(signature));
    END LOOP;
END $$;
SELECT pg_temp.loop();
CREATE FUNCTION pg_temp.hashes_of(hashes int) RETURNS int
    LANGUAGE plpgsql AS 'BEGIN RETURN (minhash_scheme(minhash(''a text'', hashes))).num_hashes; END';
SELECT hashes, pg_temp.hashes_of(hashes) FROM generate_series(16, 18) hashes;

-- The signature of a row does not depend on the rows that a query signed before it. This is true for bags, too.
SELECT count(*) AS texts, count(*) FILTER (WHERE signature <> alone) AS differ
FROM (SELECT minhash(document) AS signature, (SELECT minhash(document || left(i::text, 0))) AS alone
      FROM (SELECT i, repeat(md5(i::text), i * 37 % 100) AS document
      FROM generate_series(1, 200) i) AS texts) AS signed;
WITH texts AS MATERIALIZED (SELECT i, repeat(md5(i::text), i * 37 % 100) AS document FROM generate_series(1, 100) i),
     forwards AS MATERIALIZED (SELECT i, minhash(document, bag => true) AS signature FROM texts ORDER BY i),
     backwards AS MATERIALIZED (SELECT i, minhash(document, bag => true) AS signature
     FROM (SELECT * FROM texts ORDER BY i DESC OFFSET 0) AS reversed)
SELECT count(*) AS texts, count(*) FILTER (WHERE forwards.signature <> backwards.signature) AS differ FROM forwards
    JOIN backwards USING (i);

-- A seed can be any bigint.
SELECT (minhash_scheme(minhash('a', seed => -9223372036854775808))).seed AS least,
    (minhash_scheme(minhash('a', seed => 9223372036854775807))).seed AS most,
    minhash('a', seed => 0) = minhash('a', seed => 1) AS equal;

-- A literal or parameter in braces was probably meant as an array, so there is a notice. There is none for JSON,
-- templates and texts from a table.
SELECT minhash('{red,green}') = minhash('{red,green}'::varchar), minhash('{"a": 1}') <> minhash('{{a}}');
PREPARE list AS SELECT minhash($1, num_hashes => 8) IS NOT NULL;
EXECUTE list('{red,green}');
EXECUTE list('red, green');
SELECT count(minhash(body)) FROM (VALUES ('{red}'), ('{green}')) v (body);
