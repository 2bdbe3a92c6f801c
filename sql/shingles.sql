-- Shingles and exact similarity: worked examples from the literature, and corner cases.
\pset null '<null>'

-- Shingles of two characters. Five of the six windows are distinct. They come in the order of their first occurrence.
SELECT shingles('abcdabd', 2),
       cardinality(shingles('abcdabd', 2)) AS distinct_ones,
       cardinality(shingles('abcdabd', 2, bag => true)) AS windows;

-- The set and the bag of the same text.
SELECT shingles('abcab', 2) AS set, shingles('abcab', 2, bag => true) AS bag;

-- Shingles of words: n words make n - 4 shingles of five words.
SELECT shingles('it is trivial to show', 3, 'word');
SELECT shingles('The quick brown fox jumps over the lazy dog', 5, 'word');
SELECT cardinality(shingles(string_agg('w' || i, ' '), 5, 'word')) FROM generate_series(1, 10000) i;

-- Shingles come in the order of the text.
SELECT shingles('banana', 1) AS letters, shingles('banana', 3) AS threes, shingles('one two one three', 1, 'word');

-- Similarity of sets of numbers and of words. A bit vector is the set of the positions of its ones.
SELECT a, b, shingle_jaccard(a, b, 1, 'word') AS jaccard, shared || '/' || either AS expected,
       shingle_jaccard(a, b, 1, 'word') = shared / either::float8 AS exact
FROM (VALUES
    ('2 3 5 7', '3 4 7', 2, 5),
    ('1 3 4 5', '1 4 5', 3, 4),       -- the bit vectors 10111 and 10011
    ('1 2 5 6 7', '1 2 3 6', 3, 6),   -- two columns of a matrix from the literature
    ('chair desk rug keyboard mouse', 'chair rug keyboard', 3, 5),
    ('I went to work today', 'today I went to work', 5, 5)
) AS example (a, b, shared, either);

-- Examples with larger shingles, as sets and bags. With folding, the "Lor" of "Lorem" and the "lor" of "dolor" are the
-- same shingle.
SELECT a, b, size, unit, fold, bag, shingle_jaccard(a, b, size, unit, fold, bag) AS jaccard,
       shared || '/' || either AS expected,
       shingle_jaccard(a, b, size, unit, fold, bag) = shared / either::float8 AS exact
FROM (VALUES
    ('I went to work today', 'today I went to work', 2, 'word', true, false, 3, 5),
    ('this is really rude', 'this is really crude', 3, 'char', true, false, 14, 19),
    ('this is really rude', 'this is really crude', 3, 'char', true, true, 15, 20),
    ('Lorem Ipsum dolor sit amet', 'Lorem Ipsum dolor sit amet is how dummy text starts', 5, 'char', true, false, 22,
    47),
    ('Lorem Ipsum dolor sit amet', 'Lorem Ipsum dolor sit amet is how dummy text starts', 5, 'char', false, false, 22,
    47),
    ('Lorem Ipsum dolor sit amet', 'Lorem Ipsum dolor sit amet is how dummy text starts', 3, 'char', false, false, 24,
    49),
    ('Lorem Ipsum dolor sit amet', 'Lorem Ipsum dolor sit amet is how dummy text starts', 3, 'char', true, false, 23,
    48),
    ('The quick brown fox jumps over the lazy dog', 'The quick brown fox jumps over the dog', 4, 'word', true, false, 4,
    7),
    ('Charlotte Brown', 'Charlene Browning', 2, 'char', true, false, 10, 20),
    ('Olivia Thomas', 'Olive Thomason', 2, 'char', true, false, 9, 16)
) AS example (a, b, size, unit, fold, bag, shared, either);

-- The number of windows, and of distinct windows.
SELECT document, cardinality(shingles(document, 3, bag => true)) AS windows,
    cardinality(shingles(document, 3)) AS distinct_ones
FROM (VALUES ('this is really rude'), ('this is really crude')) AS example (document);

