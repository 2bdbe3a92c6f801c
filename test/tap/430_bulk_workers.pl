# Background workers of bulk functions: their number does not change any result, they end when the call ends, however it
# ends, and if one of them fails, the call fails.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use Waiting;
use Workers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
# Checkpoints, which may come at any time, log nothing.
$node->append_conf('postgresql.conf', "log_statement = none\nlog_checkpoints = off\ncheckpoint_warning = 0\njit = off\n"
      . "synchronize_seqscans = off\nmax_worker_processes = 10\nmax_parallel_workers = 8\nwal_keep_size = 4GB\n");
$node->start;
# texts: 8 MB in families of three, some empty or NULL; same: all equal.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts AS SELECT n AS id,
    CASE WHEN n % 97 = 0 THEN ' ' WHEN n % 89 <> 0 THEN string_agg(md5(concat(n / 3, word)), ' ') || n % 3 END AS body
    FROM generate_series(1, 8000) n, generate_series(1, 30) word GROUP BY n;
CREATE TABLE same AS SELECT n AS id, repeat('the same for all of them ', 40) AS body FROM generate_series(1, 5000) n;
CREATE TABLE written (id int);
CREATE FUNCTION write_row(int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS
    'BEGIN INSERT INTO written VALUES ($1); RETURN $1; END';
CREATE FUNCTION fail_late(int) RETURNS int LANGUAGE sql AS 'SELECT $1 / ($1 - 7000) + $1';
ANALYZE;
SQL

create_alike($node);

# Queries whose results must not depend on workers.
my $pairs = q{SELECT md5(string_agg(p::text, ',')) || count(*) FROM lsh_pairs('SELECT id, body FROM texts') p};
my $clusters = q{SELECT md5(string_agg(c::text, ',')) || count(*)
    FROM lsh_clusters('SELECT id, body FROM texts', near_representative => true, singletons => true) c};
my $evaluated = q{SELECT md5(string_agg(e::text, ',')) FROM lsh_evaluate('SELECT id, body FROM texts', anchors => 4000) e};
my $estimated = q{SELECT md5(string_agg(p::text, ',')) FROM lsh_pairs('SELECT id, body FROM texts WHERE id < 7000',
    verify => 'estimate', other_query => 'SELECT id, body FROM texts WHERE id > 2000') p};
my $none = 'SET client_min_messages = warning; SET max_parallel_maintenance_workers =';

sub result
{
    my ($workers, $query, $server) = @_;
    return ($server // $node)->safe_psql('postgres', "$none $workers; $query");
}

my %alone;
for my $query ($pairs, $clusters, $evaluated, $estimated)
{
    $alone{$query} = result(0, $query);
    for my $workers (1, 2, 4)
    {
        is(result($workers, $query), $alone{$query}, "the same with $workers workers");
    }
    # The choice of bands also depends on the memory that is available.
    my $cramped = "SET maintenance_work_mem = '1MB'; $query";
    is(result(2, $cramped), result(0, $cramped), 'and in little memory');
}
is(result(2, q{SELECT count(*) FROM lsh_pairs('TABLE same', max_bucket => 100)}), 0, 'rows that are all equal');
is(result(2, q{SELECT count(DISTINCT cluster_id) FROM lsh_clusters('TABLE same')}), 1, 'and clustered');
is(result(2, q{SELECT count(*) FROM lsh_pairs('SELECT id, body FROM texts WHERE id = 1')}), 0, 'one row');
is(result(2, q{SELECT count(*) FROM lsh_clusters('SELECT 1, repeat(body, 5000) FROM texts WHERE id = 1', singletons => true)}),
    1, 'one large row');
ok(holds_soon(sub { !workers_of($node) }), 'no worker is left');

# Rows of the query's tables are read again, by workers, too: rows of this transaction, old versions of rows that the
# query itself changes, rows of two tables, compressed values, and pages that are not in shared buffers. Rows of
# temporary tables are kept.
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE unlogged AS TABLE texts;
CREATE TABLE mixed AS SELECT id, CASE WHEN id % 5 = 0 THEN repeat(left(body, 40), 100) ELSE body END AS body, 'added'::text AS more FROM texts;
CREATE FUNCTION rewrite_row(changed int) RETURNS boolean LANGUAGE sql AS
    'UPDATE mixed SET body = md5(body) WHERE id = changed AND changed % 2 = 0 RETURNING true; SELECT true';
ANALYZE;
SQL
for my $case (
    [ 'an unlogged table', '', q{('SELECT id, body FROM unlogged')} ],
    [ 'values of all kinds', '', q{('SELECT id, body FROM mixed')} ],
    [ 'the same by an index', 'CREATE INDEX ON mixed (id); SET enable_seqscan = off', q{('SELECT id, body FROM mixed WHERE id > 100')} ],
    [ 'two tables', '', q{('SELECT id, body FROM unlogged', other_query => 'SELECT -id, body FROM mixed')} ],
    [ 'a temporary table', 'CREATE TEMPORARY TABLE passing AS TABLE mixed', q{('SELECT id, body FROM passing')} ],
    [ 'a temporary and another', 'CREATE TEMPORARY TABLE passing AS TABLE texts',
        q{('SELECT id, body FROM passing', other_query => 'SELECT -id, body FROM mixed')} ],
    # Dead rows that the other call left would put these rows at other places in the table, and so change the order of
    # pairs.
    [ 'rows of this transaction', q{VACUUM FULL mixed; BEGIN; INSERT INTO mixed SELECT -id, body FROM texts; SAVEPOINT a; UPDATE mixed SET more = 'changed' WHERE id % 3 = 0},
        q{('SELECT id, body FROM mixed')} ],
    [ 'rows that the query changes', 'BEGIN', q{('SELECT id, body FROM mixed WHERE rewrite_row(id)')} ])
{
    my ($name, $before, $call) = @$case;
    my $query = "$before; SELECT md5(string_agg(p::text, ',')) || count(*) FROM lsh_pairs$call p";
    is(result(2, $query), result(0, $query), $name);
}
$node->restart;
is(result(2, $pairs), $alone{$pairs}, 'from the disk');

# The places in a query where a call can appear.
is(result(2, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $pairs") =~ /Function Scan on lsh_pairs/, 1, 'in EXPLAIN');
is(result(2, "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; $pairs")
      =~ /\d/, 1, 'of a query with parallel workers of its own');
is(result(2, "BEGIN; DECLARE c CURSOR FOR $pairs; FETCH 1 FROM c; SELECT 'open'; COMMIT") , "$alone{$pairs}\nopen", 'in a cursor');
is(result(2, "$pairs; " . q{SELECT count(*) FROM lsh_pairs('SELECT write_row(id), body FROM texts') p, LATERAL (SELECT 1) o;
    SELECT count(*) FROM written}) =~ /^\Q$alone{$pairs}\E\n\d+\n8000$/, 1, 'of a query that writes');
my ($code, $out, $err) = $node->psql('postgres', "$none 2; " . <<'SQL');
DO $$
BEGIN
    FOR i IN 1 .. 3 LOOP
        BEGIN
            PERFORM count(*) FROM lsh_pairs('SELECT fail_late(id), body FROM texts WHERE id % 7 = 0');
        EXCEPTION WHEN division_by_zero THEN
            RAISE WARNING 'caught';
        END;
    END LOOP;
END $$;
SQL
is(() = $err =~ /WARNING:  caught/g, 3, 'an error of the query is caught');
ok(holds_soon(sub { !workers_of($node) }), 'and no worker is left');

# Tests a server that has no worker to give.
is(result(4, "SET max_parallel_workers = 0; $pairs"), $alone{$pairs}, 'max_parallel_workers is 0');
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
is(result(4, $pairs), $alone{$pairs}, 'max_worker_processes is 0');
$node->append_conf('postgresql.conf', 'max_worker_processes = 10');
$node->restart;

my $cancelled = disturb_call($node, 'SELECT 1', sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend($_[0])") });
like($cancelled, qr/57014: canceling statement due to user request/, 'a call is cancelled');
ok(holds_soon(sub { !workers_of($node) }), 'no worker is left');
# Workers end before the transaction does, because the end of the transaction releases the rows that they read. Here,
# that end waits for a server that does not answer.
my $far = q{CREATE EXTENSION IF NOT EXISTS postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '%s', port '%s', dbname 'postgres'); CREATE USER MAPPING FOR CURRENT_USER SERVER far;
    CREATE FOREIGN TABLE far (id int) SERVER far OPTIONS (table_name 'written')};
$node->safe_psql('postgres', sprintf($far, $node->host, $node->port));
my ($gone, $state);
my $late = disturb_call($node, 'BEGIN; SELECT count(*) FROM far', sub {
    my ($pid) = @_;
    my $other = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = 'postgres_fdw'");
    kill 'STOP', $other;
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
    for (1 .. 250) { last if ($gone = !workers_of($node)); sleep 0.02; }
    $state = $node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid");
    kill 'CONT', $other;
});
ok($gone, 'workers are gone');
is($state, 'active', 'before the transaction has ended');
like($late, qr/57014: canceling statement/, 'which was cancelled');
my $timed_out = disturb_call($node, "SET statement_timeout = '6s'", sub { }); # even a busy machine shows its workers before that
like($timed_out, qr/57014: canceling statement due to statement timeout/, 'a call takes too long');
ok(holds_soon(sub { !workers_of($node) }), 'no worker is left');
my $terminated = disturb_call($node, 'SELECT 1', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])") });
like($terminated, qr/57P01: terminating connection/, 'a session is terminated');
ok(holds_soon(sub { !workers_of($node) }), 'no worker is left');
my $log_before = -s $node->logfile;
my $lost = disturb_call($node, 'SELECT 1', sub { kill 'TERM', (workers_of($node))[0] });
like($lost, qr/57P01: terminating background worker "parallel worker"|55000: lost connection to parallel worker/,
    'a worker is terminated');
ok(holds_soon(sub { !workers_of($node) }), 'the others end');
is(result(2, $pairs), $alone{$pairs}, 'the next call works');
($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$none 3; SET temp_file_limit = '20MB'; "
      . "SET maintenance_work_mem = '1MB'; SELECT count(*) FROM lsh_pairs('TABLE alike')");
like($err, qr/53400: temporary file size exceeds/, 'temp_file_limit holds');
ok(holds_soon(sub { !workers_of($node) }), 'no worker is left');

# A call that works logs nothing.
my $logged = -s $node->logfile;
result(2, $pairs);
is(substr(slurp_file($node->logfile), $logged), '', 'nothing is logged');

# A standby has workers, too; a server in single-user mode has none.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is(result(2, $pairs, $standby), $alone{$pairs}, 'on a standby');
$standby->stop;
$node->stop;
my $printed = '';
IPC::Run::run([ $node->config_data('--bindir') . '/postgres', '--single', '-j', '-D', $node->data_dir, 'postgres' ],
    '<', \"SET max_parallel_maintenance_workers = 2;\n\n$pairs;\n\n", '>', \$printed, '2>', '/dev/null');
like($printed, qr/\Q$alone{$pairs}\E/, 'in single-user mode');
done_testing();
