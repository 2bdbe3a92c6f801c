-- lsh_create_clusters() and lsh_refresh_clusters(): clusters that are kept in a table.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
SET client_min_messages = warning;
CREATE SCHEMA kept_clusters;
SET search_path = kept_clusters, public;

-- Returns 16 words of a family's endless sequence of words, from a given place on. The nearer two places are, the more
-- similar the texts: at a distance of 4, their similarity is 0.6.
CREATE FUNCTION passage(family int, place int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(concat(family, '-', place + word)), ' ' ORDER BY word) FROM generate_series(1, 16) AS word
$$;
-- Counts the rows in which a kept table and the result of lsh_clusters() differ. The numbers of clusters do not matter.
CREATE FUNCTION differences(kept regclass, query text, near boolean DEFAULT true, threshold float8 DEFAULT 0.56)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    EXECUTE format('WITH truth AS MATERIALIZED (
            SELECT * FROM lsh_clusters($1, NULL::%2$s, threshold => $3, %3$s recall => 0.9999,
                near_representative => $2, singletons => true)), wrong AS (
            (SELECT id, representative, similarity FROM truth
             EXCEPT ALL SELECT id, representative, similarity FROM %1$s)
            UNION ALL
            (SELECT id, representative, similarity FROM %1$s
             EXCEPT ALL SELECT id, representative, similarity FROM truth))
        SELECT (SELECT count(*) FROM wrong)
            + abs(count(DISTINCT t.cluster_id) - count(DISTINCT (t.cluster_id, k.cluster_id)))
            + abs(count(DISTINCT k.cluster_id) - count(DISTINCT (t.cluster_id, k.cluster_id)))
        FROM truth AS t JOIN %1$s AS k USING (id)', kept, (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
            WHERE attrelid = kept AND attname = 'id'),
        CASE WHEN query !~ '\msig\M' THEN 'unit => ''word'', shingle_size => 1,' END)
        INTO found USING query, near, threshold;
    RETURN found;
END $$;

-- Clusters over time. Ids 10 to 14 are a chain of texts of one family, and ids 20 to 22 are texts of another family.
-- The other rows are near no row.
CREATE TABLE docs (id int PRIMARY KEY, body text);
INSERT INTO docs SELECT 10 + i, passage(1, 4 * i) FROM generate_series(0, 4) i;
INSERT INTO docs SELECT 20 + i, passage(2, i) FROM generate_series(0, 2) i;
INSERT INTO docs VALUES (30, passage(3, 0)), (31, ''), (32, NULL), (33, ' ');
SELECT * FROM lsh_create_clusters('near', 'SELECT id, body FROM docs; ', threshold => 0.56, unit => 'word',
    shingle_size => 1, recall => 0.9999);
SELECT * FROM lsh_create_clusters('kept_clusters."Connected rows"', 'SELECT id, body FROM docs -- all',
    threshold => 0.56, unit => 'word', shingle_size => 1, recall => 0.9999, near_representative => false);
SELECT id, cluster_id, representative, round(similarity::numeric, 2) AS similarity, component FROM near ORDER BY id;
SELECT cluster_id, array_agg(id ORDER BY id) AS ids, bool_and(component = cluster_id) AS is_component
    FROM "Connected rows" GROUP BY 1 ORDER BY 1;
-- Refreshes look rows up by their components, so both tables have an index of them.
SELECT indrelid::regclass FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    WHERE indrelid IN ('near'::regclass, '"Connected rows"'::regclass) AND attname = 'component' ORDER BY 1;
SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity FROM pg_attribute
    WHERE attrelid = 'near'::regclass AND attnum > 0 ORDER BY attnum;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
    WHERE attrelid = 'near_settings'::regclass AND attnum > 0 ORDER BY attnum;
SELECT query, search_path, threshold, recall, unit, shingle_size, near_representative, clusters, refreshes, row_count,
    rows_added, clusters_made, last_cluster_id, seconds >= 0 AS took, refreshed_at BETWEEN now() - interval '1 hour'
    AND clock_timestamp() AS at_once FROM near_settings;
-- The first refresh finds nothing new. Before the second, rows are inserted, deleted and changed.
SELECT * FROM lsh_refresh_clusters('near');
INSERT INTO docs VALUES (5, passage(2, 1)), (25, passage(3, 1)), (26, passage(4, 0));
DELETE FROM docs WHERE id IN (12, 31);
UPDATE docs SET body = passage(3, 2) WHERE id = 20;
SELECT * FROM lsh_refresh_clusters('near', log => 'near_log');
SELECT * FROM lsh_refresh_clusters('"Connected rows"', log => 'kept_clusters."Log of rows"');
SELECT id, cluster_id, representative, round(similarity::numeric, 2) AS similarity, component FROM near ORDER BY id;
SELECT cluster_id, array_agg(id ORDER BY id) AS ids FROM "Connected rows" GROUP BY 1 ORDER BY 1;
SELECT event, id, old_cluster_id, cluster_id, old_representative, representative FROM near_log ORDER BY 2;
SELECT refresh, event, id, old_cluster_id, cluster_id, refreshed_at > now() - interval '1 hour' AS at_once
    FROM "Log of rows" ORDER BY 3;
SELECT differences('near', 'SELECT id, body FROM docs'),
    differences('"Connected rows"', 'SELECT id, body FROM docs', near => false);
