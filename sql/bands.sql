-- lsh_band_keys() and lsh_bands(): the keys of a signature's bands.

CREATE FUNCTION pg_temp.signature_of(slots bigint[]) RETURNS minhash_signature LANGUAGE sql IMMUTABLE AS $$
    SELECT (format('fss1:%sx32:char5:fold:set:42:', cardinality(slots)) || string_agg(lpad(to_hex(slot), 8, '0'), ''
    ORDER BY position))::minhash_signature
    FROM unnest(slots) WITH ORDINALITY AS given (slot, position)
$$;

-- Both functions give the same keys, one as an array and one as rows. Bands are counted from 1.
SELECT bool_and(lsh_band_keys(s, bands, rows) = (SELECT array_agg(key ORDER BY band)
    FROM lsh_bands(s, bands, rows))) AS agree,
       bool_and(cardinality(lsh_band_keys(s, bands, rows)) = bands) AS cardinality,
       bool_and((SELECT array_agg(band) FROM lsh_bands(s, bands, rows)) = ARRAY(SELECT generate_series(1,
       bands))) AS numbers
FROM minhash('some text') s, (VALUES (1, 1), (1, 128), (128, 1), (16, 8), (9, 13), (20, 6)) AS shapes (bands, rows);
SELECT band FROM lsh_bands(minhash('some text', 16), bands => 4, rows => 3);
SELECT band, key = (lsh_band_keys(minhash('some text', 16), 4, 4))[band] AS same
    FROM lsh_bands(minhash('some text', 16), 4, 4);

-- Changing a slot changes the key of its own band and no other key. Slots after the last band are not used.
SELECT slot, (SELECT array_agg(band ORDER BY band) FROM lsh_bands(pg_temp.signature_of(a), 3, 4) x
    JOIN lsh_bands(pg_temp.signature_of(a[1:slot - 1] || 99::bigint || a[slot + 1:16]), 3, 4) y USING (band)
    WHERE x.key <> y.key) AS changed_bands
FROM (SELECT array_agg(i) AS a FROM generate_series(1::bigint, 16) i) AS slots, generate_series(1, 16) slot;

-- Different bands never have the same key, even if their slots are equal. Here all 16 slots are the same.
SELECT bands, rows, (SELECT count(DISTINCT key) FROM lsh_bands(pg_temp.signature_of(array_fill(7::bigint, ARRAY[16])),
    bands, rows)) AS distinct_keys
FROM (VALUES (2, 8), (4, 4), (16, 1)) AS shapes (bands, rows);
-- The first 12 slots make 3 bands of 4 rows. Documents one and two share the keys of bands 1 and 2. Band 3 of document
-- one has the same slots as band 1 of document two, but their keys differ.
CREATE TEMP TABLE three_by_four (id text, signature minhash_signature);
INSERT INTO three_by_four VALUES
    ('one', pg_temp.signature_of(ARRAY[1,3,1,0, 2,5,0,3, 1,3,1,0, 0,0,0,0])),
    ('two', pg_temp.signature_of(ARRAY[1,3,1,0, 2,5,0,3, 4,4,2,1, 0,0,0,0]));
SELECT a.band, b.band AS other_band FROM three_by_four one, three_by_four two, lsh_bands(one.signature, 3, 4) a,
    lsh_bands(two.signature, 3, 4) b
WHERE one.id = 'one' AND two.id = 'two' AND a.key = b.key ORDER BY 1;

-- The first bands of four documents are (1,3,6,0), (2,3,1,0), (1,3,6,0) and (2,1,3,1). Only documents 1 and 3 are
-- candidates.
CREATE TEMP TABLE first_band AS
SELECT id, pg_temp.signature_of(slots || ARRAY(SELECT id * 1000 + i FROM generate_series(1::bigint, 12) i)) AS signature
FROM (VALUES (1::bigint, ARRAY[1,3,6,0]::bigint[]), (2, ARRAY[2,3,1,0]), (3, ARRAY[1,3,6,0]),
    (4, ARRAY[2,1,3,1])) AS documents (id, slots);
