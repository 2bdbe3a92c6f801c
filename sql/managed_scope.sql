-- Band tables with a scope: only rows that are equal in a column share keys, and are found by lookups.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- A family of texts that are near each other.
CREATE FUNCTION pg_temp.doc(family int, replaced int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(format('%s %s %s', family, word, word = replaced)), ' ' ORDER BY word)
    FROM generate_series(1, 20) word
$$;

-- Keys of a scope: an XOR of the keys with its hash, so equal values have equal keys, whatever their type.
SELECT lsh_band_keys(sig, 4, 4) && lsh_band_keys(sig, 4, 4, 7) AS unscoped,
    lsh_band_keys(sig, 4, 4, 7) && lsh_band_keys(sig, 4, 4, 8) AS of_another,
    lsh_band_keys(sig, 4, 4, 7) = lsh_band_keys(sig, 4, 4, 7::bigint) AS of_types,
    lsh_band_keys(sig, 4, 4, 1.0) = lsh_band_keys(sig, 4, 4, 1.00) AS of_numerics,
    lsh_band_keys(sig, 4, 4, 'a'::text) = lsh_band_keys(sig, 4, 4, 'a'::varchar) AS of_texts,
    lsh_band_keys(sig, 4, 4, 'a'::char(3)) = lsh_band_keys(sig, 4, 4, 'a'::char(5)) AS padded,
    lsh_band_keys(sig, 4, 4, NULL::int) IS NULL AS without,
    lsh_band_keys(minhash(''), 4, 4, 7) AS empty,
    lsh_band_keys(sig, 4, 4, 7) = (SELECT array_agg(key ORDER BY band) FROM lsh_bands(sig, 4, 4, 7)) AS as_rows,
    (SELECT count(DISTINCT a # b) FROM unnest(lsh_band_keys(sig, 4, 4), lsh_band_keys(sig, 4, 4, 7)) k (a, b)) AS hashes
FROM minhash('some text') sig;
SELECT pg_temp.error_of(format('SELECT lsh_band_keys(minhash(''a''), 4, 4, %s)', scope))
FROM unnest(ARRAY['''{}''::json', '''unknown''',
    'ROW(''{}''::json)', '''a'' COLLATE "C" || ''b'' COLLATE "POSIX"']) scope;
-- They do not change from one server to another, unless the type's own hash does: a dump takes them along.
CREATE TYPE mood AS ENUM ('glad', 'sad');
SELECT a # b FROM unnest(lsh_band_keys(minhash('x'), 1, 4), lsh_band_keys(minhash('x'), 1, 4, 'sad'::mood)) k (a, b);
SELECT hashtextextended('sad', 0);
CREATE DOMAIN my_mood AS mood;
SELECT lsh_band_keys(minhash('x'), 1, 4, 'sad'::mood) = lsh_band_keys(minhash('x'), 1, 4, 'sad'::my_mood);

-- Made, kept and shown.
CREATE TABLE tickets (id int PRIMARY KEY, customer bigint, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO tickets SELECT i, nullif(i % 4, 3), pg_temp.doc(i % 5, i % 3) FROM generate_series(1, 60) i;
SELECT lsh_create_band_table('tickets', scope_column => 'customer');
SELECT * FROM lsh_band_tables;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'tickets'::regclass AND tgname ~ 'settings';
-- Rows without a scope have no keys.
SELECT customer, count(DISTINCT b.id), count(b.id) FROM tickets t LEFT JOIN tickets_bands b USING (id) GROUP BY 1
ORDER BY 1;
CREATE FUNCTION pg_temp.kept() RETURNS text LANGUAGE sql AS $$
    SELECT format('%s keys, %s missing, %s too many, refreshed ', count(b.key),
        count(*) FILTER (WHERE b.key IS NULL), count(*) FILTER (WHERE k.key IS NULL))
        || lsh_refresh_band_table('tickets')
    FROM (SELECT key, id FROM tickets, lsh_bands(sig, 13, 7, customer)) k FULL JOIN tickets_bands b USING (key, id)
$$;
SELECT pg_temp.kept();
INSERT INTO tickets VALUES (101, 1, 'A new text'), (102, NULL, 'A new text'), (103, 2, ''), (104, 2, NULL);
SELECT pg_temp.kept();
UPDATE tickets SET customer = customer + 1 WHERE id % 2 = 0;
SELECT pg_temp.kept();
UPDATE tickets SET customer = CASE WHEN id < 20 THEN NULL ELSE 7 END WHERE customer IS DISTINCT FROM 1;
SELECT pg_temp.kept();
UPDATE tickets SET customer = 5, id = -id, body = body || ' changed' WHERE id % 3 = 0;
SELECT pg_temp.kept();
UPDATE tickets SET customer = customer;
DELETE FROM tickets WHERE id % 5 = 0;
SELECT pg_temp.kept();
ALTER TABLE tickets DISABLE TRIGGER USER;
UPDATE tickets SET customer = 6 WHERE id % 7 = 0;
ALTER TABLE tickets ENABLE TRIGGER USER;
SELECT added > 0, removed > 0 FROM lsh_refresh_band_table('tickets');
SELECT pg_temp.kept();
TRUNCATE tickets;
SELECT pg_temp.kept();

-- Lookups: those of a scope are those in a table of its rows alone.
INSERT INTO tickets SELECT i, i % 4, pg_temp.doc(i % 5, i % 3) FROM generate_series(1, 60) i;
CREATE TABLE tickets_2 (LIKE tickets INCLUDING ALL);
INSERT INTO tickets_2 SELECT id, customer, body FROM tickets WHERE customer = 2;
SELECT lsh_create_band_table('tickets_2');
SELECT count(*), count(a.id) = count(*) AND count(b.id) = count(*) AS same
FROM (SELECT t.id AS sought, n.* FROM tickets t,
    lsh_near_duplicates('tickets', t.sig, 0.5, scope => 2) n) a
FULL JOIN (SELECT t.id AS sought, n.* FROM tickets t, lsh_near_duplicates('tickets_2', t.sig, 0.5) n) b
    USING (sought, id, similarity);
SELECT count(*), count(a.id) = count(*) AND count(b.id) = count(*) AS same
FROM (SELECT t.id AS sought, c AS id FROM tickets t, lsh_candidates('tickets', t.sig, scope => 2) c) a
FULL JOIN (SELECT t.id AS sought, c AS id FROM tickets t, lsh_candidates('tickets_2', t.sig) c) b USING (sought, id);
SELECT pg_temp.error_of('SELECT lsh_near_duplicates(''tickets'', minhash(''a''))');
SELECT pg_temp.error_of('SELECT lsh_near_duplicates(''tickets'', minhash(''a''), scope => NULL)'),
    pg_temp.error_of('SELECT lsh_candidates(''tickets'', minhash(''a''), scope => NULL::bigint)'),
    pg_temp.error_of('SELECT lsh_candidates(''tickets_2'', minhash(''a''), scope => 2)');
-- The value is converted implicitly, or as a literal is, so that it never loses anything.
SELECT scope, pg_temp.error_of(format('SELECT FROM lsh_candidates(''tickets'', minhash(''a''), scope => %s)', scope))
FROM unnest(ARRAY['2::smallint', '''2''', '''2''::text', '''two''', '2.5', '2::numeric', '''2''::name', 'true']) scope;
SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', NULL::int, sig, scope => 2)
UNION ALL SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', NULL::int, sig, scope => '2')
UNION ALL SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', NULL::int, sig, scope => 2::smallint)
UNION ALL SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', sig, scope => '2'::text)
UNION ALL SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', sig, scope => 9)
UNION ALL SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', sig, scope => t.customer) n
    JOIN tickets f ON f.id = n.id WHERE f.customer = t.customer;
PREPARE find(bigint) AS SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', NULL::int, sig, scope => $1);
EXECUTE find(2);
EXECUTE find(3);
-- The same as SQL. A join of the band table with itself meets rows of one scope only.
SELECT count(*) FROM tickets t, lsh_bands(t.sig, 13, 7, t.customer) k JOIN tickets_bands b USING (key);
SELECT count(*), count(*) FILTER (WHERE x.customer <> y.customer) FROM (SELECT DISTINCT a.id AS x, b.id AS y
    FROM tickets_bands a JOIN tickets_bands b USING (key) WHERE a.id < b.id) p JOIN tickets x ON x.id = p.x
    JOIN tickets y ON y.id = p.y;
-- A key that scopes share, as if by chance: the row is no answer in the other one.
INSERT INTO tickets_bands SELECT unnest(lsh_band_keys(sig, 13, 7, 2::bigint)), id FROM tickets WHERE customer = 1;
SELECT count(*) FROM tickets t, lsh_near_duplicates('tickets', t.sig, scope => 2) n JOIN tickets f ON f.id = n.id
WHERE f.customer <> 2;
SELECT count(*) FROM tickets t, lsh_candidates('tickets', t.sig, scope => 2) n JOIN tickets f ON f.id = n
WHERE f.customer <> 2;
SELECT added, removed > 0 FROM lsh_refresh_band_table('tickets');

-- Definitions: a new name is followed, another type refused, and so is a column that goes.
ALTER TABLE tickets RENAME customer TO "The customer";
INSERT INTO tickets VALUES (101, 2, 'A text'), (102, 3, 'A text');
SELECT scope_column FROM lsh_band_tables WHERE source = 'tickets'::regclass;
SELECT * FROM lsh_near_duplicates('tickets', minhash('A text'), scope => 3);
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
    'ALTER TABLE tickets ALTER "The customer" TYPE int', 'ALTER TABLE tickets DROP "The customer"']) statement;
BEGIN;
ALTER TABLE tickets DROP "The customer" CASCADE;
SELECT pg_temp.error_of('INSERT INTO tickets VALUES (103, ''A text'')');
SELECT pg_temp.error_of('SELECT lsh_near_duplicates(''tickets'', minhash(''A text''))');
ROLLBACK;
SELECT lsh_drop_band_table('tickets');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'tickets'::regclass;
DROP TABLE tickets, tickets_2;
-- What cannot be a scope.
CREATE TABLE docs (id int PRIMARY KEY, sig minhash_signature, note json, notes json[], tag mood, price numeric,
    padded char(5), big bytea, pair point, parts text[]);
SELECT scope, pg_temp.error_of(format('SELECT lsh_create_band_table(''docs'', scope_column => %L)', scope))
FROM unnest(ARRAY['none', '', 'ctid', 'id', 'sig', 'note', 'notes', 'pair']) scope;
-- Types of scopes: two rows that are equal in them, by their own equality, and one that is not.
INSERT INTO docs VALUES (1, minhash('one'), NULL, NULL, 'glad', 1.0, 'a', 'x', NULL, '{a,b}'),
    (2, minhash('one'), NULL, NULL, 'glad', 1.00, 'a ', 'x', NULL, '{a,b}'),
    (3, minhash('one'), NULL, NULL, 'sad', 1.01, 'b', 'y', NULL, '{b,a}');
CREATE FUNCTION pg_temp.found(scope text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    PERFORM lsh_create_band_table('docs', scope_column => scope);
    UPDATE docs SET id = id + 10 WHERE id = 3;
    EXECUTE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM lsh_near_duplicates(''docs'', minhash(''one''),
        scope => %s)', value) INTO found;
    UPDATE docs SET id = id - 10 WHERE id > 10;
    found := format('%s, refreshed %s', found, lsh_refresh_band_table('docs'));
    PERFORM lsh_drop_band_table('docs');
    RETURN found;
END $$;
SELECT scope, value, pg_temp.found(scope, value) FROM (VALUES ('tag', '''glad'''), ('tag', '''sad''::mood'),
    ('price', '1'), ('price', '''1.000'''), ('padded', '''a'''), ('padded', '''a''::char(9)'), ('big', '''x'''),
    ('parts', '''{a,b}'''), ('parts', 'ARRAY[''b'', ''a'']')) given (scope, value);
-- An equality of texts that is not that of bytes; a server without ICU has none.
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS has_icu \gset
\if :has_icu
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
\else
CREATE COLLATION ignore_case FROM "C";
\endif
CREATE TABLE sites (id int PRIMARY KEY, site text COLLATE ignore_case, body text);
INSERT INTO sites VALUES (1, 'A.example', 'one text'), (2, 'a.example', 'one text'), (3, 'b.example', 'one text');
SELECT lsh_create_band_table('sites', text_column => 'body', scope_column => 'site');
SELECT count(*) = CASE WHEN :'has_icu' THEN 2 ELSE 0 END
FROM lsh_near_duplicates('sites', minhash('one text'), scope => 'A.EXAMPLE');
UPDATE sites SET site = lower(site);
SELECT * FROM lsh_refresh_band_table('sites');
SELECT id FROM lsh_near_duplicates('sites', minhash('one text'), scope => 'b.example');
DROP TABLE sites, docs;
DROP COLLATION ignore_case;

-- Partitions; a scope by which they are made; a column that stands elsewhere in one of them.
CREATE TABLE parts (id int, customer int, sig minhash_signature) PARTITION BY LIST (customer);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1, 2);
CREATE TABLE parts_2 (sig minhash_signature, gone int, customer int, id int);
ALTER TABLE parts_2 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_2 DEFAULT;
SELECT lsh_create_band_table('parts', scope_column => 'customer');
INSERT INTO parts SELECT i, i % 4, minhash('a text') FROM generate_series(1, 12) i;
INSERT INTO parts_2 (id, sig, customer) VALUES (13, minhash('a text'), 3), (14, minhash('a text'), NULL);
SELECT scope, array_agg(id ORDER BY id) FROM generate_series(0, 4) scope,
    lsh_near_duplicates('parts', NULL::int, minhash('a text'), scope => scope) GROUP BY 1 ORDER BY 1;
UPDATE parts SET customer = customer + 1;
SELECT scope, array_agg(id ORDER BY id) FROM generate_series(0, 4) scope,
    lsh_near_duplicates('parts', NULL::int, minhash('a text'), scope => scope) GROUP BY 1 ORDER BY 1;
SELECT * FROM lsh_refresh_band_table('parts');
TRUNCATE parts_2;
SELECT scope, array_agg(id ORDER BY id) FROM generate_series(0, 4) scope,
    lsh_near_duplicates('parts', NULL::int, minhash('a text'), scope => scope) GROUP BY 1 ORDER BY 1;
SELECT * FROM lsh_refresh_band_table('parts');
DROP TABLE parts;
-- Two band tables of one source, one of them without a scope.
CREATE TABLE docs (id int PRIMARY KEY, customer text, sig minhash_signature);
INSERT INTO docs VALUES (1, 'a', minhash('one')), (2, 'b', minhash('one'));
SELECT lsh_create_band_table('docs'), lsh_create_band_table('docs', scope_column => 'customer', band_table => 'within');
SELECT count(*) FROM lsh_near_duplicates('docs', minhash('one'), band_table => 'docs_bands');
SELECT id FROM lsh_near_duplicates('docs', minhash('one'), band_table => 'within', scope => 'b');
SELECT band_table, scope_column FROM lsh_band_tables ORDER BY 2;
DROP TABLE docs;
DROP DOMAIN my_mood;
DROP TYPE mood;
