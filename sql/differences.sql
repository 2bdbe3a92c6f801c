-- shingle_difference() and shingle_headline(): find where two texts differ, and show the differences.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset null '<null>'

-- A replaced word and a missing word are differences. White space and case make no difference.
SELECT * FROM shingle_difference('The quick brown fox jumps over the lazy dog near the bank of the river.',
    'A quick brown fox jumps over the  LAZY dog near the bank of the river.');
SELECT * FROM shingle_difference('The quick brown fox jumps over the lazy dog.', 'The quick fox jumps over a lazy dog.',
    2, 'word');
-- A difference includes the white space and punctuation within it, but not those before or after it.
SELECT * FROM shingle_difference(E'one two, three --\n four; five six', 'one two five six', 2, 'word');
-- Without folding, white space and punctuation are text like any other.
SELECT side, position, length, quote_literal(passage)
FROM shingle_difference('abcde  fghij', 'abcdefghij', fold => false);
-- Two passages that swap places make no difference, because both texts have their shingles. Only the shingles across
-- the seam differ.
SELECT count(*), shingle_jaccard('one two three four', 'three four one two', 2, 'word')
FROM shingle_difference('one two three four', 'three four one two', 2, 'word');
-- In bags, if one text has a shingle more often than the other, the shingle's last occurrence is the difference.
SELECT bag, side, position, passage
FROM unnest('{f, t}'::bool[]) bag, shingle_difference('a b a c a', 'c a', 1, 'word', bag => bag);
-- Texts shorter than a shingle, empty texts, NULL.
SELECT * FROM shingle_difference('cat', 'cats');
SELECT * FROM shingle_difference('cat', ' CAT ');
SELECT * FROM shingle_difference('', ' cat ');
SELECT * FROM shingle_difference('', '');
SELECT count(*) FROM shingle_difference(NULL, 'cat');
SELECT count(*) FROM shingle_difference('cat', 'dog', fold => NULL);
-- Positions count characters of the original text, even where folding changes their number of bytes.
SELECT d.*, substr(a, position, length) = passage AS there
FROM (SELECT 'STRAẞE ȺȺ東京xy e' || chr(769) || 'n' AS a, 'straße xy e' || chr(769) || 'n' AS b) t,
    shingle_difference(a, b, 3) AS d;

-- Compare many texts, with shingles of all kinds. The differences of each side come in the order of the text. They do
-- not touch each other, and each is at its stated position. If one marker character replaces each difference, the texts
-- keep all shared shingles, so that the similarity can be computed from them. The marked texts then differ exactly in
-- the markers, so no difference was too short.
CREATE TEMP TABLE texts AS
SELECT i, translate(left(repeat(md5((i / 3)::text) || md5((i / 2 + 9)::text), 4), i % 90)
    || substr(md5(i::text), 1, i % 5), '0123456789', 'ab ,É.ẞ東cd') AS body
