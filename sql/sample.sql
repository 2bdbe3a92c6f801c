-- lsh_sample(): estimates from a sample how many pairs there are. Its intervals are tried with 10 seeds here, or with
-- MINHASH_SEEDS; test/bench/sample_bench.sh has more texts, and test/unit/anchors_test.cpp tries the statistics alone.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\set seeds 10
\getenv seeds MINHASH_SEEDS
SET client_min_messages = warning;
CREATE SCHEMA sample;
SET search_path = sample, public;

-- A text of so many words, which differs from the common text of its family in one word.
CREATE FUNCTION family_text(family bigint, member bigint, words integer DEFAULT 20) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(left(md5(concat(family, '-', w,
        CASE WHEN w = 1 + member % words THEN '-' || member END)), 6), ' ')
    FROM generate_series(1, words) AS w
$$;
CREATE FUNCTION template_text(number bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'Dear customer, thank you for your order with our shop. Your parcel has been handed to the carrier. Should '
        'anything be missing or broken, then write to us, and we will help. Number ' || 100000 + number * 37
$$;

-- If there are at most 2,000 rows, all of them are compared, and everything is what lsh_pairs() finds.
CREATE TABLE families AS SELECT i AS id, CASE WHEN i <= 300 THEN 'family ' || repeat(md5('f'), 20) || i
    WHEN i <= 1000 THEN 'pair ' || (i / 2) || repeat(md5((i / 2)::text), 10)
    ELSE (SELECT string_agg(md5(i::text || g), ' ') FROM generate_series(1, 10) g) END AS body
FROM generate_series(1, 1500) AS i;
SELECT row_count, s.pairs = p.count AND pairs_low = s.pairs AND pairs_high = s.pairs AS pairs, near_share = share AND
    near_share_low = share AND near_share_high = share AS near_share, median_shingles, seconds > 0 AS seconds
FROM lsh_sample('SELECT id, body FROM families; ') AS s, lsh_pairs('SELECT id, body FROM families') AS l
    CROSS JOIN LATERAL (SELECT count(*) FROM lsh_pairs('SELECT id, body FROM families')) AS p,
    (SELECT count(*) / 1500.0::float8 AS share FROM lsh_clusters('SELECT id, body FROM families')) AS c LIMIT 1;

-- Of more rows, 1,000 are compared with the others. The kinds of texts have small and large families, families of
-- texts of different lengths, a few families of long texts, and none.
CREATE TABLE kinds (kind text, family text, words text, pairs bigint, near float8);
INSERT INTO kinds VALUES ('all alone', 'i * 1000', NULL),
    ('half in pairs', 'CASE WHEN i % 4 < 2 THEN i / 4 ELSE i * 1000 END', NULL),
    ('a fifth in twenties', 'CASE WHEN i % 100 < 20 THEN i / 100 ELSE i * 1000 END', NULL),
    ('five hundred and pairs', 'CASE WHEN i <= 500 THEN 0 WHEN i % 10 < 2 THEN i / 10 ELSE i * 1000 END', NULL),
    ('of all sizes', 'floor(4000 ^ (i / 4000.0))::int + CASE WHEN i % 3 = 0 THEN i * 30000 ELSE 0 END', NULL),
    ('long pages', 'i / 500', '60'),
    ('of mixed lengths', 'CASE WHEN i % 3 = 0 THEN i * 1000 ELSE i / 40 END', '(5 + 20 * (i / 40 % 6))::int');
CREATE TABLE outcomes AS SELECT ''::text AS kind, s.* FROM lsh_sample('SELECT 1, ''a''') AS s LIMIT 0;
CREATE PROCEDURE try_kinds(seeds integer) LANGUAGE plpgsql AS $$
DECLARE
    k kinds;
    query text := 'SELECT id, body FROM texts';
BEGIN
    FOR k IN SELECT * FROM kinds LOOP
        EXECUTE format('CREATE TABLE texts AS SELECT i AS id, family_text(%s, i, %s) AS body
            FROM generate_series(1::bigint, 4000) AS i', k.family, coalesce(k.words, '20'));
        UPDATE kinds SET pairs = (SELECT count(*) FROM lsh_pairs(query, threshold => 0.6, recall => 0.9999)),
            near = (SELECT count(*) / 4000.0 FROM lsh_clusters(query, threshold => 0.6, recall => 0.9999))
        WHERE kind = k.kind;
        INSERT INTO outcomes SELECT k.kind, s.*
        FROM generate_series(1, seeds) AS seed, lsh_sample(query, threshold => 0.6, seed => seed) AS s;
        DROP TABLE texts;
    END LOOP;
END $$;
CALL try_kinds(:seeds);
-- Of 100 intervals that hold in 95 of 100 samples, 85 or more do with a probability of 99.99%.
SELECT kind, count(*) FILTER (WHERE k.pairs BETWEEN pairs_low AND pairs_high) >= 0.85 * count(*) AS pairs,
    count(*) FILTER (WHERE near BETWEEN near_share_low AND near_share_high) >= 0.85 * count(*) AS near_share,
    max(near_share_high - near_share_low) < 0.07 AS is_narrow, max(abs(near_share - near)) < 0.06 AS is_near,
    max(pairs_high) < 2 * max(k.pairs) + 5000 AS few_pairs
FROM kinds AS k JOIN outcomes AS o USING (kind) GROUP BY kind ORDER BY kind;
SELECT count(DISTINCT pairs) > 0.4 * :seeds AS differ FROM outcomes WHERE kind = 'of all sizes';

-- The same seed gives the same sample. The next queries have other ids, signatures, estimates, a scope, NULLs and empty
-- texts, or no rows.
CREATE TABLE docs AS SELECT i AS id, i % 2 AS part, family_text(i / 4, i) AS body FROM generate_series(1, 4000) AS i;
CREATE TABLE truth AS SELECT count(*) AS pairs FROM lsh_pairs('SELECT id, body FROM docs', threshold => 0.6);
SELECT count(DISTINCT s.pairs) FROM generate_series(1, 3), lsh_sample('SELECT id, body FROM docs', seed => 7) AS s;
SELECT s.pairs / t.pairs::float8 BETWEEN 0.9 AND 1.1 AS uuids
FROM lsh_sample('SELECT md5(id::text)::uuid, body FROM docs', 0.6) AS s, truth AS t;
SELECT s.pairs / t.pairs::float8 BETWEEN 0.7 AND 1.3 AS signatures, median_shingles
FROM lsh_sample('SELECT id, minhash(body) FROM docs', 0.6) AS s, truth AS t;
SELECT s.pairs / t.pairs::float8 BETWEEN 0.7 AND 1.3 AS estimates
FROM lsh_sample('SELECT id, body FROM docs', 0.6, verify => 'estimate', num_hashes => 64) AS s, truth AS t;
SELECT s.pairs / t.pairs::float8 BETWEEN 0.2 AND 0.4 AS of_a_part, near_share > 0.9 AS near_share
FROM lsh_sample('SELECT id, body, part AS scope FROM docs', 0.6) AS s, truth AS t;
SELECT row_count, near_share BETWEEN 0.4 AND 0.6 AS half, pairs_high > pairs AS pairs FROM lsh_sample(
    'SELECT nullif(id, 4), CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN '''' ELSE body END FROM docs', 0.6);
SELECT row_count, pairs, pairs_low, pairs_high, near_share, near_share_high, memory, median_shingles
FROM lsh_sample('SELECT id, body FROM docs WHERE false');
SELECT row_count, pairs, near_share FROM lsh_sample('SELECT id, '''' FROM docs');
SELECT row_count, pairs, near_share FROM lsh_sample('SELECT id, body FROM docs WHERE id = 1');

-- The memory is what the notice of lsh_pairs() says. If the query sorts its rows, or computes the texts, lsh_pairs()
-- must also keep the texts.
SELECT (SELECT memory FROM lsh_sample('SELECT id, body FROM docs')) AS scanned,
    (SELECT memory FROM lsh_sample('SELECT id, body FROM docs ORDER BY id + 0')) > 4000 * 300 AS sorted,
    (SELECT memory FROM lsh_sample('SELECT id, lower(body) FROM docs')) > 4000 * 300 AS computed;

-- If most texts are short, a notice says so.
SET client_min_messages = notice;
SELECT pairs, median_shingles FROM lsh_sample($$VALUES (1, 'Meyer'), (2, 'Meier'), (3, 'cats'), (4, 'Smith Ltd')$$);
SELECT pairs, median_shingles
FROM lsh_sample($$VALUES (1, 'Meyer'), (2, 'Meier'), (3, 'cats'), (4, 'Smith Ltd')$$, 0.5, shingle_size => 3);

-- However many rows are near each other, the sample is cheap: debugging messages say how much was compared. They are
-- half a million comparisons, and 99 million pairs of equal rows, for which no texts are compared.
CREATE TABLE templates AS SELECT i AS id, template_text(i) AS body FROM generate_series(1, 20000) AS i;
SET client_min_messages = debug1;
SELECT row_count, pairs > 4.4e6 AS pairs, near_share
FROM lsh_sample('SELECT id, body FROM templates WHERE id <= 3000') AS s;
SELECT row_count, pairs BETWEEN 1.9e8 AND 2e8 AS pairs, near_share > 0.95 AS near_share
FROM lsh_sample('SELECT id, body FROM templates') AS s;
SELECT row_count, pairs, near_share
FROM lsh_sample('SELECT i, ''one text for all of these rows'' FROM generate_series(1, 100000) AS i') AS s;
RESET client_min_messages;
SET client_min_messages = warning;

-- If there are many rows and an lsh index, the near rows of anchors are looked up. (The planner is made to believe that
-- there are many.) The index is used on a standby and in read-only transactions, too, whatever the names are.
CREATE SCHEMA "100%";
CREATE TABLE "100%"."a\b%s" (LIKE docs);
INSERT INTO "100%"."a\b%s" TABLE docs;
ALTER TABLE "100%"."a\b%s" ADD PRIMARY KEY (id);
CREATE INDEX docs_body ON "100%"."a\b%s" USING lsh (minhash(body));
VACUUM ANALYZE "100%"."a\b%s";
UPDATE pg_class SET reltuples = 1e9 WHERE oid = '"100%"."a\b%s"'::regclass;
SET jit = off;
-- Backslashes may be escapes in the session; PostgreSQL 19 has only strings where they are not.
SELECT current_setting('server_version_num')::int < 190000 AS has_nonconforming_strings \gset
\if :has_nonconforming_strings
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
-- A first call fills the caches of the catalogue, which have messages of the same level.
SELECT count(*) FROM lsh_sample(E'SELECT id, body FROM "100%"."a\\b%s" WHERE body <> E''\\\\%s'' -- 100%', 0.6);
SET client_min_messages = debug1;
BEGIN READ ONLY;
SELECT row_count, s.pairs / t.pairs::float8 BETWEEN 0.9 AND 1.1 AS pairs, near_share > 0.95 AS near_share
FROM lsh_sample(E'SELECT id, body FROM "100%"."a\\b%s" WHERE body <> E''\\\\%s'' -- 100%', 0.6) AS s, truth AS t;
COMMIT;
\if :has_nonconforming_strings
RESET standard_conforming_strings;
RESET escape_string_warning;
\endif
SELECT row_count, s.pairs / t.pairs::float8 BETWEEN 0.2 AND 0.4 AS of_a_part, near_share > 0.95 AS near_share
FROM lsh_sample('SELECT id::text, body, part AS scope FROM "100%"."a\b%s"', 0.6) AS s, truth AS t;
-- Settings under which the text of ids would not tell them apart, or would mean something else (IST is Israel's time).
SET client_min_messages = warning;
SET extra_float_digits = -9;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SELECT ids, row_count, s.pairs / t.pairs::float8 BETWEEN 0.9 AND 1.1 AS pairs
FROM unnest(ARRAY['id + 1e15::float8', 'to_timestamp(id)']) AS ids, truth AS t,
    lsh_sample(format('SELECT %s, body FROM "100%%"."a\b%%s" WHERE ''3/4/2026''::date = ''2026-04-03''', ids), 0.6) s;
RESET extra_float_digits;
RESET datestyle;
RESET timezone;
SET client_min_messages = debug1;
-- If the query also reads a table that has no index, each lookup would read that table, so nothing is looked up.
BEGIN;
UPDATE pg_class SET reltuples = 1e9, relpages = 100 WHERE oid = 'docs'::regclass;
SELECT query, drawn IS NOT NULL AS looks_up FROM unnest(ARRAY['SELECT id, body FROM "100%"."a\b%s"',
    'SELECT id, body FROM "100%"."a\b%s" UNION ALL SELECT id, body FROM docs']) AS query,
    _lsh_sample_plan(query, 'sample, public', 23, false, false, 1000, 1, 0.6, NULL, NULL, NULL, NULL, NULL, NULL);
ROLLBACK;
-- Lookups that find many rows would be slow, so all rows are read instead.
UPDATE "100%"."a\b%s" SET body = template_text(id);
SELECT row_count, near_share > 0.95 AS near_share FROM lsh_sample('SELECT id, body FROM "100%"."a\b%s"', 0.6) AS s;
RESET client_min_messages;
SET client_min_messages = warning;

-- More than 64 MB of texts, without an index: anchors are compared with a share of the other rows, so the share of rows
-- that have a near row is between bounds; but if a row has many near rows, some of them are seen.
CREATE TABLE large AS SELECT i AS id, i || repeat(md5((i / 2)::text), 30) AS body
FROM generate_series(0, 99999) AS i;
ANALYZE large;
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM large', 0.5) \gset in_pairs_
SET client_min_messages = debug1;
SELECT row_count, :in_pairs_count BETWEEN pairs_low AND pairs_high AS pairs, near_share, near_share_low > 0.5 AS low,
    near_share_high AS high FROM lsh_sample('SELECT id, body FROM large', 0.5);
RESET client_min_messages;
SET client_min_messages = warning;
UPDATE large SET body = id || repeat(md5((id / 30)::text), 30);
ANALYZE large;
SELECT count(*) FROM lsh_pairs('SELECT id, body FROM large', 0.5) \gset in_thirties_
SELECT row_count, :in_thirties_count BETWEEN pairs_low AND pairs_high AS pairs, near_share > 0.95 AS near_share
FROM lsh_sample('SELECT id, body FROM large', 0.5);

-- Calls that are refused.
SELECT call, pg_temp.error_of('SELECT ' || call) FROM unnest(ARRAY['lsh_sample(NULL)', 'lsh_sample(''docs'')',
    'lsh_sample(''docs'', ''id'', ''body'')', 'lsh_sample(''"100%"."a\b%s"'', ''body'')',
    'lsh_sample(''SELECT id, body FROM docs'', ''uuid'')', 'lsh_sample(''SELECT id, body FROM docs'', NULL::uuid)',
    'lsh_sample(''SELECT id, bodi FROM docs'')', 'lsh_sample(''SELECT'')', 'lsh_sample(''DELETE FROM docs'')',
    'lsh_sample(''SELECT id, body FROM docs'', share => -0.1)',
    'lsh_sample(''SELECT id, body FROM docs'', share => 1.1)',
    'lsh_sample(''SELECT id, body FROM docs'', share => NULL)', 'lsh_sample(''SELECT id FROM docs'')',
    'lsh_sample(''SELECT id, part FROM docs'')', 'lsh_sample(''SELECT id, body FROM docs'', verify => ''x'')',
    'lsh_sample(''SELECT id, body FROM docs'', threshold => 2)']) AS call;

RESET search_path;
DROP SCHEMA sample, "100%" CASCADE;
