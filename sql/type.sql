-- The type minhash_signature: its text and binary forms, type modifier, order, hashing and storage.
\pset null '<null>'

-- The text form consists of method and version, hashes and bits, unit and size, fold, set or bag, seed, and slots.
SELECT minhash('abc', 16, seed => 0);
SELECT regexp_replace(s::text, '[0-9a-f]+$', '') AS prefix,
    length(s::text) - length(regexp_replace(s::text, '[0-9a-f]+$', '')) AS digits
FROM (VALUES (minhash('abc')),
    (minhash('abc', 4096, 255, 'word', false, true, -9223372036854775808, 'classic'))) AS v (s);
SELECT s::text = 'fss1:16x32:char5:fold:set:42:' || string_agg(lpad(to_hex(slot), 8, '0'), ''
    ORDER BY position) AS slots_in_text
FROM minhash('abc', 16) s, unnest(s::bigint[]) WITH ORDINALITY AS each (slot, position) GROUP BY s;

-- Reading the text form gives the same value again, in all schemes. Upper-case digits are accepted, too.
CREATE TEMP TABLE signatures AS
SELECT row_number() OVER () AS id, minhash(document, n, size, unit, fold, bag, seed, method) AS s
FROM unnest(ARRAY['', 'a', 'some text']) document, unnest(ARRAY[16, 17, 4096]) n, unnest(ARRAY[1, 255]) size,
    unnest(ARRAY['char', 'word']) unit,
     unnest(ARRAY[true, false]) fold, unnest(ARRAY[true, false]) bag, unnest(ARRAY[0, -1, 9223372036854775807]) seed,
     unnest(ARRAY['fss', 'classic']) method;
SELECT count(*) AS signatures, count(*) FILTER (WHERE s::text::minhash_signature <> s) AS text_differs,
       count(*) FILTER (WHERE s::text::minhash_signature::text <> s::text) AS text_of_text_differs FROM signatures;
SELECT upper(right(s::text, 128)) <> right(s::text, 128) AS has_letters,
    (left(s::text, -128) || upper(right(s::text, 128)))::minhash_signature = s AS upper_case FROM minhash('abc', 16) s;

-- In arrays and rows, the text form needs no quotes.
SELECT array_agg(s)::text::minhash_signature[] = array_agg(s) AS array, array_agg(s)::text !~ '"' AS unquoted_array,
       bool_and(ROW(1, s)::text !~ '"') AS unquoted_row FROM signatures;
CREATE TYPE signed_text AS (id int, signature minhash_signature(16), other minhash_signature);
SELECT bool_and(r::text::signed_text = r) AS row,
    bool_and(jsonb_populate_record(NULL::signed_text, to_jsonb(r)) = r) AS json
FROM (SELECT ROW(id, s, s)::signed_text AS r FROM signatures WHERE (minhash_scheme(s)).num_hashes = 16) AS rows;

-- The binary form is the same as the stored one: 16 bytes, and 4 for each slot. COPY writes both forms to a file and
-- reads them back.
SELECT octet_length(_minhash_signature_send(minhash('abc', 100))) AS abc,
    octet_length(_minhash_signature_send(minhash('', 100))) AS empty;
SELECT encode(_minhash_signature_send(minhash('', 256, 3, 'word', true, true, 1, 'classic')), 'hex') AS header;
SELECT encode(_minhash_signature_send(minhash('abc', 16, seed => 0)), 'hex') AS abc;
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_builddir '/signatures.copy'
\set copy_out '\\copy signatures TO ' :'file'
\set copy_in '\\copy copied FROM ' :'file'
CREATE TEMP TABLE copied (LIKE signatures);
:copy_out
:copy_in
SELECT count(*) AS copied, count(*) FILTER (WHERE copied.s <> signatures.s) AS differ FROM copied JOIN signatures
    USING (id);
TRUNCATE copied;
\set copy_out '\\copy signatures TO ' :'file' ' (FORMAT binary)'
\set copy_in '\\copy copied FROM ' :'file' ' (FORMAT binary)'
:copy_out
:copy_in
SELECT count(*) AS copied, count(*) FILTER (WHERE copied.s <> signatures.s) AS differ FROM copied JOIN signatures
    USING (id);