-- If two clusters join, the number of the older one stays. If a cluster is split, its largest part keeps the number.
-- Rows that have changed do not count for the size of a part.
INSERT INTO docs VALUES (12, passage(1, 8)), (40, passage(5, 0)), (41, passage(5, 8));
SELECT * FROM lsh_refresh_clusters('"Connected rows"', log => '"Log of rows"');
INSERT INTO docs VALUES (42, passage(5, 4));
SELECT * FROM lsh_refresh_clusters('"Connected rows"', log => '"Log of rows"');
DELETE FROM docs WHERE id IN (11, 42);
UPDATE docs SET body = passage(7, 0) WHERE id = 41;
SELECT * FROM lsh_refresh_clusters('"Connected rows"', log => '"Log of rows"');
SELECT cluster_id, array_agg(id ORDER BY id) AS ids FROM "Connected rows" GROUP BY 1 ORDER BY 1;
SELECT refresh, event, id, old_cluster_id, cluster_id FROM "Log of rows" WHERE refresh > 3 ORDER BY refresh, id;
SELECT differences('"Connected rows"', 'SELECT id, body FROM docs', near => false);
INSERT INTO docs SELECT 43 + i, passage(6, i) FROM generate_series(0, 2) i;
SELECT * FROM lsh_refresh_clusters('"Connected rows"');
UPDATE docs SET body = passage(61, id) WHERE id IN (43, 44);
SELECT * FROM lsh_refresh_clusters('"Connected rows"');
SELECT cluster_id, array_agg(id ORDER BY id) AS ids FROM "Connected rows" WHERE id > 41 GROUP BY 1 ORDER BY 1;
-- With the argument "changed", a refresh looks only at the rows that "changed" lists. The next refresh without this
-- argument finds the other changes.
INSERT INTO docs VALUES (50, passage(8, 0)), (51, passage(8, 1)), (52, passage(8, 2));
DELETE FROM docs WHERE id = 30;
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT id::bigint, ''a'' FROM docs WHERE id IN (50, 51) -- two');
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT 30 UNION ALL SELECT 30 UNION ALL SELECT 99');
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT id FROM docs WHERE false');
SELECT * FROM lsh_refresh_clusters('near');
SELECT differences('near', 'SELECT id, body FROM docs');
-- A refresh of one row looks at the row's whole component. So the refresh finds that another row is gone, although
-- "changed" did not list that row.
DELETE FROM docs WHERE id = 50;
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT 51');
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT 51 WHERE false');
UPDATE docs SET body = passage(8, 3) WHERE id = 51;
SELECT * FROM lsh_refresh_clusters('near', changed => 'SELECT 51');
SELECT differences('near', 'SELECT id, body FROM docs');
-- Delete all rows and insert them again. The clusters get new numbers, because numbers are never reused.
CREATE TABLE aside AS SELECT * FROM docs;
DELETE FROM docs;
SELECT * FROM lsh_refresh_clusters('near');
INSERT INTO docs TABLE aside;
SELECT * FROM lsh_refresh_clusters('near');
SELECT min(cluster_id) > 10 AS new_numbers, differences('near', 'SELECT id, body FROM docs') FROM near;
-- A refresh writes only rows that differ.
CREATE TABLE places AS SELECT id, ctid AS place, cluster_id, representative FROM near;
INSERT INTO docs VALUES (6, passage(2, 1)), (60, passage(9, 0));
SELECT rows_added FROM lsh_refresh_clusters('near');
SELECT n.id FROM places AS p JOIN near AS n USING (id) WHERE n.ctid <> p.place ORDER BY id;
-- If the settings have changed, a refresh clusters all rows again. Clusters keep their numbers.
CREATE TABLE numbers AS SELECT id, cluster_id FROM near;
UPDATE near_settings SET threshold = 0.7;
SELECT rows_changed, clusters_made > 0 AS made,
    clusters_joined, clusters_dissolved FROM lsh_refresh_clusters('near');
SELECT differences('near', 'SELECT id, body FROM docs', threshold => 0.7),
    (SELECT count(*) FROM (SELECT cluster_id FROM numbers EXCEPT SELECT cluster_id FROM near) AS s) AS lost;
-- A refresh also repairs the kept table itself, if somebody has deleted, added or damaged rows in it.
DELETE FROM near WHERE id = 6;
UPDATE near SET content_hash = NULL, representative = 6, similarity = 0 WHERE id = 13;
INSERT INTO near SELECT 1000, cluster_id, id, 1, component, 7 FROM near WHERE id = 60;
SELECT * FROM lsh_refresh_clusters('near');
SELECT differences('near', 'SELECT id, body FROM docs', threshold => 0.7);

