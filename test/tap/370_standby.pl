# A hot standby compares every page that it replays with the primary's page. Its lookups through the GIN index and the
# band table must give the same answers as on the primary, and it must continue alone after promotion.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$primary->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
gin_pending_list_limit = 64kB
autovacuum = off
max_wal_size = 4GB
wal_keep_size = 4GB
CONF
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (
    id int PRIMARY KEY,
    body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED
);
INSERT INTO docs SELECT i, repeat(md5((i / 4)::text), 3) || i FROM generate_series(1, 300) i;
SELECT lsh_create_band_table('docs');
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my %look_ups = (
    'band table' => <<'SQL',
SELECT count(*), md5(string_agg(concat_ws('|', p.id, n), ',' ORDER BY p.id, n.id))
FROM docs p, LATERAL (SELECT DISTINCT d.id, minhash_similarity(d.sig, p.sig)
    FROM lsh_bands(p.sig, 13, 7) JOIN docs_bands USING (key) JOIN docs d USING (id)
    WHERE minhash_similarity(d.sig, p.sig) >= 0.3) n WHERE p.id % 5 = 0;
SQL
    candidates => <<'SQL',
SELECT count(*), md5(string_agg(concat_ws('|', p.id, c), ',' ORDER BY p.id, c))
FROM docs p, LATERAL (SELECT DISTINCT id FROM docs_bands WHERE key = ANY (lsh_band_keys(p.sig, 13, 7))) x (c)
WHERE p.id % 5 = 0;
SQL
    'GIN index' => <<'SQL');
SET enable_seqscan = off; SET enable_indexscan = off;
SET minhash_lsh.similarity_threshold = 0.3; SET minhash_lsh.recall_notice = 0;
SELECT count(*), md5(string_agg(concat_ws('|', p.id, d.id, d.sig <%> p.sig), ',' ORDER BY p.id, d.id))
FROM docs p JOIN docs d ON d.sig % p.sig WHERE p.id % 5 = 0;
SQL

# The result of a join of bands, without index and band table.
my $truth = <<'SQL';
WITH k AS MATERIALIZED (SELECT k.key, d.id FROM docs d, lsh_bands(sig, 13, 7) k),
     c AS MATERIALIZED (SELECT DISTINCT x.id AS p, y.id FROM k x JOIN k y USING (key) WHERE x.id % 5 = 0)
SELECT count(*) FILTER (WHERE minhash_similarity(p.sig, d.sig) >= 0.3) || ' ' || count(*)
FROM c JOIN docs p ON p.id = c.p JOIN docs d ON d.id = c.id;
SQL

my %former;
sub compare
{
    my ($what) = @_;
    $primary->wait_for_catchup($standby);
    my ($near, $candidates) = split ' ', $primary->safe_psql('postgres', $truth);
    my %counts = ('band table' => $near, candidates => $candidates, 'GIN index' => $near);
    for my $way (sort keys %look_ups)
    {
        my $expected = $primary->safe_psql('postgres', $look_ups{$way});
        is($standby->safe_psql('postgres', $look_ups{$way}), $expected, "$what: by $way the same rows");
        like($expected, qr/^$counts{$way}\|/, "$what: by $way $counts{$way} rows");
        isnt($expected, $former{$way} // '', "$what: by $way not those of before");
        $former{$way} = $expected;
    }
}

# Each of these statements changes what lookups find.
$primary->safe_psql('postgres', 'CREATE INDEX docs_sig ON docs USING gin (sig)');
like($standby->poll_query_until('postgres', q{SELECT to_regclass('docs_sig') IS NOT NULL})
      && $standby->safe_psql('postgres', "SET enable_seqscan = off; SET enable_indexscan = off;"
          . " EXPLAIN (COSTS off) SELECT count(*) FROM docs p JOIN docs d ON d.sig % p.sig"),
    qr/docs_sig/, 'the standby uses the index');
compare('built');
my @changes = (
    [ inserted => q{INSERT INTO docs SELECT i, repeat(md5((i / 7)::text), 3) || i FROM generate_series(1001, 1100) i} ],
    [ updated => q{UPDATE docs SET body = body || ' changed' || id % 3 WHERE id % 10 < 6} ],
    [ deleted => q{DELETE FROM docs WHERE id % 7 = 1} ],
    [ vacuumed => q{UPDATE docs SET id = -id WHERE id % 5 = 0 AND id % 2 = 0; VACUUM docs; VACUUM docs_bands;
INSERT INTO docs SELECT i, repeat(md5((i / 3)::text), 3) || i FROM generate_series(2001, 2060) i} ],
    [ 'rolled back' => q{BEGIN; SAVEPOINT s; DELETE FROM docs WHERE id % 2 = 0; ROLLBACK TO s;
INSERT INTO docs SELECT i, repeat(md5((i / 3)::text), 3) || i FROM generate_series(2201, 2230) i; COMMIT;
BEGIN; DELETE FROM docs; ROLLBACK;} ],
    [ 'filled again' => q{ALTER TABLE docs DISABLE TRIGGER USER; DELETE FROM docs WHERE id < -100; ALTER TABLE docs ENABLE TRIGGER USER;
TRUNCATE docs_bands; INSERT INTO docs_bands SELECT key, id FROM docs, lsh_bands(sig, 13, 7); REINDEX INDEX docs_sig;} ]);
for my $change (@changes)
{
    my ($what, $sql) = @$change;
    $primary->safe_psql('postgres', $_) for $sql =~ /VACUUM/ ? split(/;\s*/, $sql) : $sql;
    compare($what);
}
$standby->restart;
for my $way (sort keys %look_ups)
{
    is($standby->safe_psql('postgres', $look_ups{$way}), $former{$way}, "restarted: by $way the same rows");
}
like(($standby->psql('postgres', q{SELECT lsh_create_band_table('docs', band_table => 'more')}))[2],
    qr/cannot .* recovery|recovery is in progress|read-only transaction/, 'a standby makes no band table');

$primary->stop;
unlike(slurp_file($standby->logfile), qr/PANIC|inconsistent page/, 'no page was replayed wrongly');
$standby->promote;
$standby->safe_psql('postgres', q{INSERT INTO docs VALUES (9000, 'Written after the promotion, and found')});
is($standby->safe_psql('postgres', q{SELECT DISTINCT id FROM docs_bands WHERE key = ANY (lsh_band_keys(minhash('Written after the promotion, and found'), 13, 7))}),
    '9000', 'promoted: the band table follows');
is($standby->safe_psql('postgres', <<'SQL'), '0|0', 'promoted: the band table is in step');
WITH k AS (SELECT key, id FROM docs, lsh_bands(sig, 13, 7))
SELECT (SELECT count(*) FROM (TABLE k EXCEPT TABLE docs_bands) a), (SELECT count(*) FROM (TABLE docs_bands EXCEPT TABLE k) b)
SQL
$standby->stop;
done_testing();