-- Containment is the share of the first text's shingles that the second text has: 22 of 22, and 22 of 47 in the other
-- direction.
SELECT shingle_containment('Lorem Ipsum dolor sit amet',
    'Lorem Ipsum dolor sit amet is how dummy text starts') AS first_in_second,
       round(shingle_containment('Lorem Ipsum dolor sit amet is how dummy text starts',
       'Lorem Ipsum dolor sit amet')::numeric, 10) AS second_in_first,
       round(22 / 47.0, 10) AS expected;
-- As bags, {a, a, b, b} contains two of the three a and the one b of {a, a, a, b}. As sets, it contains both a and b.
SELECT shingle_containment('aaab', 'aabb', 1, bag => true) AS bag, shingle_containment('aaab', 'aabb', 1) AS set,
       shingle_jaccard('aaab', 'aabb', 1, bag => true) AS bag_jaccard,
       shingle_jaccard('aaab', 'aabb', 1) AS set_jaccard;

-- A text that is shorter than a window is a single shingle, which equals only the same text after folding.
SELECT shingles('cat'), shingles('cat', bag => true), shingles('one two', 3, 'word'), shingles('x', 255),
    shingles('abcde'), shingles('abcdef');
SELECT shingle_jaccard('cat', 'cat') AS same, shingle_jaccard('cat', 'dog') AS other,
    shingle_jaccard('cat', 'cats') AS longer,
       shingle_jaccard('one two', 'One, two!', 3, 'word') AS same_words;

-- Empty texts, and texts that fold to nothing, have no shingles and are similar to nothing.
SELECT shingles(''), shingles(E' \t\n '), shingles('', unit => 'word'), shingles('... --- !', unit => 'word'),
    shingles('', fold => false);
SELECT shingle_jaccard('', '') AS both, shingle_jaccard('', 'text') AS first, shingle_jaccard('text', '') AS second,
       shingle_containment('', '') AS in_empty, shingle_containment('', 'text') AS of_empty,
       shingle_containment('text', '') AS in_nothing;
-- Without folding, white space is text, but it still separates words.
SELECT shingles('   ', 2, fold => false), shingles('   ', 2, 'word', fold => false),
    shingles('!', 2, 'word', fold => false);

-- If any argument is NULL, the result is NULL.
SELECT shingles(NULL), shingles('abc', NULL), shingles('abc', unit => NULL), shingles('abc', fold => NULL),
    shingles('abc', bag => NULL);
SELECT shingle_jaccard(NULL, 'a'), shingle_jaccard('a', NULL), shingle_jaccard('a', 'a', NULL),
    shingle_jaccard('a', 'a', unit => NULL),
       shingle_containment(NULL, 'a'), shingle_containment('a', NULL), shingle_containment('a', 'a', fold => NULL),
       shingle_containment('a', 'a', bag => NULL);

-- Folding ignores case, turns runs of white space into one space, and removes white space at the ends. Without folding,
-- the text is used unchanged.
SELECT shingles('  Ab  C ', 3), shingles('  Ab  C ', 3, fold => false), shingles(' Ab  C, d', 2, 'word'),
    shingles(' Ab  C, d', 2, 'word', fold => false);
SELECT shingle_jaccard('The Cat', ' the   cat ') AS folded,
    shingle_jaccard('The Cat', ' the   cat ', fold => false) AS as_it_is;

-- All kinds of white space count as a space: tab, newline, vertical tab, form feed, carriage return, next line,
-- no-break space, en quad, em space, line and paragraph separators, and narrow no-break, mathematical and ideographic
-- spaces.
SELECT to_hex(code) AS code, shingles('a' || chr(code) || chr(code) || 'b', 3) AS chars,
    shingles('a' || chr(code) || 'b', 1, 'word') AS words,
       shingles('a' || chr(code) || 'b', 1, 'word', fold => false) AS unfolded_words
FROM unnest(ARRAY[9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8195, 8232, 8233, 8239, 8287, 12288]) AS code;
-- Folding drops what cannot be seen: soft hyphen, zero width space and joiner, marks of direction, word joiner,
-- Mongolian vowel separator, variation selector, byte order mark.
SELECT to_hex(code) AS code, shingles('a' || chr(code) || 'b', 1) AS chars,
    shingles('a' || chr(code) || 'b', 1, 'word') AS words,
    cardinality(shingles('a' || chr(code) || 'b', 1, fold => false)) AS unfolded
