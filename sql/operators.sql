-- The operators % (similar) and <%> (distance), their settings, and the planner's estimates for %.

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common

-- % is true if the similarity is at least the setting similarity_threshold. (PostgreSQL knows the settings once the
-- library is loaded. Calling any of its functions loads it.)
LOAD 'minhash_lsh';
SHOW minhash_lsh.similarity_threshold;
SELECT name, setting, boot_val, min_val, max_val, context FROM pg_settings WHERE name ~ '^minhash_lsh\.' ORDER BY name;
-- The error's hint lists the instruction sets of this machine. They always include baseline.
DO $$
DECLARE
    choices text;
BEGIN
    SET minhash_lsh.instruction_set = 'none';
EXCEPTION WHEN invalid_parameter_value THEN
    GET STACKED DIAGNOSTICS choices = PG_EXCEPTION_HINT;
    RAISE NOTICE '%', substring(choices FROM '^Here the choices are auto,(?: \w+,)* (baseline)(?:, \w+)*\.$');
END $$;
CREATE TEMP TABLE pair AS SELECT minhash('this is really rude') AS a, minhash('this is really crude') AS b;
SELECT minhash_similarity(a, b) AS similarity FROM pair \gset
SELECT :similarity AS similarity, a <%> b AS distance, a <%> b = 1 - minhash_similarity(a, b) AS same FROM pair;
SELECT a % b AS at_default, a % a AS itself FROM pair;
SET minhash_lsh.similarity_threshold = :similarity;
SELECT a % b AS at_threshold, b % a AS commuted FROM pair;
SET minhash_lsh.similarity_threshold = 0.999;
SELECT a % b AS above, a % a AS itself FROM pair;
SET minhash_lsh.similarity_threshold = 1;
SELECT a % b AS at_1, a % a AS itself FROM pair;
SET minhash_lsh.similarity_threshold = 0;
SELECT a % minhash('nothing of it') AS everything, a % minhash('') AS empty,
    minhash('') <%> minhash('') AS empty_distance FROM pair;
RESET minhash_lsh.similarity_threshold;
SELECT a % minhash('') AS empty, minhash('') % minhash('') AS both_empty, a % NULL AS "null",
    NULL <%> b AS null_distance FROM pair;

-- The setting can be changed for a transaction, and for a function.
BEGIN;
SET LOCAL minhash_lsh.similarity_threshold = 0.5;
SELECT a % b AS inside FROM pair;
COMMIT;
SELECT a % b AS after FROM pair;
CREATE FUNCTION pg_temp.half(a minhash_signature, b minhash_signature) RETURNS boolean
    LANGUAGE sql STABLE SET minhash_lsh.similarity_threshold = 0.5 RETURN a % b;
SELECT pg_temp.half(a, b) FROM pair;

-- Settings and operands that are refused.
\pset format unaligned
\pset tuples_only on
SELECT setting, pg_temp.error_of(format('SET minhash_lsh.%s', setting))
    FROM unnest(ARRAY['similarity_threshold = -0.1', 'similarity_threshold = 1.1', 'similarity_threshold = ''NaN''',
    'similarity_threshold = ''high''', 'recall_notice = 2', 'similarity = 0.5']) setting;
SELECT pg_temp.error_of('SELECT a % minhash(''x'', 64) FROM pair');
SELECT pg_temp.error_of('SELECT a <%> minhash(''x'', shingle_size => 4) FROM pair');
SELECT pg_temp.error_of('SELECT a % 1 FROM pair') ~ 'operator does not exist';
-- The result of % depends on a setting, so % is refused where results must never change.
SELECT pg_temp.error_of('CREATE INDEX ON pair (a) WHERE a % b');
\pset tuples_only off
\pset format aligned

