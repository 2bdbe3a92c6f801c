# lsh_pairs() and lsh_clusters() must stay within the limits that their user has set: memory, temporary files, and time.
# They must leave nothing behind, use parallel workers, and report progress.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $limit = 250;    # ms that a call may still take after it is cancelled

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
# Shared memory is small, because a process's memory includes all shared memory that it has touched.
$node->append_conf('postgresql.conf', "log_statement = none\njit = off\nshared_buffers = '8MB'\n");
$node->start;
# The tables are: near: texts that differ only in a number; same: equal texts; apart: texts of one bucket that are far
# from each other; long: two texts of 30 MB that share most shingles; signatures: 100 MB of them.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE near AS SELECT n AS id, words || n AS body
    FROM generate_series(1, 20000) n, (SELECT string_agg(md5(word::text), ' ') AS words FROM generate_series(1, 30) word) w;
CREATE TABLE same AS SELECT n AS id, 'the same for all of them' AS body FROM generate_series(1, 20000) n;
CREATE TABLE apart AS SELECT n AS id, left(repeat(md5(n::text), 2), 50) || 'the same for all' AS body FROM generate_series(1, 20000) n;
CREATE TABLE long (id int, body text);
ALTER TABLE long ALTER body SET STORAGE external;
INSERT INTO long SELECT n, string_agg(md5(number::text), ' ') || n FROM generate_series(1, 2) n, generate_series(1, 900000) number GROUP BY n;
CREATE TABLE big AS SELECT n AS id, string_agg(md5(concat(n / 3, word)), ' ') || n % 3 AS body
    FROM generate_series(1, 25000) n, generate_series(1, 30) word GROUP BY n;
CREATE TABLE signatures AS SELECT n AS id, minhash(md5((n / 2)::text) || n % 2) AS sig FROM generate_series(1, 200000) n;
-- The first read of a large value also writes to its pages, and cannot be cancelled meanwhile. So it is done here.
SELECT sum(length(body)) FROM long;
ANALYZE;
SQL

sub temporary_files
{
    return join ' ', grep { -f } glob($node->data_dir . '/base/pgsql_tmp/*');
}

# Runs a query that takes some time, and cancels it.
sub is_cancelled_in_time
{
    my ($name, $query, $working) = @_;
    my ($out, $time);
    for my $attempt (1 .. 5)
    {
        (undef, $out) = $node->psql('postgres', <<"SQL");
\\set ON_ERROR_STOP off
SELECT octet_length(minhash('loaded')::text);
SET client_min_messages = warning;
SET maintenance_work_mem = '1GB';
SET statement_timeout = $working;
\\timing on
$query;
\\echo state :SQLSTATE
SQL
        ($time) = reverse $out =~ /^Time: ([\d.]+) ms/mg;
        # A busy machine may be late once; a call that is late by itself is late again.
        last if $time - $working < $limit;
    }
    like($out, qr/^state 57014$/m, "$name: is cancelled");
    cmp_ok($time - $working, '<', $limit, "$name: ends in time");
    note("$name: told to end after $working ms, ended after $time ms");
    is(temporary_files(), '', "$name: leaves no file");
}

is_cancelled_in_time('reading', q{SELECT count(*) FROM lsh_pairs('SELECT n, md5(n::text) FROM generate_series(1, 100000000) n')}, 1000);
is_cancelled_in_time('reading pairs of ids', q{SELECT count(*) FROM lsh_components('SELECT n, n + 1 FROM generate_series(1, 100000000) n')}, 1000);
is_cancelled_in_time('a slow query', q{SELECT count(*) FROM lsh_pairs('SELECT 1, pg_sleep(60)::text')}, 100);
is_cancelled_in_time('writing pairs of equal texts', q{SELECT count(*) FROM lsh_pairs('TABLE same')}, 1000);
is_cancelled_in_time('writing pairs of near texts', q{SELECT count(*) FROM lsh_pairs('SELECT id, minhash(body) FROM near')}, 1500);
is_cancelled_in_time('comparing near texts exactly', q{SELECT count(*) FROM lsh_pairs('TABLE near')}, 1500);
is_cancelled_in_time('one large bucket', q{SELECT count(*) FROM lsh_pairs('SELECT id, minhash(body) FROM apart', bands => 128, rows => 1, threshold => 0.99)}, 1500);
is_cancelled_in_time('one large bucket, clustered', q{SELECT count(*) FROM lsh_clusters('SELECT id, minhash(body) FROM apart', bands => 128, rows => 1, threshold => 0.99)}, 1500);
is_cancelled_in_time("comparing long texts exactly ($_ ms)", q{SELECT count(*) FROM lsh_pairs('TABLE long')}, $_) for (200, 400, 700);
is_cancelled_in_time("looking for texts within others ($_ ms)", q{SELECT count(*) FROM lsh_contained('TABLE near')}, $_) for (200, 700);
is_cancelled_in_time('temporary files', q{SET maintenance_work_mem = '1MB'; SELECT count(*) FROM lsh_pairs('TABLE near')}, 1000);