-- Ids of many types.
CREATE DOMAIN id_domain AS int CHECK (value > 0);
CREATE DOMAIN id_of_id_domain AS id_domain;
CREATE TYPE id_enum AS ENUM ('a7', 'a3', 'a1', 'a2', 'a4', 'a5', 'a6', 'a0', 'a8', 'a9');
CREATE DOMAIN id_of_enum AS id_enum;
CREATE DOMAIN id_of_range AS int4range;
CREATE TYPE id_pair AS (a int, b text);
CREATE TYPE "Odd type" AS (a text);
DO $$ BEGIN FOR i IN 1 .. 9 LOOP EXECUTE format('CREATE TABLE named_%s ()', i); END LOOP; END $$;
CREATE TABLE things AS SELECT i, passage(i % 3, 3 * (i / 3)) AS body FROM generate_series(1, 9) i;
CREATE FUNCTION try_ids(type text, expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT CAST(%s AS %s), body FROM things', expression, type);
    report text;
    refreshes int[] := '{}';
BEGIN
    PERFORM lsh_create_clusters('things_near', query, threshold => 0.56, unit => 'word', shingle_size => 1,
        recall => 0.9999);
    report := format('%s, of %s clusters', (SELECT typname FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
        WHERE attrelid = 'things_near'::regclass AND attname = 'representative'),
        (SELECT count(DISTINCT cluster_id) FROM things_near));
    DELETE FROM things WHERE i = 4;
    UPDATE things SET body = passage(1, 0) WHERE i = 5;
    SELECT array_agg(v) INTO refreshes FROM lsh_refresh_clusters('things_near') AS r,
        LATERAL unnest(ARRAY[rows_added, rows_removed, rows_changed]) AS v;
    INSERT INTO things VALUES (4, passage(1, 3));
    UPDATE things SET body = passage(2, 3) WHERE i = 5;
    SELECT refreshes || array_agg(v)::int[] INTO refreshes FROM lsh_refresh_clusters('things_near', changed =>
        format('SELECT CAST(%s AS %s) FROM things WHERE i IN (4, 5);', expression, type)) AS r,
        LATERAL unnest(ARRAY[rows_added, rows_removed, rows_changed]) AS v;
    report := report || format(': %s, %s differences', refreshes, differences('things_near', query));
    DROP TABLE things_near;
    RETURN report;
END $$;
SELECT type, try_ids(type, expression) FROM (VALUES
    ('smallint', 'i'), ('int', '-i'), ('bigint', 'i + 5000000000'), ('numeric', 'i / 7.0'), ('numeric(5,1)', 'i / 2.0'),
    ('real', 'i / 7.0'), ('double precision', 'sqrt(i)'), ('text', '''it''''s "'' || i || ''"\ %s {'''),
    ('varchar(7)', 'i || '',{}'''), ('char(5)', 'i'), ('name', '''n'' || i'), ('"char"', 'chr(64 + i)'),
    ('bytea', 'decode(''0'' || i, ''hex'')'),
    ('uuid', 'md5(i::text)::uuid'), ('date', 'date ''2026-01-01'' + i'), ('timestamptz', 'to_timestamp(i + i / 7.0)'),
    ('interval', 'make_interval(days => i)'), ('inet', '''10.0.0.'' || i'), ('int[]', 'ARRAY[i, 10 - i]'),
    ('text[]', 'ARRAY[''a,{"'' || i, NULL]'), ('int4range', 'int4range(i, 20)'), ('id_domain', 'i'),
    ('id_of_id_domain', 'i'), ('id_enum', '''a'' || i'), ('id_of_enum', '''a'' || i'),
    ('id_of_range', 'int4range(i, 20)'), ('id_pair', 'ROW(i, ''b")\'')'), ('"Odd type"', 'ROW(i)'),
    ('minhash_signature', 'minhash(i::text)'), ('jsonb', 'jsonb_build_object(''i'', i)'),
    ('regclass', '''named_'' || i'), ('regclass[]', 'ARRAY[(''named_'' || i)::regclass]'),
    ('boolean[]', 'ARRAY[i > 4, i % 2 = 0, i % 4 > 1, i = 9]'))
    AS t (type, expression);

-- Ids that differ are different ids, even if the source's collation equates them: 'A' tells nothing about 'a'.
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE any_case (id text COLLATE ignoring_case PRIMARY KEY, body text);
INSERT INTO any_case SELECT chr(96 + i), passage(i, 0) FROM generate_series(1, 8) i;
CREATE INDEX ON any_case USING lsh (minhash(body));
SELECT lsh_create_clusters('of_any_case', 'SELECT id, body FROM any_case');
UPDATE any_case SET body = passage(CASE id WHEN 'b' THEN 4 ELSE 1 END, 0) WHERE id IN ('b', 'c');
SELECT rows_changed, rows_added, differences('of_any_case', 'SELECT id, body FROM any_case')
FROM lsh_refresh_clusters('of_any_case', changed => 'SELECT unnest(''{B,c}''::text[])');
SELECT rows_changed, rows_added, differences('of_any_case', 'SELECT id, body FROM any_case')
FROM lsh_refresh_clusters('of_any_case');
DROP TABLE any_case, of_any_case;
DROP COLLATION ignoring_case;

-- Queries with signatures, with a domain over text, with a scope, with a rank, and over several tables.
CREATE DOMAIN title AS varchar(2000) NOT NULL;
CREATE TABLE parts (id int, body title, scope text, rank int,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body, unit => 'word', shingle_size => 1)) STORED);
INSERT INTO parts SELECT i, passage(i % 3, 2 * (i / 6)), nullif(i % 2, 0), 10 - i FROM generate_series(1, 24) i;
CREATE FUNCTION try_query(query text, near boolean) RETURNS TABLE (clusters bigint, differences bigint, at_last bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT clusters_made INTO clusters FROM lsh_create_clusters('of_query', query, threshold => 0.56,
        unit => CASE WHEN query !~ '\msig\M' THEN 'word' END, shingle_size => CASE WHEN query !~ '\msig\M' THEN 1 END,
        recall => 0.9999, near_representative => near);
    UPDATE parts SET scope = 'b' WHERE id IN (3, 9);
    UPDATE parts SET rank = rank + 100 WHERE id IN (2, 4);
    DELETE FROM parts WHERE id = 7;
    PERFORM lsh_refresh_clusters('of_query');
    differences := differences('of_query', query, near);
    UPDATE parts SET scope = nullif(id % 2, 0), rank = 10 - id;
    INSERT INTO parts SELECT 7, passage(7 % 3, 2), 1, 3;
    PERFORM lsh_refresh_clusters('of_query');
    at_last := differences('of_query', query, near);
    DROP TABLE of_query;
    RETURN NEXT;
END $$;
SELECT query, near, t.* FROM unnest(ARRAY['SELECT id, body FROM parts', 'SELECT id, sig FROM parts',
    'SELECT id, body, rank FROM parts', 'SELECT id, body, scope FROM parts', 'SELECT id, sig, rank, scope FROM parts',
    'SELECT id, body, rank, scope FROM parts', 'SELECT p.id + d.n, p.body FROM parts p, (VALUES (0), (100)) AS d (n)',
    'WITH x AS (SELECT id, body::text FROM parts) SELECT id, upper(body), -length(body) AS rank FROM x
        ORDER BY 1 LIMIT 20'])
    AS query, unnest(ARRAY[true, false]) AS near, try_query(query, near) AS t;

-- A refresh uses an index on texts or signatures if that is cheaper, even with a scope.
INSERT INTO parts SELECT i, passage(i, 0), i % 2, 0 FROM generate_series(100, 1100) i;
CREATE INDEX parts_body ON parts USING lsh (minhash(body, unit => 'word', shingle_size => 1));
CREATE INDEX parts_sig ON parts USING lsh (sig);
CREATE UNIQUE INDEX ON parts (id);
ANALYZE parts;
-- How many rows a lookup through an index costs, as a refresh believes; NULL: no index serves the query.
CREATE FUNCTION rows_of_a_lookup(kept regclass) RETURNS float8
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    settings regclass := public._lsh_kept_settings_table(kept);
    made jsonb;
BEGIN
    EXECUTE format('SELECT to_jsonb(s) FROM %s AS s', settings) INTO made;
    RETURN (SELECT (p.k).rows_of_lookup
            FROM public._lsh_kept_prepare(kept, kept::text, settings::text, made, true) AS p);
END $$;
SELECT lsh_create_clusters('by_body', 'SELECT id, body FROM parts', threshold => 0.56, unit => 'word',
    shingle_size => 1);
SELECT lsh_create_clusters('by_sig', 'SELECT id, sig, scope FROM parts', threshold => 0.56, recall => 0.9999);
SELECT lsh_create_clusters('by_seed', 'SELECT id, body FROM parts', threshold => 0.56, unit => 'word',
    shingle_size => 1, seed => 1);
SET enable_seqscan = off; -- because the table is small
SELECT rows_of_a_lookup(kept) > 0 AS by_index FROM unnest('{by_body,by_sig,by_seed}'::regclass[]) AS kept;
-- An lsh index that has the name of another index is not taken for it, whoever has made it.
SELECT lsh_create_clusters('by_range', 'SELECT id, body FROM parts WHERE id < 1000');
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.signed (sig minhash_signature);
CREATE INDEX parts_id_idx ON elsewhere.signed USING lsh (sig);
SELECT rows_of_a_lookup('by_range');
DROP SCHEMA elsewhere CASCADE;
-- A lookup in two tables, of which one has an index, reads the other.
CREATE TABLE old_parts AS SELECT 3000 + i AS id, passage(i, 5)::title AS body FROM generate_series(1, 2000) AS i;
ANALYZE old_parts;
SELECT lsh_create_clusters('by_both', 'SELECT id, body FROM parts UNION ALL SELECT id, body FROM old_parts',
    threshold => 0.56, unit => 'word', shingle_size => 1) IS NOT NULL AS made;
SELECT rows_of_a_lookup('by_both') > 300 AS reads_the_other;
INSERT INTO parts SELECT 2000 + i, passage(100 + i, i), i % 3, 0 FROM generate_series(1, 20) i;
SELECT * FROM lsh_refresh_clusters('by_body');
SELECT * FROM lsh_refresh_clusters('by_sig');
-- Through an index, a refresh has the recall at the threshold that the settings ask for: 0.999 here.
CREATE TABLE pairs AS SELECT i AS id, passage(i, 0) AS body FROM generate_series(1, 2600) i;
ALTER TABLE pairs ADD PRIMARY KEY (id);
CREATE INDEX pairs_body ON pairs USING lsh (minhash(body, unit => 'word', shingle_size => 1));
ANALYZE pairs;
SELECT lsh_create_clusters('at_threshold', 'SELECT id, body FROM pairs', threshold => 0.6, unit => 'word',
    shingle_size => 1, recall => 0.999);
SELECT rows_of_a_lookup('at_threshold') > 0 AS by_index;
DO $$ BEGIN
    FOR night IN 0 .. 49 LOOP
        INSERT INTO pairs SELECT 10000 + i, passage(i, 4) FROM generate_series(20 * night + 1, 20 * night + 20) AS i;
        PERFORM lsh_refresh_clusters('at_threshold', changed => format('SELECT 10000 + generate_series(%s, %s)',
            20 * night + 1, 20 * night + 20));
    END LOOP;
END $$;
SELECT count(*) >= 996 AS found FROM at_threshold WHERE id > 10000 AND representative = id - 10000;
SELECT pg_stat_force_next_flush();
SELECT idx_scan >= 1000 AS by_index FROM pg_stat_user_indexes WHERE indexrelname = 'pairs_body';
RESET enable_seqscan;
SELECT differences('by_body', 'SELECT id, body FROM parts'), differences('by_sig', 'SELECT id, sig, scope FROM parts');

-- A refresh uses the search path of the time when the clusters were created. Statements of the extension do not use
-- operators and functions that other users plant in that path.
CREATE ROLE regress_lsh_kept;
GRANT CREATE, USAGE ON SCHEMA kept_clusters TO regress_lsh_kept;
GRANT USAGE ON SCHEMA kept_clusters TO public;
CREATE SCHEMA decoys;
GRANT USAGE ON SCHEMA decoys TO regress_lsh_kept;
DO $$
DECLARE
    type text;
    operator text;
BEGIN
    FOREACH type IN ARRAY '{int4,int8,text,float8,bool,uuid,oid,name}'::text[] LOOP
        EXECUTE format('CREATE FUNCTION decoys.decoy(pg_catalog.%1$s, pg_catalog.%1$s) RETURNS pg_catalog.bool
            LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''a decoy''''; END''', type);
        FOREACH operator IN ARRAY ARRAY['=', '<>', '<', '>', '<=', '>=', '||', '*', '->', '->>'] LOOP
            EXECUTE format('CREATE OPERATOR decoys.%1$s (LEFTARG = pg_catalog.%2$s, RIGHTARG = pg_catalog.%2$s,
                FUNCTION = decoys.decoy)', operator, type);
        END LOOP;
    END LOOP;
    FOREACH type IN ARRAY ARRAY['min(int8)', 'count()', 'array_agg(text)', 'unnest(text[])', 'concat(text, text, text)',
        'now()', 'quote_literal(text)', 'nextval(regclass)', 'set_config(text, text, bool)', 'typeof(uuid)',
        'hash_record_extended(record, int8)', 'hashtextextended(text, int8)', 'minhash(text)',
        'minhash_similar(text)'] LOOP
        EXECUTE format('CREATE FUNCTION decoys.%s RETURNS text LANGUAGE plpgsql
            AS ''BEGIN RAISE EXCEPTION ''''a decoy''''; END''',
            type);
    END LOOP;
    FOREACH type IN ARRAY '{uuid,int8,int4,float8,text,timestamptz,regclass}'::text[] LOOP
        EXECUTE format('CREATE DOMAIN decoys.%1$s AS pg_catalog.%1$s CHECK (false)', type);
    END LOOP;
END $$;
CREATE TABLE decoys.sources (id pg_catalog.uuid, body pg_catalog.text);
GRANT SELECT, INSERT, DELETE ON decoys.sources TO regress_lsh_kept;
INSERT INTO decoys.sources SELECT md5(i::text)::uuid, passage(i % 5, i / 5) FROM generate_series(1, 20) i;
SET ROLE regress_lsh_kept;
SET search_path = decoys, pg_catalog, kept_clusters;
SELECT rows_added, clusters_made
FROM public.lsh_create_clusters('kept_clusters.among_decoys', 'SELECT id, body FROM sources', threshold => 0.6);
SET search_path = pg_catalog;
INSERT INTO decoys.sources SELECT md5(i::text)::uuid, kept_clusters.passage(i % 6, i / 5)
FROM generate_series(21, 40) i;
SELECT * FROM public.lsh_refresh_clusters('kept_clusters.among_decoys', changed => 'SELECT id FROM sources',
    log => 'kept_clusters.decoy_log');
DELETE FROM decoys.sources WHERE id::pg_catalog.text < '4';
SET search_path = decoys;
SELECT * FROM public.lsh_refresh_clusters('kept_clusters.among_decoys', log => 'kept_clusters.decoy_log');
SELECT pg_catalog.current_setting('search_path');
RESET search_path;
RESET ROLE;
SET search_path = kept_clusters, public;
SELECT count(*) FROM (SELECT id, representative, similarity FROM among_decoys
    EXCEPT SELECT id, representative, similarity
    FROM lsh_clusters('SELECT id, body FROM decoys.sources', NULL::uuid, threshold => 0.6, near_representative => true,
        singletons => true)) AS wrong;

-- The extension's statements do not use functions planted in the extension's own schema either, even if PostgreSQL's
-- parser would prefer these functions. The type of the ids is a domain, so that a planted function can match it
-- exactly.
BEGIN;
CREATE DOMAIN number_of_doc AS integer;
CREATE TABLE among (id number_of_doc PRIMARY KEY, body text);
INSERT INTO among SELECT i, passage(i % 5, i / 5) FROM generate_series(1, 1000) i;
CREATE INDEX ON among USING lsh (minhash(body));
ANALYZE among;
DO $$
DECLARE
    decoy text;
BEGIN
    FOREACH decoy IN ARRAY ARRAY['minhash(document text, num_hashes text) RETURNS minhash_signature',
        'minhash(document text, num_hashes int) RETURNS minhash_signature',
        'minhash_similar(minhash_signature, minhash_signature, text) RETURNS boolean',
        'shingle_jaccard(a text, b text, shingle_size text) RETURNS float8',
        'shingle_jaccard(a text, b text) RETURNS float8',
        'lsh_pairs(query text, id integer, threshold text, other_query text) RETURNS SETOF record',
        'lsh_pairs(query text, id number_of_doc, threshold text, other_query text) RETURNS SETOF record',
        'lsh_clusters(query text, id integer, threshold text, near_representative text, singletons boolean)
            RETURNS SETOF record',
        '_lsh_kept_clusters(text, text, float8, float8, int, int, text, int, int, int, text, boolean, boolean,
            bigint, text, boolean, boolean, text) RETURNS SETOF record',
        'lsh_refresh_clusters(regclass, OUT rows_added bigint, OUT clusters_made bigint)',
        '_lsh_kept_locked_name(oid) RETURNS text', '_lsh_kept_query(text, text) RETURNS record',
        '_lsh_kept_table(text) RETURNS record'] LOOP
        EXECUTE format('CREATE FUNCTION public.%s LANGUAGE plpgsql AS
            ''BEGIN RAISE EXCEPTION ''''a decoy''''; END''', decoy);
    END LOOP;
END $$;
SELECT rows_added, clusters_made FROM lsh_create_clusters('of_domain', 'SELECT id, body FROM among', threshold => 0.6);
INSERT INTO among VALUES (1001, passage(3, 1)), (1002, 'Like nothing else that is here');
SELECT rows_added, clusters_made
FROM lsh_refresh_clusters('of_domain', changed => 'SELECT 1001 UNION ALL SELECT 1002', log => NULL);
DELETE FROM among WHERE id = 1001;
SELECT rows_removed FROM lsh_refresh_clusters('of_domain', changed => NULL, log => NULL);
SELECT count(*), (SELECT count(*) FROM (SELECT id, representative, similarity FROM of_domain
    EXCEPT SELECT id, representative, similarity FROM lsh_clusters('SELECT id, body FROM among', threshold => 0.6,
        near_representative => true, singletons => true)) AS wrong) AS wrong FROM of_domain;
ROLLBACK;

-- Errors of the internal functions that refreshes call.
SELECT pg_temp.error_of($$SELECT FROM _lsh_kept_clusters('SELECT 1, ''a''', 'int8', 0.8, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL) AS x(a bigint)$$);
SELECT pg_temp.error_of($$SELECT FROM _lsh_kept_clusters('SELECT 1, ''a''', NULL, 0.8, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL) AS x(a bigint)$$);

-- The query runs with the rights of the owner, whoever refreshes: a superuser, or a member of the owner's role. Nobody
-- else may.
CREATE ROLE regress_lsh_member IN ROLE regress_lsh_kept;
CREATE ROLE regress_lsh_other;
CREATE FUNCTION spy(uuid) RETURNS uuid LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF current_user <> 'regress_lsh_kept' THEN
        RAISE EXCEPTION 'the query runs as %', current_user;
    END IF;
    RETURN $1;
END $$;
UPDATE among_decoys_settings SET query = 'SELECT kept_clusters.spy(id), body FROM sources';
SELECT rows_added FROM lsh_refresh_clusters('among_decoys');
SET ROLE regress_lsh_member;
SELECT rows_added FROM lsh_refresh_clusters('kept_clusters.among_decoys');
SET ROLE regress_lsh_other;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('kept_clusters.among_decoys')$$);
SET ROLE regress_lsh_kept;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('kept_clusters.among_decoys', log => 'kept_clusters.near_log')$$);
SELECT pg_temp.error_of(
    $$SELECT lsh_create_clusters('kept_clusters.stolen', 'SELECT id, body FROM kept_clusters.docs')$$);
RESET ROLE;

-- Errors in the query, the settings and the kept table.
SET search_path = kept_clusters, public;
SELECT query, pg_temp.error_of(format('SELECT lsh_create_clusters(%L, %L)', 'wrong', query)) FROM unnest(ARRAY[
    'SELECT id FROM docs', 'SELECT', 'SELECT id, body, 1 FROM docs', 'SELECT id, body, 1 AS rank, 2 AS rank FROM docs',
    'docs', 'SELECT id, body FROM nowhere', 'SELECT id, id AS body FROM docs', 'SELECT point(id, id), body FROM docs',
    'SELECT 1 AS id, body FROM docs', 'SELECT nullif(id, 10), body FROM aside',
    'SELECT id, body FROM docs; SELECT 1, ''a''',
    'DELETE FROM docs RETURNING id, body', 'SELECT id, body FROM docs FOR UPDATE']) AS query;
SELECT arguments, pg_temp.error_of(format('SELECT lsh_create_clusters(%s)', arguments)) FROM unnest(ARRAY[
    $$'near', 'SELECT id, body FROM docs'$$, $$'a.b.c', 'SELECT id, body FROM docs'$$,
    $$'a b', 'SELECT id, body FROM docs'$$,
    $$'wrong', 'SELECT id, body FROM docs', threshold => 2$$, $$'wrong', 'SELECT id, body FROM docs', unit => 'x'$$,
    $$'wrong', 'SELECT id, body FROM docs', threshold => NULL$$, $$NULL, 'SELECT id, body FROM docs'$$,
    $$'wrong', NULL$$, $$'wrong', 'SELECT id, body FROM docs', search_path => NULL$$]) AS arguments;
SELECT to_regclass('wrong');
INSERT INTO docs VALUES (70, passage(70, 0));
CREATE VIEW doubled AS SELECT id, body FROM docs;
SELECT lsh_create_clusters('of_view', 'SELECT id, body FROM doubled');
CREATE OR REPLACE VIEW doubled AS SELECT id, body FROM docs UNION ALL SELECT 70, 'other';
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
CREATE OR REPLACE VIEW doubled AS SELECT id, body FROM docs UNION ALL SELECT 71, 'new' FROM generate_series(1, 2);
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
CREATE OR REPLACE VIEW doubled AS SELECT nullif(id, 70) AS id, body FROM docs;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
DROP VIEW doubled;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
CREATE VIEW doubled AS SELECT id::text, body FROM docs;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
DROP VIEW doubled;
CREATE VIEW doubled AS SELECT id, body FROM docs;
SELECT rows_changed FROM lsh_refresh_clusters('of_view');
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view', changed => 'SELECT now()')$$);
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('doubled')$$);
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('docs')$$);
DELETE FROM of_view_settings;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
INSERT INTO of_view_settings (query, threshold, near_representative, search_path)
    VALUES ('SELECT id, body FROM doubled', 0.8, true, 'kept_clusters, public');