SELECT a.id, b.id AS other_id, x.band FROM first_band a JOIN first_band b ON a.id < b.id,
    lsh_bands(a.signature, 4, 4) x, lsh_bands(b.signature, 4, 4) y WHERE x.key = y.key;
-- By the definition of a candidate pair (in at least one band, all rows are equal), the same pairs result.
SELECT a.id, b.id AS other_id FROM (SELECT id, signature::bigint[] AS s FROM first_band) a
    JOIN (SELECT id, signature::bigint[] AS s FROM first_band) b ON a.id < b.id AND (
    (a.s[1] = b.s[1] AND a.s[2] = b.s[2] AND a.s[3] = b.s[3] AND a.s[4] = b.s[4]) OR
    (a.s[5] = b.s[5] AND a.s[6] = b.s[6] AND a.s[7] = b.s[7] AND a.s[8] = b.s[8]) OR
    (a.s[9] = b.s[9] AND a.s[10] = b.s[10] AND a.s[11] = b.s[11] AND a.s[12] = b.s[12]) OR
    (a.s[13] = b.s[13] AND a.s[14] = b.s[14] AND a.s[15] = b.s[15] AND a.s[16] = b.s[16]));

-- 16 bands of 6 rows use 96 of 100 slots. Two signatures agree in 70 slots: in all rows of bands 5, 8 and 12, in four
-- rows of each other band, and in none of the unused slots. So they share the keys of bands 5, 8 and 12 only, which is
-- enough to make them a candidate pair.
CREATE TEMP TABLE sixteen_by_six AS
SELECT pg_temp.signature_of(array_agg(slot ORDER BY slot)) AS a,
       pg_temp.signature_of(array_agg(CASE WHEN differs THEN slot + 5000 ELSE slot END ORDER BY slot)) AS b
FROM (SELECT slot, slot > 96 OR (slot - 1) / 6 + 1 NOT IN (5, 8, 12) AND slot % 6 IN (1, 4) AS differs
    FROM generate_series(1::bigint, 100) slot) AS slots;
SELECT minhash_similarity(a, b) AS similarity, (SELECT array_agg(band ORDER BY band) FROM lsh_bands(a, 16, 6) x
    JOIN lsh_bands(b, 16, 6) y USING (band, key)) AS meeting_bands,
       lsh_band_keys(a, 16, 6) && lsh_band_keys(b, 16, 6) AS candidates
FROM sixteen_by_six;

-- The empty signature and NULL have no bands.
SELECT lsh_band_keys(minhash(''), 16, 8), (SELECT count(*) FROM lsh_bands(minhash(''), 16, 8)) AS empty,
    (SELECT count(*) FROM lsh_bands(NULL, 16, 8)) AS of_null,
       (SELECT count(*) FROM lsh_bands(minhash('a'), NULL, 8)) AS null_bands,
       lsh_band_keys(minhash('a'), 16, NULL) IS NULL AS null_rows;

-- lsh_bands() in the SELECT list, and applied to a column of another table in FROM.
SELECT (lsh_bands(minhash('some text', 16), 2, 8)).band;
SELECT id, count(*) AS bands, count(DISTINCT key) AS keys FROM first_band, lsh_bands(signature, 4, 4) GROUP BY id
    ORDER BY id;

-- If each slot is a band of its own, two signatures share a band key exactly where their slots are equal.
SELECT count(*) FILTER (WHERE (x = y) <> (sa = sb)) AS disagree, count(*) FILTER (WHERE sa = sb) > 0 AS some_equal,
    count(*) AS slots
FROM minhash('this is really rude') a, minhash('this is really crude') b,
     unnest(lsh_band_keys(a, 128, 1), lsh_band_keys(b, 128, 1), a::bigint[], b::bigint[]) AS each (x, y, sa, sb);

