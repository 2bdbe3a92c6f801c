# The whole server is killed while others write, vacuum and build: after each recovery, which
# verifies every page that it replays, an lsh index is sound and holds every row of its table, and
# after VACUUM exactly what a new one would. MINHASH_ROUNDS=1000 is the long form.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $crashes = $ENV{MINHASH_ROUNDS} || 5;

# Little memory, so that pages are written in the midst of everything; signatures of many hashes, so
# that a few hundred rows fill pages, make runs and merge them.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
shared_buffers = 16MB
maintenance_work_mem = 1MB
checkpoint_timeout = 30s
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (id serial PRIMARY KEY, sig minhash_signature);
CREATE FUNCTION some_signature() RETURNS minhash_signature VOLATILE LANGUAGE sql AS
    $$SELECT minhash(repeat(md5((random() * 500)::int::text), 2) || random(), 512)$$;
INSERT INTO docs (sig) SELECT CASE WHEN i % 50 = 0 THEN minhash('', 512) ELSE some_signature() END FROM generate_series(1, 300) i;
CREATE INDEX docs_sig ON docs USING lsh (sig);
SQL

my @scripts = (
    q{INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 20) i;},
    q{INSERT INTO docs (sig) SELECT CASE WHEN random() < 0.1 THEN minhash('', 512) WHEN random() < 0.9 THEN some_signature() END FROM generate_series(1, 5);},
    q{UPDATE docs SET sig = some_signature() WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 10);},
    q{BEGIN; DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 25);
SAVEPOINT a; INSERT INTO docs (sig) VALUES (some_signature()); ROLLBACK TO a;
INSERT INTO docs (sig) VALUES (some_signature()); COMMIT;},
    q{VACUUM (INDEX_CLEANUP ON) docs;},
    q{DROP INDEX IF EXISTS docs_second; CREATE INDEX docs_second ON docs USING lsh (sig) WITH (bands = 60, rows = 8);
\sleep 300 ms});
my @files;
for my $script (@scripts)
{
    push @files, $node->basedir . '/script' . @files;
    append_to_file($files[-1], $script . "\n");
}

# A process and all below it, from /proc.
sub family
{
    my ($pid) = @_;
    my $children = join ' ', map { -r $_ ? slurp_file($_) : '' } glob "/proc/$pid/task/*/children";
    return ($pid, map { family($_) } split ' ', $children);
}

# Gone, or a zombie that nobody has fetched.
sub is_dead
{
    my ($pid) = @_;
    open my $stat, '<', "/proc/$pid/stat" or return 1;
    my $line = <$stat> // return 1;
    return $line =~ /\) [ZX] /;
}

# All at once, as in 009_crash.pl.
sub kill_server
{
    my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
    kill 'STOP', $pid;
    my @pids = family($pid);
    kill 'KILL', reverse @pids;
    my $end = time + 30;
    sleep 0.01 while (grep { !is_dead($_) } @pids) && time < $end;
    die 'the server lives on' if grep { !is_dead($_) } @pids;
    unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
    $node->{_pid} = undef;
    return;
}

my $all = q{SELECT * FROM lsh_check('docs_sig', heap => true)};
my $contents = q{SELECT records, contents FROM lsh_check('docs_sig')};
my $before = 0;
for my $crash (1 .. $crashes)
{
    my $out = '';
    my @writers = map {
        IPC::Run::start(
            [ 'pgbench', '-n', '-c', '1', '-T', '60', '--max-tries=100', '-f', $_, $node->connstr('postgres') ],
            '>', \$out, '2>', \$out)
    } @files;
    sleep 0.3 + rand 1.2;
    kill_server();
    $_->finish for @writers;
    $node->start;
    my ($status, $stdout, $stderr) = $node->psql('postgres', $all);
    is($status, 0, "$crash: sound, and every row is there") or diag($stderr);
    note("$crash: $stdout");
    my $written = $node->safe_psql('postgres', 'SELECT last_value FROM docs_id_seq');
    cmp_ok($written, '>', $before, "$crash: rows were written");
    $before = $written;
    $node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
    ($status, $stdout, $stderr) = $node->psql('postgres', $all);
    is($status, 0, "$crash: sound after VACUUM") or diag($stderr);
    my $kept = $node->safe_psql('postgres', $contents);
    $node->safe_psql('postgres', 'REINDEX INDEX docs_sig') if $crash % 3 == 0;
    $node->safe_psql('postgres', 'CREATE INDEX docs_new ON docs USING lsh (sig)');
    is($node->safe_psql('postgres', $contents =~ s/docs_sig/docs_new/r), $kept, "$crash: as a new index");
    $node->safe_psql('postgres', 'DROP INDEX docs_new');
    # So that it does not grow for ever.
    $node->safe_psql('postgres', 'DELETE FROM docs WHERE id < (SELECT max(id) FROM docs) - 3000');
    last unless Test::More->builder->is_passing;
}
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|inconsistent page/, 'no page was replayed wrongly');
unlike($log, qr/ERROR:.*(?:damaged|could not read)/, 'no session met a damaged page');

# A row that is not in the index would be seen.
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'docs_sig'::regclass});
$node->safe_psql('postgres', 'INSERT INTO docs (sig) VALUES (some_signature())');
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = true WHERE indexrelid = 'docs_sig'::regclass});
like(($node->psql('postgres', $all))[2], qr/is not in index "docs_sig"/, 'a missing row is seen');
$node->stop;
done_testing();
