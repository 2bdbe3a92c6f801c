-- Managed band tables of partitioned tables, and of partitions: rows and partitions that come, go and move in every
-- way.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/band_tables.sql'
\i :common
-- The triggers of all relations of the public schema, counted: those for rows (on the root, handed down), for TRUNCATE,
-- the settings.
CREATE FUNCTION pg_temp.triggers()
    RETURNS TABLE (relation regclass, of_rows bigint, of_truncate bigint, settings bigint, others bigint)
    LANGUAGE sql AS $$
    SELECT tgrelid::regclass, count(*) FILTER (WHERE tgtype = 29), count(*) FILTER (WHERE tgtype = 34),
        count(*) FILTER (WHERE tgtype = 18), count(*) FILTER (WHERE tgtype NOT IN (29, 34, 18))
    FROM pg_trigger WHERE tgfoid = 'lsh_maintain_band_table'::regproc GROUP BY 1
        ORDER BY tgrelid::regclass::text COLLATE "C";
$$;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Partitions of partitions, whose columns stand in another order than the root's, with some dropped.
CREATE TABLE docs (gone int, id int, part text, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED) PARTITION BY LIST (part);
ALTER TABLE docs DROP gone;
CREATE TABLE docs_a PARTITION OF docs FOR VALUES IN ('a');
CREATE TABLE docs_b (sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED, gone_x int,
    gone_y minhash_signature, body text, part text, id int);
