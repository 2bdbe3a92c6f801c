-- The columns of an lsh index besides the signature are its scope: a search that gives values for all of these columns
-- looks only at rows with these values.

SET jit = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TYPE place AS (shop int, town text);

-- A hundred texts, each in twenty rows. Each row has one of seven customers, or NULL.
CREATE TABLE tickets (id int PRIMARY KEY, customer int, shop bigint, sig minhash_signature)
    WITH (autovacuum_enabled = false);
INSERT INTO tickets SELECT i, nullif(i % 8, 7), i % 3, minhash(md5((i % 100)::text) || md5((i % 100 + 1)::text))
FROM generate_series(1, 2000) i;
ANALYZE tickets;
CREATE FUNCTION pg_temp.sig_of(ticket int) RETURNS minhash_signature STABLE LANGUAGE sql AS
    'SELECT sig FROM tickets WHERE id = ticket';

-- Runs a query with and without an index. Returns the number of rows, and whether both ways give the same rows.
CREATE FUNCTION pg_temp.both_ways(query text, OUT rows bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    by_index text[];
    by_table text[];
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
    EXECUTE format('SELECT array_agg(r::text) FROM (%s) r', query) INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true);
    PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT array_agg(r::text) FROM (%s) r', query) INTO by_table;
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
    rows := coalesce(cardinality(by_index), 0);
    same := (SELECT array_agg(a ORDER BY a) FROM unnest(by_index) a)
        IS NOT DISTINCT FROM (SELECT array_agg(b ORDER BY b) FROM unnest(by_table) b);
END $$;

-- A unique column is useless as a scope, except in a constraint, where the column tells a row from other rows.
CREATE INDEX tickets_unique ON tickets USING lsh (sig, id);
CREATE UNIQUE INDEX ON tickets (shop) WHERE id = 1;
CREATE INDEX tickets_partial ON tickets USING lsh (sig, shop, (id + 1));
ALTER TABLE tickets ADD EXCLUDE USING lsh (sig WITH %, id WITH <>) WHERE (id = 1);
DROP INDEX tickets_unique, tickets_partial;
-- A column may also be distinct without a unique index, as the statistics tell.
CREATE TEMP TABLE numbered AS SELECT nullif(id, 1) AS number, id / 2 AS half, sig FROM tickets;
CREATE INDEX ON numbered USING lsh (sig, number);
ANALYZE numbered;
CREATE INDEX ON numbered USING lsh (sig, number, half);
DELETE FROM numbered WHERE half > 400;
ANALYZE numbered;
CREATE INDEX ON numbered USING lsh (sig, number); -- few rows say little
DROP TABLE numbered;
ALTER TABLE tickets DROP CONSTRAINT tickets_sig_id_excl;

CREATE INDEX tickets_scope ON tickets USING lsh (customer, sig, shop);
SELECT records, runs FROM lsh_check('tickets_scope', heap => true);
SET enable_seqscan = off;
SELECT pg_temp.scans('SELECT id FROM tickets WHERE customer = 5 AND shop = 1 AND sig % pg_temp.sig_of(13)');
SELECT pg_temp.scans('SELECT id FROM tickets WHERE customer = 5 AND shop = 1 ORDER BY sig <%> pg_temp.sig_of(13)
    LIMIT 10');
RESET enable_seqscan;
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT id FROM tickets WHERE customer = 5 AND shop = 1 AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE customer = 5::smallint AND shop = 1::int AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE shop = 1 AND sig % pg_temp.sig_of(13) AND customer IN (1, 5)',
    'SELECT id FROM tickets WHERE customer = 5 AND customer = 4 AND shop = 1 AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE customer = 5 AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE customer <> 5 AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE customer IS NULL AND sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE sig % pg_temp.sig_of(13)',
    'SELECT id FROM tickets WHERE sig % ANY (ARRAY[pg_temp.sig_of(13), pg_temp.sig_of(14)]) AND customer = 5',
    'SELECT a.id, b.id FROM tickets a JOIN tickets b USING (customer, shop) WHERE b.sig % a.sig AND a.id < 50',
    'SELECT id FROM tickets WHERE customer = 5 AND shop = 1',
    'SELECT sig <%> pg_temp.sig_of(13) FROM tickets WHERE customer = 5 AND shop = 1
     ORDER BY sig <%> pg_temp.sig_of(13) LIMIT 12',
    'SELECT sig <%> pg_temp.sig_of(13) FROM tickets WHERE customer = 5 ORDER BY sig <%> pg_temp.sig_of(13) LIMIT 30',
    'SELECT sig <%> pg_temp.sig_of(13) FROM tickets ORDER BY sig <%> pg_temp.sig_of(13) LIMIT 30']) query,
    pg_temp.both_ways(query) b;
