-- Importing signatures of other systems from arrays of 32-bit values, and exporting ours.
\pset null '<null>'

-- Exporting an imported signature gives the same values. The signature's scheme says that it comes from another system.
CREATE FUNCTION pg_temp.series(first bigint, count int) RETURNS bigint[] LANGUAGE sql AS $$
    SELECT array_agg((first + n) * 2654435761 & 4294967295 ORDER BY n) FROM generate_series(1, count) AS n $$;
SELECT s.* FROM minhash_scheme(minhash_from_values(pg_temp.series(1, 128), seed => 1)) AS s;
SELECT minhash_from_values(pg_temp.series(1, 16), 1);
SELECT minhash_to_values(minhash_from_values(pg_temp.series(n, n * 16), 1)) = pg_temp.series(n, n * 16) AS back,
    minhash_from_values(pg_temp.series(n, n * 16), 1)::text::minhash_signature = minhash_from_values(pg_temp.series(n,
    n * 16), 1) AS as_text FROM unnest(ARRAY[1, 8, 256]) AS n;
-- The smallest and the largest value, in an array whose subscripts do not start at 1.
SELECT minhash_to_values(minhash_from_values(('[5:20]={0,4294967295' || repeat(',7', 14) || '}')::bigint[],
    1)) AS values;
-- In the signature of the empty set, all slots have the largest value, in other systems as in ours. The computation of
-- minima starts from this value.
SELECT e::bigint[] AS slots, minhash_to_values(e) = array_fill(4294967295, ARRAY[16]) AS values,
    minhash_similarity(e, e) AS similarity, lsh_band_keys(e, 4, 4) AS keys
    FROM minhash_from_values(array_fill(4294967295, ARRAY[16]), 1) AS e;
-- Sketches made with one permutation can have empty slots. If truncation leaves only empty slots, the result is the
-- signature of the empty set.
SELECT minhash_truncate(s, 16) = minhash_from_values(array_fill(4294967295, ARRAY[16]), 1) AS cut,
    minhash_truncate(s, 17) = minhash_from_values((minhash_to_values(s))[1:17], 1) AS cut_behind
    FROM minhash_from_values(array_fill(4294967295, ARRAY[16]) || '{7,4294967295}', 1) AS s;
-- Exporting our own signatures.
SELECT minhash_to_values(s) = s::bigint[] AS same, minhash_to_values(minhash('', 16)) AS empty
    FROM minhash('some text') AS s;
SELECT minhash_to_values(NULL) AS unknown, minhash_from_values(NULL, 1) AS unknown_too,
    minhash_from_values(pg_temp.series(1, 16), NULL) AS unknown_seed;

-- Imported signatures can be compared, united, compressed and cut into bands like ours. Here are 30 overlapping sets of
-- 80 numbers, signed with another family of hash functions.
CREATE TEMP TABLE external AS
SELECT id, minhash_from_values(array_agg(least ORDER BY function), 1) AS sig
FROM (SELECT id, function, min((hashtext(function || ':' || element)::bigint + 2147483648)) AS least
    FROM generate_series(1, 30) AS id, generate_series(1, 64) AS function,
    generate_series(id * 10, id * 10 + 79) AS element GROUP BY 1, 2) AS minima GROUP BY id;
SELECT count(*) FILTER (WHERE abs(minhash_similarity(a.sig, b.sig) - e) > 4.5 * minhash_standard_error(e,
    64) + 1e-9) AS far, count(*) AS pairs
FROM external a JOIN external b ON a.id <= b.id,
    LATERAL (SELECT greatest(0, 80.0 - 10 * (b.id - a.id)) / least(160, 80 + 10 * (b.id - a.id))) AS x (e);
SELECT minhash_union_agg(sig) = (SELECT minhash_from_values(array_agg(least ORDER BY function), 1)
    FROM (SELECT function, min((hashtext(function || ':' || element)::bigint + 2147483648)) AS least
    FROM generate_series(1, 64) AS function, generate_series(10, 119) AS element GROUP BY 1) AS minima) AS united
    FROM external WHERE id <= 4;
SELECT count(*) AS candidates FROM external a JOIN external b ON a.id < b.id
    AND lsh_band_keys(a.sig, 16, 4) && lsh_band_keys(b.sig, 16, 4);
SELECT left_id, right_id FROM lsh_pairs('SELECT id, sig FROM external', threshold => 0.7, bands => 16, rows => 4)
    WHERE left_id < 3 ORDER BY 1, 2;
SELECT minhash_similarity(minhash_compress(a.sig, 8), minhash_compress(a.sig, 8)) AS same,
    minhash_truncate(a.sig, 16) = minhash_from_values((minhash_to_values(a.sig))[1:16], 1) AS cut FROM external a
    WHERE id = 1;

-- Signatures made by datasketch (16 permutations, seed 1) from the words of two sentences, which share 10 of 14 words.
-- datasketch estimates that the similarity of the two is 0.8125, and that of their union and the first is 0.9375.
CREATE TEMP TABLE datasketch (name text, hashvalues bigint[]);
INSERT INTO datasketch VALUES
    ('a',
        '{297616339,279951299,113505080,311917730,1735256,278730948,249258812,
        306660385,386953741,423518424,120511132,607298570,490287863,115094987,290874010,58384851}'),
    ('b',
        '{3749336,339931219,113505080,311917730,1735256,278730948,249258812,
        306660385,386953741,423518424,236032842,607298570,490287863,115094987,290874010,58384851}'),
    ('a and b',
        '{3749336,279951299,113505080,311917730,1735256,278730948,249258812,
        306660385,386953741,423518424,120511132,607298570,490287863,115094987,290874010,58384851}');
WITH sets AS (SELECT name, minhash_from_values(hashvalues, seed => 1) AS sig FROM datasketch)
SELECT minhash_similarity(a.sig, b.sig) AS similarity, minhash_similarity(u.sig, a.sig) AS of_union,
    minhash_union(a.sig, b.sig) = u.sig AS united, minhash_to_values(minhash_union(a.sig, b.sig)) = (SELECT hashvalues
    FROM datasketch WHERE name = 'a and b') AS back
FROM sets a, sets b, sets u WHERE (a.name, b.name, u.name) = ('a', 'b', 'a and b');

-- Imported signatures have schemes of their own. They cannot be compared with ours, nor with each other if their seeds
-- differ, and their cardinality cannot be estimated.
SELECT minhash_similarity(minhash_from_values(minhash_to_values(s), 1), s) FROM minhash('some text') AS s;
SELECT minhash_similarity(minhash_from_values(v, 1), minhash_from_values(v, 2)) FROM pg_temp.series(1, 16) AS v;
SELECT minhash_cardinality(sig) FROM external WHERE id = 1;
SELECT minhash_containment(sig, sig) FROM external WHERE id = 1;
SELECT minhash('a text', method => 'external');
-- Invalid values.
SELECT minhash_from_values('{}', 1);
SELECT minhash_from_values(pg_temp.series(1, 7), 1);
SELECT minhash_from_values(pg_temp.series(1, 4097), 1);
SELECT minhash_from_values(pg_temp.series(1, 15) || NULL::bigint, 1);
SELECT minhash_from_values(ARRAY[pg_temp.series(1, 16), pg_temp.series(1, 16)], 1);
SELECT minhash_from_values(pg_temp.series(1, 15) || 4294967296, 1);
SELECT minhash_from_values(-1::bigint || pg_temp.series(1, 15), 1);
