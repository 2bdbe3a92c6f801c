-- Aggregates: minhash_elements_agg() signs the set of a column's values, and minhash_agg() signs a column of texts.
\pset null '<null>'
\set VERBOSITY terse

CREATE TABLE items AS
    SELECT n AS id, n % 7 AS small_group, n / 3 AS large_group, n::bigint << 20 AS large, (n % 5000)::smallint AS small,
    'item ' || n AS name, md5(n::text)::uuid AS uuid, decode(md5(n::text), 'hex') AS bytes
    FROM generate_series(1, 20000) AS n;
ANALYZE items;

-- The aggregate gives the same signature as minhash_elements() of an array of all values, for every type of elements.
SELECT minhash_elements_agg(id) = minhash_elements(array_agg(id)) AS integer,
    minhash_elements_agg(large) = minhash_elements(array_agg(large)) AS bigint,
    minhash_elements_agg(small) = minhash_elements(array_agg(small)) AS smallint,
    minhash_elements_agg(name) = minhash_elements(array_agg(name)) AS text,
       minhash_elements_agg(name::varchar) = minhash_elements(array_agg(name)) AS varchar,
       minhash_elements_agg(uuid) = minhash_elements(array_agg(uuid)) AS uuid,
       minhash_elements_agg(bytes) = minhash_elements(array_agg(bytes)) AS bytea FROM items;
SELECT minhash_elements_agg('a');
CREATE DOMAIN short_name AS varchar(9);
SELECT minhash_elements_agg('a'::short_name) = minhash_elements('{a}'::text[]) AS domain,
    minhash_elements_agg(NULL::text) AS unknown;
DROP DOMAIN short_name;
-- The other arguments are in the same order as those of minhash_elements().
SELECT minhash_elements_agg(id, 64, 7, 'classic') = minhash_elements(array_agg(id), 64, 7, 'classic') AS integers,
    minhash_elements_agg(large, 1000, -1, 'fss') = minhash_elements(array_agg(large), 1000, -1, 'fss') AS bigints,
    minhash_elements_agg(name, 4096, 7, 'fss') = minhash_elements(array_agg(name), 4096, 7) AS texts,
       minhash_elements_agg(uuid, 16, 7, 'classic') = minhash_elements(array_agg(uuid), 16, 7, 'classic') AS uuids,
       minhash_elements_agg(bytes, 17, 0, 'fss') = minhash_elements(array_agg(bytes), 17, 0) AS bytes,
       minhash_elements_agg(id, 128, 42, 'fss') = minhash_elements_agg(id) AS defaults FROM items;

-- Groups of all sizes, from one member to far more than the aggregate collects before it makes a signature.
SELECT size, minhash_elements_agg(n) = minhash_elements(array_agg(n)) AS integers,
    minhash_elements_agg(n::text, 16, 1, 'classic') = minhash_elements(array_agg(n::text), 16, 1, 'classic') AS texts
FROM unnest(ARRAY[1, 2, 15, 16, 17, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2049, 5000]) AS size,
    generate_series(1, size) AS n GROUP BY size ORDER BY size;
SELECT count(*) AS groups, count(*) FILTER (WHERE collected IS DISTINCT FROM expected) AS different
    FROM (SELECT minhash_elements_agg(name) AS collected, minhash_elements(array_agg(name)) AS expected FROM items
    GROUP BY large_group) AS groups;
SELECT count(*) AS groups, count(*) FILTER (WHERE collected IS DISTINCT FROM expected) AS different
    FROM (SELECT minhash_elements_agg(uuid) AS collected, minhash_elements(array_agg(uuid)) AS expected FROM items
    GROUP BY small_group) AS groups;
-- Repeated members, and members in any order.
SELECT minhash_elements_agg(n % 3) = minhash_elements('{0,1,2}'::int[]) AS three,
    minhash_elements_agg(n % 50) = minhash_elements_agg(n % 50 ORDER BY n DESC) AS fifty,
    minhash_elements_agg(DISTINCT n % 50) = minhash_elements_agg(n % 50) AS distinct_ones,
    minhash_elements_agg((n * 7919) % 20011) = minhash_elements_agg(n) AS permuted FROM generate_series(1, 20010) AS n;
-- The union of the signatures of all groups is the signature of the whole table.
SELECT minhash_union_agg(part) = (SELECT minhash_elements_agg(id) FROM items) AS equal
    FROM (SELECT minhash_elements_agg(id) AS part FROM items GROUP BY small_group) AS parts;