SELECT b.* FROM pg_temp.both_ways('SELECT id FROM tickets WHERE customer = NULL AND sig % pg_temp.sig_of(13)') b;
-- The setting ordered_scan_limit applies only to searches with values for the whole scope. Other searches compare all
-- rows.
SET minhash_lsh.ordered_scan_limit = 0;
SELECT b.* FROM pg_temp.both_ways('SELECT id FROM tickets ORDER BY sig <%> pg_temp.sig_of(13) LIMIT 2000') b;
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT FROM tickets WHERE customer = 5 AND shop = 1 ORDER BY sig <%> pg_temp.sig_of(13)) s;
RESET enable_seqscan;
RESET minhash_lsh.ordered_scan_limit;

-- The index follows changes of the table.
UPDATE tickets SET customer = 6 WHERE id = 13;
INSERT INTO tickets SELECT 3000, 6, 1, pg_temp.sig_of(13);
DELETE FROM tickets WHERE id % 4 = 0;
SELECT b.* FROM pg_temp.both_ways(
    'SELECT id FROM tickets WHERE customer = 6 AND shop = 1 AND sig % pg_temp.sig_of(13)') b;
VACUUM tickets;
SELECT b.* FROM pg_temp.both_ways(
    'SELECT id FROM tickets WHERE customer = 6 AND shop = 1 AND sig % pg_temp.sig_of(13)') b;
SELECT records, dead, in_tail, runs FROM lsh_check('tickets_scope', heap => true);
DROP INDEX tickets_scope;

-- A scope can have every type that has an operator class, and can be a domain or a text with another collation.
CREATE DOMAIN short AS text CHECK (length(VALUE) < 100);
CREATE FUNCTION pg_temp.try(type text, expression text, sought text, OUT rows bigint, OUT same boolean)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE typed AS SELECT id, (%s)::%s AS scope, sig FROM tickets', expression, type);
    CREATE INDEX ON typed USING lsh (scope, sig);
    ANALYZE typed;
    SELECT b.* INTO rows, same FROM pg_temp.both_ways(format('SELECT id FROM typed
        WHERE scope = (SELECT scope::%s FROM typed WHERE id = 13) AND sig %% (SELECT sig FROM typed WHERE id = 13)',
        sought)) b;
    PERFORM lsh_check('typed_scope_sig_idx', heap => true);
    DROP TABLE typed;
