-- Golden vectors: signatures and band keys that every build must reproduce exactly.

-- The frozen signatures were written by the slow reference implementation. List rows where minhash() differs from them.
\getenv abs_srcdir PG_ABS_SRCDIR
\set file :abs_srcdir '/test/golden/signatures.tsv'
\set copy_in '\\copy golden FROM ' :'file' ' (FORMAT text, HEADER)'
CREATE TEMP TABLE golden (document text, num_hashes int, shingle_size int, unit text, fold boolean, bag boolean,
    seed bigint, method text, signature text);
:copy_in
SELECT count(*) > 50 AS enough,
    count(DISTINCT (num_hashes, shingle_size, unit, fold, bag, seed, method)) > 20 AS schemes,
    count(signature) = count(*) AS complete FROM golden;
SELECT left(document, 40) AS document, num_hashes, shingle_size, unit, fold, bag, seed, method
FROM golden
WHERE minhash(document, num_hashes, shingle_size, unit, fold, bag, seed, method)::text IS DISTINCT FROM signature;
-- Reading the frozen texts as signatures and writing them again gives the same texts.
SELECT count(*) FILTER (WHERE signature::minhash_signature::text IS DISTINCT FROM signature) AS differ FROM golden;

-- Compare the frozen signatures of elements in the same way.
\set file :abs_srcdir '/test/golden/element_signatures.tsv'
\set copy_in '\\copy golden_sets FROM ' :'file' ' (FORMAT text, HEADER)'
CREATE TEMP TABLE golden_sets (type text, members text, num_hashes int, bag boolean, seed bigint, method text,
    signature text);
:copy_in
SELECT count(*) > 20 AS enough, count(DISTINCT type) AS types, count(signature) = count(*) AS complete FROM golden_sets;
SELECT type, left(members, 40) AS members, num_hashes, seed, bag, method
FROM golden_sets, string_to_array(members, '|') AS member
WHERE signature IS DISTINCT FROM CASE type
    WHEN 'text' THEN minhash_elements(member, num_hashes, seed, method, bag)
    WHEN 'integer' THEN minhash_elements(member::bigint[], num_hashes, seed, method, bag)
    ELSE minhash_elements(ARRAY(SELECT decode(hexadecimal, 'hex') FROM unnest(member) AS hexadecimal), num_hashes, seed,
    method, bag)
    END::text;

-- Compare the frozen band keys. Their bands are counted from 0.
\set file :abs_srcdir '/test/golden/band_keys.tsv'
\set copy_in '\\copy golden_keys FROM ' :'file' ' (FORMAT text, HEADER)'
CREATE TEMP TABLE golden_keys (document text, num_hashes int, shingle_size int, unit text, fold boolean, bag boolean,
    seed bigint, method text, bands int, rows int, band int, key bigint);
:copy_in
SELECT count(*) > 20 AS enough, count(DISTINCT (bands, rows)) > 1 AS shapes, count(key) = count(*) AS complete
    FROM golden_keys;
SELECT left(document, 40) AS document, num_hashes, method, bands, rows, band
FROM golden_keys
WHERE (lsh_band_keys(minhash(document, num_hashes, shingle_size, unit, fold, bag, seed, method), bands,
    rows))[band + 1] IS DISTINCT FROM key;

-- The test vectors from the definition of the scheme.
SELECT minhash('the quick brown fox jumps over the lazy dog', 16, seed => 0);
SELECT array_agg(lpad(to_hex(slot), 8, '0') ORDER BY position)
    FROM unnest(minhash('the quick brown fox jumps over the lazy dog', 16,
    seed => 0)::bigint[]) WITH ORDINALITY AS each (slot, position);
SELECT band, to_hex(key) AS key FROM lsh_bands(minhash('the quick brown fox jumps over the lazy dog', 16, seed => 0), 4,
    4);
SELECT minhash_similarity(minhash('the quick brown fox jumps over the lazy dog', 16, seed => 0),
    minhash('the quick brown fox jumped over the lazy dogs', 16, seed => 0)) AS similarity;
-- A text of one shingle of up to eight bytes. Round 0 puts the low half of the shingle's hash into slot
-- (16 * high half) >> 32.
SELECT document, seed, hash, to_hex((minhash(document, 16, seed => seed)::bigint[])[1 +
    ((('x' || left(hash, 8))::bit(32)::bigint & 4294967295) * 16 >> 32)]) AS slot,
       to_hex((('x' || right(hash, 8))::bit(32)::bigint & 4294967295) >> 1) AS expected
FROM (VALUES ('a', 0, '396f7d5da57ac0a1'), ('a', 42, '5002ac88df6b36b9'), ('abc', 0, '8650536659ebbaff'),
    ('abc', 42, 'bf9719787b121162'), ('hello', 0, '1ca8ae25ebfbc600'),
    ('hello', 42, 'f5a9a52d8470b3b9')) AS hashes (document, seed, hash);
SELECT document, seed, to_hex((minhash(document, 16, 11, seed => seed)::bigint[])[1 +
    ((('x' || left(hash, 8))::bit(32)::bigint & 4294967295) * 16 >> 32)]) AS slot,
       to_hex((('x' || right(hash, 8))::bit(32)::bigint & 4294967295) >> 1) AS expected
FROM (VALUES ('hello wo', 0, 'e08ac540f54c61a8'), ('hello wo', 42, 'cdf19b05f9df9d58'),
    ('hello world', 0, 'd447b1ea40e6988b'), ('hello world', 42, '972a5725e93d338e')) AS hashes (document, seed, hash);

DROP TABLE golden, golden_sets, golden_keys;
