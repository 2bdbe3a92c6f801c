# GIN indexes of signatures are built and rebuilt while others write. Afterwards they must find what the band keys of
# all rows say. The server's progress view must show the build.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
log_statement = none
autovacuum_naptime = 1s
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (
    id serial PRIMARY KEY,
    body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED
);
INSERT INTO docs (body) SELECT repeat(md5((i / 3)::text), 2) || i FROM generate_series(1, 15000) i;
SQL

my @scripts = (
    q{INSERT INTO docs (body) SELECT repeat(md5((random() * 7000)::int::text), 2) || i FROM generate_series(1, 3) i;},
    q{\set n random(1, 15000)
UPDATE docs SET body = repeat(md5((random() * 7000)::int::text), 2) || id WHERE id = :n;},
    q{\set n random(1, 15000)
DELETE FROM docs WHERE id = :n;});
my @files;
for my $script (@scripts)
{
    push @files, $node->basedir . '/script' . @files;
    append_to_file($files[-1], $script . "\n");
}

# Returns the answer of a psql session to a query.
sub ask
{
    my ($session, $query) = @_;
    ${ $session->{output} } = '';
    ${ $session->{input} } .= "$query;\n\\echo done\n";
    $session->{run}->pump until ${ $session->{output} } =~ /^done$/m;
    return ${ $session->{output} } =~ s/^done\n//mr;
}

sub session
{
    my ($input, $output) = ('', '');
    my $run = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$input, '>', \$output, '2>', \$output);
    return { run => $run, input => \$input, output => \$output };
}

# Runs a command while others write, and while a transaction is open that it has to wait for. Returns how many
# statements the others ran meanwhile, and what the progress view showed.
sub run_among_writers
{
    my ($command) = @_;
    my ($noise, $out) = ('', '');
    my @writers = map {
        IPC::Run::start(
            [ 'pgbench', '-n', '-c', '1', '-T', '60', '-R', '300', '--max-tries=100', '-f', $_,
                $node->connstr('postgres') ],
            '>', \$noise, '2>', \$noise)
    } @files;
    my ($holder, $watcher) = (session(), session());
    is(ask($holder, "BEGIN; UPDATE docs SET body = 'held' WHERE id = 1"), '', "$command: a transaction to wait for");
    my $written = 'SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables';
    my $before = $node->safe_psql('postgres', $written);
    my $builder = IPC::Run::start([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $command ],
        '>', \$out, '2>', \$out);
    my %seen;
    my $end = time + $PostgreSQL::Test::Utils::timeout_default;
    while ($builder->pumpable && time < $end)
    {
        $builder->pump_nb;
        $seen{$_}++ for split /\n/, ask($watcher, "SELECT concat_ws(': ', command, phase) FROM pg_stat_progress_create_index");
        # The transaction ends when its wait has been seen and others have written something.
        if ($holder && grep { /waiting for writers before build/ } keys %seen)
        {
            next if $node->safe_psql('postgres', $written) < $before + 100;
            ask($holder, 'COMMIT');
            $holder->{run}->finish;
            $holder = undef;
        }
    }
    ok($builder->finish, "$command succeeds") or diag $out;
    $_->{run}->finish for grep { defined } $holder, $watcher;
    $_->signal('TERM') for @writers; # which a shell's background job does not ignore
    $_->finish for @writers;
    unlike($noise, qr/ERROR|abort/, "$command: nobody else fails");
    $node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
    return ($node->safe_psql('postgres', $written) - $before, join ', ', sort keys %seen);
}

my $found = <<'SQL';
SET enable_seqscan = off; SET enable_indexscan = off;
SET minhash_lsh.similarity_threshold = 0.05; SET minhash_lsh.recall_notice = 0;
SELECT count(*), sum(hashint4(p.id) # hashint4(d.id)) FROM docs p JOIN docs d ON d.sig % p.sig
WHERE p.id % 7 = 0;
SQL
my $expected = <<'SQL';
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
WITH k AS MATERIALIZED (SELECT k.key, d.id FROM docs d, lsh_bands(sig, 13, 7) k),
     c AS MATERIALIZED (SELECT DISTINCT x.id AS left_id, y.id AS right_id FROM k x JOIN k y USING (key)
    WHERE x.id % 7 = 0)
SELECT count(*), sum(hashint4(left_id) # hashint4(right_id))
FROM c JOIN docs a ON a.id = left_id JOIN docs b ON b.id = right_id
WHERE minhash_similarity(a.sig, b.sig) >= 0.05;
SQL
sub check
{
    my ($what) = @_;
    my $rows = $node->safe_psql('postgres', $expected);
    like($node->safe_psql('postgres', $found =~ s/^SELECT/EXPLAIN (COSTS off) SELECT/mr), qr/docs_sig/, "$what: the index is used");
    is($node->safe_psql('postgres', $found), $rows, "$what: the index finds what the rows' keys say");
    note("$what: $rows");
    is($node->safe_psql('postgres', q{SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY 1)
        FROM pg_index WHERE indrelid = 'docs'::regclass AND NOT indisunique}), 'docs_sig true', "$what: one valid index");
}

my @runs = (
    [ 'CREATE INDEX CONCURRENTLY docs_sig ON docs USING gin (sig)' => 'CREATE INDEX CONCURRENTLY' ],
    [ 'REINDEX INDEX CONCURRENTLY docs_sig' => 'REINDEX CONCURRENTLY' ],
    [ 'REINDEX TABLE CONCURRENTLY docs' => 'REINDEX CONCURRENTLY' ]);
for my $run (@runs)
{
    my ($command, $shown) = @$run;
    my ($writes, $phases) = run_among_writers($command);
    cmp_ok($writes, '>', 100, "$command: others write $writes rows meanwhile");
    like($phases, qr/$shown: waiting for writers before build/, "$command: progress shows the wait for a writer");
    like($phases, qr/$shown: (?:building index|index validation)/, "$command: progress shows the build");
    note("phases: $phases");
    check($command);
}

# The comparison must notice a row that is missing from the index.
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'docs_sig'::regclass});
$node->safe_psql('postgres', q{INSERT INTO docs (id, body) VALUES (700000, 'Not in the index')});
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = true WHERE indexrelid = 'docs_sig'::regclass});
isnt($node->safe_psql('postgres', $found), $node->safe_psql('postgres', $expected), 'a missing row is seen');
$node->stop;
done_testing();