SELECT rows_changed FROM lsh_refresh_clusters('of_view');
ALTER TABLE of_view ALTER content_hash DROP DEFAULT;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
ALTER TABLE of_view ALTER content_hash SET DEFAULT 'of_view_settings'::regclass::bigint;
SELECT lsh_refresh_clusters(NULL);
ALTER TABLE of_view DROP CONSTRAINT of_view_pkey;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_view')$$);
-- How a session writes numbers and dates does not matter to ids.
CREATE TABLE of_float AS SELECT 1.0::float8 / 3 AS id, 'a' AS body;
CREATE TABLE of_time AS SELECT timestamptz '2026-11-27 12:34:56.789+05:30' AS id, 'a' AS body;
SET extra_float_digits = 0;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SELECT lsh_create_clusters('kept_of_float', 'SELECT id, body FROM of_float'),
    lsh_create_clusters('kept_of_time', 'SELECT id, body FROM of_time');
DELETE FROM of_float;
DELETE FROM of_time;
SELECT rows_removed FROM lsh_refresh_clusters('kept_of_float', changed => 'SELECT 1.0::float8 / 3 UNION SELECT NULL');
SELECT rows_removed FROM lsh_refresh_clusters('kept_of_time',
    changed => 'SELECT timestamptz ''2026-11-27 12:34:56.789+05:30''');
