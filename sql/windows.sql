-- lsh_windows(): cuts a text into windows of words.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
SELECT * FROM lsh_windows('one two three four five six seven', words => 3, step => 2);
SELECT * FROM lsh_windows(E'  one\ttwo \n three  ', 2, 1);
SELECT * FROM lsh_windows('one two three', 3, 3);
SELECT * FROM lsh_windows('one two three', 40);
-- Steps longer than windows would leave out words.
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY['lsh_windows(''a b c d e f g'', 2, 3)',
    'lsh_windows(''a b c d e f g'', 1, 20)', 'lsh_windows(''a b c d e f g'', 5, 5)']) call;
SELECT * FROM lsh_windows('a b c d e f g', 3);
SELECT * FROM lsh_windows('a b c', 1);
SELECT count(*) FROM lsh_windows('a b c', NULL);
SELECT count(*) FROM lsh_windows('');
SELECT count(*) FROM lsh_windows(E' \n ');
SELECT count(*) FROM lsh_windows(NULL);
-- Positions count characters, and each passage stands at its position. Every word is in a window.
CREATE TEMP TABLE texts AS
SELECT n, (SELECT string_agg(repeat('é', (n * i) % 5 + 1), repeat(' ', i % 3 + 1)) FROM generate_series(1, n) i) AS body
FROM generate_series(1, 25) n;
SELECT bool_and(substr(body, position, length(passage)) = passage) AS stand_there, count(*)
FROM texts, generate_series(1, 9) w, lsh_windows(body, w, (w + 1) / 2);
SELECT count(*) FILTER (WHERE number <> n) AS wrong
FROM (SELECT n, w, s, count(DISTINCT place) AS number
      FROM texts, generate_series(1, 7) w, generate_series(1, w) s, lsh_windows(body, w, s),
          regexp_matches(passage, '\S+', 'g') WITH ORDINALITY AS m (word, at),
          LATERAL (SELECT count(*) + at FROM regexp_matches(left(body, position - 1), '\S+', 'g')) p (place)
      GROUP BY n, w, s) c;
-- Words and white space that are longer than the piece of text that is read between two checks for cancelling.
WITH long AS (SELECT repeat('ä', 100001) || '   ' || repeat('漢字', 70000) || E'\n\t' || repeat('😀x', 50000)
    || repeat(' ', 200000) || 'end of it' AS body)
SELECT position, length(passage), substr(body, position, length(passage)) = passage AS stands_there
FROM long, lsh_windows(body, 2, 1);
SELECT lsh_windows('a b', 0);
SELECT lsh_windows('a b', 1, 0);
SELECT count(*), min(length(passage)) FROM lsh_windows(repeat('word ', 100000), 2147483647 / 2, 2147483647 / 2);
-- The recipe for documents that share passages also finds passages after the millionth character. The recipe puts an id
-- and a place into one number, and multiplies the id by a number that is larger than any place.
CREATE TEMP TABLE passages AS
WITH long AS (SELECT string_agg(repeat(md5(n::text), 10), ' ' ORDER BY n) AS body FROM generate_series(1, 4000) n)
SELECT id, position::bigint AS place, passage
FROM long, LATERAL (VALUES (1, body), (2, right(body, 10000))) AS t (id, text), lsh_windows(text, 20, 10);
SELECT a.id, b.id AS shares_with, count(*), min(a.place) > 1200000 AS late, bool_and(similarity >= 0.5) AS near
FROM lsh_pairs('SELECT id * 10000000000 + place, passage FROM passages', threshold => 0.5, max_bucket => 100)
    JOIN passages a ON a.id = left_id / 10000000000 AND a.place = left_id % 10000000000
    JOIN passages b ON b.id = right_id / 10000000000 AND b.place = right_id % 10000000000
WHERE a.id <> b.id GROUP BY 1, 2;
