# A VACUUM that merges runs of an lsh index, or rewrites them without their dead records, is slowed down by
# vacuum_cost_delay. Meanwhile others must look up, insert, and wait for each other as if there were no VACUUM. Then the
# VACUUM is cancelled, or ends.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\ndeadlock_timeout = 100s\nstatement_timeout = 100s\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
SET check_function_bodies = off; -- the table comes later
-- Texts of numbers that differ by a thousand are the same; all others are unlike each other. The schema is
-- named, as PostgreSQL 17 computes index expressions with a search_path of its own.
CREATE FUNCTION doc(what int) RETURNS minhash_signature LANGUAGE sql IMMUTABLE AS
    $$SELECT public.minhash(repeat(md5((what % 1000)::text), 3), 1024)$$;
-- How many of the numbers a lookup finds, and whether each is found once.
CREATE FUNCTION found(numbers int) RETURNS TABLE (found bigint, once boolean) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT count(id), count(id) = count(DISTINCT id)
    FROM generate_series(1, numbers) n, LATERAL (SELECT id FROM docs WHERE doc(id) % doc(n) OFFSET 0) d
$$;
SQL

# The table has few pages and the index many: a run, and a tail of 29 pages.
sub make_table
{
    my ($deleted) = @_;
    $node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS docs;
CREATE TABLE docs (id int);
INSERT INTO docs SELECT generate_series(1, 200);
ALTER TABLE docs ADD CONSTRAINT docs_sig EXCLUDE USING lsh (doc(id) WITH %) WITH (threshold = 0.9);
INSERT INTO docs SELECT generate_series(201, 400);
DELETE FROM docs WHERE id % 3 = 0 AND $deleted;
SQL
    return;
}

# Starts a session, whose output goes to $$output.
sub session
{
    my (@commands) = @_;
    my ($input, $output) = ('', '');
    my $run = IPC::Run::start([ 'psql', '-XqAt', '-v', 'VERBOSITY=terse', '-d', $node->connstr('postgres') ], '<', \$input, '>', \$output, '2>', \$output);
    my $self = { run => $run, input => \$input, output => \$output };
    say_to($self, $_) for @commands;
    return $self;
}

sub say_to
{
    my ($self, $command) = @_;
    ${ $self->{input} } .= "$command;\n";
    $self->{run}->pump_nb;
    return;
}

# Sends a session a command, and returns its answer.
sub ask
{
    my ($self, $command) = @_;
    ${ $self->{output} } = '';
    say_to($self, "$command;\n\\echo done\nSELECT WHERE false");
    $self->{run}->pump until ${ $self->{output} } =~ /^done$/m;
    return ${ $self->{output} } =~ s/\n?done\n$//r;
}

sub finish
{
    my ($self) = @_;
    $self->{run}->finish;
    return ${ $self->{output} };
}

my $its_lock = q{FROM pg_locks WHERE locktype = 'page' AND page = 0 AND relation = 'docs_sig'::regclass AND mode = 'ExclusiveLock' AND granted};

# Starts a VACUUM and waits until it works on the index's runs. Only pages that it reads slow it down: a merge reads
# each page of records once for each band. 20 ms for each page make it take half a minute.
sub held_vacuum
{
    my ($delay) = @_;
    my $vacuum = session(
        'SET vacuum_cost_page_hit = 1; SET vacuum_cost_page_miss = 1; SET vacuum_cost_page_dirty = 0; SET vacuum_cost_limit = 1',
        "SET vacuum_cost_delay = '$delay'", 'VACUUM (INDEX_CLEANUP ON) docs');
    $vacuum->{run}->pump_nb, sleep 0.01 until is_merging();
    return $vacuum;
}

sub is_merging
{
    return $node->safe_psql('postgres', "SELECT EXISTS (SELECT $its_lock)") eq 't';
}