# Tests temp_file_limit.
my ($code, $out, $err) = $node->psql('postgres', q{SET maintenance_work_mem = '1MB'; SET temp_file_limit = '2MB'; SELECT count(*) FROM lsh_pairs('TABLE signatures')});
like($err, qr/ERROR:  temporary file size exceeds "?temp_file_limit"?/, 'temp_file_limit holds');
is(temporary_files(), '', 'and no file is left');
($code, $out, $err) = $node->psql('postgres', q{SET maintenance_work_mem = '1MB'; SELECT count(*) FROM lsh_pairs('SELECT id / (id - 150000), sig FROM signatures')});
like($err, qr/ERROR:  division by zero/, 'a query fails half-way');
is(temporary_files(), '', 'and no file is left');

# Tests memory. First measures what a session needs anyway.
sub peak
{
    my ($query) = @_;
    my $status = $node->safe_psql('postgres', <<"SQL");
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
$query;
SELECT pg_read_file(format('/proc/%s/status', pg_backend_pid()));
SQL
    $status =~ /^(.*?)\n/ or die "no result: $status";
    my $result = $1;
    $status =~ /^VmHWM:\s*(\d+) kB/m or die "no VmHWM: $status";
    return ($1 / 1024, $result);
}

SKIP:
{
    skip 'no /proc', 4 if !-r '/proc/self/status';
    my ($alone) = peak('SELECT count(_minhash_hash(sig)) FROM signatures');
    note(sprintf 'reading the signatures: %.0f MB', $alone);
    # The limit is 16 MB, 28 bytes for each row in memory, and some buffers.
    for my $call (q{lsh_pairs('TABLE signatures')}, q{lsh_clusters('TABLE signatures')})
    {
        my ($roomy, $expected) = peak("SET maintenance_work_mem = '1GB'; SELECT count(*) FROM $call");
        my ($cramped, $found) = peak("SET maintenance_work_mem = '16MB'; SELECT count(*) FROM $call");
        is($found, $expected, "$call finds the same in 16 MB");
        cmp_ok($cramped - $alone, '<', 16 + 6 + 12, sprintf '%s takes %.0f MB more, in plenty %.0f', $call, $cramped - $alone, $roomy - $alone);
        is(temporary_files(), '', 'and no file is left');
    }
    # Results are written to disk, too.
    my ($pairs) = peak(q{SET work_mem = '4MB'; SELECT count(*) FROM lsh_pairs('SELECT id::text, body FROM same LIMIT 2000', NULL::text)});
    cmp_ok($pairs, '<', 60, sprintf '%.0f MB for two million pairs', $pairs);
}

# PostgreSQL reads with workers of its own where it wants to, unless the workers of the call can read.
sub plans_of
{
    my ($query) = @_;
    my ($code, $out, $err) = $node->psql('postgres', <<"SQL");
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET client_min_messages = log;
SELECT count(*) FROM lsh_pairs('$query');
SQL
    return $err;
}
SKIP:
{
    my $plans = plans_of('SELECT id, minhash(body) FROM big ORDER BY id');
    skip 'no auto_explain', 2 if $plans =~ /could not access file/;
    like($plans, qr/Workers Launched: [12].*Parallel Seq Scan on big/s, 'workers of PostgreSQL sign the texts');
    like(plans_of('SELECT id, minhash(body) FROM big'), qr/^Seq Scan on big/m, 'or those of the call');
}

# Tests progress: each phase reports its name; by default, nothing is reported in the first ten seconds. Runs a call
# that takes minutes until it has reported something, and returns all that it reported.
sub said_until
{
    my ($expected, $sql) = @_;
    my ($said, $input) = ('', "SET minhash_lsh.progress_interval = 1;\n$sql;\n");
    my $timer = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
    my $session = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres') ],
        '<', \$input, '>', '/dev/null', '2>', \$said, $timer);
    $session->pump while $session->pumpable && $said !~ $expected && !$timer->is_expired;
    $session->signal('INT');
    $session->finish;
    return $said;
}
my $verifying = qr/NOTICE:  step 5 of 7, verifying candidates: \d+ of \d+ \(\d+%\)(, about \d+ s left in this step)?$/m;
$err = said_until($verifying, q{SELECT count(*) FROM lsh_pairs('SELECT id, CASE WHEN id <= 3 THEN pg_sleep(0.7)::text || body ELSE body END FROM near ORDER BY id')});
like($err, qr/NOTICE:  step 1 of 7, reading rows: \d+ of about \d+ \(\d+%\)/m, 'reading is reported');
like($err, $verifying, 'and verifying');
my $clustering = qr/NOTICE:  step 6 of 6, verifying candidates: \d+ of \d+ \(\d+%\)(, about \d+ s left in this step)?$/m;
$err = said_until(qr/(?:$clustering.*){2}/s, q{SELECT count(*) FROM lsh_clusters('SELECT id, minhash(body) FROM apart', bands => 128, rows => 1, threshold => 0.99)});
like($err, $clustering, 'and clustering');
my @percents = $err =~ /verifying candidates: .*\((\d+)%\)/g;
is("@percents", join(' ', sort { $a <=> $b } @percents), 'percentages grow');
($code, $out, $err) = $node->psql('postgres', q{SELECT count(*) FROM lsh_pairs('SELECT id, body FROM near WHERE id <= 1500')});
is($err, '', 'nothing is reported at once');

$node->stop;
done_testing();