-- NULL is not a member. Without any member the result is NULL, as for SQL's own aggregates.
SELECT minhash_elements_agg(n) AS none, minhash_elements_agg(n::text, 64, 7, 'fss') AS none_either
    FROM generate_series(1, 0) AS n;
SELECT minhash_elements_agg(CASE WHEN n % 2 = 0 THEN n END) = minhash_elements('{2,4,6}'::int[]) AS even,
    minhash_elements_agg(NULL::uuid) AS only_nulls, minhash_elements_agg(n)
    FILTER (WHERE n > 4) = minhash_elements('{5,6}'::int[]) AS filtered, minhash_elements_agg(n)
    FILTER (WHERE n > 9) AS nothing FROM generate_series(1, 6) AS n;
SELECT minhash_elements_agg(''::text) = minhash_elements('{""}'::text[]) AS empty_text,
    minhash_elements_agg(''::bytea) = minhash_elements(ARRAY[''::bytea]) AS no_bytes;
-- Grouping sets, and window functions, which need the result after each row.
SELECT small_group, minhash_elements_agg(id, 16, 42, 'fss') = (SELECT minhash_elements(array_agg(id), 16) FROM items i
    WHERE i.small_group = items.small_group OR items.small_group IS NULL) AS equal FROM items
    GROUP BY ROLLUP (small_group) ORDER BY 1;
SELECT count(*) AS rows, count(*) FILTER (WHERE collected IS DISTINCT FROM expected) AS different
FROM (SELECT minhash_elements_agg(id) OVER two AS collected, minhash_elements(array_agg(id) OVER two) AS expected
    FROM items WHERE id < 500 WINDOW two AS (PARTITION BY small_group ORDER BY id ROWS 1 PRECEDING)
      UNION ALL SELECT minhash_elements_agg(name, 16, 1, 'classic') OVER growing,
      minhash_elements(array_agg(name) OVER growing, 16, 1, 'classic') FROM items WHERE id < 1500
      WINDOW growing AS (ORDER BY id)) AS windows;

-- minhash_agg() gives exactly the union of the texts' signatures. Its other arguments are those of minhash().
CREATE TABLE documents AS
SELECT n AS id, n % 3 AS topic, string_agg('Word' || (n * word) % 211, ' ') || repeat(' again and again', n % 5) AS body
FROM generate_series(1, 200) AS n, generate_series(0, n) AS word GROUP BY n;
SELECT topic, minhash_agg(body) = minhash_union_agg(minhash(body)) AS equal FROM documents GROUP BY topic
    ORDER BY topic;
SELECT minhash_agg(body) = minhash(repeat('abc ', 300000)) AS long
FROM (VALUES (repeat('abc ', 300000)), (NULL), ('')) AS texts (body);
SELECT minhash_agg(NULL) AS unknown, minhash_agg('')::bigint[] AS empty,
    minhash_agg('a') = minhash('a') AS literal,
       minhash_agg(body) FILTER (WHERE id = 7) = minhash(max(body) FILTER (WHERE id = 7)) AS one FROM documents;
SELECT count(*) AS rows, count(*) FILTER (WHERE collected IS DISTINCT FROM expected) AS different
FROM (SELECT minhash_agg(body) OVER growing AS collected, minhash_union_agg(minhash(body)) OVER growing AS expected
      FROM documents WINDOW growing AS (ORDER BY id)) AS windows;

-- Parallel aggregation gives the same result. Worker processes send their states, and the leader combines them.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT minhash_elements_agg(id) FROM items;
EXPLAIN (COSTS OFF) SELECT minhash_agg(body) FROM documents;
CREATE TEMP TABLE in_parallel AS
    SELECT minhash_elements_agg(id) AS id, minhash_elements_agg(large, 64, 7, 'classic') AS large,
    minhash_elements_agg(small) AS small, minhash_elements_agg(name) AS name,
    minhash_elements_agg(uuid, 4096, 1, 'fss') AS uuid, minhash_elements_agg(bytes) AS bytes, minhash_elements_agg(id)
    FILTER (WHERE id < 20) AS few, minhash_elements_agg(id) FILTER (WHERE id = 0) AS none FROM items;
