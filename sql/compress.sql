-- Smaller signatures: minhash_compress() keeps fewer bits per slot, and minhash_truncate() keeps fewer hashes.
\pset null '<null>'

-- By definition, a compressed slot is the top bits of (slot * 0x9E3779B1) modulo 2^32.
CREATE TABLE signed AS SELECT n AS id, minhash(repeat('some text ', n % 3 + 1) || n || ' of ' || n * n,
    num_hashes => hashes, method => method) AS sig, hashes, method
FROM generate_series(1, 30) AS n, (VALUES (128), (17)) AS h (hashes), (VALUES ('fss'), ('classic')) AS m (method);
SELECT bits, count(*) AS slots, count(*)
    FILTER (WHERE packed <> mod(slot * 2654435761.0, 4294967296)::bigint >> (32 - bits)) AS different
FROM (SELECT sig, bits, minhash_compress(sig, bits) AS compressed FROM signed,
    unnest(ARRAY[1, 2, 4, 8, 16]) AS bits) AS made,
     LATERAL unnest(sig::bigint[], compressed::bigint[]) AS slots (slot, packed) GROUP BY bits ORDER BY bits;
-- Compressing in two steps gives the same as in one step. Compressing to 32 bits gives the signature itself.
SELECT count(*) FILTER (WHERE minhash_compress(minhash_compress(sig, more), fewer) <> minhash_compress(sig,
    fewer)) AS different, count(*) AS compared
FROM signed, unnest(ARRAY[1, 2, 4, 8, 16, 32]) AS more, unnest(ARRAY[1, 2, 4, 8, 16, 32]) AS fewer WHERE fewer <= more;
-- The scheme and size of a compressed signature. The size is 16 bytes, and one byte for every eight bits.
SELECT pg_column_size(minhash_compress(sig, width)) AS bytes, s.*
    FROM (SELECT sig FROM signed WHERE id = 1 AND hashes = 128 AND method = 'fss') AS one,
    unnest(ARRAY[1, 2, 4, 8, 16, 32]) AS width, minhash_scheme(minhash_compress(sig, width)) AS s ORDER BY width;
SELECT minhash_compress(minhash('abc', 16, seed => 0), 8) AS eight,
    minhash_compress(minhash('abc', 17, seed => 0), 2) AS two, minhash_compress(minhash('', 17), 1) AS empty;

-- A signature of one bit per slot can be cast to bit(n), with its slots from left to right. Other extensions have
-- indexes for bit strings.
SELECT count(*), count(*) FILTER (WHERE c::bit(17)::text <> array_to_string(c::bigint[], '')) AS different,
    count(*) FILTER (WHERE bit_count(a::bit(17) # c::bit(17)) <> (SELECT count(*) FILTER (WHERE x <> y)
        FROM unnest(a::bigint[], c::bigint[]) AS s (x, y))) AS of_other_distance
FROM (SELECT minhash_compress(sig, 1) AS c, minhash_compress(minhash('some text', 17), 1) AS a FROM signed
      WHERE hashes = 17) s;
SELECT minhash_compress(minhash('', 17), 1)::bit(17) AS empty;
SELECT minhash('abc', 16)::bit(16);
SELECT minhash_compress(minhash('abc', 16), 1)::bit(17);
CREATE INDEX ON signed ((minhash_compress(sig, 1)::bit(128))) WHERE hashes = 128;

-- Compressed signatures survive output and input, as text, in binary form, and with a type modifier.
SELECT count(*) FILTER (WHERE c::text::minhash_signature <> c) AS text_differs, count(*)
    FILTER (WHERE c::minhash_signature(17) <> c) AS modified
FROM signed, unnest(ARRAY[1, 2, 4, 8, 16]) AS bits, minhash_compress(sig, bits) AS c WHERE hashes = 17;
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_builddir '/compressed.copy'
\set some 'SELECT id, minhash_compress(sig, bits) FROM signed, unnest(ARRAY[1, 2, 4, 8, 16]) AS bits WHERE id < 5'
\set copy_out '\\copy (' :some ') TO ' :'file' ' (FORMAT binary)'
\set copy_in '\\copy copied FROM ' :'file' ' (FORMAT binary)'
CREATE TEMP TABLE copied (id int, sig minhash_signature);
:copy_out
:copy_in
SELECT count(*) AS copied, count(DISTINCT copied.sig) AS different, count(DISTINCT copied.sig)
    FILTER (WHERE s.sig IS NOT NULL) AS known
