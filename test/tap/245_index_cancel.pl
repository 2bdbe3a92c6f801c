# Every operation on an lsh index must end soon after it is cancelled, at any point of its work.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $limit = 250;    # ms that a statement may still take after its cancel; the machine may be busy
my $least = 100;    # the limit of a fast statement is half of its usual time, or this if that is less

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
# maintenance_work_mem is small, so that the index has several runs.
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
log_statement = none
maintenance_work_mem = 4MB
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
CONF
$node->start;
# Signatures have few hashes, so that many are made in little time. One in three is near others.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(CASE WHEN what % 3 = 0 THEN 'Always about the same as all the others' ELSE md5(what::text) END || what % 7, 64)$$;
CREATE TABLE docs (id int, sig minhash_signature);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 300000) i;
CREATE INDEX docs_sig ON docs USING lsh (sig);
CREATE UNLOGGED TABLE wide AS SELECT sig FROM docs, generate_series(1, 2);
SET maintenance_work_mem = '100MB';
CREATE INDEX wide_sig ON wide USING lsh (sig);
VACUUM docs, wide;
SQL
my $wide = 'SET enable_seqscan = off; SET enable_sort = off; SET minhash_lsh.similarity_threshold = 0.1;'
  . ' SET minhash_lsh.recall_notice = 0; SET minhash_lsh.ordered_scan_limit = -1;';
my $bitmap = "$wide SET enable_indexscan = off;";
my $plain = "$wide SET enable_bitmapscan = off;";

# Each entry: a name; statements that prepare (not timed); the statement that is cancelled; and, for some, text that its
# plan must contain.
my @cases = (
    [ 'ordered scan', $wide, 'SELECT count(*) FROM (SELECT FROM docs ORDER BY sig <%> doc(3) OFFSET 0) s', 'Index Scan using docs_sig' ],
    [ 'bitmap scan', $bitmap, 'SELECT count(*) FROM wide WHERE sig % doc(3)', 'Bitmap Index Scan on wide_sig' ],
    [ 'index scan', $plain, 'SELECT count(*) FROM wide WHERE sig % doc(3)', 'Index Scan using wide_sig' ],
    [ 'CREATE INDEX', '', 'CREATE INDEX docs_other ON docs USING lsh (sig)' ],
    [ 'CREATE INDEX with workers', 'SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0; SET maintenance_work_mem = \'100MB\';',
        'CREATE INDEX docs_other ON wide USING lsh (sig)' ],
    [ 'REINDEX CONCURRENTLY', '', 'REINDEX INDEX CONCURRENTLY docs_sig' ],
    [ 'lsh_check', '', q{SELECT lsh_check('docs_sig', heap => true)} ],
    # The same session updates rows first, so that VACUUM rewrites runs and moves all records.
    [ 'VACUUM', 'UPDATE docs SET sig = sig WHERE id % 4 = 1;', 'VACUUM (INDEX_CLEANUP ON, TRUNCATE off) docs' ]);
for my $case (@cases)
{
    my ($what, $first, $statement, $plan) = @$case;
    like($node->safe_psql('postgres', "$first EXPLAIN (COSTS off) $statement"), qr/\Q$plan\E/, "$what: uses the index") if $plan;
    my $once = "$first\nSET statement_timeout = TIMEOUT;\n\\timing on\n$statement;\n\\timing off\n\\echo state :SQLSTATE\nSET statement_timeout = 0;\n"
      . "DROP INDEX IF EXISTS docs_other, docs_sig_ccnew;\n";
    my $run = sub {
        my ($script, @timeouts) = @_;
        my (undef, $out) = $node->psql('postgres', "\\set ON_ERROR_STOP off\n" . join '', map { $script =~ s/TIMEOUT/$_/r } @timeouts);
        return ([ $out =~ /^state (\w+)/mg ], [ $out =~ /^Time: ([\d.]+) ms/mg ]);
    };
    my ($states, $times) = $run->($once, 0, 0);
    is("@$states", '00000 00000', "$what: not cancelled");
    my ($whole) = sort { $a <=> $b } @$times;
    my @timeouts = map { 1 + int $whole * $_ } 0.05, 0.3, 0.55, 0.8;
    my ($allowed) = sort { $a <=> $b } $limit, $whole / 2 > $least ? int $whole / 2 : $least;
    my $longest;
    for my $attempt (1 .. 5)
    {
        ($states, $times) = $run->($once, @timeouts);
        # A busy machine may be late once; a statement that is late by itself is late again.
        ($longest) = sort { $b <=> $a } map { $times->[$_] - $timeouts[$_] } 0 .. $#timeouts;
        last if $longest < $allowed;
    }
    # It may be done before it is cancelled if the machine has just become faster.
    cmp_ok(scalar(grep { $_ eq '57014' } @$states), '>=', 2, "$what: cancelled: @$states");
    is(scalar(grep { $_ !~ /^(?:57014|00000)$/ } @$states), 0, "$what: no other error");
    cmp_ok($longest, '<', $allowed, "$what: ends in time");
    note("$what: takes $whole ms; told to end after @timeouts ms, ended after @$times ms");
}

# Calls pg_cancel_backend() in the same places. The session that cancels connects before the statement begins, so that
# the time of a new connection does not decide whether there is still something to cancel.
for my $case (grep { $_->[0] =~ /^(?:ordered scan|CREATE INDEX|VACUUM)$/ } @cases)
{
    my ($what, $first, $statement) = @$case;
    my $wait = <<"SQL";
SELECT 'waits';
DO \$\$BEGIN
    LOOP
        PERFORM pg_stat_clear_snapshot();
        PERFORM pg_cancel_backend(pid) FROM pg_stat_activity
            WHERE state = 'active' AND starts_with(query, \$text\$$statement\$text\$) AND clock_timestamp() > query_start + interval '20 ms';
        EXIT WHEN FOUND;
        PERFORM pg_sleep(0.002);
    END LOOP;
END\$\$;
SELECT extract(epoch FROM clock_timestamp());
SQL
    my $told = '';
    my $other = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$wait, '>', \$told, '2>', \$told);
    $other->pump until $told =~ /waits/;
    my (undef, $out) = $node->psql('postgres', "$first\n$statement;\n\\echo state :SQLSTATE\nSELECT extract(epoch FROM clock_timestamp());\n", on_error_stop => 0);
    $other->finish;
    like($out, qr/^state 57014$/m, "$what: told by another session");
    my ($at) = $told =~ /^(\d+\.\d+)$/m;
    my ($ended) = $out =~ /^(\d+\.\d+)$/m;
    cmp_ok(1000 * ($ended - $at), '<', $limit, "$what: and ends in time");
    note(sprintf '%s: ended after %.1f ms', $what, 1000 * ($ended - $at));
}
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
like($node->safe_psql('postgres', q{SELECT * FROM lsh_check('docs_sig', heap => true)}), qr/^300000\|/, 'the index is sound');
$node->stop;
done_testing();
