# Long calls report progress: in notices, in the process title, and by a wait event. An advisory lock holds statements
# while the test looks at them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use Waiting;
use Workers;

plan skip_all => 'no /proc' if !-r '/proc/self/status';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\njit = off\nmax_worker_processes = 10\nupdate_process_title = on\n");
$node->start;
# held() sleeps now and then for more than a second, so that the next progress report is shown at once.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE few AS SELECT n AS id, repeat(md5(n::text), 5) AS body FROM generate_series(1, 10) n;
CREATE FUNCTION slow(id int) RETURNS int LANGUAGE plpgsql AS
    'BEGIN IF id % 3 = 0 THEN PERFORM pg_sleep(1.2); END IF; RETURN id; END';
CREATE FUNCTION held(id int) RETURNS int LANGUAGE plpgsql AS
    'BEGIN IF id = 5 THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN slow(id); END';
CREATE FUNCTION failing() RETURNS int LANGUAGE plpgsql AS
    'BEGIN PERFORM count(*) FROM lsh_pairs(''SELECT 1 / 0, body FROM few''); RETURN 0;
     EXCEPTION WHEN division_by_zero THEN RETURN 1; END';
ANALYZE;
SQL
create_alike($node);

sub title_of
{
    my ($pid) = @_;
    open my $line, '<', "/proc/$pid/cmdline" or return '';
    local $/;
    my $title = <$line> // '';
    $title =~ s/[\0 ]+$//;
    return $title;
}

# Runs a session of psql; returns its output and the process that serves it.
sub start_session
{
    my ($sql, $output) = @_;
    my $input = "SELECT pg_backend_pid();\n$sql;\n";
    my $session = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$input, '>', $output, '2>', $output);
    holds_soon(sub { $session->pump_nb; $$output =~ /^\d+$/m });
    my ($pid) = $$output =~ /^(\d+)$/m;
    return ($session, $pid);
}

# Runs SQL that waits somewhere for the advisory lock 1. Returns its process's title and wait event while it waits, and
# its output at the end.
sub hold
{
    my ($sql) = @_;
    my ($holder_output, $output) = ('', '');
    my $input = "SELECT pg_advisory_lock(1), 'locked';\n";
    my $holder = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$input, '>', \$holder_output);
    holds_soon(sub { $holder->pump; $holder_output =~ /locked/ });
    my ($session, $pid) = start_session($sql, \$output);
    my $event = '';
    holds_soon(sub {
        $event = $node->safe_psql('postgres', "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid");
        $event eq 'advisory' });
    my $title = title_of($pid);
    $holder->finish;
    $session->finish;
    return ($title, $event, $output);
}

# The title of the process changes every second.
my ($title, $event, $output) = hold(q{SELECT count(*) FROM lsh_pairs('SELECT held(id), body FROM few')});
like($title, qr/SELECT: step 1 of 7, reading rows: 3 of about 10 \(30%\), about \d+ s left in this step(?: waiting)?$/, 'ps shows how far a call is');
is($event, 'advisory', 'and pg_stat_activity what its query waits for');
unlike($output, qr/NOTICE/, 'nothing is said before ten seconds have passed');

($title) = hold(q{DO $$ BEGIN PERFORM count(*) FROM lsh_pairs('SELECT slow(id), body FROM few WHERE id < 5');
    PERFORM held(5); END $$});
like($title, qr/ DO(?: waiting)?$/, 'the title is as before when the call has ended');

($title) = hold(q{SET update_process_title = off; SELECT count(*) FROM lsh_pairs('SELECT held(id), body FROM few')});
unlike($title, qr/reading rows/, 'no title where none is wanted');

