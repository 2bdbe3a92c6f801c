-- Tests of lsh indexes include this file.

-- 300 texts of 40 words. The last 200 are copies of one of the first 100 with some words changed. In addition there are
-- an exact copy, empty texts, NULL and short texts.
CREATE TABLE documents (id int PRIMARY KEY, body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO documents
SELECT id, string_agg(CASE WHEN id > 100
    AND ('x' || left(md5(id || 'change' || word), 2))::bit(8)::int < id / 10 THEN md5(id || 'new' || word)::text
    ELSE left(md5(id % 100 || ' ' || word), 4 + word % 5) END, ' ' ORDER BY word)
FROM generate_series(1, 300) id, generate_series(1, 40) word GROUP BY id;
INSERT INTO documents SELECT 301, body FROM documents WHERE id = 7;
INSERT INTO documents VALUES (302, ''), (303, '   '), (304, NULL), (305, 'cat'), (306, 'Cat'), (307, 'dog'), (308, '');
ANALYZE documents;

-- Returns the parts of a plan that say what is scanned, and by which conditions and order. (Complete plans differ
-- between PostgreSQL versions.)
CREATE FUNCTION pg_temp.scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        IF line ~ 'Scan|Index Cond|Order By' THEN
            line := regexp_replace(line, '\$0|\(InitPlan (1|expr_1)\).col1', 'subquery');
            RETURN NEXT trim(regexp_replace(line, '^[ >-]*|\(.*minhash.*', '', 'g'));
        END IF;
    END LOOP;
END $$;

-- Show each error on one line.
\set error_separator ' | '
\ir errors.sql