RESET extra_float_digits;
RESET datestyle;
RESET timezone;

-- Errors name the query or table that they are about. Their context does not show the internal statement, which has
-- about a hundred lines.
CREATE FUNCTION context_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    context text;
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    RETURN CASE WHEN context ~ 'WITH' THEN context ELSE 'short' END;
END $$;
CREATE TABLE "My table" AS SELECT id, body, 1 AS divisor FROM docs WHERE id < 50;
CREATE FUNCTION divided(text, int) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN $1 || 1 / $2; END';
SELECT lsh_create_clusters('"Big name"', 'SELECT id, divided(body, divisor) FROM "My table"') IS NOT NULL AS made;
ALTER TABLE "Big name" ADD COLUMN "there" int, ADD COLUMN here int;
UPDATE "My table" SET body = body || ' more' WHERE id = 10;
SELECT * FROM lsh_refresh_clusters('"Big name"', log => '"Two words"');
UPDATE "My table" SET divisor = 0 WHERE id = 10;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('"Big name"')$$);
SELECT context_of($$SELECT lsh_refresh_clusters('"Big name"')$$);
SELECT pg_temp.error_of($$SELECT lsh_create_clusters('other', 'SELECT id, divided(body, divisor) FROM "My table"')$$);
UPDATE "My table" SET divisor = 1;
CREATE TABLE no_log (refreshed_at timestamptz, event int, cluster_id bigint);
SELECT arguments, pg_temp.error_of(format('SELECT lsh_refresh_clusters(''"Big name"'', %s)', arguments))
FROM unnest(ARRAY[
    $$changed => ''$$, $$changed => '-- nothing'$$, $$changed => 'My news.The articles'$$, $$changed => 'docs'$$,
    $$log => 'Two words'$$, $$log => ''$$, $$log => 'no_log'$$]) AS arguments;
