-- A text has the same signature in databases of all encodings.
\pset format unaligned
\pset tuples_only on
\set home :DBNAME
\encoding UTF8

-- Drop databases that an interrupted earlier run may have left.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS minhash_lsh_latin1;
DROP DATABASE IF EXISTS minhash_lsh_win1252;
DROP DATABASE IF EXISTS minhash_lsh_euc_jp;
DROP DATABASE IF EXISTS minhash_lsh_sql_ascii;
RESET client_min_messages;

-- Make the expected results in this test's own database, whose encoding is UTF8. Texts are converted in pieces, so
-- there are short texts, long texts, and texts in which a piece begins at each byte of a character. (One digest stands
-- for many signatures.)
SELECT getdatabaseencoding();
SELECT minhash('Café NAÏVE', 16) AS cafe, shingles('Café NAÏVE', 3) AS cafe_shingles \gset
SELECT :'cafe' AS cafe, :'cafe_shingles' AS shingles;
SELECT minhash('日本語のテキスト、ｱｲｳ丂丄', 16) AS japanese, minhash('日本語 のテキスト、ｱｲｳ　丂丄', 16, 1, 'word') AS japanese_words \gset
SELECT :'japanese' AS japanese, :'japanese_words' AS words;
SELECT minhash('µ ÿ ß Å', 16) AS micro \gset
SELECT md5(string_agg(minhash(repeat('x', n) || repeat('É', 2000) || n, 16)::text, '' ORDER BY n)) AS latin
    FROM generate_series(500, 530) n \gset
SELECT md5(string_agg(minhash(repeat('x', n) || repeat('日本語ｱ丂', 300) || n, 16)::text, '' ORDER BY n)) AS kanji
    FROM generate_series(500, 530) n \gset
SELECT minhash(string_agg('Élan ' || i, 'Ü ' ORDER BY i), 16) AS long_latin,
    minhash(string_agg('日本語 ' || i, '丂。' ORDER BY i), 16, 2, 'word', bag => true) AS long_kanji
    FROM generate_series(1, 20000) i \gset
SELECT minhash_elements(ARRAY['é', 'Größe', 'Café NAÏVE', 'ascii', repeat('É', 5000)], 16) AS latin_members,
    minhash_elements(ARRAY['日', '日本', '日本語のテキスト', 'ascii', repeat('日本語ｱ丂', 1000)], 16) AS kanji_members \gset
SELECT minhash_elements('日 日本語 ascii'::tsvector, 16) AS lexemes \gset

-- LATIN1.
CREATE DATABASE minhash_lsh_latin1 TEMPLATE template0 ENCODING 'LATIN1'
    LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c minhash_lsh_latin1
\encoding UTF8
CREATE EXTENSION minhash_lsh;
SELECT getdatabaseencoding(), octet_length('Café NAÏVE');
SELECT minhash('Café NAÏVE', 16)::text = :'cafe' AS cafe, shingles('Café NAÏVE',
    3)::text = :'cafe_shingles' AS shingles, minhash('µ ÿ ß Å', 16)::text = :'micro' AS micro;
SELECT md5(string_agg(minhash(repeat('x', n) || repeat('É', 2000) || n, 16)::text, '' ORDER BY n)) = :'latin' AS pieces
    FROM generate_series(500, 530) n;
SELECT minhash(string_agg('Élan ' || i, 'Ü ' ORDER BY i), 16)::text = :'long_latin' AS long
    FROM generate_series(1, 20000) i;
SELECT minhash_elements(ARRAY['é', 'Größe', 'Café NAÏVE', 'ascii', repeat('É', 5000)],
    16)::text = :'latin_members' AS members;
SELECT shingle_jaccard('ÀÉÎ', 'àéî', 1) AS folded, shingles('a' || chr(160) || 'b', 3) AS no_break_space,
    shingles('«oui»', 1, 'word') AS quotes;
-- µ folds to a letter that LATIN1 does not have. Texts with it can be signed and compared; in their folded shingles,
-- the letter is shown as a question mark.
SELECT shingle_jaccard('5 µm', '5 µM', 1) AS similarity, shingles('5 µm', 4, fold => false) AS unfolded;
SELECT shingles('5 µm', 4), shingles('5 µm', 1), shingles('µµé', 2),
    shingles('x' || repeat('é', 3000) || 'µ', 1, 'word') = ARRAY['x' || repeat('é', 3000) || '?'] AS long;
-- substr() finds differences at their stated positions, even after a letter that folds to a letter that LATIN1 does not
-- have.
SELECT d.*, substr(CASE side WHEN 'a' THEN a ELSE b END, position, length) = passage AS there,
    shingle_headline(a, b, '', 3)
FROM (VALUES ('µÿß Élan vital, naïve', 'µÿß élan total')) t (a, b), shingle_difference(a, b, 3) d;

-- WIN1252 has five bytes that are no characters.
\c :home
CREATE DATABASE minhash_lsh_win1252 TEMPLATE template0 ENCODING 'WIN1252'
    LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c minhash_lsh_win1252
\encoding UTF8
CREATE EXTENSION minhash_lsh;
SELECT minhash(byte) IS NOT NULL AS signed, shingles('Œ' || byte || 'µ', 2),
    shingles(byte, 1, fold => false) AS unfolded
FROM unnest(ARRAY[E'\x81', E'\x8d', E'\x8f', E'\x90', E'\x9d']) AS byte;

-- EUC_JP: characters of one, two and three bytes.
\c :home
CREATE DATABASE minhash_lsh_euc_jp TEMPLATE template0 ENCODING 'EUC_JP'
    LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c minhash_lsh_euc_jp