FROM generate_series(1, 240) i;
CREATE FUNCTION pg_temp.mark(document text, by text, positions int[], lengths int[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN REVERSE coalesce(cardinality(positions), 0)..1 LOOP
        document := overlay(document placing by from positions[n] for lengths[n]);
    END LOOP;
    RETURN document;
END $$;
CREATE FUNCTION pg_temp.shared(a text, b text, k int, unit text, fold bool, bag bool) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT unnest(shingles(a, k, unit, fold, bag))
        INTERSECT ALL SELECT unnest(shingles(b, k, unit, fold, bag))) q $$;
CREATE TEMP TABLE compared AS
SELECT a.body AS a, b.body AS b, k, unit, fold, bag, d.*, pg_temp.mark(a.body, chr(1), of_a, lengths_a) AS marked_a,
    pg_temp.mark(b.body, chr(2), of_b, lengths_b) AS marked_b
FROM texts a JOIN texts b ON b.i = a.i + 1, unnest('{1, 3, 5}'::int[]) k, unnest('{char, word}'::text[]) unit,
    unnest('{f, t}'::bool[]) fold, unnest('{f, t}'::bool[]) bag,
    LATERAL (SELECT count(*) AS n, count(*) FILTER (WHERE side = 'a') AS n_a,
            bool_and(passage = substr(CASE side WHEN 'a' THEN a.body ELSE b.body END, position, length)) AS there,
            bool_and(apart) AS apart,
            array_agg(position) FILTER (WHERE side = 'a') AS of_a,
            array_agg(position) FILTER (WHERE side = 'b') AS of_b,
            array_agg(length) FILTER (WHERE side = 'a') AS lengths_a,
            array_agg(length) FILTER (WHERE side = 'b') AS lengths_b
        FROM (SELECT *, position > coalesce(lag(position + length) OVER (PARTITION BY side ORDER BY number), 0) AS apart
            FROM shingle_difference(a.body, b.body, k, unit, fold, bag) WITH ORDINALITY
                AS d (side, position, length, passage, number)) d) d;
SELECT count(*) AS compared, count(*) FILTER (WHERE n > 2) AS with_several, bool_and(there) AS there,
    bool_and(apart) AS apart FROM compared;
SELECT unit, bool_and(shared / greatest(shingles_a + shingles_b - shared, 1)::float8
        = shingle_jaccard(a, b, k, unit, fold, bag)) AS gives_jaccard,
    bool_and(again) AS again, count(*) FILTER (WHERE shared > 0) AS similar
FROM compared, LATERAL (SELECT pg_temp.shared(marked_a, marked_b, k, unit, fold, bag) AS shared,
        cardinality(shingles(a, k, unit, fold, bag)) AS shingles_a,
        cardinality(shingles(b, k, unit, fold, bag)) AS shingles_b,
        (SELECT count(*) = n AND count(*) FILTER (WHERE side = 'a') = n_a
            AND coalesce(bool_and(passage = CASE side WHEN 'a' THEN chr(1) ELSE chr(2) END), true)
            FROM shingle_difference(marked_a, marked_b, k, unit, fold, bag)) AS again) s
GROUP BY unit ORDER BY unit;
-- shingle_headline() with HighlightAll shows the whole text, with all differences marked. Without the marks, it is the
-- text itself.
SELECT bool_and(translate(shingle_headline(a, b, E'HighlightAll=true, StartSel=\x03, StopSel=\x04', k, unit, fold, bag),
        chr(3) || chr(4), '') = a) AS same,
    bool_and(length(shingle_headline(a, b, E'HighlightAll=true, StartSel=\x03, StopSel=\x04', k, unit, fold, bag))
        = length(a) + 2 * n_a) AS marked
FROM compared WHERE n > 0;

-- The headline of a short text is the whole text. For a long text, it shows the first differences with some words
-- around them.
SELECT shingle_headline('Colourless green ideas sleep furiously.', 'Colorless green ideas sleep furiously.');
SELECT regexp_split_to_table(shingle_headline(b, a, 'StartSel="[", StopSel="]"'), '(?= [.]{3} |(?<=w35))') AS of_b
FROM (SELECT string_agg(CASE WHEN i % 40 = 7 THEN 'here' ELSE 'w' || i END, ' ' ORDER BY i) AS a,
    string_agg(CASE WHEN i % 40 = 7 THEN 'there now' ELSE 'w' || i END, ' ' ORDER BY i) AS b
    FROM generate_series(1, 300) i) t;
-- The options are those of ts_headline(), in upper or lower case.
CREATE FUNCTION pg_temp.headline(options text, changed text) RETURNS text LANGUAGE sql AS $$
    SELECT shingle_headline(E'  one two three four  five\tsix seven eight nine ten eleven twelve thirteen fourteen ',
        changed, options || ', StartSel=[, StopSel=]', 1, 'word') $$;
SELECT o AS options, pg_temp.headline(o, 'one three four five six seven eight nine ten twelve thirteen')
FROM unnest(ARRAY['MaxWords=3', 'MaxWords=4', 'maxwords=1', 'MaxWords=5, MaxFragments=1',
    'MaxWords=5,FragmentDelimiter=" ## "', 'MaxWords=6', 'MaxWords=9', 'MaxWords=50', 'HIGHLIGHTALL=on',
    'MaxWords=1, MaxFragments=1, HighlightAll=yes']) o;
SELECT quote_literal(shingle_headline(' one two three', 'One Two Three', 'MaxWords=2')) AS no_difference,
    pg_temp.headline('MaxWords=4', '') AS all_of_it, quote_literal(shingle_headline('', 'b')) AS empty,
    quote_literal(shingle_headline(E' \n', '')) AS blank, shingle_headline('a', NULL) AS "null";
-- A passage that is longer than a fragment is cut. In text without white space, every 20 characters count as a word.
SELECT shingle_headline(string_agg('new' || i, ' '), 'old', 'MaxWords=3, MaxFragments=9', 1, 'word')
FROM generate_series(1, 100) i;
SELECT shingle_headline(long || '東京' || long, long, 'MaxWords=2', 2) AS two,
    shingle_headline(long || '東京' || long, long, 'MaxWords=1', 2) AS one FROM repeat('日本', 100) long;
-- Differences may begin or end with white space, or consist only of white space. The headline still shows parts of the
-- text.
SELECT quote_literal(shingle_headline(E' \n', 'word', fold => false)) AS blank;
SELECT count(*) AS parts, count(*) FILTER (WHERE position(part IN a) = 0) AS wrong
FROM (SELECT translate(md5(i::text), '0123456789abcdef', 'abc    ab    bac') AS a,
        translate(md5((i % 50)::text), '0123456789abcdef', 'abc    ab    bac') AS b,
        format('MaxWords=%s, MaxFragments=3, FragmentDelimiter="#", StartSel="", StopSel=""', 1 + i % 4) AS options,
        1 + i % 5 AS k FROM generate_series(1, 2000) i) t,
    string_to_table(shingle_headline(a, b, options, k, fold => false), '#') part;
SELECT pg_temp.error_of(format('SELECT shingle_headline(''a'', ''b'', %L)', o))
FROM unnest(ARRAY['MinWords=3', 'MaxWords=0', 'MaxFragments=-1', 'MaxWords=x', 'HighlightAll=perhaps', 'StartSel']) o;
SELECT pg_temp.error_of('SELECT shingle_headline(''a'', ''b'', shingle_size => 0)'),
    pg_temp.error_of('SELECT * FROM shingle_difference(''a'', ''b'', unit => ''line'')');
-- Long texts.
SELECT count(*), min(position), max(position), shingle_headline(a, b, 'MaxWords=2', 1, 'word') AS headline
FROM (SELECT string_agg(i::text, ' ' ORDER BY i) AS a,
        string_agg(CASE WHEN i % 1000 = 0 THEN 'x' || i ELSE i::text END, ' ' ORDER BY i) AS b
    FROM generate_series(1, 100000) i) t, shingle_difference(a, b, 1, 'word') GROUP BY a, b;
-- Differences and headlines never cut a grapheme cluster: a letter with its marks, an emoji sequence, a flag, a
-- syllable. What differs here is one code point: a mark, a joined emoji, half of a flag, a last consonant, a skin tone.
-- (Versions of psql differ in their widths.)
\pset format unaligned
SELECT shingle_headline(a, b, 'StartSel=[, StopSel=]', k, fold => false) AS headline, position, length,
    passage = substr(a, position, length) AS found
FROM (VALUES (1, U&'cafe\0301 noir', 'cafe noir'), (1, U&'cafe\0301\0302 noir', U&'cafe\0302 noir'),
    (1, U&'e\0301\0302\0303x', U&'e\0302x'),
    (1, U&'a \+01F469\200D\+01F4BB b', U&'a \+01F469\200D\+01F525 b'),
    (1, U&'x\+01F1E9\+01F1EAy', U&'x\+01F1E9\+01F1EBy'),
    (1, U&'\+01F44D\+01F3FD!', U&'\+01F44D!'), (1, U&'\0928\093F \0928', U&'\0928 \0928'),
    (1, U&'\1112\1161\11AB', U&'\1112\1161')) AS v (k, a, b),
    shingle_difference(a, b, k, fold => false) WHERE side = 'a';
\pset format aligned
-- Words without white space are cut between clusters.
SELECT shingle_headline(repeat(U&'e\0301', 50), '', 'MaxWords=1') = '<b>' || repeat(U&'e\0301', 20) || '</b>' AS marks,
    shingle_headline(repeat(U&'\+01F1E9\+01F1EA', 50), '', 'MaxWords=1') =
        '<b>' || repeat(U&'\+01F1E9\+01F1EA', 20) || '</b>' AS flags,
    shingle_headline(repeat(U&'\+01F469\200D\+01F4BB', 50), '', 'MaxWords=1') =
        '<b>' || repeat(U&'\+01F469\200D\+01F4BB', 20) || '</b>' AS sequences;
