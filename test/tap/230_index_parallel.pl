# Parallel workers build lsh indexes: the index must be the same as without them, whatever is indexed. Builds whose
# workers fail, are cancelled or are terminated must leave nothing behind.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_worker_processes = 16
max_parallel_maintenance_workers = 2
CONF
$node->start;
# Functions name the schema, because PostgreSQL 17 builds indexes with its own search_path. Signatures are small, so
# that there are many; `slow` takes its time, so that workers start early enough to do something.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int) RETURNS minhash_signature IMMUTABLE PARALLEL SAFE LANGUAGE sql AS
    $$SELECT public.minhash(md5(what::text) || md5((what + 1)::text), 32)$$;
CREATE FUNCTION slow(sig minhash_signature, fails bool DEFAULT false) RETURNS minhash_signature
    IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'process %', pg_backend_pid();
    PERFORM pg_sleep(0.001);
    IF fails THEN
        RAISE 'no signature here';
    END IF;
    RETURN sig;
END
$$;
-- Waits as long as there is a file.
CREATE FUNCTION held(sig minhash_signature) RETURNS minhash_signature IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
    WHILE (pg_stat_file('held', true)).size IS NOT NULL LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN sig;
END
$$;
CREATE FUNCTION slow_alone(sig minhash_signature) RETURNS minhash_signature IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS
    'BEGIN RETURN public.slow(sig); END';
CREATE TABLE docs (id int, part int, sig minhash_signature);
INSERT INTO docs SELECT i, i % 3, CASE WHEN i % 100 > 0 THEN doc(i % 30000) END FROM generate_series(1, 60000) i;
INSERT INTO docs SELECT 0, 0, minhash('', 32) FROM generate_series(1, 100) i;
CREATE TABLE few (LIKE docs);
INSERT INTO few SELECT * FROM docs WHERE id <= 1500;
ALTER TABLE docs SET (parallel_workers = 2);
ALTER TABLE few SET (parallel_workers = 2);
SQL

my $alone = 'SET max_parallel_maintenance_workers = 0';

# How many processes signed the rows, and the message of an error.
sub build
{
    my ($statement) = @_;
    my (undef, undef, $messages) = $node->psql('postgres', $statement);
    my %processes = map { $_ => 1 } $messages =~ /process (\d+)/g;
    my ($error) = $messages =~ /ERROR: +(.*)/;
    return (scalar(keys %processes), $error);
}

sub workers_left
{
    return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'});
}

# With and without workers, the records must be the same, and the runs must have the same contents.
sub same_as_alone
{
    my ($columns, $what, $more) = (@_, '');
    $node->safe_psql('postgres', "CREATE INDEX by_all ON docs USING lsh ($columns) $more");
    $node->safe_psql('postgres', "$alone; CREATE INDEX by_one ON docs USING lsh ($columns) $more");
    is($node->safe_psql('postgres', q{SELECT records, dead, in_tail, contents FROM lsh_check('by_all', heap => true)}),
        $node->safe_psql('postgres', q{SELECT records, dead, in_tail, contents FROM lsh_check('by_one', heap => true)}),
        "$what: the same index as without workers");
    $node->safe_psql('postgres', 'DROP INDEX by_all, by_one');
}
same_as_alone('sig', 'signatures');
same_as_alone('part, sig', 'with a scope');
same_as_alone('sig', 'rows of a condition', 'WHERE id % 7 = 0');
same_as_alone('sig', 'no rows', 'WHERE id < 0');
same_as_alone('sig', 'empty sets', 'WHERE id = 0');
same_as_alone('doc(id % 200)', 'an expression');

# Checks which processes take part.
my $slow = 'CREATE INDEX few_sig ON few USING lsh';
my ($processes) = build("$slow (slow(sig))");
cmp_ok($processes, '>', 1, "$processes processes read the table");
($processes) = build("$alone; REINDEX INDEX few_sig");
is($processes, 1, 'one if more are not allowed');
($processes) = build('REINDEX INDEX CONCURRENTLY few_sig');
cmp_ok($processes, '>', 1, "CONCURRENTLY: $processes");
$node->safe_psql('postgres', 'DROP INDEX few_sig');
($processes) = build("$slow (slow_alone(sig))");
is($processes, 1, 'one if a function is not safe in workers');
$node->safe_psql('postgres', 'DROP INDEX few_sig');

# With little memory, entries are sorted in parts, which are merged. A lookup of a row finds the row itself and its
# twin.
$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; CREATE INDEX docs_sig ON docs USING lsh (sig)");
is($node->safe_psql('postgres', q{SELECT runs FROM lsh_check('docs_sig', heap => true)}), 1, 'little memory, one run');
my $lookups = <<'SQL';
SET enable_seqscan = off; SET minhash_lsh.similarity_threshold = 1;
SELECT count(*), sum(ids) FROM (SELECT (SELECT count(*) FROM docs d WHERE d.sig % q.sig) ids
    FROM docs q WHERE q.id % 101 = 1 AND q.sig IS NOT NULL) found
SQL
like($node->safe_psql('postgres', $lookups), qr/^(\d+)\|(\d+)$/, 'lookups');
my ($rows, $found) = split /\|/, $node->safe_psql('postgres', $lookups);
is($found, 2 * $rows, 'each row and its twin are found');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM docs WHERE minhash_similar(sig, doc(1), 0)'),
    59500, 'all rows that have a signature are, where any similarity will do');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM (SELECT sig <%> doc(1) AS d, lag(sig <%> doc(1)) OVER () AS before FROM docs ORDER BY sig <%> doc(1) LIMIT 40000) x WHERE d < before'),
    0, 'and in the order of their distance');
