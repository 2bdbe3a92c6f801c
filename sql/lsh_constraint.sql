-- Exclusion constraints using lsh refuse near-duplicates. Each constraint has its own threshold.

SET jit = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/lsh_index.sql'
\i :common

-- Returns a text of twenty words. The argument "changed" says how many words at its end are replaced.
CREATE FUNCTION doc(what int, changed int DEFAULT 0) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(format('%s %s', what, word + CASE WHEN word > 20 - changed THEN 100 ELSE 0 END)), ' '
                      ORDER BY word) FROM generate_series(1, 20) word
$$;
SELECT changed, round(minhash_similarity(minhash(doc(1)), minhash(doc(1, changed)))::numeric, 3) AS similarity
FROM unnest(ARRAY[0, 1, 2, 3, 5]) changed;

CREATE TABLE tickets (id int, customer int, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    CONSTRAINT tickets_near EXCLUDE USING lsh (customer WITH =, sig WITH %, id WITH <>) WITH (threshold = 0.8));
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'tickets_near';
INSERT INTO tickets SELECT i, i % 2, doc(i) FROM generate_series(1, 200) i;
-- The error shows both rows. The setting similarity_threshold has no effect.
INSERT INTO tickets VALUES (1000, 1, doc(7, 1));
SET minhash_lsh.similarity_threshold = 1;
INSERT INTO tickets VALUES (1000, 1, doc(7, 1));
SET minhash_lsh.similarity_threshold = 0.1;
INSERT INTO tickets VALUES (1000, 1, doc(7, 3));
RESET minhash_lsh.similarity_threshold;
-- Rows without a conflict: another customer, no customer, a NULL text, an empty text.
INSERT INTO tickets VALUES (1001, 0, doc(7, 1));
INSERT INTO tickets VALUES (1002, NULL, doc(7)), (1003, NULL, doc(7)), (1004, 1, NULL), (1005, 1, NULL), (1006, 1, ''),
    (1007, 1, '');
-- ON CONFLICT DO NOTHING skips conflicting rows, even if they conflict with another row of the same statement.
INSERT INTO tickets SELECT 2000 + i, 1, doc(i, 1) FROM generate_series(1, 20) i ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO tickets SELECT 3000 + i, 5, doc(9, i % 2) FROM generate_series(1, 5) i ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO tickets VALUES (1, 1, doc(11)) ON CONFLICT ON CONSTRAINT tickets_near DO NOTHING RETURNING id;
SELECT pg_temp.error_of('INSERT INTO tickets SELECT 4000 + i, 6, doc(9, i) FROM generate_series(0, 1) i');
-- UPDATE to nearly the same text, to the text of another row, and to another customer.
UPDATE tickets SET body = doc(7, 1) WHERE id = 7;
UPDATE tickets SET body = doc(7) WHERE id = 7;
SELECT pg_temp.error_of('UPDATE tickets SET body = doc(9) WHERE id = 7');
SELECT pg_temp.error_of('UPDATE tickets SET customer = 1 WHERE id = 1001');
-- Rows that were rolled back or deleted do not conflict, even while the index still contains them.
BEGIN;
INSERT INTO tickets VALUES (5000, 1, doc(5000));
ROLLBACK;
INSERT INTO tickets VALUES (5001, 1, doc(5000, 1));
DELETE FROM tickets WHERE id = 5001;
INSERT INTO tickets VALUES (5002, 1, doc(5000, 1));
VACUUM tickets;
SELECT pg_temp.error_of('INSERT INTO tickets VALUES (5003, 1, doc(5000))');
-- The constraint's index also serves lookups, which have their own threshold.
SET enable_seqscan = off;
SELECT pg_temp.scans('SELECT id FROM tickets WHERE customer = 1 AND sig % minhash(doc(7, 5))');
SELECT id FROM tickets WHERE customer = 1 AND sig % minhash(doc(7, 5));
SELECT id FROM tickets WHERE customer = 1 AND minhash_similar(sig, minhash(doc(7, 5)), 0.5);
RESET enable_seqscan;
SELECT dead, in_tail > 0 AS has_tail FROM lsh_check('tickets_near', heap => true);