FROM copied LEFT JOIN (SELECT minhash_compress(sig, bits) AS sig FROM signed,
    unnest(ARRAY[1, 2, 4, 8, 16]) AS bits) AS s USING (sig);
SELECT 'fss1:17x1:char5:fold:set:42:ffff01'::minhash_signature;
SELECT 'fss1:17x1:char5:fold:set:42:ffff02'::minhash_signature;
SELECT 'fss1:17x1:char5:fold:set:42:ffff0'::minhash_signature;
SELECT 'fss1:17x3:char5:fold:set:42:'::minhash_signature;

-- Estimates for pairs whose exact similarity is known have no bias, and no more error than theory predicts.
CREATE TABLE pairs AS
SELECT id, kept / (200.0 - kept) AS exact, minhash(string_agg('w' || word + id * 1000, ' ') FILTER (WHERE word <= 100),
    shingle_size => 1, unit => 'word') AS a,
       minhash(string_agg('w' || word + id * 1000, ' ') FILTER (WHERE word > 100 - kept), shingle_size => 1,
       unit => 'word') AS b
FROM generate_series(1, 300) AS id, (VALUES (20), (50), (80), (95)) AS k (kept),
    LATERAL generate_series(1, 200 - kept) AS word GROUP BY id, kept;
SELECT bits, round(exact, 3) AS exact, abs(avg(error)) < 4 * s / sqrt(count(*)) AS unbiased,
    sqrt(avg(error * error)) < 1.1 * s AS as_exact
FROM (SELECT bits, exact, minhash_similarity(minhash_compress(a, bits), minhash_compress(b, bits)) - exact AS error,
    minhash_standard_error(exact, bits => bits) AS s FROM pairs, unnest(ARRAY[2, 4, 8, 16]) AS bits) AS errors
GROUP BY bits, exact, s ORDER BY bits, exact;
-- One bit per slot says little about a single pair, because half of all slots agree by chance.
SELECT round(avg(minhash_similarity(minhash_compress(a, 1), minhash_compress(b, 1)))::numeric, 1) AS of_one_bit,
    round(minhash_standard_error(0.8, 128, 1)::numeric, 4) AS error FROM pairs WHERE round(exact, 1) = 0.7;
SELECT min(minhash_similarity(minhash_compress(x.a, 1), minhash_compress(y.a, 1))) AS least,
    max(minhash_similarity(minhash_compress(x.a, 8), minhash_compress(y.a, 8))) < 0.05 AS none FROM pairs x
    JOIN pairs y ON x.id = y.id + 1;
SELECT minhash_similarity(e, s) AS with_empty, minhash_similarity(e, e) AS both_empty, s % s AS itself,
    s <%> s AS distance FROM minhash_compress(minhash('some text'), 4) AS s, minhash_compress(minhash(''), 4) AS e;

-- Band keys of signatures with 8 and 16 bits per slot. Equal slots make equal keys, and few other slots do.
SELECT bits, count(*) FILTER (WHERE keys && whole) >= count(*) FILTER (WHERE keys_of_whole && whole) AS found,
    cardinality(min(keys)) AS keys
FROM (SELECT bits, lsh_band_keys(minhash_compress(a, bits), 13, 7) AS keys,
    lsh_band_keys(minhash_compress(b, bits), 13, 7) AS whole, lsh_band_keys(a, 13, 7) AS keys_of_whole FROM pairs,
    unnest(ARRAY[8, 16]) AS bits WHERE round(exact, 1) = 0.9) AS k GROUP BY bits ORDER BY bits;
