# Tables larger than memory: the rows that are compared are read in page order, and once, with the same results. The
# table is four times as large as shared_buffers, and the near-duplicates of its texts lie anywhere; heap_blks_read
# counts the pages read.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "shared_buffers = '4MB'\njit = off\nautovacuum = off\nmax_parallel_workers_per_gather = 0\n"
      . "max_worker_processes = 10\nmaintenance_work_mem = '64MB'\n");
$node->start;
# Each text has a near-duplicate half a table away; for a few texts, it is an exact copy.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts AS SELECT n AS id, (SELECT string_agg(md5(concat(n * 7919 % 8751, '/', word)), ' ') FROM generate_series(1, 30) word)
        || CASE WHEN n % 8751 > 600 THEN ' ' || n END AS body
    FROM generate_series(1, 17502) n;
CREATE TABLE signatures AS SELECT id, minhash(body) AS sig FROM texts;
CREATE INDEX ON texts (id);
VACUUM ANALYZE;
SQL
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 'texts'});
cmp_ok($pages, '>=', 4 * 512, 'the table is four times as large as shared_buffers');

# How often a call reads each page of a table on average, and the call's rows.
sub measure
{
    my ($table, $call, $cache, $workers, $settings) = @_;
    $node->safe_psql('postgres', 'SELECT pg_stat_reset()');
    my $rows = $node->safe_psql('postgres', "SET effective_cache_size = '$cache'; SET max_parallel_maintenance_workers = $workers; "
          . ($settings // '') . "SELECT count(*) || ' ' || md5(string_agg(p::text, ',')) FROM $call p");
    my $read = 0 + $node->safe_psql('postgres', "SELECT heap_blks_read::float8 / relpages FROM pg_statio_user_tables JOIN pg_class ON oid = relid
        WHERE pg_class.relname = '$table'");
    note(sprintf '%s, effective_cache_size %s, %d workers: %.2f reads a page', $call, $cache, $workers, $read);
    return ($read, $rows);
}

for my $call ('lsh_pairs', 'lsh_clusters')
{
    my ($read, $expected) = measure('texts', "$call('TABLE texts')", '1GB', 0);
    like($expected, qr/^[1-9]\d{3,} /, "$call finds something");
    cmp_ok($read, '>', 3, 'and reads pages more than once where memory is said to hold the table');
    # Pages are read once by the scan, once for signing, and 1.3 times for comparing.
    for my $workers (0, 2)
    {
        my ($far, $rows) = measure('texts', "$call('TABLE texts')", '4MB', $workers);
        is($rows, $expected, "$call finds the same where it does not ($workers workers)");
        cmp_ok($far, '<', 3.3, 'and reads each page once to sign and once to compare');
        (undef, $rows) = measure('texts', "$call('TABLE texts')", '4MB', $workers, "SET maintenance_work_mem = '1MB'; ");
        is($rows, $expected, 'and in temporary files, too');
    }
}
my ($near, $expected) = measure('signatures', "lsh_pairs('TABLE signatures')", '1GB', 0);
my ($read, $rows) = measure('signatures', "lsh_pairs('TABLE signatures')", '4MB', 0);
is($rows, $expected, 'the same pairs of signatures');
cmp_ok($read, '<', 3.5, 'each page is read once to sign and once to compare');

# An index scan returns rows in any order; two queries read two tables.
my $by_index = "lsh_pairs('SELECT id, body FROM texts WHERE id > 0 ORDER BY id')";
my $plan = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; ';
(undef, $expected) = measure('texts', $by_index, '1GB', 0, $plan);
(undef, $rows) = measure('texts', $by_index, '4MB', 2, $plan);
is($rows, $expected, 'the same pairs of an index scan');
my $two = q{lsh_pairs('SELECT id, body FROM texts WHERE id <= 8751', other_query => 'SELECT id, body FROM texts WHERE id > 8751')};
(undef, $expected) = measure('texts', $two, '1GB', 0);
(undef, $rows) = measure('texts', $two, '4MB', $_), is($rows, $expected, "the same pairs of two queries ($_ workers)") for (0, 2);

$node->stop;
done_testing();