\getenv abs_srcdir PG_ABS_SRCDIR
\set common :abs_srcdir '/sql/include/errors.sql'
\i :common
\pset format unaligned
\pset tuples_only on

-- Malformed text with an error in each part: method, version, number of hashes, bits, unit, shingle size, fold, bag,
-- seed, number of slots, digits. Only the form that the type writes is accepted: no spaces, signs, leading zeros or
-- names in capitals.
SELECT pg_temp.error_of(format('SELECT %L::minhash_signature', value)) FROM unnest(ARRAY[
    '', 'x', 'FSS1:16x32:char5:fold:set:42:', ' fss1:16x32:char5:fold:set:42:', 'fss', 'fss:16x32:char5:fold:set:42:',
    'fss01:16x32:char5:fold:set:42:', 'fss300:16x32:char5:fold:set:42:',
    'fss1;16x32', 'fss1:', 'fss1:x32', 'fss1:016x32', 'fss1:+16x32', 'fss1:-16x32', 'fss1:65536x32', 'fss1:16*32',
    'fss1:16x', 'fss1:16x256:', 'fss1:16x32;',
    'fss1:16x32:byte5', 'fss1:16x32:char', 'fss1:16x32:char-5', 'fss1:16x32:char65536', 'fss1:16x32:char5',
    'fss1:16x32:char5:folded', 'fss1:16x32:char5:fold', 'fss1:16x32:char5:fold:',
    'fss1:16x32:char5:fold:list:', 'fss1:16x32:char5:fold:set:', 'fss1:16x32:char5:fold:set:a:',
    'fss1:16x32:char5:fold:set:042:', 'fss1:16x32:char5:fold:set:-0:',
    'fss1:16x32:char5:fold:set:9223372036854775808:', 'fss1:16x32:char5:fold:set:42', 'fss1:16x32:char5:fold:set:42:0',
    'fss1:16x32:char5:fold:set:42:00000000',
    'fss1:16x32:char5:fold:set:42:' || repeat('0', 127), 'fss1:16x32:char5:fold:set:42:' || repeat('0', 129),
    'fss1:16x32:char5:fold:set:42:' || repeat('0', 136),
    'fss1:16x32:char5:fold:set:42:' || repeat('0', 120) || '0000000g',
    'fss1:16x32:char5:fold:set:42:' || repeat('0', 120) || '-0000000',
    'fss1:16x32:char5:fold:set:42:0x000000' || repeat('0', 120),
    'fss1:16x32:char5:fold:set:42:' || repeat('0', 128) || ' ', 'fss1:16x32:char5:fold:sét:42:',
    'fss1:16x32:char5:fold:set:42:é' || repeat('0', 126)]) AS value;
-- A well-formed scheme with a value that is out of range.
SELECT pg_temp.error_of(format('SELECT %L::minhash_signature', value)) FROM unnest(ARRAY[
    'fss0:16x32:char5:fold:set:42:', 'fss2:16x32:char5:fold:set:42:', 'fss1:7x32:char5:fold:set:42:',
    'fss1:4097x32:char5:fold:set:42:', 'fss1:16x3:char5:fold:set:42:',
    'fss1:16x32:char0:fold:set:42:', 'fss1:16x32:char256:fold:set:42:']) AS value;
-- Errors show only the beginning of long input, and do not cut a character.
SELECT pg_temp.error_of(format('SELECT %L::minhash_signature', repeat('x', 100)));
SELECT pg_temp.error_of(format('SELECT %L::minhash_signature', 'fss1:16x32:char5:fold:set:42:' || repeat('é', 100)));
-- In an array, a row or an argument, the error is about the invalid signature alone.
SELECT pg_temp.error_of('SELECT ''{fss1:16x32:char5:fold:set:42:,oops}''::minhash_signature[]');
SELECT pg_temp.error_of('SELECT ''(1,oops,)''::signed_text');
SELECT pg_temp.error_of('SELECT minhash_similarity(''oops'', ''fss1:16x32:char5:fold:set:42:'')');