SELECT lsh_band_keys(minhash_compress(minhash('a text'), 4), 13, 7);
SELECT * FROM lsh_bands(minhash_compress(minhash('a text'), 1), 13, 7);
SELECT lsh_band_keys(minhash_compress(minhash('a text'), 8), 129, 1);
-- With compressed signatures, an index and lsh_pairs() find what they find with whole signatures.
CREATE TABLE docs AS SELECT row_number() OVER (ORDER BY id, exact, side) AS id, minhash_compress(sig, 8) AS sig
    FROM pairs, LATERAL (VALUES ('a', a), ('b', b)) AS sides (side, sig) WHERE id <= 100;
ALTER TABLE docs ADD PRIMARY KEY (id);
CREATE INDEX ON docs USING gin (sig);
CREATE TEMP TABLE in_order AS SELECT a.id AS left_id, b.id AS right_id, minhash_similarity(a.sig, b.sig) AS similarity
    FROM docs a JOIN docs b ON a.id < b.id AND a.sig % b.sig;
SELECT (SELECT count(*) FROM in_order) AS near, (SELECT count(*) FROM in_order
    JOIN lsh_pairs('SELECT id, sig FROM docs') USING (left_id, right_id, similarity)) AS by_pairs,
       (SELECT count(*) FROM lsh_clusters('SELECT id, sig FROM docs')) AS clustered;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE sig % 'fss1:128x8:word1:fold:set:42:';
SELECT id FROM docs WHERE sig % (SELECT sig FROM docs WHERE id = 8) ORDER BY id;
RESET enable_seqscan;
SELECT * FROM lsh_pairs('SELECT id, minhash_compress(sig, 4) FROM docs');
SELECT * FROM lsh_pairs('SELECT id, CASE WHEN id = 3 THEN minhash_compress(sig, 4) ELSE sig END FROM docs', bands => 13,
    rows => 7);

-- Operations that do not accept compressed signatures.
SELECT minhash_union(c, c) FROM minhash_compress(minhash('a text'), 8) AS c;
SELECT minhash_union_agg(minhash_compress(minhash('a text'), 8));
SELECT minhash_union_agg(minhash_compress(minhash('', 16), 8)) OVER ();
SELECT minhash_cardinality(minhash_compress(minhash('a text'), 16));
SELECT minhash_containment(minhash('a text'), minhash_compress(minhash('a text'), 16));
SELECT minhash_to_values(minhash_compress(minhash('a text'), 16));
SELECT minhash_similarity(minhash('a text'), minhash_compress(minhash('a text'), 8));
SELECT minhash_similarity(minhash_compress(minhash('a text'), 4), minhash_compress(minhash('a text'), 8));
SELECT minhash_compress(minhash_compress(minhash('a text'), 8), 16);
SELECT minhash_compress(minhash('a text'), 3);
SELECT minhash_compress(minhash('a text'), 0);
SELECT minhash_compress(minhash('a text'), 64);
SELECT minhash_standard_error(0.8, bits => 5);
SELECT minhash_compress(NULL, 8) AS unknown, minhash_compress(minhash('a text'), NULL) AS unknown_too;

-- If a method's hash functions are independent, truncating a signature gives the same as signing the text with fewer
-- hashes. With FSS this is not so, because FSS distributes elements over all slots.
SELECT count(*) FILTER (WHERE minhash_truncate(minhash(body, num_hashes => 256, method => 'classic'),
    n) <> minhash(body, num_hashes => n, method => 'classic')) AS different, count(*) AS compared
FROM (VALUES (''), ('a'), ('Some longer text of which nothing is known.')) AS v (body),
    unnest(ARRAY[16, 17, 128, 256]) AS n;
SELECT minhash_truncate(minhash('a text'), 128) = minhash('a text') AS as_it_is;
SELECT minhash_truncate(minhash('a text'), 64);
SELECT minhash_truncate(minhash('a text', method => 'classic'), 129);
SELECT minhash_truncate(minhash('a text', method => 'classic'), 7);
SELECT minhash_truncate(minhash_compress(minhash('a text', method => 'classic'), 8), 16);

DROP TABLE signed, pairs, docs;
