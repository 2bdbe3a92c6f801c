-- Rights. Bulk functions, their workers, indexes and constraints never show users what they may not see. Functions in
-- the expression of an index run with the rights of the table's owner, whoever maintains the index.
CREATE ROLE regress_lsh_owner;
CREATE ROLE regress_lsh_reader;
CREATE SCHEMA vault AUTHORIZATION regress_lsh_owner;
GRANT USAGE ON SCHEMA vault TO regress_lsh_reader;
SET ROLE regress_lsh_owner;
-- Families of four similar texts. The reader may see only the texts with even ids.
CREATE TABLE vault.texts (id int, tenant text, body text, secret text);
INSERT INTO vault.texts SELECT n, CASE WHEN n % 2 = 0 THEN 'regress_lsh_reader' ELSE 'another' END,
        string_agg(md5(concat(n / 4, word)), ' ') || n, 'secret ' || n / 4
    FROM generate_series(4, 403) n, generate_series(1, 20) word GROUP BY n;
ALTER TABLE vault.texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON vault.texts USING (tenant = current_user);
GRANT SELECT (id, body, tenant) ON vault.texts TO regress_lsh_reader;
CREATE VIEW vault.first_texts WITH (security_barrier) AS SELECT id, body, secret FROM vault.texts WHERE id < 104;
GRANT SELECT (id, body) ON vault.first_texts TO regress_lsh_reader;
CREATE FUNCTION vault.some_texts() RETURNS TABLE (id int, body text) LANGUAGE sql SECURITY DEFINER
    AS 'SELECT id, body FROM vault.texts WHERE id < 54';
ANALYZE vault.texts;

-- The reader finds one of the six pairs of each family, because the other five contain hidden rows. The results are the
-- same with and without workers.
SET ROLE regress_lsh_reader;
SELECT set_config(name, 'regress', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
CREATE FUNCTION pg_temp.told(body text, hidden boolean) RETURNS boolean LANGUAGE plpgsql COST 0.000001 AS $$
BEGIN
    IF hidden THEN
        RAISE WARNING 'a hidden text: %', body;
    END IF;
    RETURN true;
END $$;
CREATE FUNCTION pg_temp.seen(workers int) RETURNS TABLE (call text, rows bigint, hidden bigint) LANGUAGE plpgsql AS $$
DECLARE
    source text;
BEGIN
    PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
    FOREACH source IN ARRAY ARRAY['vault.texts', 'vault.texts WHERE pg_temp.told(body, id % 2 = 1)',
        'vault.first_texts WHERE pg_temp.told(body, id > 103)', 'vault.some_texts()']
    LOOP
        FOREACH call IN ARRAY ARRAY['lsh_pairs', 'lsh_contained']
        LOOP
            EXECUTE format('SELECT count(*), count(*) FILTER (WHERE 1 IN (a %% 2, b %% 2)) FROM %s($1) x (a, b)', call)
                INTO rows, hidden USING 'SELECT id, body FROM ' || source;
            call := concat(call, ', ', source);
            RETURN NEXT;
        END LOOP;
        call := 'lsh_clusters, ' || source;
        SELECT count(*), count(*) FILTER (WHERE id % 2 = 1) INTO rows, hidden
            FROM lsh_clusters('SELECT id, body FROM ' || source);
        RETURN NEXT;
        call := 'lsh_evaluate, ' || source;
        SELECT true_pairs, NULL INTO rows, hidden
            FROM lsh_evaluate('SELECT id, body FROM ' || source, bands => '{20}', rows => '{5}');
        RETURN NEXT;
    END LOOP;
END $$;
SET client_min_messages = warning;
SELECT a.*, a IS NOT DISTINCT FROM b AS without FROM pg_temp.seen(2) a JOIN pg_temp.seen(0) b USING (call);
RESET client_min_messages;
SELECT set_config(name, 'off', false) AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
DROP FUNCTION pg_temp.seen, pg_temp.told;
SELECT count(*) FROM lsh_pairs('SELECT id, secret FROM vault.texts');
SELECT count(*) FROM lsh_clusters('SELECT id, secret FROM vault.first_texts');

-- The error of a constraint does not show values of a hidden row, or of columns that the user may not read.
SET ROLE regress_lsh_owner;
CREATE TABLE vault.unlike (id int, tenant text, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED,
    EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.7));
GRANT SELECT, INSERT ON vault.unlike TO regress_lsh_reader;
INSERT INTO vault.unlike VALUES (1, 'another', 'the head of the office earns exactly 123456 dollars a month');
SET ROLE regress_lsh_reader;
INSERT INTO vault.unlike VALUES (2, current_user, 'the head of the office earns exactly 123457 dollars a month');
SET ROLE regress_lsh_owner;
ALTER TABLE vault.unlike ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON vault.unlike USING (tenant = current_user);
SET ROLE regress_lsh_reader;
INSERT INTO vault.unlike VALUES (2, current_user, 'the head of the office earns exactly 123457 dollars a month');
SELECT id FROM vault.unlike WHERE sig % minhash('the head of the office earns exactly 123457 dollars a month');
SET ROLE regress_lsh_owner;
ALTER TABLE vault.unlike DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON vault.unlike FROM regress_lsh_reader;
SET ROLE regress_lsh_reader;
INSERT INTO vault.unlike VALUES (2, current_user, 'the head of the office earns exactly 123457 dollars a month');

-- A function in an index's expression runs as the table's owner, even while a superuser maintains the index.
SET ROLE regress_lsh_owner;
CREATE FUNCTION vault.signed(body text) RETURNS minhash_signature IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF body = 'row 1' THEN
        RAISE NOTICE 'signed as %', current_user;
    END IF;
    RETURN public.minhash(body);
END $$;
CREATE TABLE vault.signed_texts (id int, body text);
INSERT INTO vault.signed_texts SELECT n, 'row ' || n FROM generate_series(1, 200) n;
CREATE INDEX signed_index ON vault.signed_texts USING lsh (vault.signed(body));
RESET ROLE;
REINDEX INDEX vault.signed_index;
REINDEX INDEX CONCURRENTLY vault.signed_index;
SELECT records FROM lsh_check('vault.signed_index', heap => true);
VACUUM FULL vault.signed_texts;
ALTER TABLE vault.signed_texts ALTER id TYPE bigint;
SELECT current_user = session_user AS restored;
SET ROLE regress_lsh_reader;
SELECT * FROM lsh_check('vault.signed_index');
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA vault CASCADE;
DROP ROLE regress_lsh_owner, regress_lsh_reader;