FROM unnest(ARRAY[173, 8203, 8205, 8206, 8288, 6158, 65039, 65279]) AS code;
SELECT to_hex(code) AS code, shingle_jaccard(plain, hidden) AS folded,
    shingle_jaccard(plain, hidden, fold => false) < 0.6 AS unfolded,
    minhash(plain) = minhash(hidden) AS same_signature
FROM (VALUES ('The publisher hyphenates an extraordinary expression.')) AS v (plain),
    unnest(ARRAY[173, 8203, 8205]) AS code,
    regexp_replace(plain, '(publ|hyph|extra|expr)', '\1' || chr(code), 'g') AS hidden;

-- With folding, punctuation separates words. In shingles of characters, and without folding, punctuation is text.
SELECT shingles('well-known, isn''t it? (yes) a_b', 1, 'word') AS folded,
    shingles('well-known, isn''t it? (yes) a_b', 1, 'word', fold => false) AS as_it_is;
SELECT shingles('a,b', 2) AS chars, shingles('一、二。三', 1, 'word') AS ideographic,
    shingles('«oui» – non…', 1, 'word') AS quotes, shingles('¿qué? ¡sí!', 1, 'word') AS spanish;
-- Signs belong to words, or are words of their own. So does a dash that begins a word before a number or a currency
-- sign.
SELECT shingles('a$b+c<d=e>f^g`h|i~j', 1, 'word') AS ascii_symbols, shingles('5€ 20°C 👍ok', 1, 'word') AS other_symbols;
SELECT shingles(t, 1, 'word') AS words FROM (VALUES ('C, C++, C#, F#.'), ('-250, 250, +250, –250, -$5, -٢٥٠'),
    ('$50, 50 €, 50 %'), ('R&D; 3 < 4; 24/7; a.b@c.de; e-mail; don''t'), ('2020-01-01, 5-10, a -b, x--5, - 5'), ('***'),
    ('5‰ 10٪ §5 5′ 5″')) AS v (t);
-- Texts that only a sign tells apart are not the same; texts that only punctuation tells apart are. (Versions of psql
-- differ in the width of a soft hyphen.)
\pset format unaligned
SELECT a, b, shingle_jaccard(a, b, 3, 'word') < 1 AS differ, minhash(a, shingle_size => 3, unit => 'word') =
    minhash(b, shingle_size => 3, unit => 'word') AS same_signature
FROM (VALUES ('Senior C++ developer wanted', 'Senior C# developer wanted'),
    ('Adjustment of -250 for account', 'Adjustment of 250 for account'),
    ('$50', '50'), ('50 %', '50'), ('***', '**'), ('Two words – "like" these.', 'two words like these'),
    ('so' || chr(173) || 'ft', 'soft')) AS v (a, b);
\pset format aligned

-- Simple case folding replaces each character by one character: final sigma, long s, Kelvin, Angstrom, capital sharp s,
-- micro, titlecase, Cherokee (small letters fold to capital letters), Deseret, Roman numerals. Dotted capital I,
-- dotless i and ligatures are not changed.
SELECT shingles('Σσς', 1) AS sigma, shingles('Sſs', 1) AS s, shingles('KKk', 1) AS kelvin,
    shingles('ÅÅå', 1) AS angstrom, shingles('ẞß', 1) AS sharp_s,
       shingles('µμΜ', 1) AS micro, shingles('ǄǅǆǱ', 1) AS titlecase, shingles('Ꭰꭰ', 1) AS cherokee,
       shingles('𐐀𐐨', 1) AS deseret, shingles('Ⅷⅷ', 1) AS roman;
SELECT shingles('İIıi', 1) AS i, shingles('ﬁfi', 1) AS ligature, shingles('ßss', 1) AS ss,
    shingles('ΣσςſK', 1, fold => false) AS as_it_is;
