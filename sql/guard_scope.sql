-- Guards in a scope judge rows as guards of separate tables would, one for each scope.

\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.doc(family int, replaced int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(format('%s %s %s', family, word, word <= replaced)), ' ' ORDER BY word)
    FROM generate_series(1, 20) word
$$;
-- A number below `most` that is as good as random.
CREATE FUNCTION pg_temp.any_of(most int, step int, what text) RETURNS int LANGUAGE sql IMMUTABLE
    AS $$ SELECT mod(hashtextextended(what, step) & 2147483647, most)::int $$;

-- One table with a column for the scope, and one for each scope.
CREATE FUNCTION pg_temp.make(guard text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE tickets (id int PRIMARY KEY, customer int, copy_of int, body text,
        sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
    PERFORM lsh_create_band_table('tickets', scope_column => 'customer');
    EXECUTE format(guard, 'tickets');
    FOR customer IN 0 .. 3 LOOP
        EXECUTE format('CREATE TABLE of_%s (LIKE tickets INCLUDING ALL)', customer);
        PERFORM lsh_create_band_table(format('of_%s', customer)::regclass);
        EXECUTE format(guard, 'of_' || customer);
    END LOOP;
END $$;
-- Runs a statement: what it says, or the error without the table's name.
CREATE FUNCTION pg_temp.run(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    said text;
BEGIN
    EXECUTE statement;
    RETURN 'done';
EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
    RETURN said;
END $$;
-- One row is inserted, changed, moved to another scope or deleted, here and there.
CREATE FUNCTION pg_temp.step(step int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    of_all text;
    of_one text;
    body text := pg_temp.doc(pg_temp.any_of(4, step, 'family'), pg_temp.any_of(6, step, 'replaced'));
    scope int := pg_temp.any_of(4, step, 'scope');
    old record;
BEGIN
    SELECT * INTO old FROM tickets ORDER BY hashint4extended(id, step) LIMIT 1;
    CASE WHEN old.id IS NULL OR pg_temp.any_of(10, step, 'what') < 5 THEN
        of_all := pg_temp.run(format('INSERT INTO tickets VALUES (%s, %s, NULL, %L)', step, scope, body));
        of_one := pg_temp.run(format('INSERT INTO of_%s VALUES (%s, %2$s, NULL, %L)', scope, step, body));
    WHEN pg_temp.any_of(10, step, 'what') < 7 THEN
        of_all := pg_temp.run(format('UPDATE tickets SET body = %L WHERE id = %s', body, old.id));
        of_one := pg_temp.run(format('UPDATE of_%s SET body = %L WHERE id = %s', old.customer, body, old.id));
    WHEN pg_temp.any_of(10, step, 'what') < 9 AND scope <> old.customer THEN
        of_all := pg_temp.run(format('UPDATE tickets SET customer = %s WHERE id = %s', scope, old.id));
        of_one := pg_temp.run(format('INSERT INTO of_%s VALUES (%s, 0, %L, %L)', scope, old.id, old.copy_of, old.body));
        IF of_one = 'done' THEN
            EXECUTE format('DELETE FROM of_%s WHERE id = %s', old.customer, old.id);
        END IF;
    ELSE
        of_all := pg_temp.run(format('DELETE FROM tickets WHERE id = %s', old.id));
        of_one := pg_temp.run(format('DELETE FROM of_%s WHERE id = %s', old.customer, old.id));
    END CASE;
    RETURN CASE WHEN of_all <> of_one THEN format('step %s: %s, but %s', step, of_all, of_one)
        WHEN of_all = 'done' THEN of_all ELSE 'refused' END;
END $$;
CREATE FUNCTION pg_temp.differing() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE (SELECT format('SELECT format(''%%s rows, %%s marks, %%s differ'', count(*), count(t.copy_of),
        count(*) FILTER (WHERE t.id IS NULL OR o.id IS NULL OR t.copy_of IS DISTINCT FROM o.copy_of))
        FROM tickets t FULL JOIN (%s) o ON o.id = t.id AND o.scope = t.customer', string_agg(format(
        'SELECT %1$s AS scope, id, copy_of FROM of_%1$s', customer), ' UNION ALL '))
        FROM generate_series(0, 3) customer)
    INTO result;
    RETURN result;
END $$;

SELECT pg_temp.make('SELECT lsh_create_guard(%L, 0.7)');
SELECT * FROM lsh_guards WHERE source = 'tickets'::regclass ORDER BY trigger;
SELECT said, count(*) > 30 FROM (SELECT pg_temp.step(i) AS said FROM generate_series(1, 300) i) s GROUP BY 1 ORDER BY 1;
SELECT pg_temp.differing();
SELECT * FROM lsh_refresh_band_table('tickets');
DROP TABLE tickets, of_0, of_1, of_2, of_3;

SELECT pg_temp.make('SELECT lsh_create_guard(%L, 0.7, mark => ''copy_of'')');
SELECT said, count(*) > 30 FROM (SELECT pg_temp.step(i) AS said FROM generate_series(1, 300) i) s GROUP BY 1 ORDER BY 1;
SELECT pg_temp.differing();
-- Many rows in one statement, where later ones must not be referred to.
TRUNCATE tickets, of_0, of_1, of_2, of_3;
INSERT INTO tickets SELECT i, i % 4, NULL, pg_temp.doc(i % 7, i % 5) FROM generate_series(1, 200) i;
SELECT format('INSERT INTO of_%1$s SELECT id, 0, NULL, body FROM tickets WHERE customer = %1$s ORDER BY id', customer)
FROM generate_series(0, 3) customer \gexec
SELECT pg_temp.differing();
-- A column without a scope: NULL equals nothing, as in unique and exclusion constraints. A mark goes with the scope.
INSERT INTO tickets VALUES (1001, NULL, NULL, 'without a scope'), (1002, NULL, NULL, 'without a scope'),
    (1003, 1, NULL, 'without a scope'), (1004, 1, NULL, 'without a scope');
SELECT id, copy_of FROM tickets WHERE id > 1000 ORDER BY id;
UPDATE tickets SET customer = NULL WHERE id = 1004;
SELECT id, copy_of FROM tickets WHERE id > 1000 ORDER BY id;
UPDATE tickets SET customer = 1 WHERE id IN (1001, 1004);
SELECT id, copy_of FROM tickets WHERE id > 1000 ORDER BY id;
-- A statement that leaves scope and text as they are judges nothing; a trigger that changes the scope in between does.
UPDATE tickets SET copy_of = NULL WHERE id > 1000;
UPDATE tickets SET customer = customer WHERE id > 1000;
SELECT id, copy_of FROM tickets WHERE id > 1000 ORDER BY id;
CREATE FUNCTION to_two() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN UPDATE tickets SET customer = 2 WHERE id = NEW.id; RETURN NULL; END $$;
CREATE TRIGGER a_mover AFTER INSERT ON tickets FOR EACH ROW WHEN (NEW.id = 1005) EXECUTE FUNCTION to_two();
INSERT INTO tickets VALUES (1005, 1, NULL, 'without a scope');
SELECT id, customer, copy_of FROM tickets WHERE id = 1005;
DROP TABLE tickets, of_0, of_1, of_2, of_3;

-- A key that scopes share, as if by chance: the row is not referred to.
CREATE TABLE docs (id int PRIMARY KEY, customer text, sig minhash_signature);
SELECT lsh_create_band_table('docs', scope_column => 'customer'), lsh_create_guard('docs');
INSERT INTO docs VALUES (1, 'a', minhash('one')), (2, 'b', minhash('one'));
INSERT INTO docs_bands SELECT unnest(lsh_band_keys(minhash('one'), 13, 7, 'c'::text)), id FROM docs;
INSERT INTO docs VALUES (3, 'c', minhash('one'));
SELECT pg_temp.run('INSERT INTO docs VALUES (4, ''c'', minhash(''one''))'),
    pg_temp.run('INSERT INTO docs VALUES (4, ''b'', minhash(''one''))');
-- Rows of other scopes wait for no lock: their keys are others.
BEGIN;
INSERT INTO docs VALUES (5, 'd', minhash('one'));
CREATE TEMP TABLE held AS SELECT classid, objid FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND mode = 'ExclusiveLock';
COMMIT;
BEGIN;
INSERT INTO docs VALUES (6, 'e', minhash('one'));
SELECT count(*), count(h) FROM pg_locks l LEFT JOIN held h USING (classid, objid)
WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.mode = 'ExclusiveLock';
COMMIT;
-- Partitions: the scope moves with the row.
DROP TABLE docs;
CREATE TABLE docs (id int, customer int, sig minhash_signature) PARTITION BY LIST (customer);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1);
CREATE TABLE docs_2 (sig minhash_signature, gone int, customer int, id int);
ALTER TABLE docs_2 DROP gone;
ALTER TABLE docs ATTACH PARTITION docs_2 DEFAULT;
SELECT lsh_create_band_table('docs', scope_column => 'customer'), lsh_create_guard('docs');
SELECT * FROM lsh_guards;
INSERT INTO docs SELECT i, i, minhash('one') FROM generate_series(1, 4) i;
SELECT statement, pg_temp.run(statement) FROM unnest(ARRAY['UPDATE docs SET customer = 2 WHERE id = 1',
    'UPDATE docs SET customer = 1 WHERE id = 4', 'UPDATE docs SET customer = 5 WHERE id = 4',
    'INSERT INTO docs_2 (id, customer, sig) VALUES (6, 5, minhash(''one''))',
    'INSERT INTO docs VALUES (6, 6, minhash(''one'')), (7, 6, minhash(''one''))']) statement;
DROP TABLE docs;
DROP FUNCTION to_two;