\encoding UTF8
CREATE EXTENSION minhash_lsh;
SELECT getdatabaseencoding(), octet_length('a日丂ｱ');
-- EUC_JP allows the bytes A9 A1, but Unicode has no character for them. Such bytes are signed unchanged.
SELECT minhash_similarity(minhash(E'\xa9\xa1 abcdef'), minhash(E'\xa9\xa1 abcdef')) AS same,
       minhash_similarity(minhash(E'\xa9\xa1 abcdef'), minhash('abcdef')) < 1 AS differs_without,
       shingles(E'日\xa9\xa1本 a', 3) AS shown,
       shingle_headline(E'日\xa9\xa1 abc', '日 abc', shingle_size => 1) = E'日<b>\xa9\xa1</b> abc' AS headline;
SELECT minhash('日本語のテキスト、ｱｲｳ丂丄', 16)::text = :'japanese' AS japanese,
    minhash('日本語 のテキスト、ｱｲｳ　丂丄', 16, 1, 'word')::text = :'japanese_words' AS words;
SELECT md5(string_agg(minhash(repeat('x', n) || repeat('日本語ｱ丂', 300) || n, 16)::text, '' ORDER BY n)) =
    :'kanji' AS pieces FROM generate_series(500, 530) n;
SELECT minhash(string_agg('日本語 ' || i, '丂。' ORDER BY i), 16, 2, 'word', bag => true)::text = :'long_kanji' AS long
    FROM generate_series(1, 20000) i;
SELECT minhash_elements(ARRAY['日', '日本', '日本語のテキスト', 'ascii', repeat('日本語ｱ丂', 1000)],
    16)::text = :'kanji_members' AS members, minhash_elements('日 日本語 ascii'::tsvector,
    16)::text = :'lexemes' AS lexemes,
       minhash_elements(ARRAY[E'\xa9\xa1 abcdef']) <> minhash_elements(ARRAY['abcdef']) AS no_character;
SELECT shingles('東京都庁', 2), shingles('東京、 京都。', 1, 'word'), shingle_jaccard('ＡＢＣ東京', 'ａｂｃ東京', 2) AS full_width;
SELECT side, position, length, encode(convert_to(passage, 'EUC_JP'), 'hex') AS passage,
    substr(CASE side WHEN 'a' THEN a ELSE b END, position, length) = passage AS there
FROM (VALUES (E'丂ｱ日本語 ＡＢＣ\xa9\xa1東京都', '丂ｱ日本語 ａｂｃ東京 都')) t (a, b), shingle_difference(a, b, 3) d;

-- SQL_ASCII does not say what bytes mean. Where they are valid UTF-8, they are read as UTF-8. Any other byte is a
-- character of its own.
\c :home
CREATE DATABASE minhash_lsh_sql_ascii TEMPLATE template0 ENCODING 'SQL_ASCII'
    LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c minhash_lsh_sql_ascii
CREATE EXTENSION minhash_lsh;
SELECT getdatabaseencoding();
SELECT minhash('Café NAÏVE', 16)::text = :'cafe' AS cafe, minhash('日本語のテキスト、ｱｲｳ丂丄', 16)::text = :'japanese' AS japanese;
SELECT md5(string_agg(minhash(repeat('x', n) || repeat('日本語ｱ丂', 300) || n, 16)::text, '' ORDER BY n)) =
    :'kanji' AS pieces FROM generate_series(500, 530) n;
SELECT minhash_elements(ARRAY['日', '日本', '日本語のテキスト', 'ascii', repeat('日本語ｱ丂', 1000)],
    16)::text = :'kanji_members' AS members;
-- Invalid UTF-8: bytes that cannot start a sequence, sequences cut short, an overlong form, a surrogate and a code
-- point above the highest.
SELECT encode(convert_to(document, 'SQL_ASCII'), 'hex') AS bytes,
    (SELECT string_agg(encode(convert_to(s, 'SQL_ASCII'), 'hex'), ' ')
    FROM unnest(shingles(document, 1)) s) AS characters,
       minhash_similarity(minhash(document), minhash(document)) AS itself,
       minhash_similarity(minhash(document), minhash('abc')) AS other
FROM unnest(ARRAY[E'\xff\xfe\x80', E'A\x80Z', E'caf\xe9', E'\xe6\x97', E'\xe6\x97\xa5', E'\xc0\xaf', E'\xed\xa0\x80',
    E'\xf4\x90\x80\x80', E'\xf0\x9f\x98', E'\xe6\x97A']) document;
SELECT minhash_similarity(minhash(repeat(E'\xe6\x97', 5000)), minhash(repeat(E'\xe6\x97', 4000))) AS long_and_cut,
    shingle_jaccard(repeat(E'\xff', 10000), repeat(E'\xff', 5000)) AS exact,
       minhash(repeat(E'\xff', 10000), unit => 'word') IS NOT NULL AS words,
       minhash(repeat(E'\xe6\x97 ', 3000), bag => true, unit => 'word') IS NOT NULL AS bag;
-- With SQL_ASCII, substr() counts bytes. No difference begins or ends within a UTF-8 character.
SELECT side, position, length, encode(convert_to(passage, 'SQL_ASCII'), 'hex') AS passage,
    substr(CASE side WHEN 'a' THEN a ELSE b END, position, length) = passage AS there
FROM (VALUES (E'日本語 É\xff ẞ東京都', E'日本語 é\xfe ß東京')) t (a, b), shingle_difference(a, b, 2) d;

\c :home
DROP DATABASE minhash_lsh_latin1;
DROP DATABASE minhash_lsh_win1252;
DROP DATABASE minhash_lsh_euc_jp;
DROP DATABASE minhash_lsh_sql_ascii;
