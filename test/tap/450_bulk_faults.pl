# Faults from outside while lsh_pairs() runs: no disk, no shared memory or no memory is left, a worker is killed, the
# server shuts down. The call gives a clear error, nothing is left behind, and the next call gives the right answer.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use Waiting;
use Workers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "jit = off\nmax_worker_processes = 10\nrestart_after_crash = on\nshared_buffers = '8MB'\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts AS SELECT n AS id, md5((n / 2)::text) || md5((n / 2)::text) || n % 2 AS body FROM generate_series(1, 200000) n;
SQL
create_alike($node);
$node->safe_psql('postgres', $_) for ('VACUUM ANALYZE', 'CHECKPOINT');
my $pairs = q{SET client_min_messages = warning; SELECT count(*) FROM lsh_pairs('SELECT id, minhash(body) FROM texts', threshold => 0.5)};
my $right = $node->safe_psql('postgres', $pairs);
cmp_ok($right, '>', 95000, 'pairs are found');

sub left_behind
{
    return grep { -f } glob($node->data_dir . '/base/pgsql_tmp/*'), glob($node->data_dir . '/pg_dynshmem/*');
}

sub is_right_again
{
    my ($after) = @_;
    ok(holds_soon(sub { !workers_of($node) }), "$after: no worker is left");
    is(join(' ', left_behind()), '', "$after: no file is left");
    is($node->safe_psql('postgres', "SET max_parallel_maintenance_workers = 2; $pairs"), $right, "$after: the next call is right");
}

# Sets a limit of new sessions and their workers, or lifts it.
sub limit
{
    my ($resource, $limit) = @_;
    my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
    system_or_bail('prlimit', "--pid=$postmaster", "--$resource=$limit:");
}

# Stands for a full disk, for temporary files and then for shared memory: no file may be larger than 32 MB. All files that
# the server writes anyway are smaller. (PostgreSQL has a code for a full disk, 53100, and none for a file too large.)
for my $workers (0, 2)
{
    for my $case ([ '1MB', 'XX000: could not write to temporary file: ' ], [ '1GB', '53200: could not resize shared memory segment ' ])
    {
        my ($memory, $message) = @$case;
        limit('fsize', 32 * 1024 * 1024);
        my ($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET maintenance_work_mem = '$memory';"
              . " SET max_parallel_maintenance_workers = $workers; $pairs");
        limit('fsize', 'unlimited');
        my $name = "no space, $memory, $workers workers";
        ok($code == 0 ? $out eq $right : $err =~ /ERROR:  ${message}.*File too large/, $name) or diag("$out\n$err");
        note("$name: " . ($code ? $err : 'the right answer'));
        is_right_again($name);
    }
}

# No memory: a process may have 64 MB more than a session has anyway. With workers, it may also be shared memory that does
# not fit.
my $no_memory = qr/ERROR:  53200: (out of memory|could not map shared memory segment .*: Cannot allocate memory)/;
my $size = $node->safe_psql('postgres',
    "SELECT count(minhash(body)) FROM texts; SELECT substring(pg_read_file(format('/proc/%s/status', pg_backend_pid())) FROM 'VmPeak:\\s*(\\d+)')");
($size) = $size =~ /(\d+)$/;
for my $workers (0, 2)
{
    limit('as', ($size + 64 * 1024) * 1024);
    my ($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET maintenance_work_mem = '1GB';"
          . " SET max_parallel_maintenance_workers = $workers; $pairs");
    limit('as', 'unlimited');
    ok($code == 0 ? $out eq $right : $err =~ $no_memory, "no memory, $workers workers") or diag("$out\n$err");
    note("no memory, $workers workers: " . ($code ? $err : 'the right answer'));
    is_right_again("no memory, $workers workers");
}

my $lost = disturb_call($node, 'SELECT 1', sub { kill 'KILL', (workers_of($node))[0] });
like($lost, qr/crash of another server process|server closed the connection/, 'a worker is killed');
ok(holds_soon(sub { my ($code) = $node->psql('postgres', 'SELECT 1'); $code == 0 }), 'the server starts again');
is_right_again('after a kill');

for my $mode ('fast', 'immediate')
{
    my $ended = disturb_call($node, 'SELECT 1', sub { $node->stop($mode) });
    like($ended, qr/terminating connection|server closed the connection/, "$mode shutdown ends the call");
    $node->start;
    is_right_again("after $mode shutdown");
}
my $ended = disturb_call($node, 'SELECT 1', sub {
    my ($pid) = @_;
    system_or_bail('pg_ctl', '-D', $node->data_dir, '-m', 'smart', '-W', 'stop');
    sleep 0.5;
    ok(-e $node->data_dir . '/postmaster.pid', 'smart shutdown waits for the call');
    kill 'INT', $pid;
});
like($ended, qr/canceling statement due to user request/, 'which can be cancelled');
ok(holds_soon(sub { !-e $node->data_dir . '/postmaster.pid' }), 'and then the server stops');
$node->stop('fast', fail_ok => 1); # only so that the object knows that the server is down
$node->start;
is_right_again('after smart shutdown');
done_testing();