ALTER TABLE docs_b DROP gone_x, DROP gone_y;
ALTER TABLE docs ATTACH PARTITION docs_b FOR VALUES IN ('b');
CREATE TABLE docs_c (part text, id int, gone int, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    body text) PARTITION BY RANGE (id);
ALTER TABLE docs_c DROP gone;
CREATE TABLE docs_c_low PARTITION OF docs_c FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE docs_c_high (gone int, body text, id int, part text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
ALTER TABLE docs_c_high DROP gone;
ALTER TABLE docs_c ATTACH PARTITION docs_c_high FOR VALUES FROM (100) TO (MAXVALUE);
ALTER TABLE docs ATTACH PARTITION docs_c FOR VALUES IN ('c', 'd');
INSERT INTO docs SELECT i, substr('abcd', i % 4 + 1, 1), 'A text of its own: ' || md5(i::text) || md5((i / 2)::text)
    FROM generate_series(1, 20) i;
SELECT lsh_create_band_table('docs');
SELECT * FROM lsh_band_tables;
SELECT pg_temp.state('docs');
SELECT * FROM pg_temp.triggers();

-- Rows written through the root, through a partition, through one between.
INSERT INTO docs VALUES (21, 'a', 'Through the root'), (22, 'b', 'Through the root, too'),
    (123, 'c', 'Through the root as well'), (24, 'd', NULL);
INSERT INTO docs_a VALUES (31, 'a', 'Straight into a');
INSERT INTO docs_b (id, part, body) VALUES (32, 'b', 'Straight into b'), (33, 'b', 'Straight into b again');
INSERT INTO docs_c (id, part, body) VALUES (34, 'c', 'Halfway down, low'), (134, 'd', 'Halfway down, high');
INSERT INTO docs_c_high (id, part, body) VALUES (135, 'c', 'Straight to the ground');
SELECT pg_temp.state('docs');
COPY docs (id, part, body) FROM stdin;
41	a	Copied through the root
142	d	Copied through the root, far
\.
COPY docs_b (id, part, body) FROM stdin;
43	b	Copied into a partition
\.
SELECT pg_temp.state('docs');
UPDATE docs SET body = body || ', edited' WHERE id % 3 = 0;
UPDATE docs_b SET body = body || ', edited below' WHERE id > 30;
UPDATE docs_c SET body = 'Edited halfway' WHERE id IN (24, 34, 134);
DELETE FROM docs WHERE id % 7 = 0;
DELETE FROM docs_c_high WHERE id = 135;
SELECT pg_temp.state('docs');
-- Who is found, by the signature of whom: the columns are the right ones everywhere.
SELECT id, (SELECT string_agg(found::text, ' ' ORDER BY found) FROM lsh_candidates('docs', NULL::int, sig) found)
    FROM docs WHERE id > 30 ORDER BY id;

-- Rows that move from partition to partition, with and without another text, with and without another id.
UPDATE docs SET part = 'b' WHERE id = 41;
UPDATE docs SET part = 'a', body = 'Moved and changed' WHERE id = 22;
UPDATE docs SET part = 'c', id = 200 WHERE id = 31;
UPDATE docs SET part = 'a', id = 201, body = 'Moved, renumbered and changed' WHERE id = 123;
UPDATE docs_c SET id = id + 1000 WHERE id < 100;
SELECT tableoid::regclass, id, part FROM docs WHERE id IN (22, 1034, 134, 41, 200, 201) ORDER BY id;
SELECT pg_temp.state('docs');
-- Rows of several partitions that exchange their ids, that all move on by one, that exchange partitions.
UPDATE docs SET id = CASE id WHEN 41 THEN 43 ELSE 41 END WHERE id IN (41, 43);
UPDATE docs SET id = CASE id WHEN 22 THEN 41 ELSE 22 END WHERE id IN (22, 41);
UPDATE docs SET id = CASE id WHEN 22 THEN 200 ELSE 22 END WHERE id IN (22, 200);
UPDATE docs SET id = id + 1;
SELECT pg_temp.state('docs');
UPDATE docs SET part = CASE part WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE 'a' END;
SELECT pg_temp.state('docs');
UPDATE docs SET id = -id, part = CASE part WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE 'a' END, body = body || ' and on'
    WHERE id % 2 = 0;
SELECT pg_temp.state('docs');
MERGE INTO docs USING (VALUES (23, 'd'), (135, NULL), (301, 'a'), (302, 'c')) AS given (n, p) ON id = n
WHEN MATCHED AND p IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET part = p, body = 'Merged' WHEN NOT MATCHED THEN
INSERT (id, part, body) VALUES (n, p, 'Merged ' || n);
WITH gone AS (DELETE FROM docs_a RETURNING id, body) INSERT INTO docs SELECT id, 'd', body || ' once more' FROM gone;
SELECT pg_temp.state('docs');
-- What does not succeed.
BEGIN;
INSERT INTO docs VALUES (400, 'a', 'Not for long');
UPDATE docs SET part = 'b';
ROLLBACK;
SELECT left(pg_temp.error_of('INSERT INTO docs VALUES (401, ''a'', ''For long?''),
    (402, ''z'', ''No such partition'')'), 5), pg_temp.state('docs');
-- The same rows in two partitions would be two with one id, which the user has promised not to have.
SELECT count(*) = count(DISTINCT id) FROM docs;

-- New partitions: watched from the start, for TRUNCATE since the next refresh.
CREATE TABLE docs_e PARTITION OF docs FOR VALUES IN ('e') PARTITION BY HASH (id);
CREATE TABLE docs_e0 PARTITION OF docs_e FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE docs_e1 PARTITION OF docs_e FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE docs_rest PARTITION OF docs DEFAULT;
INSERT INTO docs SELECT i, 'e', 'Number ' || i || md5(i::text) FROM generate_series(501, 508) i;
INSERT INTO docs VALUES (511, NULL, 'Of no part'), (512, 'z', 'Of another part');
UPDATE docs SET part = 'e' WHERE id = 512;
SELECT relation, of_truncate FROM pg_temp.triggers() WHERE relation::text ~ '_(e|rest)';
TRUNCATE docs_rest;
SELECT pg_temp.state('docs');
SELECT relation, of_truncate FROM pg_temp.triggers() WHERE relation::text ~ '_(e|rest)';
TRUNCATE docs_e0;
SELECT count(*) > 0, pg_temp.state('docs') FROM docs_e;
TRUNCATE docs_e, docs_c_low;
SELECT count(*), pg_temp.state('docs') FROM docs_e;
BEGIN;
TRUNCATE docs_c;
SELECT count(*) FROM docs_bands JOIN docs USING (id) WHERE part IN ('c', 'd');
ROLLBACK;
SELECT pg_temp.state('docs');

-- A partition that leaves, lives its own life, and comes back; one that comes with rows.
ALTER TABLE docs DETACH PARTITION docs_b;
SELECT * FROM pg_temp.triggers() WHERE relation = 'docs_b'::regclass;
SELECT * FROM lsh_refresh_band_table('docs');
SELECT pg_temp.state('docs');
INSERT INTO docs_b (id, part, body) VALUES (601, 'b', 'On its own');
UPDATE docs_b SET body = body || ' outside' WHERE id < 0;
SELECT pg_temp.state('docs');
ALTER TABLE docs ATTACH PARTITION docs_b FOR VALUES IN ('b');
INSERT INTO docs VALUES (602, 'b', 'Back again');
DELETE FROM docs WHERE id = 601;
UPDATE docs SET body = body || ' and inside' WHERE part = 'b' AND id < 0;
SELECT pg_temp.state('docs');
DROP TABLE docs_rest;
-- Truncated while it is outside, its rows are no longer the band table's business; inside they are.
ALTER TABLE docs DETACH PARTITION docs_b CONCURRENTLY;
BEGIN;
TRUNCATE docs_b;
ROLLBACK;
SELECT added, removed > 0 FROM lsh_refresh_band_table('docs');
TRUNCATE docs_b;
SELECT pg_temp.state('docs');
INSERT INTO docs_b (id, part, body) VALUES (603, 'b', 'It brings this');
ALTER TABLE docs ATTACH PARTITION docs_b FOR VALUES IN ('b');
SELECT pg_temp.state('docs');
TRUNCATE docs_b;
SELECT pg_temp.state('docs');
-- A partition between.
ALTER TABLE docs DETACH PARTITION docs_c;
SELECT * FROM pg_temp.triggers() WHERE relation::text ~ 'docs_c';
UPDATE docs_c SET body = 'Changed meanwhile';
TRUNCATE docs_c_low;
ALTER TABLE docs ATTACH PARTITION docs_c FOR VALUES IN ('c', 'd');
SELECT pg_temp.state('docs');
UPDATE docs_c SET body = body || ' and watched ' || id;
SELECT pg_temp.state('docs');
-- A partition that is dropped, with its rows.
DROP TABLE docs_e;
CREATE TABLE docs_rest PARTITION OF docs DEFAULT;
INSERT INTO docs VALUES (801, 'e', 'In the default partition');
SELECT pg_temp.state('docs');

-- A partition as a source, of the same rows, and one between.
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''docs_a'')');
ALTER TABLE docs_a ADD PRIMARY KEY (id);
SELECT lsh_create_band_table('docs_a', bands => 5, rows => 4), lsh_create_band_table('docs_c', bands => 6, rows => 3);
INSERT INTO docs VALUES (701, 'a', 'In two band tables'), (702, 'c', 'In two others'), (703, 'b', 'In one');
INSERT INTO docs_a VALUES (704, 'a', 'In two at once');
UPDATE docs SET part = CASE part WHEN 'a' THEN 'c' WHEN 'c' THEN 'a' ELSE part END;
UPDATE docs SET body = body || '!', part = 'b' WHERE id = 704;
DELETE FROM docs WHERE id = 702;
SELECT pg_temp.state('docs'), pg_temp.state('docs_a'), pg_temp.state('docs_c');
SELECT * FROM pg_temp.triggers();
TRUNCATE docs_a;
SELECT pg_temp.state('docs'), pg_temp.state('docs_a'), pg_temp.state('docs_c');
INSERT INTO docs VALUES (705, 'a', 'Once again');
ALTER TABLE docs DETACH PARTITION docs_a;
UPDATE docs_a SET body = 'Alone';
INSERT INTO docs_a VALUES (706, 'a', 'Alone, too');
SELECT pg_temp.state('docs'), pg_temp.state('docs_a');
ALTER TABLE docs ATTACH PARTITION docs_a FOR VALUES IN ('a');
SELECT pg_temp.state('docs'), pg_temp.state('docs_a');
SELECT pg_temp.error_of('SELECT * FROM lsh_refresh_band_table(''docs_a'', ''docs_bands'')');
-- A table with a band table of its own becomes a partition: its statement triggers, which cannot see what the root
-- writes, give way at the next refresh.
CREATE TABLE docs_f (body text, id int PRIMARY KEY, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    part text);
SELECT lsh_create_band_table('docs_f');
INSERT INTO docs_f (id, part, body) VALUES (901, 'f', 'Before');
SELECT pg_temp.state('docs_f');
ALTER TABLE docs ATTACH PARTITION docs_f FOR VALUES IN ('f');
SELECT pg_temp.state('docs'), pg_temp.state('docs_f');
SELECT * FROM pg_temp.triggers() WHERE relation = 'docs_f'::regclass;
INSERT INTO docs VALUES (902, 'f', 'After'), (903, 'f', 'After that');
UPDATE docs SET part = 'b' WHERE id = 901;
SELECT pg_temp.state('docs'), pg_temp.state('docs_f');
-- Root and partitions at once.
TRUNCATE docs;
SELECT (SELECT count(*) FROM docs_bands), (SELECT count(*) FROM docs_a_bands), (SELECT count(*) FROM docs_c_bands),
    (SELECT count(*) FROM docs_f_bands);
INSERT INTO docs SELECT i, substr('abcdf', i % 5 + 1, 1), 'Text ' || md5(i::text) FROM generate_series(1, 30) i;
SELECT source, pg_temp.state(source) FROM lsh_band_tables ORDER BY source::text COLLATE "C";

-- Names that are taken in a partition; a new band table under the old name.
ALTER TABLE docs_bands RENAME TO other_bands;
SELECT lsh_create_band_table('docs', bands => 2, rows => 9);
INSERT INTO docs VALUES (31, 'a', 'In three band tables');
SELECT pg_temp.state('docs', 'docs_bands'), pg_temp.state('docs', 'other_bands'), pg_temp.state('docs_a');
TRUNCATE docs_a;
SELECT pg_temp.state('docs', 'docs_bands'), pg_temp.state('docs', 'other_bands'), pg_temp.state('docs_a');
SELECT lsh_drop_band_table('docs', 'other_bands');
-- A column renamed everywhere.
ALTER TABLE docs RENAME id TO "No.";
ALTER TABLE docs RENAME sig TO "S";
INSERT INTO docs ("No.", part, body) VALUES (32, 'b', 'Renamed'), (33, 'f', 'Renamed, too'),
    (34, 'c', 'Renamed as well');
SELECT source, pg_temp.state(source) FROM lsh_band_tables ORDER BY source::text COLLATE "C";

-- Owners: the partitions' may differ. A partition of another owner is kept in step, but not truncated by him, who has
-- no rights on the band table.
CREATE ROLE regress_lsh_root;
CREATE ROLE regress_lsh_part;
GRANT CREATE ON SCHEMA public TO regress_lsh_root;
SET ROLE regress_lsh_root;
CREATE TABLE owned (id int, part int, sig minhash_signature) PARTITION BY LIST (part);
CREATE TABLE owned_1 PARTITION OF owned FOR VALUES IN (1);
CREATE TABLE owned_2 PARTITION OF owned FOR VALUES IN (2);
RESET ROLE;
ALTER TABLE owned_2 OWNER TO regress_lsh_part;
SET ROLE regress_lsh_root;
SELECT pg_temp.error_of('SELECT lsh_create_band_table(''owned'')');
RESET ROLE;
ALTER TABLE owned_2 OWNER TO regress_lsh_root;
SELECT lsh_create_band_table('owned');
ALTER TABLE owned_2 OWNER TO regress_lsh_part;
SET ROLE regress_lsh_part;
INSERT INTO owned_2 VALUES (1, 2, minhash('By the partition''s owner')), (2, 2, minhash('Another'));
UPDATE owned_2 SET sig = minhash('Changed by him') WHERE id = 1;
SELECT pg_temp.error_of('TRUNCATE owned_2');
DELETE FROM owned_2 WHERE id = 2;
SELECT pg_temp.error_of('TRUNCATE owned'), pg_temp.error_of('SELECT lsh_refresh_band_table(''owned'')'),
    pg_temp.error_of('SELECT * FROM owned_bands');
RESET ROLE;
SELECT tableowner FROM pg_tables WHERE tablename = 'owned_bands';
SELECT pg_temp.state('owned');
DROP TABLE owned;
REVOKE CREATE ON SCHEMA public FROM regress_lsh_root;
DROP ROLE regress_lsh_root, regress_lsh_part;

-- Nothing is left behind: of a band table on the root, on partitions, and outside.
ALTER TABLE docs DETACH PARTITION docs_b;
SELECT lsh_drop_band_table('docs');
SELECT * FROM pg_temp.triggers();
INSERT INTO docs ("No.", part, body) VALUES (35, 'a', 'Still in the band table of a');
TRUNCATE docs_b;
ALTER TABLE docs ATTACH PARTITION docs_b FOR VALUES IN ('b');
SELECT source, pg_temp.state(source) FROM lsh_band_tables ORDER BY source::text COLLATE "C";
DROP TABLE docs_a;
SELECT source FROM lsh_band_tables ORDER BY source::text COLLATE "C";
SELECT lsh_create_band_table('docs', 'No.', 'S');
DROP TABLE docs;
SELECT relname FROM pg_class WHERE relname ~ '^(docs|owned|other)' AND relkind IN ('r', 'p');
SELECT count(*) FROM pg_trigger WHERE tgfoid = 'lsh_maintain_band_table'::regproc;
SELECT count(*) FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_extension'::regclass
    AND deptype = 'n';