SELECT shingle_jaccard('ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 3) AS greek, shingle_jaccard('STRAẞE', 'straße', 3) AS german,
    shingle_jaccard('STRASSE', 'straße', 3) AS ss;

-- Windows count characters, not bytes: characters can have two, three or four bytes. Combining marks are characters of
-- their own.
SELECT shingles('žluťoučký', 7), shingles('東京都庁', 2), shingles('a😀b😀', 2),
    shingles('e' || chr(769) || 'e', 1) = ARRAY['e', chr(769)] AS combining;

-- Named notation. The defaults are five characters, folding, and a set.
SELECT shingles('Hello, World!') = shingles(document => 'Hello, World!', shingle_size => 5, unit => 'char',
    fold => true, bag => false) AS shingles,
       shingle_jaccard('Hello, World!', 'hello world') = shingle_jaccard(a => 'Hello, World!', b => 'hello world',
       bag => false, fold => true, unit => 'char', shingle_size => 5) AS jaccard,
       shingle_containment('Hello, World!', 'hello world') = shingle_containment(b => 'hello world',
       a => 'Hello, World!', shingle_size => 5) AS containment;

-- Compute the same shingles in plain SQL, for a few hundred texts of many lengths: windows of characters with substr(),
-- and windows of words with arrays.
CREATE TEMP TABLE texts AS
SELECT i, translate(left(repeat(md5(i::text) || md5((i / 2)::text), 4), i % 120), '0123456', 'abc de ') AS document
FROM generate_series(1, 300) i;
CREATE TEMP TABLE folded AS
SELECT i, document, btrim(regexp_replace(document, ' +', ' ', 'g')) AS f FROM texts;
CREATE TEMP TABLE windows AS
SELECT i, k, position, substr(f, position, k) AS shingle
FROM folded, unnest(ARRAY[1, 2, 5, 9]) k, generate_series(1, greatest(length(f) - k + 1, least(length(f), 1))) position;
CREATE TEMP TABLE word_windows AS
SELECT i, k, position, array_to_string(words[position:position + k - 1], ' ') AS shingle
FROM folded, string_to_array(f, ' ') words, unnest(ARRAY[1, 2, 5, 9]) k,
    generate_series(1, greatest(cardinality(words) - k + 1, least(cardinality(words), 1))) position;
-- Bags and sets, of characters and words: the number of texts compared, and of those where the two ways disagree.
SELECT unit, count(*) AS compared,
       count(*) FILTER (WHERE shingles(document, k, unit, bag => true) <> bag) AS bags_differ,
       count(*) FILTER (WHERE (SELECT array_agg(s ORDER BY s)
       FROM unnest(shingles(document, k, unit)) s) <> set) AS sets_differ
FROM (SELECT 'char' AS unit, i, k, array_agg(shingle ORDER BY position) AS bag, array_agg(DISTINCT shingle) AS set
    FROM windows GROUP BY i, k
      UNION ALL
      SELECT 'word', i, k, array_agg(shingle ORDER BY position), array_agg(DISTINCT shingle) FROM word_windows
      GROUP BY i, k) AS counted
JOIN texts USING (i)
GROUP BY unit ORDER BY unit;
-- Exact similarities of each text and the next, as sets and as bags. INTERSECT ALL gives the intersection of bags.
SELECT k, count(*) AS pairs, count(*) FILTER (WHERE jaccard > 0 AND jaccard < 1) AS between_0_and_1,
       bool_and(shingle_jaccard(a.document, b.document, k) = jaccard) AS jaccard,
       bool_and(shingle_containment(a.document, b.document, k) = containment) AS containment,
       bool_and(shingle_jaccard(a.document, b.document, k, bag => true) = bag_jaccard) AS bag_jaccard,
       bool_and(shingle_containment(a.document, b.document, k, bag => true) = bag_containment) AS bag_containment
FROM texts a JOIN texts b ON b.i = a.i + 1
CROSS JOIN unnest(ARRAY[1, 2, 5, 9]) k
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x > 0 AND y > 0) / coalesce(nullif(count(*), 0), 1)::float8 AS jaccard,
           count(*) FILTER (WHERE x > 0 AND y > 0) / coalesce(nullif(count(*) FILTER (WHERE x > 0), 0),
           1)::float8 AS containment,
           coalesce(sum(least(x, y)) / nullif(sum(greatest(x, y)), 0)::float8, 0) AS bag_jaccard,
           coalesce(sum(least(x, y)) / nullif(sum(x), 0)::float8, 0) AS bag_containment
    FROM (SELECT count(*) FILTER (WHERE w.i = a.i) AS x, count(*) FILTER (WHERE w.i = b.i) AS y
          FROM windows w WHERE w.i IN (a.i, b.i) AND w.k = k.k GROUP BY shingle) AS counted
) AS exact
WHERE a.i % 5 = 0
GROUP BY k ORDER BY k;

