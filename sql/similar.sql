-- minhash_similar(a, b, threshold), alone and with indexes.

-- The function agrees with minhash_similarity(). If any argument is NULL, the result is NULL.
SELECT minhash_similar(minhash('a small cat'), minhash('a small cat'), 1) AS same,
       minhash_similar(minhash('a small cat'), minhash('something else'), 0.8) AS other,
       minhash_similar(minhash('a small cat'), minhash('something else'), 0) AS anything,
       minhash_similar(minhash(''), minhash(''), 0.1) AS empty_texts,
       minhash_similar(minhash(''), minhash(''), 0) AS from_0;
SELECT minhash_similar(NULL, minhash('cat'), 0.8) AS a, minhash_similar(minhash('cat'), NULL, 0.8) AS b,
       minhash_similar(minhash('cat'), minhash('cat'), NULL) AS threshold, _minhash_query(NULL, 0.8) AS signature,
       _minhash_query(minhash('cat'), NULL) AS of_query, minhash('cat') % NULL::minhash_query AS query;
SELECT minhash_similar(minhash_compress(minhash('cat'), 1), minhash_compress(minhash('cat'), 1), 0.8) AS compressed;
SELECT _minhash_roughly_similar(minhash('cat'), minhash('cat'), 0.9) AS same,
       _minhash_roughly_similar(minhash('cat'), minhash('dog'), 0.9) AS other,
       minhash('cat') % _minhash_rough_query(minhash('cat'), 0.9) AS operator,
       _minhash_rough_query(minhash('dog'), 0) % minhash('cat') AS commutator;
SELECT minhash('cat') % _minhash_query(minhash('cat'), 0.9) AS operator,
       _minhash_query(minhash('cat'), 0.9) % minhash('dog') AS commutator;
SELECT minhash_similar(minhash('cat'), minhash('cat'), 1.5);
SELECT minhash_similar(minhash('cat'), minhash('cat'), -0.1);
SELECT minhash_similar(minhash('cat'), minhash('cat'), 'NaN');
SELECT _minhash_query(minhash('cat'), 2);
SELECT _minhash_rough_query(minhash('cat'), -0.5);
-- If the schemes differ, the error names both.
SELECT minhash_similar(minhash('cat'), minhash('cat', 64), 0.8);
SELECT minhash('cat') % _minhash_query(minhash('cat', seed => 1), 0.8);

-- The planner uses the type minhash_query for the right side of an index condition. EXPLAIN shows values of this type
-- abridged. Users cannot enter such values.
SELECT _minhash_query(signature, 0.7) FROM unnest(ARRAY[minhash('cat'), minhash(''), minhash('cat', 4096)]) signature;
SELECT _minhash_rough_query(minhash('cat'), 0.7);
SELECT '0.7:fss1:16x32:char5:fold:set:42:'::minhash_query;

