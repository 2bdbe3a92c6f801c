# CREATE INDEX logs each page of an lsh index once, however little memory it has. A standby, which knows nothing of an
# index but the log, must have the same index.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
# Without full_page_writes, a page that was never logged would be missing on the standby.
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
full_page_writes = off
max_worker_processes = 16
min_parallel_table_scan_size = 0
max_wal_size = 4GB
CONF
$node->start;
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
# With little memory, 65,536 records are sorted at once, or a third of them if there are two workers. In `late`, all
# records of the last part are without entries.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs AS SELECT i AS id, i % 100 AS part, minhash(md5(i::text), 32) AS sig FROM generate_series(1, 150000) i;
CREATE TABLE late AS SELECT id, part, CASE WHEN id <= 60000 THEN sig END AS sig FROM docs WHERE id <= 80000;
ALTER TABLE docs SET (parallel_workers = 2);
SQL

my @indexes;

sub build
{
    my ($memory, $workers, $table, $columns) = @_;
    my $index = 'built_' . @indexes;
    push @indexes, $index;
    my ($logged, $size) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SET maintenance_work_mem = '$memory';
SET max_parallel_maintenance_workers = $workers;
SELECT pg_current_wal_insert_lsn() AS start \\gset
CREATE INDEX $index ON $table USING lsh ($columns);
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'start'), pg_relation_size('$index');
SQL
    my $about = "$table ($columns), $memory, $workers workers: $logged bytes logged for $size";
    cmp_ok($logged, '<', 1.1 * $size, $about);
    cmp_ok($logged, '>', 0.7 * $size, "$about, not too few");
}

build('64MB', 0, 'docs', 'sig');
build('1MB', 0, 'docs', 'sig');
build('1MB', 2, 'docs', 'part, sig');
build('64MB', 2, 'docs', 'sig');
build('1MB', 0, 'late', 'sig');

# Insertions use the pages that a build left over, and merges read those that it wrote.
$node->safe_psql('postgres', 'INSERT INTO late SELECT id, part, sig FROM docs WHERE id > 140000');
$node->safe_psql('postgres', 'VACUUM late');
$node->wait_for_catchup($standby);
for my $index (@indexes)
{
    my $check = "SELECT * FROM lsh_check('$index', heap => true)";
    my $here = $node->safe_psql('postgres', $check);
    is($standby->safe_psql('postgres', $check), $here, "$index: $here");
}
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', join ';', map { "SELECT records > 0 FROM lsh_check('$_', heap => true)" } @indexes),
    join("\n", ('t') x @indexes), 'all is there after a crash');
$standby->stop;
$node->stop;
done_testing();