-- The shingles of a constant argument are kept from call to call. A constant must give the same results as a column,
-- on either side: where short and long texts alternate, too, and where the other arguments differ in each row.
CREATE TEMP TABLE mixed AS
SELECT i, CASE WHEN i % 50 = 0 THEN document || repeat(document, 5) || (SELECT string_agg(md5(n::text), ' ')
                                                                        FROM generate_series(i, i + 2000) n)
               WHEN i % 7 = 0 THEN translate(document, 'abc', 'äßж') ELSE document END AS document
FROM texts ORDER BY hashint4(i);
SELECT document AS constant FROM texts WHERE i = 238 \gset
SELECT count(*), count(DISTINCT shingle_jaccard(document, given, 2)) > 100 AS many_values,
       bool_and(shingle_jaccard(document, :'constant', 2) = shingle_jaccard(document, given, 2)) AS jaccard,
       bool_and(shingle_jaccard(:'constant', document, 2) = shingle_jaccard(given, document, 2)) AS turned,
       bool_and(shingle_containment(document, :'constant', 2) = shingle_containment(document, given, 2)) AS has,
       bool_and(shingle_containment(:'constant', document, 2)
                = shingle_containment(given, document, 2)) AS lies_within
FROM mixed, (SELECT document AS given FROM texts WHERE i = 238) AS constant;
SELECT unit, bag, count(*),
       bool_and(shingle_jaccard(document, :'constant', k, unit, bag => bag)
                = shingle_jaccard(document, given, k, unit, bag => bag)) AS jaccard,
       bool_and(shingle_containment(:'constant', document, k, unit, i % 3 = 0, bag)
                = shingle_containment(given, document, k, unit, i % 3 = 0, bag)) AS contained
FROM mixed, (SELECT document AS given FROM texts WHERE i = 238) AS constant, unnest(ARRAY[1, 3]) k,
    unnest(ARRAY['char', 'word']) unit, unnest(ARRAY[false, true]) bag
GROUP BY unit, bag ORDER BY unit, bag;
-- Little memory for hash tables: nothing is kept of long texts.
SET work_mem = '64kB';
SELECT bool_and(shingle_jaccard(document, :'constant') = shingle_jaccard(document, given)) AS jaccard
FROM mixed, (SELECT document AS given FROM texts WHERE i = 238) AS constant;
RESET work_mem;
-- Variables of PL/pgSQL look like constants, but change: the first, then the second, then both.
CREATE FUNCTION pg_temp.count_wrong(OUT compared integer, OUT wrong integer) AS $$
DECLARE
    r record;
BEGIN
    compared := 0;
    wrong := 0;
    FOR r IN SELECT a.document AS a, b.document AS b, shingle_jaccard(a.document, b.document) AS jaccard,
                    shingle_containment(a.document, b.document) AS containment
             FROM mixed a, mixed b WHERE b.i = 238 OR a.i = 200 OR b.i = a.i + 1
             ORDER BY b.i = 238 DESC, a.i = 200 DESC, a.i, b.i LOOP
        compared := compared + 1;
        IF shingle_jaccard(r.a, r.b) <> r.jaccard OR shingle_containment(r.a, r.b) <> r.containment THEN
            wrong := wrong + 1;
        END IF;
    END LOOP;
END
$$ LANGUAGE plpgsql;
SELECT * FROM pg_temp.count_wrong();

DROP TABLE texts, folded, windows, word_windows, mixed;