END $$;
SELECT type, t.* FROM (VALUES
    ('boolean', 'id % 2 = 0'), ('"char"', '(id % 9)::text'), ('smallint', 'id % 9'), ('integer', 'id % 9'),
    ('bigint', 'id % 9'), ('oid', 'id % 9'), ('real', 'id % 9'), ('double precision', 'id % 9'), ('numeric', 'id % 9'),
    ('text', 'id % 9'), ('varchar(9)', 'id % 9'), ('name', '(id % 9)::text'), ('char(5)', 'id % 9'),
    ('bytea', '(id % 9)::text'), ('uuid', 'md5((id % 9)::text)'), ('date', '''2000-01-01''::date + id % 9'),
    ('time', '''0:00''::time + id % 9 * interval ''1 hour'''), ('timestamp', '''2000-01-01''::date + id % 9'),
    ('timestamptz', '''2000-01-01''::date + id % 9'), ('interval', 'id % 9 * interval ''1 hour'''),
    ('inet', '''10.0.0.0''::inet + id % 9'), ('cidr', '(''10.0.0.'' || id % 9)::cidr'),
    ('macaddr', '''08:00:2b:01:02:0'' || id % 9'), ('jsonb', 'to_jsonb(id % 9)'), ('short', 'id % 9'),
    ('mood', '(ARRAY[''glad'', ''sad''])[1 + id % 2]'), ('int[]', 'ARRAY[id % 3, id % 2]'),
    ('place', 'ROW(id % 3, nullif(id % 2, 1))'),
    ('text COLLATE "C"', 'id % 9')) c (type, expression), pg_temp.try(type, expression, type) t;
-- The value that is sought can have another type. The index uses it if the operator is added to the family.
SELECT t.* FROM pg_temp.try('real', 'id % 9 - 4.5', 'double precision') t;
ALTER OPERATOR FAMILY lsh_equality_ops USING lsh ADD OPERATOR 4 = (real, double precision);
SELECT t.* FROM pg_temp.try('real', 'id % 9 - 4.5', 'double precision') t;
ALTER OPERATOR FAMILY lsh_equality_ops USING lsh DROP OPERATOR 4 (real, double precision);

-- A column can also be compared as another type, which has other hashes: a type like citext as text, and text as char.
SET client_min_messages = warning;
CREATE TYPE caseless;
CREATE FUNCTION caseless_in(cstring) RETURNS caseless LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION caseless_out(caseless) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE caseless (INPUT = caseless_in, OUTPUT = caseless_out, LIKE = text, COLLATABLE = true);
RESET client_min_messages;
CREATE CAST (caseless AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS caseless) WITHOUT FUNCTION;
CREATE FUNCTION caseless_eq(caseless, caseless) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
    RETURN lower($1::text) = lower($2::text);
CREATE FUNCTION caseless_hash(caseless) RETURNS int LANGUAGE sql IMMUTABLE STRICT RETURN hashtext(lower($1::text));
CREATE OPERATOR = (FUNCTION = caseless_eq, LEFTARG = caseless, RIGHTARG = caseless, HASHES);
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING hash AS
    OPERATOR 1 =, FUNCTION 1 caseless_hash(caseless);
CREATE FUNCTION pg_temp.try_as(type text, compared text, class text DEFAULT '', OUT rows bigint, OUT same boolean)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE typed AS SELECT id, (ARRAY[''A'', ''A '', ''a''])[1 + id %% 3]::%s AS scope, sig
        FROM tickets', type);
    EXECUTE format('CREATE INDEX ON typed USING lsh (scope %s, sig)', class);
    SELECT b.* INTO rows, same FROM pg_temp.both_ways(format('SELECT id FROM typed
        WHERE scope::%s = ''A''::%1$s AND sig %% (SELECT sig FROM typed WHERE id = 13)', compared)) b;
    DROP TABLE typed;
END $$;
SELECT v.*, t.* FROM (VALUES ('caseless', 'caseless'), ('caseless', 'text'), ('caseless', 'varchar'),
    ('caseless', 'bpchar'), ('text', 'text'), ('text', 'bpchar'), ('varchar', 'bpchar'), ('bpchar', 'bpchar'),
    ('bpchar', 'text'), ('bpchar', 'caseless')) AS v (type, compared), pg_temp.try_as(type, compared) AS t;
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING lsh FAMILY lsh_equality_ops AS
    OPERATOR 4 = (caseless, caseless);
SELECT compared, t.* FROM unnest(ARRAY['caseless', 'text']) AS compared, pg_temp.try_as('caseless', compared) AS t;
SELECT compared, t.* FROM unnest(ARRAY['bpchar', 'text']) AS compared,
    pg_temp.try_as('text', compared, 'lsh_bpchar_ops') AS t;

-- An index with the maximum number of columns, and with the signature in each position.
CREATE FUNCTION pg_temp.try_wide(place int, OUT rows bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    names text[] := ARRAY(SELECT 'c' || n FROM generate_series(1, 31) n);
BEGIN
    EXECUTE format('CREATE TEMP TABLE wide AS SELECT id, %s, sig FROM tickets',
        (SELECT string_agg(format('id %% %s AS %I', CASE WHEN name = 'c31' THEN 3 ELSE 1 END, name), ', ')
            FROM unnest(names) name));
    EXECUTE format('CREATE INDEX ON wide USING lsh (%s)',
        array_to_string(names[:place - 1] || 'sig'::text || names[place:], ', '));
    SELECT b.* INTO rows, same FROM pg_temp.both_ways(format('SELECT id FROM wide WHERE %s
        AND sig %% (SELECT sig FROM tickets WHERE id = 13)',
        (SELECT string_agg(format('%I = %s', name, CASE WHEN name = 'c31' THEN 1 ELSE 0 END), ' AND ')
            FROM unnest(names) name))) b;
    DROP TABLE wide;
END $$;
SELECT t.*, count(*) FROM generate_series(1, 32) place, pg_temp.try_wide(place) t GROUP BY rows, same;

-- Scopes that are refused.
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
    'CREATE INDEX ON tickets USING lsh (customer)',
    'CREATE INDEX ON tickets USING lsh (sig, sig)',
    'CREATE INDEX ON tickets USING lsh (customer, sig) INCLUDE (id)',
    'CREATE INDEX ON tickets USING lsh (point(id, id), sig)',
    'CREATE TABLE spots (points point[], sig minhash_signature, EXCLUDE USING lsh (points WITH =, sig WITH %))'
    ]) statement;
DROP TABLE tickets, documents;
DROP TYPE mood, place;
DROP DOMAIN short;
SET client_min_messages = warning;
DROP TYPE caseless CASCADE;
