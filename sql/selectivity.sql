-- How many similar rows the planner expects, compared with how many there are: for texts that occur often, with and
-- without small changes.

SET jit = off;
SET max_parallel_workers_per_gather = 0;
-- The rows that the planner expects and the rows that there are, as the quotient of the larger and the smaller number.
CREATE FUNCTION pg_temp.off_by(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    expected numeric;
    rows numeric;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO rows;
    expected := plan -> 0 -> 'Plan' ->> 'Plan Rows';
    RETURN round(greatest(expected, rows) / greatest(least(expected, rows), 1), 1);
END $$;
-- The nodes of a plan, from the top.
CREATE FUNCTION pg_temp.nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    nodes text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        nodes := concat_ws(', ', nullif(nodes, ''),
                           substring(line FROM '(Hash Join|Nested Loop|Index Scan|Seq Scan|Bitmap Heap)'));
    END LOOP;
    RETURN nodes;
END $$;
CREATE FUNCTION pg_temp.text_of(i int) RETURNS text IMMUTABLE LANGUAGE sql AS
    'SELECT md5(i || ''a'') || md5(i || ''b'') || md5(i || ''c'') || md5(i || ''d'')';

-- Two of three texts are equal.
CREATE TABLE equal AS
    SELECT id, minhash(pg_temp.text_of(CASE WHEN id % 3 = 0 THEN id ELSE 7 END)) AS sig
    FROM generate_series(1, 1500) id;
-- Two of three are one text with a number at its end: all are different, and nearly all are near each other.
CREATE TABLE numbered AS SELECT id,
        minhash(CASE WHEN id % 3 = 0 THEN pg_temp.text_of(id) ELSE pg_temp.text_of(7) || to_char(id, '000000') END)
            AS sig
    FROM generate_series(1, 1500) id;
-- Signatures of more than 1,024 bytes, for which ANALYZE keeps no values.
CREATE TABLE wide AS SELECT id, minhash(pg_temp.text_of(CASE WHEN id % 3 = 0 THEN id ELSE 7 END), 512) AS sig
    FROM generate_series(1, 1500) id;
-- Twenty families of 100, and some NULLs and empty texts.
CREATE TABLE families AS SELECT id, CASE WHEN id % 10 = 0 THEN NULL WHEN id % 10 = 1 THEN minhash('')
        ELSE minhash(pg_temp.text_of(id % 20) || id) END AS sig FROM generate_series(1, 2000) id;
-- Hardly any are similar.
CREATE TABLE rare AS SELECT id, minhash(pg_temp.text_of(id + 3)) AS sig FROM generate_series(1, 1500) id;
CREATE TABLE texts AS SELECT id, pg_temp.text_of(CASE WHEN id % 3 = 0 THEN id ELSE 7 END) AS body
    FROM generate_series(1, 1500) id;
CREATE INDEX ON texts USING lsh (minhash(body));
CREATE TABLE compressed AS SELECT id, minhash_compress(sig, 1) AS sig FROM equal;
-- A table that has never been analysed, with signatures of 128 hashes, and of as many as its type says.
CREATE TABLE typed (id int, sig minhash_signature(300));
INSERT INTO typed SELECT id, minhash(pg_temp.text_of(id), 300) FROM generate_series(1, 1000) id;
CREATE TABLE outside (id int, sig minhash_signature(512));
INSERT INTO outside SELECT id, minhash(pg_temp.text_of(id), 512) FROM generate_series(1, 1000) id;
SELECT pg_temp.off_by('SELECT FROM rare') < 1.5 AS default_hashes,
       pg_temp.off_by('SELECT FROM typed') < 1.5 AS typed,
       pg_temp.off_by('SELECT FROM outside') < 2 AS outside_of_rows;
ANALYZE equal, numbered, wide, families, rare, texts, compressed;

SELECT threshold,
       pg_temp.off_by(format('SELECT FROM equal WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), %s)',
                             threshold)) < 1.5 AS equal,
       pg_temp.off_by(format('SELECT FROM numbered WHERE minhash_similar(sig, minhash(pg_temp.text_of(7) || %L), %s)',
                             ' 000500', threshold)) < 1.5 AS numbered,
       pg_temp.off_by(format('SELECT FROM wide WHERE minhash_similar(sig, minhash(pg_temp.text_of(7), 512), %s)',
                             threshold)) < 1.5 AS wide,
       pg_temp.off_by(format('SELECT FROM texts WHERE minhash_similar(minhash(body), minhash(pg_temp.text_of(7)), %s)',
                             threshold)) < 1.5 AS expression,
       pg_temp.off_by(format('SELECT FROM families WHERE minhash_similar(sig, minhash(pg_temp.text_of(8) || 88), %s)',
                             threshold)) < 3 AS families,
       pg_temp.off_by(format('SELECT FROM compressed WHERE minhash_similar(sig, %L, %s)',
                             (SELECT sig FROM compressed WHERE id = 7), threshold)) < 1.5 AS compressed,
       pg_temp.off_by(format('SELECT FROM rare WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), %s)', threshold))
           <= 3 AS rare,
       pg_temp.off_by(format('SELECT FROM rare WHERE minhash_similar(sig, minhash(pg_temp.text_of(-7)), %s)',
                             threshold)) <= 3 AS none
FROM unnest(ARRAY[0.9, 0.8, 0.5]) threshold;
-- A few equal texts among many are found among the most common values.
CREATE TABLE seldom AS SELECT id, minhash(pg_temp.text_of(CASE WHEN id <= 30 THEN 7 ELSE id END)) AS sig
    FROM generate_series(1, 20000) id;
ANALYZE seldom;
SELECT pg_temp.off_by('SELECT FROM seldom WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), 0.8)') < 1.5
           AS thirty,
       pg_temp.off_by('SELECT FROM seldom WHERE sig % minhash(pg_temp.text_of(7))') < 1.5 AS by_operator,
       pg_temp.off_by('SELECT FROM seldom WHERE minhash_similar(sig, minhash(pg_temp.text_of(99)), 0.8)') <= 3 AS one;
-- A NULL, a signature of another scheme, a compressed one and an empty one have no similar rows.
SELECT pg_temp.nodes('SELECT FROM equal WHERE minhash_similar(sig, NULL, 0.8)') = '' AS reads_no_table;
SELECT pg_temp.off_by('SELECT FROM equal WHERE minhash_similar(sig, minhash($$$$), 0.8)') <= 3 AS empty;
CREATE FUNCTION pg_temp.expected(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT pg_temp.expected('SELECT FROM equal WHERE minhash_similar(sig, minhash($$a$$, 64), 0.8)') < 10 AS other_scheme,
       pg_temp.expected(format('SELECT FROM equal WHERE minhash_similar(sig, %L, 0.8)',
                               (SELECT minhash_compress(sig, 1) FROM equal WHERE id = 7))) < 10 AS other_bits;

-- Joins, with the same and with other tables; a query that is not known at plan time; semi-joins.
SELECT pg_temp.off_by('SELECT FROM equal a JOIN equal b ON minhash_similar(a.sig, b.sig, 0.8)') < 2 AS equal,
       pg_temp.off_by('SELECT FROM numbered a JOIN numbered b ON minhash_similar(a.sig, b.sig, 0.8)') < 2 AS numbered,
       pg_temp.off_by('SELECT FROM numbered a JOIN equal b ON a.sig % b.sig') < 2 AS two_tables,
       pg_temp.off_by('SELECT FROM families a JOIN families b ON minhash_similar(a.sig, b.sig, 0.6)') < 5 AS families,
       pg_temp.off_by('SELECT FROM rare a JOIN rare b ON minhash_similar(a.sig, b.sig, 0.8)') < 5 AS rare,
       pg_temp.off_by('SELECT FROM rare a JOIN equal b ON minhash_similar(a.sig, b.sig, 0.8)') < 5 AS rare_and_equal;
CREATE FUNCTION pg_temp.some_sig() RETURNS minhash_signature VOLATILE LANGUAGE sql AS
    'SELECT minhash(pg_temp.text_of(7))';
SELECT pg_temp.expected('SELECT FROM numbered WHERE minhash_similar(sig, (SELECT pg_temp.some_sig()), 0.8)')
           BETWEEN 400 AND 1000 AS average,
       pg_temp.expected('SELECT FROM rare WHERE minhash_similar(sig, (SELECT pg_temp.some_sig()), 0.8)') <= 3
           AS average_of_rare;

-- Among many similar rows, the first one costs little, in a scan of the index, too.
CREATE INDEX equal_sig ON equal USING lsh (sig);
CREATE INDEX rare_sig ON rare USING lsh (sig);
SELECT pg_temp.nodes('SELECT FROM equal WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), 0.8) LIMIT 1') AS one;
SET enable_seqscan = off;
SELECT pg_temp.nodes('SELECT FROM equal WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), 0.8) LIMIT 1') AS one;
RESET enable_seqscan;
-- A nested loop over the index compares anew in each loop. If an equality leaves few rows, a hash join is cheaper.
CREATE TABLE grouped AS SELECT id, id / 10 AS grp, minhash(pg_temp.text_of(id)) AS sig FROM generate_series(1, 6000) id;
CREATE INDEX grouped_sig ON grouped USING lsh (sig);
ANALYZE grouped;
SELECT threshold,
       pg_temp.nodes(format('SELECT FROM grouped a JOIN grouped b ON a.grp = b.grp AND a.id < b.id
                             AND minhash_similar(a.sig, b.sig, %s)', threshold)) AS with_equality,
       pg_temp.nodes(format('SELECT FROM grouped a JOIN grouped b ON a.id < b.id
                             AND minhash_similar(a.sig, b.sig, %s)', threshold)) AS without
FROM unnest(ARRAY[0.8, 0.5, 0.45]) threshold;

-- Who may not read a column does not learn from estimates what is in it.
CREATE ROLE minhash_stranger;
CREATE TABLE guarded AS SELECT id, sig FROM equal;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON guarded USING (id % 3 = 0);
GRANT SELECT ON guarded TO minhash_stranger;
ANALYZE guarded;
SELECT pg_temp.expected('SELECT FROM guarded WHERE minhash_similar(sig, minhash(pg_temp.text_of(7)), 0.8)') > 500
    AS owner;
GRANT CREATE ON SCHEMA public TO minhash_stranger;
SET ROLE minhash_stranger;
CREATE FUNCTION expected_by_other(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT expected_by_other(
    'SELECT FROM guarded
     WHERE minhash_similar(sig, minhash(md5(''7a'') || md5(''7b'') || md5(''7c'') || md5(''7d'')), 0.8)') <= 10
    AS stranger;
RESET ROLE;
DROP OWNED BY minhash_stranger;
DROP ROLE minhash_stranger;
DROP TABLE equal, numbered, wide, families, rare, typed, outside, texts, compressed, seldom, grouped, guarded;