$node->safe_psql('postgres', 'DROP INDEX docs_sig');

# Tests workers that fail: their work is undone, and they are gone.
sub build_fails
{
    my ($statement, $expected, $what) = @_;
    my (undef, $error) = build($statement);
    like($error, $expected, $what);
    $node->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'parallel worker')});
    is(workers_left(), 0, "$what: no worker is left");
    is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname = 'few_sig'}), 0, "$what: no index");
}
build_fails("$slow (slow(sig, id IN (700, 1400)))", qr/no signature here/, 'an error of whoever meets it');
build_fails("SET statement_timeout = '300ms'; $slow (slow(sig))", qr/statement timeout/, 'a statement that takes too long');
$node->safe_psql('postgres', q{UPDATE few SET sig = minhash('another scheme', 64) WHERE id = 1450});
build_fails("$slow (slow(sig))", qr/signature has a different scheme/, 'signatures of two schemes');
$node->safe_psql('postgres', 'DELETE FROM few WHERE id = 1450');

# Runs a build, holds it until its worker has been seen, and then runs `statement`.
sub beside
{
    my ($statement) = @_;
    my ($output, $held) = ('', $node->data_dir . '/held');
    append_to_file($held, '');
    my $build = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', "$slow (held(sig))" ], '>', \$output, '2>', \$output);
    ok($node->poll_query_until('postgres', <<'SQL'), 'a worker at its work');
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND query LIKE 'CREATE INDEX few_sig %')
SQL
    my $result = $node->safe_psql('postgres', $statement);
    unlink $held;
    $build->finish;
    return "$result $output";
}
like(beside('SELECT phase FROM pg_stat_progress_create_index'), qr/^building index: scanning table .*CREATE INDEX/s, 'progress, and the build ends');
$node->safe_psql('postgres', 'DROP INDEX few_sig');
like(beside(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'CREATE%' AND leader_pid IS NOT NULL}),
    qr/^[12] .*ERROR: +(terminating|lost connection)/s, 'a worker that is ended ends the build');

# Builds concurrently with writers.
my $writes = $node->basedir . '/writes';
append_to_file($writes, <<'SQL');
\set id random(1, 2000)
INSERT INTO few VALUES (:id, 1, doc(:id));
UPDATE few SET sig = doc(:id + 1) WHERE id = :id + 1;
DELETE FROM few WHERE id = :id + 2;
SQL
my $output = '';
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 5, '-f', $writes, $node->connstr('postgres') ], '>', \$output, '2>', \$output);
$node->safe_psql('postgres', 'CREATE INDEX CONCURRENTLY few_sig ON few USING lsh (slow(sig))');
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY few_sig');
$writers->finish;
unlike($output, qr/ERROR/, 'writers go on') or diag($output);
like($node->safe_psql('postgres', q{SELECT * FROM lsh_check('few_sig', heap => true)}), qr/^\d/, 'CONCURRENTLY amid writers: every row is there');

# Tests unlogged and partitioned tables, constraints, indexes created in the transaction that creates the table, and a
# crash right after the build, also where a new file is written instead of logged.
for my $level ('replica', 'minimal')
{
    $node->append_conf('postgresql.conf', "wal_level = $level\nmax_wal_senders = " . ($level eq 'minimal' ? 0 : 5));
    $node->restart;
    $node->safe_psql('postgres', <<'SQL');
DROP TABLE IF EXISTS other, other_unlogged, other_parts;
BEGIN;
CREATE TABLE other (LIKE docs) WITH (parallel_workers = 2);
INSERT INTO other SELECT * FROM docs WHERE id <= 30000;
CREATE INDEX other_sig ON other USING lsh (sig);
COMMIT;
CREATE INDEX other_part_sig ON other USING lsh (part, sig);
ALTER TABLE other ADD CONSTRAINT apart EXCLUDE USING lsh (sig WITH %, id WITH =) WITH (threshold = 0.9) WHERE (id < 500 AND id > 0);
CREATE UNLOGGED TABLE other_unlogged WITH (parallel_workers = 2) AS SELECT * FROM docs;
CREATE INDEX unlogged_sig ON other_unlogged USING lsh (sig);
CREATE TABLE other_parts (LIKE docs) PARTITION BY RANGE (id);
CREATE TABLE other_low PARTITION OF other_parts FOR VALUES FROM (MINVALUE) TO (20000) WITH (parallel_workers = 2);
CREATE TABLE other_high PARTITION OF other_parts FOR VALUES FROM (20000) TO (MAXVALUE) WITH (parallel_workers = 2);
INSERT INTO other_parts SELECT * FROM docs;
CREATE INDEX ON other_parts USING lsh (sig);
SQL
    is($node->safe_psql('postgres', q{SELECT records FROM lsh_check('unlogged_sig', heap => true)}), 60100, "$level: unlogged");
    $node->stop('immediate');
    $node->start;
    my $checks = join ';', map { "SELECT records > 0 OR '$_' = 'unlogged_sig' FROM lsh_check('$_', heap => true)" }
      qw(other_sig other_part_sig apart unlogged_sig other_low_sig_idx other_high_sig_idx);
    is($node->safe_psql('postgres', $checks), join("\n", ('t') x 6), "$level: all is there after a crash");
}
$node->stop;
done_testing();