-- If the planner can compute the number of bands, it expects one row per band, however the call writes the number.
CREATE FUNCTION pg_temp.expected_rows(query text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT (node -> 'Plan Rows')::bigint FROM jsonb_path_query(plan,
        'strict $.**{1 to last} ? (@."Node Type" == "Function Scan" || @."Node Type" == "ProjectSet")') node;
END $$;
CREATE FUNCTION pg_temp.five() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 5';
CREATE FUNCTION pg_temp.six() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 6; END';
CREATE FUNCTION pg_temp.seven() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 7; END';
SELECT how, pg_temp.expected_rows('SELECT * FROM ' || how) FROM unnest(ARRAY[
    'lsh_bands(minhash(''a''), 16, 8)', 'lsh_bands(minhash(''a''), 1, 8)', 'lsh_bands(minhash(''a''), 20, 6)',
    'lsh_bands(rows => 6, bands => 20, signature => minhash(''a''))',
    'lsh_bands(minhash(''a''), 2 * 5, 6)', 'lsh_bands(minhash(''a''), pg_temp.five(), 6)',
    'lsh_bands(minhash(''a''), pg_temp.six(), 6)',
    'first_band, lsh_bands(signature, 3, 4)']) AS how;
-- If the planner cannot know the number of bands, it expects 16 rows, as the function's declaration says.
SELECT pg_temp.expected_rows('SELECT * FROM lsh_bands(minhash(''a''), pg_temp.seven(), 6)');
SELECT pg_temp.expected_rows('SELECT * FROM (VALUES (4), (8)) AS given (bands), lsh_bands(minhash(''a''), bands, 6)');
SELECT pg_temp.expected_rows('SELECT lsh_bands(minhash(''a''), 20, 6)');
-- The planner knows the value of a parameter in a custom plan, but not in a generic plan.
PREPARE p (int) AS SELECT * FROM lsh_bands(minhash('a'), $1, 6);
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.expected_rows('EXECUTE p(12)');
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.expected_rows('EXECUTE p(12)');
RESET plan_cache_mode;
DEALLOCATE p;
-- An invalid number of bands is an error when the query runs, but not when it is planned.
SELECT pg_temp.expected_rows('SELECT * FROM lsh_bands(minhash(''a''), -3, 6)');

DROP TABLE three_by_four, first_band, sixteen_by_six;

-- _lsh_scatter() writes keys as blocks, split by part and place. From these blocks, _lsh_gather() finds the same
-- candidates as a join of the keys, each once per part. The tests use ids of all sizes, several numbers of parts, and
-- memory for only some of the keys.
CREATE TEMP TABLE texts AS SELECT id, id % 3 AS place, minhash(md5((id / 4)::text) || (id % 9)) AS sig
FROM (SELECT CASE WHEN i % 2 = 0 THEN i WHEN i % 3 = 0 THEN i - 9223372036854775807
             ELSE 9223372036854775807 - i END AS id
      FROM generate_series(1::bigint, 6000) AS i) AS t;
CREATE TEMP VIEW keys AS SELECT id, place, unnest(lsh_band_keys(sig, 16, 4)) AS key FROM texts;
CREATE TEMP TABLE wanted AS SELECT DISTINCT x.id AS left_id, y.id AS right_id FROM keys AS x JOIN keys AS y USING (key)
WHERE x.id < y.id;
CREATE FUNCTION pg_temp.candidates(parts int, star_above int DEFAULT NULL)
RETURNS TABLE (left_place int, left_id bigint, right_id bigint, right_place bigint) LANGUAGE sql AS $$
    WITH scattered AS MATERIALIZED (SELECT place, s.* FROM generate_series(0, 2) AS place, _lsh_scatter(format('
        SELECT id, CASE WHEN id <> 42 THEN lsh_band_keys(sig, 16, 4) END FROM texts WHERE abs(place) = %s',
        place), place, $1) AS s)
    SELECT place, pairs.*
    FROM (SELECT part, string_agg(quote_literal(block), '), (') AS blocks FROM scattered GROUP BY part) AS p,
        _lsh_gather('VALUES (NULL), (' || replace(blocks, ')', '::bytea)') || '::bytea)', 3, star_above),
        unnest(left_ids, right_ids, right_places) AS pairs
$$;
CREATE FUNCTION pg_temp.differ(parts int, OUT missing bigint, OUT extra bigint, OUT twice boolean, OUT misplaced bigint)
LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE found AS SELECT * FROM pg_temp.candidates(parts);
    missing := count(*) FROM (SELECT * FROM wanted WHERE 42 NOT IN (left_id, right_id)
                              EXCEPT SELECT left_id, right_id FROM found) AS x;
    extra := count(*) FROM (SELECT left_id, right_id FROM found EXCEPT SELECT * FROM wanted) AS x;
    twice := count(*) > (SELECT count(*) FROM wanted) FROM found;
    misplaced := count(*) FROM found JOIN texts AS l ON l.id = left_id JOIN texts AS r ON r.id = right_id
        WHERE abs(l.place) <> left_place OR abs(r.place) <> right_place;
    DROP TABLE found;
END $$;
SELECT count(*) > 1000 AS many FROM wanted;
SELECT parts, d.* FROM unnest('{1, 3, 200}'::int[]) AS parts, pg_temp.differ(parts) AS d;
SET maintenance_work_mem = '1MB';
SELECT * FROM pg_temp.differ(1);
RESET maintenance_work_mem;
-- If more than star_above texts share a key, each of them is paired only with the first one.
SELECT left_ids, right_ids, stars FROM _lsh_gather($$SELECT block
    FROM _lsh_scatter('SELECT id::bigint, ARRAY[id % 3, 7]::bigint[] FROM generate_series(1, 6) AS id', 0, 1)$$, 1, 5);
SELECT cardinality(left_ids), stars FROM _lsh_gather($$SELECT block
    FROM _lsh_scatter('SELECT id::bigint, ARRAY[7]::bigint[] FROM generate_series(1, 6) AS id', 0, 1)$$, 1, 6);
-- The smallest block has one entry, whose id is the block's base.
SELECT * FROM _lsh_scatter('SELECT -1::bigint, ARRAY[-1]::bigint[]', 1, 2);
-- Errors: damaged blocks and invalid arguments.
\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
SELECT what, pg_temp.error_of(format('SELECT * FROM _lsh_gather(%L, 2, NULL)',
    format('SELECT %L::bytea', '\x' || block)))
FROM (VALUES ('no header', '00'), ('no entry', '00000000000000000000000001000000'),
    ('half an entry', '000000000000000000000000010000000102030405'),
    ('a place that is not there', '000000000000000002000000000000000102030405'),
    ('ids of nine bytes', '000000000000000000000000090000000102030405060708090a0b0c0d0e')) AS t(what, block);
SELECT pg_temp.error_of(call) FROM unnest(ARRAY[
    'SELECT * FROM _lsh_gather(''SELECT 1'', 2, NULL)', 'SELECT * FROM _lsh_gather(''TABLE keys'', 2, NULL)',
    'SELECT * FROM _lsh_scatter(''SELECT 1, ARRAY[1]::bigint[]'', 0, 2)',
    'SELECT * FROM _lsh_scatter(''SELECT 1::bigint, ARRAY[NULL]::bigint[]'', 0, 2)',
    'SELECT * FROM _lsh_scatter(''SELECT 1::bigint, ARRAY[1]::bigint[]'', 0, 0)',
    'SELECT * FROM _lsh_gather(''SELECT NULL::bytea'', 0, NULL)', 'SELECT * FROM _lsh_gather(NULL, 2, NULL)']) AS call;
DROP VIEW keys;
DROP TABLE texts, wanted;