-- The planner's estimate of the number of rows, as its order of magnitude: 10^0 stands for 1 to 9.
CREATE FUNCTION pg_temp.expected(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    rows numeric;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    rows := plan -> 0 -> 'Plan' ->> 'Plan Rows';
    RETURN CASE WHEN rows = 0 THEN '0' ELSE concat('10^', floor(log(rows))) END;
END $$;
CREATE TEMP TABLE texts AS SELECT id, minhash('text number ' || id) AS sig FROM generate_series(1, 1000) id;
CREATE TEMP TABLE few AS SELECT id, minhash('text number ' || id % 10) AS sig FROM generate_series(1, 1000) id;
CREATE TEMP TABLE holes AS SELECT id, CASE WHEN id % 10 > 0 THEN minhash('text') END AS sig
    FROM generate_series(1, 1000) id;
CREATE TEMP TABLE unknown AS SELECT * FROM texts LIMIT 600;
ANALYZE texts, few, holes;
-- If nothing similar is among the rows that ANALYZE has seen, the planner expects hardly more than the equal rows at
-- thresholds from 0.5 on. The lower the threshold, the more rows it expects. At 0 it expects all rows. The joined texts
-- differ only in their numbers, so many pairs are similar: in fact 1,000, 15,054, 999,700 and then all pairs of the
-- first join, and 900, 99,200 and then all of the second one.
SELECT threshold, pg_temp.expected('SELECT FROM texts WHERE sig % minhash(''text'')') AS distinct,
    pg_temp.expected('SELECT FROM few WHERE sig % minhash(''text'')') AS ten_different,
       pg_temp.expected('SELECT FROM holes WHERE sig % minhash(''text'')') AS tenth_null,
       pg_temp.expected('SELECT FROM unknown WHERE sig % minhash(''text'')') AS not_analyzed,
       pg_temp.expected('SELECT FROM texts a JOIN texts b ON a.sig % b.sig') AS join,
       pg_temp.expected('SELECT FROM texts a JOIN few b ON a.sig % b.sig') AS join_few
FROM unnest(ARRAY[1, 0.8, 0.5, 0.2, 0.05, 0]) threshold, set_config('minhash_lsh.similarity_threshold', threshold::text,
    false);
RESET minhash_lsh.similarity_threshold;
-- In a table of a million rows, the planner expects a few near-duplicates of a text that is similar to none of the
-- sample, and as many for a query that is not known as for an average row of the sample.
BEGIN;
UPDATE pg_class SET reltuples = 1000000 WHERE oid IN ('texts'::regclass, 'unknown'::regclass);
SELECT pg_temp.expected('SELECT FROM texts') AS all,
    pg_temp.expected('SELECT FROM texts WHERE sig % minhash(''text'')') AS distinct,
    pg_temp.expected('SELECT FROM unknown WHERE sig % minhash(''text'')') AS not_analyzed,
       pg_temp.expected('SELECT FROM texts WHERE sig % (SELECT sig FROM few LIMIT 1)') AS of_a_query,
       pg_temp.expected('SELECT FROM texts a JOIN texts b ON a.sig % b.sig') AS join;
ROLLBACK;
-- The operands in the other order, NULL as an operand, semi-joins, anti-joins and outer joins.
SELECT pg_temp.expected('SELECT FROM few WHERE minhash(''text'') % sig') AS commuted,
    pg_temp.expected('SELECT FROM texts WHERE sig % NULL::text::minhash_signature') AS "null",
       pg_temp.expected('SELECT FROM few a WHERE EXISTS (SELECT FROM texts b WHERE a.sig % b.sig)') AS all_with_partner,
       pg_temp.expected('SELECT FROM texts a WHERE EXISTS (SELECT FROM few b WHERE a.sig % b.sig)') AS one_of_100,
       pg_temp.expected('SELECT FROM texts a WHERE NOT EXISTS (SELECT FROM few b WHERE b.sig % a.sig)') AS most_without,
       pg_temp.expected('SELECT FROM texts a LEFT JOIN few b ON a.sig % b.sig') AS left_join;
-- Expressions, a column compared with itself, and rows that do not come from a table.
SELECT pg_temp.expected('SELECT FROM texts WHERE minhash(id::text) % minhash(''text'')') AS expression,
    pg_temp.expected('SELECT FROM texts WHERE sig % sig') AS same_table,
    pg_temp.expected('SELECT FROM texts a WHERE id < 10 AND sig % (SELECT sig FROM texts b WHERE a.id = b.id)')
    AS correlated,
       pg_temp.expected('SELECT FROM (SELECT sig FROM texts GROUP BY sig) g WHERE sig % minhash(''text'')') AS grouped,
       pg_temp.expected('SELECT FROM unnest(ARRAY[minhash(''a''), minhash(''b'')]) sig WHERE sig % minhash(''text'')')
       AS of_an_array;

-- If the estimators are used for operators of other types, they use default estimates and do not look at the values.
CREATE SCHEMA other;
CREATE FUNCTION other.f(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION other.f(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION other.f(minhash_signature, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION other.f(bytea) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION other.f(minhash_signature, minhash_signature) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE OPERATOR other.~~~ (FUNCTION = other.f, LEFTARG = text, RIGHTARG = text, RESTRICT = _minhash_similar_sel,
    JOIN = _minhash_similar_joinsel);
CREATE OPERATOR other.~~~ (FUNCTION = other.f, LEFTARG = int, RIGHTARG = int, RESTRICT = _minhash_similar_sel,
    JOIN = _minhash_similar_joinsel);
CREATE OPERATOR other.~~~ (FUNCTION = other.f, LEFTARG = minhash_signature, RIGHTARG = text,
    RESTRICT = _minhash_similar_sel, JOIN = _minhash_similar_joinsel);
CREATE OPERATOR other.~~~ (FUNCTION = other.f, RIGHTARG = bytea, RESTRICT = _minhash_similar_sel);
CREATE OPERATOR other.~~~ (FUNCTION = other.f, LEFTARG = minhash_signature, RIGHTARG = minhash_signature,
    RESTRICT = _minhash_similar_sel, JOIN = _minhash_similar_joinsel);
SELECT condition, pg_temp.expected('SELECT FROM pg_class a, texts b WHERE ' || condition) <> '' AS planned
FROM unnest(ARRAY['relname::text OPERATOR(other.~~~) ''x''', 'relname::text OPERATOR(other.~~~) NULL',
    'reltype::int OPERATOR(other.~~~) 3', 'relname::text OPERATOR(other.~~~) id::text',
    'id OPERATOR(other.~~~) relnatts', 'sig OPERATOR(other.~~~) ''x''::text',
    'sig OPERATOR(other.~~~) relname::text', 'OPERATOR(other.~~~) relname::text::bytea', 'sig OPERATOR(other.~~~) sig',
    'sig OPERATOR(other.~~~) minhash(relname::text)']) condition;
SELECT pg_temp.expected('SELECT FROM texts WHERE sig OPERATOR(other.~~~) ''x''::text') AS other_type,
    pg_temp.expected('SELECT FROM texts WHERE sig OPERATOR(other.~~~) minhash(''x'')') AS same_type;
SET client_min_messages = warning;
DROP SCHEMA other CASCADE;

-- Functions that only PostgreSQL should call do no harm if a user calls them: the call is refused, or returns NULL.
DO $$
DECLARE
    call text;
BEGIN
    FOR call IN
        SELECT format('SELECT %s(%s)', oid::regproc, (SELECT string_agg('NULL::' || type::regtype, ', ')
        FROM unnest(proargtypes) type))
        FROM pg_proc WHERE 'internal'::regtype = ANY (proargtypes) AND probin = 'minhash_lsh'
    LOOP
        BEGIN
            EXECUTE call;
        EXCEPTION WHEN OTHERS THEN
        END;
    END LOOP;
END $$;
SELECT 'alive';
