# Restores what pg_dump writes, and compares the databases: type modifier, generated column, partitions by the hash of a
# signature, band table and indexes on expressions must be the same.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE original');
$node->safe_psql('original', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts (
    id int PRIMARY KEY,
    body text,
    sig minhash_signature(64) GENERATED ALWAYS AS (minhash(body, num_hashes => 64)) STORED
);
INSERT INTO texts SELECT number, CASE WHEN number % 50 = 0 THEN '' ELSE
        (SELECT string_agg(md5(concat(number / 4, word)), ' ') FROM generate_series(1, 8) word)
        || number % 4 END
    FROM generate_series(1, 400) number;
INSERT INTO texts VALUES (0, NULL);
CREATE INDEX texts_of_words ON texts (minhash(body, unit => 'word', shingle_size => 2));
CREATE INDEX texts_by_band ON texts USING gin (lsh_band_keys(sig, 16, 4));
CREATE INDEX texts_alike ON texts USING gin (sig gin_minhash_ops (bands = 16, rows = 4));
CREATE INDEX texts_alike_words ON texts
    USING gin (minhash(body, unit => 'word', shingle_size => 2)) WHERE id < 200;

CREATE TABLE parts (sig minhash_signature(32), id int) PARTITION BY HASH (sig);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts
    SELECT minhash(body, num_hashes => 32, method => 'classic', bag => true), id FROM texts;

CREATE TABLE bands (key bigint, id int REFERENCES texts, PRIMARY KEY (key, id));
INSERT INTO bands SELECT key, id FROM texts, lsh_bands(sig, bands => 16, rows => 4);

CREATE TABLE kept (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %, id WITH <>) WITH (threshold = 0.6));
INSERT INTO kept SELECT id, sig FROM texts WHERE id % 4 = 1;
CREATE TABLE kept_by_default (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %));
INSERT INTO kept_by_default SELECT id, sig FROM kept ON CONFLICT DO NOTHING;
CREATE INDEX texts_shaped ON texts USING lsh (sig) WITH (bands = 16, rows = 4);
CREATE INDEX texts_unshaped ON texts USING lsh (sig);
SQL

# A change is refused if a dump would then show another index, or could not be restored, even in a session that has not
# used the extension before.
for my $change ('kept_sig_id_excl SET (threshold = 0.1)', 'kept_sig_id_excl RESET (threshold)',
    'kept_by_default_sig_excl SET (threshold = 0.5)', 'texts_shaped SET (bands = 8, rows = 2)',
    'texts_shaped RESET (bands, rows)', 'texts_unshaped SET (bands = 8, rows = 2)', 'texts_unshaped SET (threshold = 0.5)')
{
    like(($node->psql('original', "ALTER INDEX $change"))[2], qr/cannot change options of lsh index/, "refused: $change");
}

# Everything that must be the same in both databases.
my $sums = <<'SQL';
SELECT 'texts', count(*), md5(string_agg(concat_ws('|', id, body, sig::text), ',' ORDER BY id))
FROM texts
UNION ALL
SELECT tableoid::regclass::text, count(*),
       md5(string_agg(concat_ws('|', id, sig::text), ',' ORDER BY id))
FROM parts GROUP BY tableoid
UNION ALL
SELECT 'bands', count(*), md5(string_agg(concat_ws('|', key, id), ',' ORDER BY key, id)) FROM bands
UNION ALL
SELECT 'typmods', count(*),
       string_agg(format_type(atttypid, atttypmod), ',' ORDER BY attrelid::regclass::text)
FROM pg_attribute
WHERE atttypid = 'minhash_signature'::regtype AND attrelid::regclass::text IN ('texts', 'parts')
UNION ALL
SELECT 'indexes', count(*), string_agg(indexdef, ',' ORDER BY indexname)
FROM pg_indexes WHERE tablename = 'texts'
UNION ALL
SELECT 'constraint', count(*), string_agg(pg_get_constraintdef(oid), ',' ORDER BY conname) FROM pg_constraint WHERE contype = 'x'
ORDER BY 1
SQL
my $original = $node->safe_psql('original', $sums);
like($original, qr/^texts\|401\|/m, 'texts are there');
is(() = $original =~ /^parts_\d\|/mg, 3, 'each partition has rows');
like($original, qr/gin_minhash_ops \(bands='16', rows='4'\)/, 'an index has its options');

my $file = $node->basedir . '/dump';
for my $format (qw(plain custom))
{
    $node->safe_psql('postgres', "CREATE DATABASE $format");
    $node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, '-d', $node->connstr('original') ],
        "$format dump");
    my @restore = $format eq 'plain'
      ? qw(psql -X -q -v ON_ERROR_STOP=1 -f)
      : qw(pg_restore --exit-on-error);
    $node->command_ok([ @restore, $file, '-d', $node->connstr($format) ], "$format restore");
    is($node->safe_psql($format, $sums), $original, "$format: the same values everywhere");

    # The indexes are rebuilt, and must find what they should.
    my %queries = (
        texts_of_words => q{minhash(body, unit => 'word', shingle_size => 2)
            = minhash((SELECT body FROM texts WHERE id = 7), unit => 'word', shingle_size => 2)},
        texts_alike => q{sig % (SELECT sig FROM texts WHERE id = 7)},
        texts_alike_words => q{id < 200 AND minhash(body, unit => 'word', shingle_size => 2)
            % minhash((SELECT body FROM texts WHERE id = 7), unit => 'word', shingle_size => 2)},
        texts_by_band => q{lsh_band_keys(sig, 16, 4)
            && (SELECT lsh_band_keys(sig, 16, 4) FROM texts WHERE id = 7)});
    for my $index (sort keys %queries)
    {
        my $query = "SELECT count(*), bool_or(id = 7) FROM texts WHERE $queries{$index}";
        like($node->safe_psql($format, "SET enable_seqscan = off; EXPLAIN (COSTS off) $query"),
            qr/$index/, "$format: $index is used");
        my ($with, $without) = map {
            $node->safe_psql($format,
                "SET enable_seqscan = $_; SET enable_indexscan = " . ($_ eq 'on' ? 'off' : 'on')
                  . "; SET enable_bitmapscan = " . ($_ eq 'on' ? 'off' : 'on') . "; $query")
        } qw(off on);
        is($with, $without, "$format: $index finds the same rows");
        like($with, qr/\|t$/, "$format: $index finds the row itself");
    }
    is($node->safe_psql($format,
            'SELECT bool_or(id = 7) FROM parts WHERE sig = (SELECT sig FROM parts WHERE id = 7)'),
        't', "$format: the partition of a signature is found");
    # An exclusion constraint keeps its threshold, whatever the session has set.
    like(($node->psql($format, q{SET minhash_lsh.similarity_threshold = 1; INSERT INTO kept SELECT id + 1, sig FROM texts WHERE id = 2}))[2],
        qr/violates exclusion constraint.*conflicts with existing key \(sig, id\)=\(fss\S+, 1\)/s, "$format: a constraint is enforced");
    like(($node->psql($format, q{INSERT INTO parts VALUES (minhash('no', 64), 1)}))[2],
        qr/expected a signature of 32 hashes/, "$format: the type modifier is enforced");
    is($node->safe_psql($format, q{SELECT c.relname, c.reloptions, l.records = (SELECT count(*) FROM texts)
            FROM pg_class c, lsh_check(c.oid, heap => true) l
            WHERE relname IN ('texts_shaped', 'texts_unshaped') ORDER BY 1}),
        "texts_shaped|{bands=16,rows=4}|t\ntexts_unshaped||t", "$format: indexes have their options, and every row");
}
$node->stop;
done_testing();