SELECT arguments, pg_temp.error_of(format('SELECT lsh_create_clusters(%s)', arguments)) FROM unnest(ARRAY[
    $$'wrong', 'My news.The articles'$$, $$'wrong', '"My table"'$$, $$'wrong', ''$$,
    $$'Other name', 'SELECT id, body FROM docs'$$]) AS arguments;
ALTER TABLE "Big name" RENAME id TO doc_id;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('"Big name"')$$);
ALTER TABLE "Big name" RENAME doc_id TO id;
BEGIN READ ONLY;
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('"Big name"')$$);
COMMIT;
SELECT rows_changed FROM lsh_refresh_clusters('"Big name"');

-- On a partitioned table, a refresh looks into the index of each partition. The estimated costs count all of these
-- indexes.
CREATE TABLE of_parts (id int PRIMARY KEY, body text) PARTITION BY HASH (id);
CREATE TABLE of_parts_0 PARTITION OF of_parts FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE of_parts_1 PARTITION OF of_parts FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE of_parts_2 PARTITION OF of_parts FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE of_parts_3 PARTITION OF of_parts FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO of_parts SELECT i, passage(i, 0) FROM generate_series(1, 2000) i;
CREATE INDEX ON of_parts USING lsh (minhash(body, unit => 'word', shingle_size => 1));
CREATE TABLE of_one AS TABLE of_parts;
CREATE INDEX ON of_one USING lsh (minhash(body, unit => 'word', shingle_size => 1));
ALTER TABLE of_one ADD PRIMARY KEY (id);
VACUUM ANALYZE of_parts, of_one;
SELECT lsh_create_clusters('kept_of_parts', 'SELECT id, body FROM of_parts', unit => 'word', shingle_size => 1),
    lsh_create_clusters('kept_of_one', 'SELECT id, body FROM of_one', unit => 'word', shingle_size => 1);