-- 300 texts of 40 words. The last 200 are copies of the first 100 with some words changed.
CREATE TABLE documents (
    id int PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO documents
SELECT id, string_agg(CASE WHEN id > 100 AND ('x' || left(md5(id || 'change' || word), 2))::bit(8)::int < id / 10
                           THEN md5(id || 'new' || word)::text
                           ELSE left(md5(id % 100 || ' ' || word), 4 + word % 5) END, ' ' ORDER BY word)
FROM generate_series(1, 300) id, generate_series(1, 40) word GROUP BY id;
INSERT INTO documents SELECT 301, body FROM documents WHERE id = 7;
INSERT INTO documents VALUES (302, ''), (303, NULL), (304, 'cat');
CREATE INDEX documents_sig ON documents USING gin (sig);
ANALYZE documents;

-- Returns the index that the plan of a query uses and its condition. (Complete plans differ between PostgreSQL
-- versions.)
CREATE FUNCTION condition(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    name text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        name := coalesce(substring(line FROM 'Index Scan (?:on|using) (\w+)'), name);
        IF line ~ 'Index Cond: .* % ' THEN
            line := regexp_replace(substring(line FROM 'Index Cond: (.*)'), 'minhash\(\$1[^)]*\)', 'minhash($1)');
            RETURN concat_ws(' ', name, regexp_replace(line, '\$0|\(InitPlan (1|expr_1)\).col1', 'seven'));
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
SET enable_seqscan = off;
SET jit = off;
SELECT body AS seven FROM documents WHERE id = 7 \gset

-- The index serves the function and the operator, with the column on either side, and joins. It cannot serve the last
-- four conditions of the list.
SELECT condition(format('SELECT FROM documents WHERE %s', clause)) FROM unnest(ARRAY[
    'minhash_similar(sig, (SELECT sig FROM documents WHERE id = 7), 0.8)',
    'minhash_similar((SELECT sig FROM documents WHERE id = 7), sig, 0.8)',
    'sig % _minhash_query((SELECT sig FROM documents WHERE id = 7), 0.6)',
    '_minhash_query((SELECT sig FROM documents WHERE id = 7), 0.6) % sig',
    'minhash_similar(threshold => 0.9, b => sig, a => (SELECT sig FROM documents WHERE id = 7)) AND id < 200',
    'minhash_similar(sig, sig, 0.8)',
    'NOT minhash_similar(sig, (SELECT sig FROM documents WHERE id = 7), 0.8)',
    'minhash_similar(sig, (SELECT sig FROM documents WHERE id = 7), random())',
    'minhash_similar(sig, (SELECT sig FROM documents WHERE id = 7), id * 0.001)']) clause;
SELECT condition('SELECT FROM documents a JOIN documents b ON minhash_similar(a.sig, b.sig, 0.85) WHERE a.id = 3');
SELECT condition('SELECT FROM documents a, LATERAL (SELECT FROM documents b
                                                    WHERE minhash_similar(b.sig, a.sig, 0.8 + a.id * 0.0001)) c');

-- At any threshold, and whatever the setting, the index finds exactly the pairs that are similar enough and share a
-- band key.
SET minhash_lsh.recall_notice = 0;
SET minhash_lsh.similarity_threshold = 0.01;
CREATE TABLE pairs AS
SELECT a.id AS a, b.id AS b, minhash_similarity(a.sig, b.sig) AS similarity,
       lsh_band_keys(a.sig, 13, 7) && lsh_band_keys(b.sig, 13, 7) AS shared
FROM documents a, documents b;
CREATE FUNCTION compare(threshold float8, form text, OUT by_index boolean, OUT similar_pairs bigint, OUT missing bigint,
                        OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    form := format('SELECT a.id AS a, b.id AS b FROM documents a JOIN documents b ON ' || form, threshold);
    by_index := condition(form) IS NOT NULL;
    EXECUTE format('SELECT count(similarity), count(*) FILTER (WHERE shared AND f.a IS NULL),
                           count(*) FILTER (WHERE f.a IS NOT NULL AND shared IS NOT true)
                    FROM (SELECT * FROM pairs WHERE similarity >= $1) s FULL JOIN (%s) f USING (a, b)', form)
    INTO similar_pairs, missing, wrong USING threshold;
END $$;
SELECT threshold, c.* FROM unnest(ARRAY[1, 0.9, 0.8, 0.6, 0.3]) threshold,
    compare(threshold, 'minhash_similar(a.sig, b.sig, %s)') c;
SELECT threshold, c.* FROM unnest(ARRAY[0.9, 0.6]) threshold,
    compare(threshold, 'b.sig %% _minhash_query(a.sig, %s)') c;
RESET minhash_lsh.similarity_threshold;
SELECT c.* FROM compare(0.8, 'b.sig %% a.sig') c;
RESET minhash_lsh.recall_notice;

-- A prepared statement. Its generic plan uses the index, and each call uses its own threshold. NULL finds nothing.
PREPARE look_up(text, float8) AS
    SELECT array_agg(id ORDER BY id) FROM documents WHERE minhash_similar(sig, minhash($1), $2);
SET plan_cache_mode = force_generic_plan;
SELECT condition('EXECUTE look_up(NULL, NULL)');
EXECUTE look_up('CAT', 0.8);
EXECUTE look_up(:'seven', 0.8);
EXECUTE look_up(:'seven', 0.95);
EXECUTE look_up('', 0.8);
EXECUTE look_up(NULL, 0.8);
EXECUTE look_up('CAT', NULL);
EXECUTE look_up('CAT', 80);
-- If the threshold is lower than the one that the index is made for, there is a notice, once per statement.
EXECUTE look_up('CAT', 0.6);
SELECT sum(found) FROM unnest(ARRAY[0.5, 0.6, 0.9]) threshold,
    LATERAL (SELECT count(*) AS found FROM documents WHERE minhash_similar(sig, minhash('cat'), threshold)) AS each;
RESET plan_cache_mode;
DEALLOCATE look_up;

-- If the threshold is a constant and the index would find too few rows, all rows are compared instead. A share of the
-- rows that is below the setting minhash_lsh.recall_notice is too few.
SELECT threshold, condition(format('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), %s)', threshold))
    IS NOT NULL AS by_index FROM unnest(ARRAY[0, 0.5, 0.76, 0.78, 0.8, 1]) threshold;
SET minhash_lsh.recall_notice = 0.5;
SELECT condition('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), 0.7)') IS NOT NULL AS by_index;
SET minhash_lsh.recall_notice = 0;
SELECT condition('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), 0.1)') IS NOT NULL AS by_index;
RESET minhash_lsh.recall_notice;
-- If there are several indexes, only those whose options find enough rows are used.
CREATE INDEX documents_low ON documents USING gin (sig gin_minhash_ops (bands = 22, rows = 4));
SELECT threshold, condition(format('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), %s)', threshold))
    IS NOT NULL AS by_index FROM unnest(ARRAY[0.5, 0.6, 0.8]) threshold;
SELECT condition('SELECT FROM documents WHERE minhash_similar(sig, (SELECT sig FROM documents WHERE id = 7), 0.6)');
SELECT count(*) FROM documents WHERE minhash_similar(sig, minhash(:'seven'), 0.6);
DROP INDEX documents_low, documents_sig;

-- An index on an expression is used, and finds what a sequential scan finds. Indexes of other access methods are not
-- used.
CREATE INDEX documents_expression ON documents USING gin ((minhash(body, 16)));
SELECT condition('SELECT FROM documents WHERE minhash_similar(minhash(body, 16), minhash($$cat$$, 16), 0.8)')
    IS NOT NULL AS by_index;
SELECT count(*), count(*) FILTER (WHERE minhash_similarity(minhash(body, 16), minhash('cat', 16)) >= 0.8) AS rightly
FROM documents WHERE minhash_similar(minhash('cat', 16), minhash(body, 16), 0.8);
DROP INDEX documents_expression;
CREATE INDEX documents_order ON documents USING btree (sig);
CREATE INDEX documents_hash ON documents USING hash (sig);
SELECT condition('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), 0.8)');
SELECT condition('SELECT FROM documents WHERE sig % minhash($$cat$$)');
DROP INDEX documents_order, documents_hash;
-- What an index without options finds depends on the number of hashes. The planner knows this number from the column's
-- type or from a constant.
CREATE TABLE short (known minhash_signature(16), any_number minhash_signature);
CREATE INDEX short_known ON short USING gin (known);
CREATE INDEX short_any_number ON short USING gin (any_number);
SELECT round(lsh_probability(0.72, bands, rows)::numeric, 3) AS of_16 FROM lsh_params(0.8, 16);
PREPARE known(text) AS SELECT FROM short WHERE minhash_similar(known, minhash($1, 16), 0.72);
PREPARE any_number(text) AS SELECT FROM short WHERE minhash_similar(any_number, minhash($1, 16), 0.72);
SET plan_cache_mode = force_generic_plan;
SELECT condition('EXECUTE known(NULL)') IS NOT NULL AS by_type, condition('EXECUTE any_number(NULL)') AS unknown;
SET plan_cache_mode = force_custom_plan;
SELECT condition('EXECUTE any_number(1)') IS NOT NULL AS by_constant;
RESET plan_cache_mode;
DROP TABLE short;
-- A signature of another scheme is an error if rows are compared with it.
SELECT count(*) FROM documents WHERE minhash_similar(sig, minhash('cat', 64), 0.8);

-- If the planner knows the threshold, it expects as many rows as for the operator % with that threshold as its setting.
CREATE FUNCTION expected(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT threshold, set_config('minhash_lsh.similarity_threshold', threshold::text, false) AS setting,
       expected('SELECT FROM documents WHERE sig % minhash($$cat$$)') AS by_setting,
       expected(format('SELECT FROM documents WHERE minhash_similar(minhash($$cat$$), sig, %s)', threshold))
           AS explicit,
       expected(format('SELECT FROM documents WHERE sig %% _minhash_query(minhash($$cat$$), %s)', threshold)) AS query,
       expected(format('SELECT FROM documents a, documents b WHERE minhash_similar(a.sig, b.sig, %s)', threshold))
           AS pairs,
       expected(format('SELECT FROM documents a, documents b WHERE b.sig %% _minhash_query(a.sig, %s)', threshold))
           AS pairs_by_query
FROM unnest(ARRAY[0, 0.1, 0.3, 0.8, 1]) threshold;
RESET minhash_lsh.similarity_threshold;
SELECT expected('SELECT FROM documents a WHERE EXISTS (SELECT FROM documents b WHERE a.id <> b.id
                                                       AND minhash_similar(a.sig, b.sig, 0.8))') > 0 AS semi_join;
-- Thresholds that are unknown, out of range, or NULL.
SELECT expected('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), id * 0.1)') AS unknown,
       expected('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), 7)') AS out_of_range,
       expected('SELECT FROM documents WHERE minhash_similar(sig, minhash($$cat$$), NULL)') AS by_null;
-- A user's function and operator with which the same estimator is called.
CREATE FUNCTION nothing() RETURNS minhash_query LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION is_similar(minhash_signature) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE OPERATOR !% (FUNCTION = is_similar, RIGHTARG = minhash_signature, RESTRICT = _minhash_similar_sel);
SELECT expected('SELECT FROM documents WHERE sig % nothing()') >= 0 AS without_arguments,
       expected('SELECT FROM documents WHERE !% sig') >= 0 AS of_one_side;
DROP OPERATOR !% (NONE, minhash_signature);

DROP FUNCTION condition, compare, expected, nothing, is_similar;
DROP TABLE documents, pairs;
