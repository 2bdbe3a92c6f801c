# Signing a text takes little memory beyond the text, however large the text is. A call frees its memory before its
# query ends.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $limit = 150;    # MB

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\njit = off\nshared_buffers = 1MB\n"); # LLVM alone takes 70 MB
$node->start;
# A megabyte of hexadecimal words; repeat() makes 200 MB of it.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE seed (body text);
ALTER TABLE seed ALTER body SET STORAGE external;
INSERT INTO seed SELECT string_agg(md5(number::text), ' ') FROM generate_series(1, 30000) number;
SQL

# The peak memory, in MB, of a new session's process after the query.
sub peak
{
    my ($query) = @_;
    my $status = $node->safe_psql('postgres', <<"SQL");
SELECT $query;
SELECT pg_read_file(format('/proc/%s/status', pg_backend_pid()));
SQL
    $status =~ /^VmHWM:\s*(\d+) kB/m or die "no VmHWM: $status";
    return $1 / 1024;
}

if (!-r '/proc/self/status')
{
    plan skip_all => 'no /proc';
}
my $text = 'repeat(body, 200)';
my $alone = peak("octet_length($text) FROM seed");
note(sprintf 'with the text alone: %.0f MB', $alone);
for my $call ("minhash($text)", "minhash($text, unit => 'word', num_hashes => 4096)",
    "minhash($text, bag => true)")
{
    my $start = time;
    my $extra = peak("octet_length($call\::text) FROM seed") - $alone;
    note(sprintf '%s: %.1f s', $call, time - $start);
    cmp_ok($extra, '<', $limit, sprintf '%s takes %.1f MB more', $call, $extra);
}

# Runs each of these calls many times in one query.
for my $calls (
    'sum(key) FROM generate_series(1, 300000) n, lsh_bands(minhash(n::text, 16), 2, 8)',
    'count(p) FROM (SELECT lsh_curve(n % 9 + 1, 5, 2) p FROM generate_series(1, 300000) n) c',
    'sum(cardinality(shingles(n::text, 2))) FROM generate_series(1, 300000) n',
    'count(minhash(n::text, 16 + n % 9, bag => true)) FROM generate_series(1, 300000) n',
    'count(minhash_elements(ARRAY[n, 1, NULL], 16 + n % 9, bag => true)) FROM generate_series(1, 300000) n',
    q{count(minhash_elements(to_tsvector('simple', n::text), 16 + n % 9)) FROM generate_series(1, 300000) n},
    q{sum(element_jaccard(ARRAY[n::text, 'a'], ARRAY['b', n::text])) FROM generate_series(1, 300000) n},
    'minhash_elements_agg(n) FROM generate_series(1, 3000000) n',
    'minhash_agg(n::text) FROM generate_series(1, 300000) n',
    'count(s) FROM (SELECT minhash_elements_agg(n) OVER (ORDER BY n ROWS 1 PRECEDING) s FROM generate_series(1, 100000) n) w')
{
    my $peak = peak($calls);
    cmp_ok($peak, '<', 50, sprintf '%.0f MB at most: %s', $peak, $calls);
}
# An insertion into an lsh index frees the signature that it fetched from outside of the row.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE far AS SELECT n * 0.5 AS scope, minhash(n::text, 1024) AS sig FROM generate_series(1, 2000) n;
CREATE TABLE indexed (LIKE far);
CREATE INDEX ON indexed USING lsh (scope, sig);
SQL
my $inserting = peak('1; INSERT INTO indexed SELECT far.* FROM far, generate_series(1, 10)');
cmp_ok($inserting, '<', 50, sprintf '%.0f MB at most: 20,000 signatures of 4 kB are inserted', $inserting);
# An lsh index build stays within maintenance_work_mem. Where there is room, it sorts runs of 262,144 rows in 8 MB.
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE signatures AS SELECT minhash(n::text, 16) AS sig FROM generate_series(1, 600000) n;
CREATE TABLE few AS SELECT sig FROM signatures LIMIT 10;
SQL
my ($few, $cramped, $roomy) = map {
    my ($memory, $table) = @$_;
    peak("1; SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '$memory'; CREATE INDEX ON $table USING lsh (sig)")
} [ '1MB', 'few' ], [ '1MB', 'signatures' ], [ '64MB', 'signatures' ];
cmp_ok($cramped - $few, '<', 1 + 1, sprintf 'in 1 MB, an lsh index takes %.1f MB more than that of a few rows', $cramped - $few);
cmp_ok($roomy - $few, '>', 6, sprintf 'in 64 MB %.1f MB', $roomy - $few);
$node->stop;
done_testing();
