-- Large texts are signed piece by piece. Compare the results with known ones, and cancel long calls.

-- 10 MB of one letter have one shingle; 10 MB of spaces have none.
SELECT minhash(repeat('a', 10000000)) = minhash('aaaaa') AS letters,
    minhash(repeat('a', 3000000), method => 'classic') = minhash('aaaaa', method => 'classic') AS classic,
       minhash(repeat(' ', 10000000)) = minhash('') AS spaces,
       minhash(repeat(' ', 10000000), unit => 'word') = minhash('', unit => 'word') AS words,
       minhash(repeat('.,', 5000000), unit => 'word') = minhash('', unit => 'word') AS punctuation;
SELECT shingles(repeat('a', 5000000)) AS shingles, shingles(repeat(' ', 10000000)) AS of_spaces,
    shingle_jaccard(repeat('a', 5000000), 'aaaaaa') AS jaccard,
    shingle_containment('aaaaab', repeat('a', 5000000)) AS containment;

-- White space of any length between words counts as one space.
SELECT minhash('abc' || repeat(E' \t\n', 1000000) || 'def' || repeat(' ', 3000000)) = minhash('abc def') AS gap,
    minhash(repeat(' ', 3000000) || 'abc def') = minhash('abc def') AS leading,
       shingles('abc' || repeat(' ', 3000000) || 'def', 7) AS shingles;

-- A text that repeats a phrase many times has the same shingles as the phrase repeated twice.
SELECT minhash(repeat('the quick brown fox ', 200000)) = minhash(repeat('the quick brown fox ', 2)) AS chars,
       minhash(repeat('the quick brown fox ', 200000), shingle_size => 3,
       unit => 'word') = minhash(repeat('the quick brown fox ', 2), shingle_size => 3, unit => 'word') AS words,
       shingle_jaccard(repeat('the quick brown fox ', 200000), repeat('the quick brown fox ', 2)) AS exact;
SELECT minhash(repeat('Žluťoučký kůň ', 100000)) = minhash(repeat('žluťoučký KŮŇ  ', 2)) AS two_bytes,
    minhash(repeat('日本語。', 100000), shingle_size => 3) = minhash(repeat('日本語。', 2), shingle_size => 3) AS three_bytes,
       minhash(repeat('😀😁', 100000), shingle_size => 255) = minhash(repeat('😀😁', 128),
       shingle_size => 255) AS four_bytes;

-- A word of 5 MB is a single word. White space and punctuation around it do not matter, but every letter does.
SELECT minhash(word, shingle_size => 1, unit => 'word') = minhash('  "' || upper(word) || E'"!\n', shingle_size => 1,
    unit => 'word') AS same,
       minhash_similarity(minhash(word, shingle_size => 1, unit => 'word'),
       minhash(word || 'x', shingle_size => 1, unit => 'word')) AS longer,
       minhash_similarity(minhash(word, shingle_size => 3, unit => 'word'),
       minhash('one ' || word, shingle_size => 3, unit => 'word')) AS with_another,
       cardinality(shingles(word, 1, 'word')) AS shingles
FROM (SELECT repeat('abcdefghij', 500000) AS word) AS given;
-- Words of many lengths. Signing keeps words whole only up to some length.
SELECT count(*) AS lengths, count(*)
    FILTER (WHERE minhash(repeat('w', n) || ' end', shingle_size => 1,
    unit => 'word') <> minhash('end ' || repeat('w', n), shingle_size => 1, unit => 'word')) AS differ
FROM generate_series(1, 5000, 7) n;

-- A set of a million words is the same in any order. Half of the words have a similarity of 0.5 to all of them.
CREATE TEMP TABLE million AS
SELECT (SELECT string_agg('w' || i, ' ') FROM generate_series(1, 1000000) i) AS document,
    (SELECT string_agg('w' || i, ', ') FROM generate_series(1000000, 1, -1) i) AS backwards,
       (SELECT string_agg('w' || i, ' ') FROM generate_series(500001, 1000000) i) AS half;
SELECT minhash(document, shingle_size => 1, unit => 'word') = minhash(backwards, shingle_size => 1,
    unit => 'word') AS any_order,
       abs(minhash_similarity(minhash(document, shingle_size => 1, unit => 'word'),
       minhash(half, shingle_size => 1, unit => 'word')) - 0.5) <= 4 * minhash_standard_error(0.5) AS half FROM million;