-- Input, casts, INSERT, UPDATE and COPY enforce the type modifier.
CREATE TEMP TABLE sixteen (id int, s minhash_signature(16));
INSERT INTO sixteen VALUES (1, minhash('abc', 16)), (2, NULL), (3, minhash('', 16)),
    (4, 'fss1:16x32:char5:fold:set:42:');
SELECT pg_temp.error_of('INSERT INTO sixteen VALUES (5, minhash(''abc''))');
SELECT pg_temp.error_of('INSERT INTO sixteen VALUES (5, ''fss1:17x32:char5:fold:set:42:'')');
SELECT pg_temp.error_of('INSERT INTO sixteen VALUES (5, minhash('''', 17))');
SELECT pg_temp.error_of('UPDATE sixteen SET s = minhash(''abc'', 17)');
SELECT pg_temp.error_of('SELECT minhash(''abc'')::minhash_signature(16)');
SELECT pg_temp.error_of('SELECT ''fss1:17x32:char5:fold:set:42:''::minhash_signature(16)');
SELECT pg_temp.error_of('SELECT ''(1,fss1:17x32:char5:fold:set:42:,)''::signed_text');
SELECT pg_temp.error_of('SELECT ARRAY[minhash(''abc'', 16), minhash(''abc'', 17)]::minhash_signature(16)[]');
SELECT pg_temp.error_of('ALTER TABLE sixteen ALTER s TYPE minhash_signature(17)');
\set file :abs_builddir '/signatures.copy'
\set copy_in '\\copy sixteen FROM ' :'file' ' (FORMAT binary)'
COPY (SELECT 6, minhash('abc', 17)) TO STDOUT (FORMAT binary) \g :file
\set SHOW_CONTEXT never
:copy_in
SELECT id, (minhash_scheme(s)).num_hashes FROM sixteen ORDER BY id;
-- A column without a modifier accepts any number of hashes.
ALTER TABLE sixteen ALTER s TYPE minhash_signature;
INSERT INTO sixteen VALUES (5, minhash('abc'));
SELECT pg_temp.error_of('ALTER TABLE sixteen ALTER s TYPE minhash_signature(16)');
DELETE FROM sixteen WHERE id = 5;
ALTER TABLE sixteen ALTER s TYPE minhash_signature(16);
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'sixteen'::regclass AND attname = 's';
SELECT pg_typeof(s), format_type('minhash_signature'::regtype, 128) FROM minhash('abc') s;
-- A modifier must be a valid number of hashes.
SELECT modifier, pg_temp.error_of(format('SELECT NULL::minhash_signature%s', modifier))
    FROM unnest(ARRAY['(16)', '(4096)', '(7)', '(4097)', '(0)', '(-1)', '(16, 32)', '(x)', '()']) modifier;

-- Damaged binary input of every kind. The files are written by COPY of bytea, which writes its bytes unchanged.
CREATE TEMP TABLE received (s minhash_signature);
\set copy_in '\\copy received FROM ' :'file' ' (FORMAT binary)'
-- Two valid values: an empty signature, and 16 slots of zeros.
COPY (VALUES ('\x01012011050010002a00000000000000'::bytea),
    ('\x01012011050010002a00000000000000'::bytea || decode(repeat('00', 64), 'hex'))) TO STDOUT (FORMAT binary) \g :file
:copy_in
SELECT s FROM received;
-- No bytes at all. Show the SQLSTATE, too.
COPY (SELECT ''::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
\set VERBOSITY sqlstate
:copy_in
\set VERBOSITY default
-- Half a header.
COPY (SELECT '\x0101201105001000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
-- Each of these headers has one invalid value, in this order: version 2, method 4, 12 bits, unit 4, unit 0, an
-- undefined flag, shingle sizes 0 and 256, 7 and 4097 hashes.
COPY (SELECT '\x02012011050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01042011050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01010c11050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012014050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012010050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012051050010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011000010002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011000110002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011050007002a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011050001102a00000000000000'::bytea) TO STDOUT (FORMAT binary) \g :file
:copy_in
-- One byte too few, one too many, a single slot, and more bytes than any signature has.
COPY (SELECT '\x01012011050010002a00000000000000'::bytea || decode(repeat('00', 63),
    'hex')) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011050010002a00000000000000'::bytea || decode(repeat('00', 65),
    'hex')) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011050010002a00000000000000'::bytea || decode(repeat('00', 4),
    'hex')) TO STDOUT (FORMAT binary) \g :file
:copy_in
COPY (SELECT '\x01012011050010002a00000000000000'::bytea || decode(repeat('00', 16385),
    'hex')) TO STDOUT (FORMAT binary) \g :file
:copy_in
SELECT count(*) FROM received;
\! rm -f "$PG_ABS_BUILDDIR/signatures.copy"

-- Damaged stored values, made with a cast that checks nothing. Everything that uses such a value raises an error.
CREATE CAST (bytea AS minhash_signature) WITHOUT FUNCTION;
SELECT pg_temp.error_of(format('SELECT (minhash_scheme(%L::bytea::minhash_signature)).num_hashes', damaged))
FROM unnest(ARRAY['', '\x01', '\x010120110500100002a00000000000', '\x02012011050010002a00000000000000',
    '\x01042011050010002a00000000000000', '\x01010c11050010002a00000000000000',
                  '\x01012014050010002a00000000000000', '\x01012091050010002a00000000000000',
                  '\x01012011000010002a00000000000000', '\x01012011050007002a00000000000000',
                  '\x01012011050010002a0000000000000000', '\x01012011050010002a0000000000000000000000']) damaged;
SELECT call, pg_temp.error_of(format('SELECT *
    FROM (SELECT ''\x01032011''::bytea::minhash_signature AS s, minhash(''a'') AS good) AS given,
        LATERAL (SELECT %s) AS asked', call))
FROM unnest(ARRAY['s::text', '_minhash_signature_send(s)', 'minhash_similarity(s, good)', 'minhash_similarity(good, s)',
    's <%> s', '(minhash_scheme(s)).num_hashes', 'minhash_scheme(s)', 's::bigint[]',
                  's::bigint[]', 'lsh_band_keys(s, 1, 1)', 'lsh_bands(s, 1, 1)', 's::minhash_signature(16)']) call;
-- Flip each bit of the header, and try each length. The result is an error or another valid signature, and no byte
-- beyond the value is read.
SELECT count(*) AS flipped, count(*) FILTER (WHERE result = 'no error') AS valid, count(*)
    FILTER (WHERE result LIKE 'XX001:%') AS refused
FROM (SELECT pg_temp.error_of(format('SELECT minhash_scheme(%1$L::bytea::minhash_signature),
    %1$L::bytea::minhash_signature::text', set_bit(bytes, bit, 1 - get_bit(bytes, bit)))) AS result
      FROM (SELECT _minhash_signature_send(minhash('abc', 16)) AS bytes) AS sent,
      generate_series(0, 127) bit) AS results;
SELECT count(*) AS lengths, array_agg(length) FILTER (WHERE result = 'no error') AS valid, count(*)
    FILTER (WHERE result LIKE 'XX001:%') AS refused
FROM (SELECT length, pg_temp.error_of(format('SELECT %L::bytea::minhash_signature::text',
    substr(bytes || bytes, 1, length))) AS result
      FROM (SELECT _minhash_signature_send(minhash('abc', 16)) AS bytes) AS sent,
      generate_series(0, 100) length) AS results;
DROP CAST (bytea AS minhash_signature);
\pset format aligned
\pset tuples_only off

-- Signatures are equal if their schemes and slots are equal. The order is total.
SELECT a = a AS itself, a = b AS other, a <> b AS differs, a < b AS less, a > b AS greater, a <= a AS less_or_equal,
    a >= a AS greater_or_equal, _minhash_cmp(a, a) AS cmp, _minhash_cmp(a, b) = -_minhash_cmp(b, a) AS antisymmetric
FROM (VALUES ('fss1:16x32:char5:fold:set:42:'::minhash_signature,
    'fss1:16x32:char5:fold:set:43:'::minhash_signature)) AS v (a, b);
SELECT count(*) AS pairs, count(*) FILTER (WHERE (_minhash_cmp(a.s, b.s) < 0) <> (a.s < b.s)
    OR (_minhash_cmp(a.s, b.s) <= 0) <> (a.s <= b.s) OR (_minhash_cmp(a.s, b.s) = 0) <> (a.s = b.s)
       OR (a.s = b.s) = (a.s <> b.s) OR (a.s < b.s) <> (b.s > a.s) OR (a.s <= b.s) <> (b.s >= a.s)
       OR (a.s = b.s) <> (_minhash_signature_send(a.s) = _minhash_signature_send(b.s))
       OR (a.s < b.s) <> (_minhash_signature_send(a.s) < _minhash_signature_send(b.s))) AS inconsistent
FROM signatures a, signatures b WHERE a.id % 20 = 0 AND b.id % 20 IN (0, 1);
SELECT count(*) FILTER (WHERE _minhash_hash(s) <> _minhash_hash(s::text::minhash_signature)
    OR _minhash_hash_extended(s, 7) <> _minhash_hash_extended(s::text::minhash_signature, 7)) AS differ,
       count(*) FILTER (WHERE _minhash_hash_extended(s, 0) & 4294967295 <>
       _minhash_hash(s)::bigint & 4294967295) AS low_half_differs,
       count(DISTINCT _minhash_hash(s)) > 0.9 * count(DISTINCT s) AS spread,
       count(DISTINCT _minhash_hash_extended(s, 1)) = count(DISTINCT s) AS spread_extended FROM signatures;

-- DISTINCT, GROUP BY and ORDER BY, by sorting and by hashing.
CREATE TEMP TABLE documents AS SELECT i AS id, minhash('document ' || i % 100) AS s FROM generate_series(1, 500) i;
ANALYZE documents;
SET enable_hashagg = off;
SELECT count(*) AS groups, min(n) AS least, max(n) AS most FROM (SELECT s, count(*) AS n FROM documents
    GROUP BY s) AS g;
SELECT count(*) FROM (SELECT DISTINCT s FROM documents) AS d;
SET enable_hashagg = on;
SET enable_sort = off;
SELECT count(*) AS groups, min(n) AS least, max(n) AS most FROM (SELECT s, count(*) AS n FROM documents
    GROUP BY s) AS g;
SELECT count(*) FROM (SELECT DISTINCT s FROM documents) AS d;
RESET enable_hashagg;
RESET enable_sort;
SELECT count(*) FILTER (WHERE s < before) AS out_of_order FROM (SELECT s, lag(s) OVER (ORDER BY s) AS before
    FROM documents) AS ordered;

-- Hash, merge and nested loop joins give the same result.
CREATE FUNCTION pg_temp.node_of(query text, what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, ('strict $.**."' || what || '" ? (@ like_regex "Join|Loop|_")')::jsonpath) ->>
        0;
END $$;
\set join_query 'SELECT count(*) FROM documents a JOIN documents b USING (s)'
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT pg_temp.node_of(:'join_query', 'Node Type');
:join_query;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SELECT pg_temp.node_of(:'join_query', 'Node Type');
:join_query;
SET enable_mergejoin = off;
SET enable_nestloop = on;
SELECT pg_temp.node_of(:'join_query', 'Node Type');
:join_query;
RESET enable_mergejoin;
RESET enable_hashjoin;
RESET enable_nestloop;

-- A unique index refuses an equal signature. Hash and btree indexes find equal signatures.
CREATE TEMP TABLE once (s minhash_signature UNIQUE);
INSERT INTO once SELECT DISTINCT s FROM documents;
INSERT INTO once VALUES (minhash('document 7')) ON CONFLICT DO NOTHING;
INSERT INTO once VALUES (minhash('', 16)), (minhash('', 17));
SELECT count(*) FROM once;
DO $$
BEGIN
    INSERT INTO once VALUES (minhash('document 7'));
EXCEPTION WHEN unique_violation THEN
    RAISE NOTICE 'unique violation';
END $$;
CREATE INDEX documents_hash ON documents USING hash (s);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT pg_temp.node_of('SELECT id FROM documents WHERE s = minhash(''document 7'')', 'Index Name');
SELECT array_agg(id ORDER BY id) FROM documents WHERE s = minhash('document 7');
DROP INDEX documents_hash;
CREATE INDEX documents_btree ON documents (s);
SELECT pg_temp.node_of('SELECT id FROM documents WHERE s = minhash(''document 7'')', 'Index Name');
SELECT array_agg(id ORDER BY id) FROM documents WHERE s = minhash('document 7');
SELECT count(*) FILTER (WHERE s < before) AS out_of_order FROM (SELECT s, lag(s) OVER () AS before
    FROM (SELECT s FROM documents ORDER BY s OFFSET 0) AS ordered) AS pairs;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- With hash partitioning, equal signatures go to the same partition.
CREATE TEMP TABLE parts (id int, s minhash_signature) PARTITION BY HASH (s);
CREATE TEMP TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, s FROM documents;
SELECT count(*) AS rows, count(DISTINCT tableoid) AS partitions,
    count(DISTINCT (s, tableoid)) = count(DISTINCT s) AS each_in_one FROM parts;
SELECT count(*) FROM parts WHERE s = minhash('document 7');

-- The casts of the type. Those to bigint[] and bit must be explicit.
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
    WHERE castsource = 'minhash_signature'::regtype OR casttarget = 'minhash_signature'::regtype ORDER BY 2;
SELECT minhash('', 16)::bigint[] AS cast, CAST(minhash('', 16) AS bigint[]) AS standard;
CREATE TEMP TABLE slots (slots bigint[]);
\set VERBOSITY terse
INSERT INTO slots SELECT minhash('abc', 16);
SELECT cardinality(minhash('abc', 16));
\set VERBOSITY default

-- Storage: values are aligned to four bytes, and large ones are stored out of line without compression.
SELECT typlen, typbyval, typalign, typstorage FROM pg_type WHERE oid = 'minhash_signature'::regtype;
CREATE TABLE large_signatures (s minhash_signature);
INSERT INTO large_signatures SELECT minhash('text ' || i, 4096) FROM generate_series(1, 3) i;
SELECT pg_relation_size(reltoastrelid) > 3 * 16384 AS out_of_line, pg_column_compression(s) AS compression,
    pg_column_size(s) AS bytes FROM pg_class, large_signatures WHERE relname = 'large_signatures' LIMIT 1;
SELECT count(*) FILTER (WHERE s = minhash('text 2', 4096)) AS equal,
    max(minhash_similarity(s, minhash('text 2', 4096))) AS similarity FROM large_signatures;
DROP TABLE large_signatures;

-- A generated column, an expression index, a domain with a check, and aggregates.
CREATE TEMP TABLE articles (id int, body text, s minhash_signature(128) GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO articles VALUES (1, 'a text'), (2, NULL), (3, '');
UPDATE articles SET body = 'another text' WHERE id = 1;
SELECT id, s = minhash(body) AS signed FROM articles ORDER BY id;
CREATE INDEX articles_signature ON articles (minhash(body, 16));
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT pg_temp.node_of('SELECT id FROM articles WHERE minhash(body, 16) = minhash(''another text'', 16)', 'Index Name');
SELECT id FROM articles WHERE minhash(body, 16) = minhash('another text', 16);
RESET enable_seqscan;
RESET enable_bitmapscan;
CREATE DOMAIN pg_temp.signed AS minhash_signature CHECK ((minhash_scheme(VALUE)).num_hashes >= 64);
SELECT (minhash_scheme(minhash('a', 64)::pg_temp.signed)).num_hashes;
\set VERBOSITY terse
SELECT minhash('a', 63)::pg_temp.signed;
\set VERBOSITY default
SELECT cardinality(array_agg(s)) AS aggregated, jsonb_typeof(to_jsonb(min(s::text))) AS json FROM articles;

DROP TABLE articles, slots, parts, once, documents, received, sixteen, copied, signatures;
DROP TYPE signed_text;