-- A constraint is as exact as the signatures: of 100 pairs on both sides of the threshold, the constraint refuses
-- exactly those at or above the threshold. Without the option threshold, the threshold is 0.8, whatever the setting
-- similarity_threshold is. The constraint's definition, and so a dump, does not show this default. REINDEX keeps the
-- default.
CREATE TABLE by_default (id int, sig minhash_signature, CONSTRAINT by_default_near EXCLUDE USING lsh (sig WITH %));
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'by_default_near';
CREATE TABLE tried AS SELECT i AS id, minhash(doc(i, 2 + i % 3)) AS sig FROM generate_series(1, 100) i;
INSERT INTO by_default SELECT i, minhash(doc(i)) FROM generate_series(1, 100) i;
SET minhash_lsh.similarity_threshold = 0.1;
INSERT INTO by_default SELECT 1000 + id, sig FROM tried WHERE id <= 50 ON CONFLICT DO NOTHING;
REINDEX INDEX by_default_near;
INSERT INTO by_default SELECT 1000 + id, sig FROM tried WHERE id > 50 ON CONFLICT DO NOTHING;
RESET minhash_lsh.similarity_threshold;
SELECT minhash_similarity(e.sig, t.sig) >= 0.8 AS near, i.id IS NULL AS refused, count(*)
FROM by_default e JOIN tried t USING (id) LEFT JOIN by_default i ON i.id = 1000 + e.id GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE by_default, tried;
CREATE TABLE exact (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.75));
INSERT INTO exact SELECT i, minhash(doc(i)) FROM generate_series(1, 100) i;
CREATE TABLE tried AS SELECT i AS id, minhash(doc(i, 2 + i % 3)) AS sig FROM generate_series(1, 100) i;
INSERT INTO exact SELECT 1000 + id, sig FROM tried ON CONFLICT DO NOTHING;
SELECT minhash_similarity(e.sig, t.sig) >= 0.75 AS near, i.id IS NULL AS refused, count(*)
FROM exact e JOIN tried t USING (id) LEFT JOIN exact i ON i.id = 1000 + e.id GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE exact, tried;

-- Adding a constraint to a table checks the table's rows. Commands that rewrite the table keep the constraint. The
-- threshold of a constraint cannot be changed.
CREATE TABLE plain AS SELECT id, body FROM tickets WHERE id <= 20;
INSERT INTO plain SELECT id, doc(id, 3) FROM plain WHERE id = 7;
-- Since PostgreSQL 17, statements that build an index run with a search_path that does not contain the schema of the
-- types.
SELECT replace(pg_temp.error_of(
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = 0.6)'),
    'public.', '') AS error_of;
ALTER TABLE plain ADD CONSTRAINT plain_near EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = 0.8)
    WHERE (id < 9000);
SELECT pg_temp.error_of('INSERT INTO plain VALUES (21, doc(3, 1))');
INSERT INTO plain VALUES (9001, doc(3, 1));
VACUUM FULL plain;
SELECT pg_temp.error_of('INSERT INTO plain VALUES (21, doc(3, 1))');
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
    'ALTER INDEX plain_near SET (threshold = 0.6)', 'ALTER INDEX plain_near RESET (threshold)']) statement;
DELETE FROM plain WHERE id = 7;
ALTER TABLE plain DROP CONSTRAINT plain_near, ADD CONSTRAINT plain_near
    EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = 0.6) WHERE (id < 9000);
SELECT pg_temp.error_of('INSERT INTO plain VALUES (21, doc(3, 3))');
REINDEX INDEX plain_near;
SELECT pg_temp.error_of('INSERT INTO plain VALUES (21, doc(3, 3))');
TRUNCATE plain;
INSERT INTO plain VALUES (1, doc(3));
SELECT pg_temp.error_of('INSERT INTO plain VALUES (21, doc(3, 3))');
CREATE UNLOGGED TABLE unlogged (LIKE plain INCLUDING INDEXES);
INSERT INTO unlogged TABLE plain;
SELECT pg_temp.error_of('INSERT INTO unlogged VALUES (21, doc(3, 3))');
-- A deferred constraint is checked at the end of the transaction.
CREATE TABLE later (id int, sig minhash_signature,
    CONSTRAINT later_near EXCLUDE USING lsh (sig WITH %, id WITH <>) WITH (threshold = 0.8)
    DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO later VALUES (1, minhash(doc(1))), (2, minhash(doc(1, 1)));
DELETE FROM later WHERE id = 1;
COMMIT;
SELECT id FROM later;
BEGIN;
INSERT INTO later VALUES (3, minhash(doc(1)));
COMMIT;
-- With id WITH <>, only rows with different ids conflict. One id may have several similar signatures.
CREATE TABLE versions (id int, sig minhash_signature,
    EXCLUDE USING lsh (id WITH <>, sig WITH %) WITH (threshold = 0.8));
INSERT INTO versions VALUES (1, minhash(doc(1))), (1, minhash(doc(1, 1)));
INSERT INTO versions VALUES (2, minhash(doc(1)));
-- A statement scans the index for each of its rows. These scans free their memory.
CREATE FUNCTION used() RETURNS bigint LANGUAGE sql AS
    $$SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'ExecutorState'$$;
CREATE TABLE many (id int, used bigint, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.8));
INSERT INTO many SELECT i, CASE WHEN i IN (200, 1200) THEN used() END, minhash(doc(i)) FROM generate_series(1, 1200) i;
SELECT max(used) - min(used) < 10000 AS nothing_is_left FROM many;