SET enable_seqscan = off;
SELECT rows_of_a_lookup('kept_of_parts') / rows_of_a_lookup('kept_of_one') > 2 AS costs_more;
INSERT INTO of_parts SELECT 3000 + i, passage(i, 1) FROM generate_series(1, 10) i;
SELECT * FROM lsh_refresh_clusters('kept_of_parts', changed => 'SELECT id FROM of_parts WHERE id > 3000');
RESET enable_seqscan;

-- If all rows of a cluster have changed, the parts into which it falls are a split: after a change of settings, when no
-- text has changed, and when all texts have.
CREATE TABLE letters (id int PRIMARY KEY, body text);
INSERT INTO letters VALUES (1, 'a report of the committee on fisheries for the year'),
    (2, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (3, 'Colorless green ideas sleep furiously, or so the linguists say.');
SELECT * FROM lsh_create_clusters('kept_letters', 'SELECT id, body FROM letters');
BEGIN;
UPDATE kept_letters_settings SET threshold = 0.95;
SELECT * FROM lsh_refresh_clusters('kept_letters', log => 'letters_log');
SELECT event, id, old_cluster_id, cluster_id FROM letters_log ORDER BY 2;
ROLLBACK;
UPDATE letters SET body = CASE id WHEN 2 THEN 'a report of the committee on fisheries for the year.'
    ELSE 'there is only one letter about the opening hours of the library' END WHERE id IN (2, 3);
SELECT * FROM lsh_refresh_clusters('kept_letters', log => 'letters_log');
SELECT event, id, old_cluster_id, cluster_id FROM letters_log ORDER BY 2;

-- In a large cluster, rows may come, go and change. As long as the others keep their representative, they are not
-- clustered again. Here, 300 rows are near each other, and 200 others are near no row.
CREATE TABLE crowd (id numeric PRIMARY KEY, body text);
CREATE FUNCTION of_crowd(i int) RETURNS text LANGUAGE sql AS $$ SELECT concat(passage(50, i % 3), ' ', i) $$;
INSERT INTO crowd SELECT i, of_crowd(i) FROM generate_series(1, 300) i;
INSERT INTO crowd SELECT i, passage(i, 1) FROM generate_series(1001, 1200) i;
CREATE INDEX ON crowd USING lsh (minhash(body, unit => 'word', shingle_size => 1));
ANALYZE crowd;
CREATE TABLE crowd_changed (id numeric);
CREATE FUNCTION note_crowd() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO crowd_changed SELECT OLD.id WHERE TG_OP <> 'INSERT' UNION ALL SELECT NEW.id WHERE TG_OP <> 'DELETE';
    RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON crowd FOR EACH ROW EXECUTE FUNCTION note_crowd();
SELECT rows_added, clusters_made FROM lsh_create_clusters('of_crowd', 'SELECT id, body FROM crowd', threshold => 0.56,
    unit => 'word', shingle_size => 1, recall => 0.9999);
CREATE TABLE crowd_before AS SELECT id, cluster_id FROM of_crowd;
-- Makes changes, and refreshes. Returns how often rows were clustered again, and how many are in the wrong place.
CREATE FUNCTION refresh_crowd(VARIADIC changes text[], OUT clusterings bigint, OUT figures text, OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
    change text;
    before bigint := pg_stat_get_xact_function_calls('public._lsh_kept_clusters'::regproc);
BEGIN
    FOREACH change IN ARRAY changes LOOP
        EXECUTE change;
    END LOOP;
    SELECT r::text INTO figures FROM lsh_refresh_clusters('of_crowd', changed => 'crowd_changed') AS r;
    clusterings := coalesce(pg_stat_get_xact_function_calls('public._lsh_kept_clusters'::regproc), 0)
        - coalesce(before, 0);
    wrong := differences('of_crowd', 'SELECT id, body FROM crowd');
END $$;
SET track_functions = 'all';
SET enable_seqscan = off;
SELECT what, r.* FROM (VALUES
    (1, 'one joins', ARRAY['INSERT INTO crowd SELECT 2001, of_crowd(2001)']),
    (2, 'five join, three go, two change', ARRAY[
        'INSERT INTO crowd SELECT i, of_crowd(i) FROM generate_series(2002, 2006) i',
        'DELETE FROM crowd WHERE id IN (17, 117, 217)',
        'UPDATE crowd SET body = concat(body, '' '', id) WHERE id IN (60, 160)']),
    (3, 'ids written otherwise', ARRAY[
        'UPDATE crowd SET id = id * 1.00, body = concat(body, '' too'') WHERE id IN (61, 161)',
        'INSERT INTO crowd SELECT 2007.0, of_crowd(2007)', 'INSERT INTO crowd_changed VALUES (61.000), (2007)']),
    (4, 'one leaves and is alone', ARRAY['UPDATE crowd SET body = passage(70, 1) WHERE id = 62']),
    (5, 'one leaves, and a new row is near it', ARRAY['UPDATE crowd SET body = passage(71, 1) WHERE id = 63',
        'INSERT INTO crowd SELECT 2008, passage(71, 2)']),
    (6, 'two join others and each other', ARRAY['INSERT INTO crowd SELECT 2009, passage(1001, 3)',
        'INSERT INTO crowd SELECT 2010, passage(1001, 5)']),
    (7, 'two that are near each other join different clusters', ARRAY[
        'INSERT INTO crowd SELECT 2011, passage(50, 5)',
        'INSERT INTO crowd SELECT 2012, passage(50, 8)', 'INSERT INTO crowd SELECT 2013, passage(50, 12)']),
    (8, 'the last row of a cluster joins a younger one',
        ARRAY['UPDATE crowd SET body = passage(1100, 2) WHERE id = 1050']),
    (9, 'so do two, one after the other', ARRAY['UPDATE crowd SET body = passage(1110, 2) WHERE id = 1111',
        'UPDATE crowd SET body = passage(1120, 2) WHERE id = 1110']),
    (10, 'one comes before the representative', ARRAY['INSERT INTO crowd SELECT 0, of_crowd(0)']),
    (11, 'the representative goes', ARRAY['DELETE FROM crowd WHERE id = 0'])) AS c (nr, what, changes),
    LATERAL refresh_crowd(VARIADIC changes) AS r ORDER BY nr;
-- An id that the query returns twice is an error, whether the kept table has it or not.
CREATE TABLE more_crowd (id numeric, body text);
UPDATE of_crowd_settings SET query = 'SELECT id, body FROM crowd UNION ALL TABLE more_crowd';
SELECT rows_added, rows_changed FROM lsh_refresh_clusters('of_crowd');
INSERT INTO more_crowd VALUES (100, concat(of_crowd(100), ' twice'));
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_crowd')$$);
UPDATE more_crowd SET id = 3000;
INSERT INTO more_crowd VALUES (3000, of_crowd(3000));
SELECT pg_temp.error_of($$SELECT lsh_refresh_clusters('of_crowd')$$);
SELECT count(*) FILTER (WHERE k.cluster_id = b.cluster_id) AS same, count(*) FILTER (WHERE k.cluster_id > b.cluster_id)
    AS later, count(*) FILTER (WHERE k.cluster_id < b.cluster_id) AS earlier
FROM of_crowd AS k JOIN crowd_before AS b USING (id);
RESET enable_seqscan;
RESET track_functions;

-- A refresh that is cancelled does not report its statement, which lists the ids of all changed rows.
CREATE VIEW slow_letters AS SELECT id, body FROM letters, pg_sleep(current_setting('kept_clusters.seconds')::float8);
SET kept_clusters.seconds = 0;
SELECT * FROM lsh_create_clusters('kept_slow', 'SELECT id, body FROM slow_letters');
SET kept_clusters.seconds = 600;
SET statement_timeout = '1s';
DO $$
DECLARE
    context text;
BEGIN
    PERFORM lsh_refresh_clusters('kept_slow');
EXCEPTION WHEN query_canceled THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    RAISE WARNING '%, in a few lines: %', SQLERRM, length(context) < 500;
END $$;
RESET statement_timeout;

RESET search_path;
DROP SCHEMA kept_clusters, decoys CASCADE;
DROP ROLE regress_lsh_member, regress_lsh_other, regress_lsh_kept;
