# The server, or one of its sessions, is killed while others write, vacuum, merge and build. After each recovery, which
# verifies every page that it replays, an lsh index must be sound and hold every row of its table. After VACUUM it must
# hold exactly what a new index would. MINHASH_ROUNDS=1000 is the long form.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Crash;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $crashes = $ENV{MINHASH_ROUNDS} || 6;

# Memory is small, so that pages are written at any time, and signatures have many hashes, so that a few hundred rows
# fill pages, make runs and merge them.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
shared_buffers = 16MB
maintenance_work_mem = 1MB
checkpoint_timeout = 30s
autovacuum = off
restart_after_crash = on
log_statement = none
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- See test/bench/HISTORY.md on wal_consistency_checking; no lsh index is ever truncated.
CREATE TABLE docs (id serial PRIMARY KEY, part int DEFAULT random() * 3, sig minhash_signature) WITH (vacuum_truncate = off, toast.vacuum_truncate = off);
CREATE FUNCTION some_signature() RETURNS minhash_signature VOLATILE LANGUAGE sql AS
    $$SELECT minhash(repeat(md5((random() * 500)::int::text), 2) || random(), 512)$$;
INSERT INTO docs (sig) SELECT CASE WHEN i <= 20 THEN NULL WHEN i % 50 = 0 THEN minhash('', 512) ELSE some_signature() END
FROM generate_series(1, 300) i;
CREATE INDEX docs_sig ON docs USING lsh (part, sig);
CREATE TABLE guarded (what int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9))
    WITH (vacuum_truncate = off, toast.vacuum_truncate = off);
SQL

my @scripts = (
    q{INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 20) i;},
    q{INSERT INTO docs (sig) SELECT CASE WHEN random() < 0.1 THEN minhash('', 512) WHEN random() < 0.9 THEN some_signature() END FROM generate_series(1, 5);},
    q{UPDATE docs SET sig = some_signature() WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 10);},
    q{BEGIN; DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 25);
SAVEPOINT a; INSERT INTO docs (sig) VALUES (some_signature()); ROLLBACK TO a;
INSERT INTO docs (sig) VALUES (some_signature()); COMMIT;},
    q{\set wait random(4, 30)
SET statement_timeout = :wait;
DO $$BEGIN INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 15); EXCEPTION WHEN query_canceled THEN END$$;
SET statement_timeout = 0;},
    q{VACUUM (INDEX_CLEANUP ON) docs;},
    q{DROP INDEX IF EXISTS docs_second; CREATE INDEX docs_second ON docs USING lsh (sig) WITH (bands = 60, rows = 8);
\sleep 300 ms},
    q{DROP INDEX IF EXISTS docs_third; CREATE INDEX CONCURRENTLY docs_third ON docs USING lsh (sig);
\sleep 300 ms},
    q{\set what random(1, 300)
INSERT INTO guarded VALUES (:what, minhash(repeat(md5(:what::text), 3), 512)) ON CONFLICT DO NOTHING;
DELETE FROM guarded WHERE what = 301 - :what;});
my @files;
for my $script (@scripts)
{
    push @files, $node->basedir . '/script' . @files;
    append_to_file($files[-1], $script . "\n");
}

# Only one session is killed, during a statement. The server then ends all others and recovers by itself.
sub kill_session
{
    my $pid = server_pid($node);
    for (my $end = time + 30; time < $end; sleep 0.01)
    {
        my %statements = map { $_ => -r "/proc/$_/cmdline" ? slurp_file("/proc/$_/cmdline") : '' } family($pid);
        my @busy = grep { $statements{$_} =~ /\[local\] [A-Z]/ } keys %statements;
        next unless @busy;
        my $chosen = $busy[ int rand @busy ];
        kill 'KILL', $chosen;
        return $statements{$chosen} =~ s/.*\[local\] ([A-Z]+(?: [A-Z]+)*).*/$1/sr;
    }
    die 'no session works';
}

sub wait_for_recovery
{
    for (my $end = time + 180; time < $end; sleep 0.05)
    {
        return if IPC::Run::run([ 'pg_isready', '-q', '-d', $node->connstr('postgres') ]);
    }
    die 'the server does not recover';
}

my $check = q{SELECT * FROM lsh_check('docs_sig', heap => true)};
my $contents = q{SELECT records, contents FROM lsh_check('%s')};
my $before = 0;
my %killed;
for my $crash (1 .. $crashes)
{
    my $out = '';
    my @writers = map {
        IPC::Run::start(
            [ 'pgbench', '-n', '-c', '1', '-T', '60', '--max-tries=100', '-f', $_, $node->connstr('postgres') ],
            '>', \$out, '2>', \$out)
    } @files;
    $node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM docs WHERE id > $before)") or die 'nothing is written';
    sleep rand;
    if ($crash % 2)
    {
        kill_server($node);
        $killed{server}++;
        $_->finish for @writers;
        $node->start;
    }
    else
    {
        $killed{ kill_session() }++;
        $_->finish for @writers;
        wait_for_recovery();
    }
    # Compares what is found at once, what is found after VACUUM (which must not skip a page that another process has
    # pinned), and what a new index has. Finally deletes some rows, so that the table does not grow for ever.
    my $again = $crash % 3 == 0 ? 'REINDEX INDEX docs_sig;' : '';
    my ($status, $out_of, $error) = $node->psql('postgres', <<"SQL", on_error_stop => 1);
$check;
SELECT last_value > $before, last_value FROM docs_id_seq;
SELECT count(*) = count(DISTINCT what), (SELECT count(*) FROM lsh_check('guarded_sig_excl', heap => true)) FROM guarded;
VACUUM (DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON) docs;
$check;
@{[ sprintf $contents, 'docs_sig' ]};
$again
CREATE INDEX docs_new ON docs USING lsh (part, sig);
@{[ sprintf $contents, 'docs_new' ]};
DROP INDEX docs_new;
DELETE FROM docs WHERE id < (SELECT max(id) FROM docs) - 2000;
SQL
    is($status, 0, "$crash: sound, and every row is there, also after VACUUM") or diag($error);
    my ($state, $written, $guarded, $later, $kept, $new) = split /\n/, $out_of;
    note("$crash: $state $later");
    like($written, qr/^t/, "$crash: rows were written");
    is($guarded, 't|1', "$crash: no two rows are near-duplicates that must not be");
    is($new, $kept, "$crash: as a new index");
    $before = $written =~ s/.*\|//r;
    last unless Test::More->builder->is_passing;
}
note('killed: ' . join ', ', map { "$_: $killed{$_}" } sort keys %killed);
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|inconsistent page/, 'no page was replayed wrongly');
unlike($log, qr/ERROR:.*(?:damaged|could not read)/, 'no session met a damaged page');

# The comparison must notice a row that is missing from the index.
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'docs_sig'::regclass});
$node->safe_psql('postgres', 'INSERT INTO docs (sig) VALUES (some_signature())');
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = true WHERE indexrelid = 'docs_sig'::regclass});
like(($node->psql('postgres', $check))[2], qr/is not in index "docs_sig"/, 'a missing row is seen');
$node->stop;
done_testing();