SELECT shingle_jaccard(document, half, 1, 'word') AS exact,
    shingle_containment(half, document, 1, 'word') AS containment, cardinality(shingles(half, 2, 'word')) AS pairs
    FROM million;
-- No word occurs twice, so the bag has the same slots as the set. In the doubled text, each word occurs twice.
SELECT minhash(document, shingle_size => 1, unit => 'word', bag => true)::bigint[] = minhash(document,
    shingle_size => 1, unit => 'word')::bigint[] AS bag_of_a_set,
       abs(minhash_similarity(minhash(document, shingle_size => 1, unit => 'word', bag => true),
       minhash(document || ' ' || document, shingle_size => 1, unit => 'word', bag => true)) - 0.5) <= 4 *
       minhash_standard_error(0.5) AS twice FROM million;

-- A bag of 4 million shingles, all different. They do not fit into the hash table, so that signing makes several passes
-- over the text.
SELECT minhash(document, shingle_size => 20, bag => true)::bigint[] = minhash(document,
    shingle_size => 20)::bigint[] AS passes
FROM (SELECT string_agg(md5(i::text), '') AS document FROM generate_series(1, 125000) i) AS given;
-- A bag with one shingle three million times, and one with half as many.
SELECT abs(minhash_similarity(minhash(repeat('a', 3000004), bag => true),
    minhash(repeat('a', 1500004), bag => true)) - 0.5) <= 4 * minhash_standard_error(0.5) AS half,
       shingle_jaccard(repeat('a', 3000004), repeat('a', 1500004), bag => true) AS exact;

-- Long calls can be cancelled quickly.
\set document 'repeat(md5(''huge''), 3000000)'
\set words 'repeat(''ab cd '', 15000000)'
\set VERBOSITY sqlstate
SELECT clock_timestamp() AS started \gset
SET statement_timeout = '100ms';
SELECT minhash(:document, 4096, method => 'classic') IS NULL;
SELECT minhash(:words, 4096, shingle_size => 2, unit => 'word', method => 'classic') IS NULL;
SELECT minhash(:document, bag => true, method => 'classic') IS NULL;
SELECT shingle_jaccard(:document, :document);
SELECT shingle_containment(:document, :document, 255, bag => true);
SELECT cardinality(shingles(:document, bag => true));
SELECT count(*) FROM lsh_curve(4096, 3, 1000000) a, lsh_curve(4096, 3, 1000000) b;
RESET statement_timeout;
\set VERBOSITY default
SELECT clock_timestamp() - :'started' < interval '5 s' AS quickly;
SELECT minhash('a') = minhash('A') AS goes_on;

DROP TABLE million;

-- The recipe of doc/containment.md finds a passage within a text of more than a million characters.
CREATE TEMP TABLE passages AS
SELECT id, position AS place, passage
FROM (VALUES (1, (SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 40000) i)
              || ' ' || (SELECT string_agg(md5('q' || i), ' ') FROM generate_series(1, 30) i)),
             (2, (SELECT string_agg(md5('q' || i), ' ') FROM generate_series(1, 30) i))) AS texts (id, body),
     lsh_windows(body, words => 20, step => 10);
SELECT DISTINCT a.id, b.id AS shares_with
FROM lsh_pairs('SELECT id * 10000000000 + place, passage FROM passages', threshold => 0.5)
     JOIN passages a ON a.id = left_id / 10000000000 AND a.place = left_id % 10000000000
     JOIN passages b ON b.id = right_id / 10000000000 AND b.place = right_id % 10000000000
WHERE a.id <> b.id ORDER BY 1, 2;

-- A hundred megabytes of texts that cannot be read again do not fit into memory, so they are written to a file.
CREATE TEMP TABLE long_texts AS
SELECT n, repeat((SELECT string_agg(md5(concat(n, ' ', w)), ' ') FROM generate_series(1, 40) AS w), 6) AS body
FROM generate_series(1, 6000) AS n;
SET maintenance_work_mem = '64MB';
\set VERBOSITY terse
SELECT count(*) AS pairs, count(*) FILTER (WHERE right_id <> left_id + 1) AS wrong, min(similarity) > 0.99 AS near
FROM lsh_pairs('SELECT 2 * n + copy AS id, body || copy FROM long_texts, generate_series(0, 1) AS copy',
               threshold => 0.9);
DROP TABLE long_texts;
\set VERBOSITY default
RESET maintenance_work_mem;
