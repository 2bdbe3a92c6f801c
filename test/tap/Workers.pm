# Helpers for tests of bulk functions that have workers.
package Workers;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use Test::More;
use Time::HiRes qw(sleep);
use Waiting;

our @EXPORT = qw(create_alike workers_of disturb_call);

# Creates the table alike: texts of 10 kB of which a call with one row in each band compares so many that it never ends.
sub create_alike
{
    my ($node) = @_;
    $node->safe_psql('postgres', <<'SQL');
CREATE TABLE alike AS SELECT n AS id, words || md5(n::text) AS body
    FROM generate_series(1, 20000) n, (SELECT string_agg(md5(word::text), ' ') AS words FROM generate_series(1, 300) word) w;
ANALYZE alike;
SQL
    return;
}

# The workers of bulk functions that PostgreSQL shows.
sub workers_of
{
    my ($node) = @_;
    return split /\n/, $node->safe_psql('postgres',
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND leader_pid IS NOT NULL");
}

# Runs a call on the table alike in its own session with these settings, calls $what with the session's process when
# three workers run, and returns the session's errors, with their codes.
sub disturb_call
{
    my ($node, $settings, $what) = @_;
    my ($in, $said, $failed) = ("SELECT pg_backend_pid();\nSET client_min_messages = warning;"
          . " SET max_parallel_maintenance_workers = 3; $settings;\n"
          . "SELECT count(*) FROM lsh_pairs('TABLE alike', threshold => 0.99, bands => 128, rows => 1);\n", '', '');
    my $session = IPC::Run::start([ 'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres') ],
        '<', \$in, '>', \$said, '2>', \$failed);
    ok(holds_soon(sub { $session->pump_nb; scalar(my @all = workers_of($node)) == 3 }), 'workers run');
    sleep 0.3;
    $session->pump_nb;
    my ($pid) = $said =~ /^(\d+)/;
    $what->($pid);
    $session->finish;
    return $failed;
}

1;