# Calls within the query of another call: they start and end, some with an error.
my $nested = q{SELECT slow(id), body || (SELECT count(*) FROM lsh_pairs('SELECT id, body FROM few')) FROM few};
my ($code, $out, $err) = $node->psql('postgres', "SET minhash_lsh.progress_interval = '1s'; SELECT count(*) FROM lsh_pairs(\$\$$nested\$\$)");
is(join(' ', $err =~ /reading rows: (\d+) of about 10 /g), '3 6 9', 'a call goes on saying how far it is after one in its query');
$nested = q{SELECT slow(id), body || failing() FROM few};
($code, $out, $err) = $node->psql('postgres', "SET minhash_lsh.progress_interval = '1s'; SELECT count(*) FROM lsh_pairs(\$\$$nested\$\$)");
is(join(' ', $err =~ /reading rows: (\d+) of about 10 /g), '3 6 9', 'and after one that failed');
$nested = q{SELECT id, body || (SELECT count(*) FROM lsh_pairs('SELECT held(id), body FROM few')) FROM few WHERE id = 1};
($title) = hold("SELECT count(*) FROM lsh_pairs(\$\$$nested\$\$)");
like($title, qr/SELECT: step 1 of 7, reading rows: 3 of about 10 /, 'ps shows the inner call');
($code, $out, $err) = $node->psql('postgres', "SELECT count(*) FROM lsh_pairs('SELECT 1 / 0, body FROM few');\n"
      . "SET minhash_lsh.progress_interval = '1s'; SELECT count(*) FROM lsh_pairs('SELECT slow(id), body FROM few')", on_error_stop => 0);
is(join(' ', $err =~ /reading rows: (\d+) of about 10 /g), '3 6 9', 'the next call after a failed one says how far it is');

# Other functions also report their progress.
($code, $out, $err) = $node->psql('postgres', "SET minhash_lsh.progress_interval = '1s'; "
      . q{SELECT count(*) FROM lsh_components('SELECT slow(id), 0 FROM few')});
like($err, qr/NOTICE:  joining pairs: 2 of about 10/, 'lsh_components()');
($code, $out, $err) = $node->psql('postgres', "SET minhash_lsh.progress_interval = '1s'; "
      . q{SELECT count(*) FROM lsh_evaluate('SELECT slow(id), body FROM few', anchors => 10)});
like($err, qr/NOTICE:  reading rows: 3 of about 10/, 'lsh_evaluate()');

# The wait event of a process, or '' if the server does not answer at once.
sub wait_event_of
{
    my ($pid) = @_;
    my $event = '';
    my $asked = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c',
        "SELECT CASE WHEN wait_event_type = 'LWLock' THEN 'lock' ELSE coalesce(wait_event, 'none') END"
          . " FROM pg_stat_activity WHERE pid = $pid" ], '>', \$event);
    my $end = time + 5;
    while ($event !~ /\n/ && time < $end) { $asked->pump_nb; sleep 0.02; }
    return ($event =~ s/\n//r, $asked);
}

# While a call waits for its workers, its wait event says so. A worker may be stopped while it has a lock of PostgreSQL's
# that the call needs, or the session that asks. Then the call is made again, after ten seconds at most: PostgreSQL takes
# a spinlock that is held for a minute for a defect.
my $shown = '';
for my $attempt (1 .. 5)
{
    my $output = '';
    my ($session, $pid) = start_session('SET max_parallel_maintenance_workers = 2; '
          . q{SELECT count(*) FROM lsh_pairs('TABLE alike', threshold => 0.99, bands => 128, rows => 1)}, \$output);
    my @workers;
    ok(holds_soon(sub { (@workers = workers_of($node)) == 2 }), 'workers run');
    kill 'STOP', @workers;
    my $asked;
    my $end = time + 10;
    holds_soon(sub {
        ($shown, $asked) = wait_event_of($pid);
        return 1 if time > $end || $shown =~ /^(?:Extension|MinhashBulk|lock|)$/;
        $asked->finish;
        return 0 });
    kill 'CONT', @workers;
    $asked->finish;
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
    $session->finish;
    last if $shown =~ /^(?:Extension|MinhashBulk)$/;
}
like($shown, qr/^(?:Extension|MinhashBulk)$/, 'pg_stat_activity shows that a call waits for its workers');

$node->stop;
done_testing();