sub cancel
{
    my ($vacuum, $what) = @_;
    is($node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $its_lock"), 't', "$what: and is cancelled");
    like(finish($vacuum), qr/canceling statement due to user request/, "$what: it says so");
    return;
}

my $state = q{SELECT records, dead, in_tail, runs FROM lsh_check('docs_sig', heap => true)};

# Looks up and inserts. A tail of this length would be merged by an insertion if VACUUM were not at work.
for my $deleted ('false', 'true')
{
    my $what = $deleted eq 'true' ? 'runs written anew' : 'runs merged';
    my ($first, $later) = $deleted eq 'true' ? (267, 567) : (400, 700);
    make_table($deleted);
    my $vacuum = held_vacuum('20ms');
    is($node->safe_psql('postgres', 'SELECT * FROM found(700)'), "$first|t", "$what: lookups");
    $node->safe_psql('postgres', 'INSERT INTO docs SELECT generate_series(401, 700)');
    is($node->safe_psql('postgres', 'SELECT * FROM found(700)'), "$later|t", "$what: lookups of what was inserted");
    my $check = session($state);
    like(($node->psql('postgres', "SET statement_timeout = '300ms'; $state"))[2], qr/statement timeout/, "$what: a check waits");
    cancel($vacuum, $what);
    # The runs have not been replaced, so all of this happened during a merge.
    is(finish($check), $deleted eq 'true' ? "567|133|433|1\n" : "700|0|500|1\n", "$what: nothing of it remains, but the marks of the dead");

    # If a merge ended before the lookups did, it is repeated and slowed down more.
    my ($rows, $rounds);
    for my $delay ('1ms', '5ms', '25ms')
    {
        make_table($deleted);
        $vacuum = held_vacuum($delay);
        ($rows, $rounds) = ($first, 0);
        my $reader = session();
        do {
            is(ask($reader, 'SELECT * FROM found(1000)'), "$rows|t", "$what: lookups, $rows rows");
            $rounds += is_merging();
            $rows += $node->safe_psql('postgres', "WITH i AS (INSERT INTO docs SELECT $rows + 500 + generate_series(1, 20) WHERE $rows <= 480 RETURNING 1) SELECT count(*) FROM i");
        } while is_merging();
        is(finish($vacuum), '', "$what: it ends");
        is(ask($reader, 'SELECT * FROM found(1000)'), "$rows|t", "$what: lookups afterwards");
        finish($reader);
        last if $rounds;
    }
    cmp_ok($rounds, '>', 0, "$what: $rounds times until it ends");
    like($node->safe_psql('postgres', $state), qr/^$rows\|\d\|\d{1,3}\|1$/, "$what: all is one run, and a tail");
}

# A near-duplicate waits for the row that it resembles, not for the merge.
make_table('false');
{
    my $vacuum = held_vacuum('20ms');
    my $writer = session('BEGIN', 'INSERT INTO docs VALUES (807)');
    is(ask($writer, 'SELECT 1'), '1', 'one is written');
    my $other = session('INSERT INTO docs VALUES (1807)');
    ok($node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%(1807)%' AND pid <> pg_backend_pid())}),
        'another one like it waits');
    ok(is_merging(), 'while VACUUM merges');
    is(ask($writer, 'COMMIT'), '', 'the first commits');
    like(finish($other), qr/violates exclusion constraint "docs_sig"/, 'the other is refused');
    ok(is_merging(), 'while VACUUM still merges');
    cancel($vacuum, 'a constraint');
    is($node->safe_psql('postgres', $state), '402|0|202|1', 'a constraint: nothing was merged meanwhile');
    finish($writer);
}

# An ordered scan that began before the merge continues during it, and after pages that it would have read have been
# reused.
for my $fetched (0, 1, 100)
{
    for my $delay ('20ms', '0')
    {
        make_table('true');
        my $reader = session('SET enable_seqscan = off; SET enable_sort = off', 'BEGIN ISOLATION LEVEL REPEATABLE READ',
            'DECLARE c CURSOR FOR SELECT id, doc(id) <%> doc(7) FROM docs ORDER BY doc(id) <%> doc(7)');
        my @rows = split /\n/, ask($reader, $fetched ? "FETCH $fetched IN c" : 'SELECT FROM docs LIMIT 0');
        my $what = "scan in order, $fetched rows before";
        if ($delay eq '0')
        {
            $node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
            my $size = $node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig')});
            $node->safe_psql('postgres', 'INSERT INTO docs SELECT generate_series(401, 600)');
            is($node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig')}), $size, "$what: pages are used again");
            push @rows, split /\n/, ask($reader, 'FETCH ALL IN c');
        }
        else
        {
            my $vacuum = held_vacuum($delay);
            push @rows, split /\n/, ask($reader, 'FETCH ALL IN c');
            ok(is_merging(), "$what: while VACUUM merges");
            cancel($vacuum, $what);
        }
        my %ids = map { s/\|.*//r => 1 } @rows;
        my @distances = map { s/.*\|//r } @rows;
        is(scalar(@rows) . ' ' . scalar(keys %ids), '267 267', "$what: each row once");
        is("@distances", join(' ', sort { $a <=> $b } @distances), "$what: in order");
        is($rows[0], '7|0', "$what: the nearest first");
        finish($reader);
    }
}
$node->stop;
done_testing();