CREATE TEMP TABLE groups_in_parallel AS SELECT small_group, minhash_elements_agg(id) AS id, minhash_elements_agg(name)
    FILTER (WHERE id < 50) AS name FROM items GROUP BY small_group;
CREATE TEMP TABLE texts_in_parallel AS
    SELECT minhash_agg(body) AS characters, minhash_agg(CASE WHEN id = 5 THEN '' END) AS empty FROM documents;
SET max_parallel_workers_per_gather = 0;
SELECT p.id = minhash_elements(array_agg(i.id)) AS id, p.large = minhash_elements(array_agg(i.large), 64, 7,
    'classic') AS large, p.small = minhash_elements(array_agg(i.small)) AS small,
    p.name = minhash_elements(array_agg(i.name)) AS name,
       p.uuid = minhash_elements(array_agg(i.uuid), 4096, 1) AS uuid,
       p.bytes = minhash_elements(array_agg(i.bytes)) AS bytes,
       p.few = minhash_elements(array_agg(i.id) FILTER (WHERE i.id < 20)) AS few, p.none FROM in_parallel p, items i
       GROUP BY p.*, p.id, p.large, p.small, p.name, p.uuid, p.bytes, p.few, p.none;
SELECT count(*) AS equal FROM groups_in_parallel p JOIN (SELECT small_group, minhash_elements_agg(id) AS id,
    minhash_elements(array_agg(name) FILTER (WHERE id < 50)) AS name FROM items GROUP BY 1) AS one_by_one
    USING (small_group) WHERE p.id = one_by_one.id AND p.name = one_by_one.name;
SELECT characters = minhash_union_agg(minhash(body)) AS characters, (minhash_scheme(empty)).num_hashes AS hashes,
       empty::bigint[] AS empty FROM texts_in_parallel, documents GROUP BY characters, empty;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- Partitionwise aggregation.
CREATE TABLE parted (id integer) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT generate_series(1, 3000);
SET enable_partitionwise_aggregate = on;
-- The states of both partitions grow beyond their first size. (The query has no other aggregate, because partitionwise
-- aggregation needs all of a query's aggregates to support it.)
EXPLAIN (COSTS OFF) SELECT minhash_elements_agg(id) FROM parted;
CREATE TEMP TABLE by_parts AS SELECT minhash_elements_agg(id) AS sig FROM parted;
SELECT sig = (SELECT minhash_elements(array_agg(id)) FROM parted) AS equal FROM by_parts;
RESET enable_partitionwise_aggregate;

-- Errors: arguments that are NULL, out of range, or change within a group. They may differ between groups.
\set VERBOSITY default
SELECT minhash_elements_agg(id, 16 + id % 2, 42, 'fss') FROM items;
SELECT minhash_elements_agg(id, NULL, 42, 'fss') FROM items;
SELECT minhash_elements_agg(name, 128, 42, NULL) OVER () FROM items;
SELECT minhash_elements_agg(id, 7, 42, 'fss') FROM items;
SELECT minhash_elements_agg(id, 16, 42, 'simhash') FROM items;
SELECT minhash_elements_agg(1.5);
\set VERBOSITY terse
SELECT minhash_agg(body, 5, 'char') FROM documents;
SELECT minhash_agg(id) FROM documents;
SELECT minhash_elements_agg(id, num_hashes => 16) FROM items;
SELECT small_group, (minhash_scheme(minhash_elements_agg(id, 16 + small_group, 42, 'fss'))).num_hashes AS hashes
    FROM items
    GROUP BY small_group ORDER BY 1;
-- In rows whose value is NULL, other arguments may be NULL, too.
SELECT minhash_elements_agg(CASE WHEN id < 3 THEN id END, CASE WHEN id < 3 THEN 16 END, 42,
    'fss') = minhash_elements('{1,2}'::int[], 16) AS equal FROM items;
-- Users cannot call the aggregate's support functions.
CREATE FUNCTION pg_temp.is_refused(query text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query;
    RETURN false;
EXCEPTION WHEN undefined_function OR feature_not_supported THEN -- depends on the minor release
    RETURN true;
END $$;
SELECT pg_temp.is_refused($$SELECT _minhash_agg_deserial('\x00', NULL)$$) AS deserial,
       pg_temp.is_refused('SELECT _minhash_agg_combine(NULL, NULL)') AS combine;

DROP TABLE items, documents, parted, in_parallel, groups_in_parallel, texts_in_parallel;