-- Partitioned tables: since PostgreSQL 17, one constraint on the parent. In older versions, one on each partition.
CREATE TABLE parted (id int, customer int, sig minhash_signature) PARTITION BY LIST (customer);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2, 3);
SELECT current_setting('server_version_num')::int >= 170000 AS one_for_all \gset
\set constraint 'EXCLUDE USING lsh (customer WITH =, sig WITH %, id WITH <>) WITH (threshold = 0.8)'
\if :one_for_all
ALTER TABLE parted ADD :constraint;
\else
ALTER TABLE parted_1 ADD :constraint;
ALTER TABLE parted_2 ADD :constraint;
\endif
INSERT INTO parted SELECT i, 1 + i % 3, minhash(doc(i)) FROM generate_series(1, 60) i;
SELECT pg_temp.error_of('INSERT INTO parted VALUES (100, 2, minhash(doc(7, 1)))');
INSERT INTO parted VALUES (101, 1, minhash(doc(7, 1))), (102, 3, minhash(doc(7, 1)));
INSERT INTO parted SELECT 200 + i, 1 + i % 3, minhash(doc(i, 1)) FROM generate_series(1, 60) i
    ON CONFLICT DO NOTHING RETURNING id;
-- An update moves a row to another partition.
SELECT pg_temp.error_of('UPDATE parted SET customer = 2 WHERE id = 101');
DELETE FROM parted WHERE id = 7;
UPDATE parted SET customer = 2 WHERE id = 101 RETURNING tableoid::regclass, id;
-- Attach a partition that already has rows.
CREATE TABLE parted_4 AS SELECT id, 4 AS customer, sig FROM parted_1;
ALTER TABLE parted ATTACH PARTITION parted_4 FOR VALUES IN (4);
\if :one_for_all
\else
ALTER TABLE parted_4 ADD :constraint;
\endif
SELECT pg_temp.error_of('INSERT INTO parted VALUES (103, 4, minhash(doc(9, 1)))');
SET enable_seqscan = off;
SELECT id FROM parted WHERE customer = 4 AND sig % minhash(doc(9, 1));
RESET enable_seqscan;
SELECT relname, pg_get_constraintdef(c.oid), l.records FROM pg_class r JOIN pg_constraint c ON conrelid = r.oid,
    lsh_check(conindid, heap => true) l WHERE relname ~ '^parted_' ORDER BY relname;

-- Constraints that are refused.
SELECT statement, replace(pg_temp.error_of(statement), 'public.', '') AS error_of FROM unnest(ARRAY[
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = 1.5)',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = -0.1)',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = ''nan'')',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH %) WITH (threshold = 0.8, bands = 3)',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (minhash(body) WITH =) WITH (threshold = 0.5)',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (id WITH =) WITH (threshold = 0.5)',
    'ALTER TABLE plain ADD EXCLUDE USING lsh (id WITH >, minhash(body) WITH %) WITH (threshold = 0.5)',
    'CREATE INDEX ON plain USING lsh (minhash(body)) WITH (threshold = 0.5)',
    'INSERT INTO plain VALUES (1, ''x'') ON CONFLICT ON CONSTRAINT plain_near DO UPDATE SET id = 0',
    'SELECT ''x''::minhash_abridged']) statement;
DROP TABLE tickets, plain, unlogged, later, versions, documents, many, parted;
DROP FUNCTION doc, used;
