# Runs bulk functions during writes, VACUUM, and DDL that moves or replaces the table, at every isolation level, with
# workers, and on a standby. Each answer must be the same as on a copy of what its snapshot sees. MINHASH_ROUNDS says
# how many answers (24); MINHASH_SEED gives other calls.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{MINHASH_ROUNDS} || 24;
srand($ENV{MINHASH_SEED} || 24);
sub one_of { return $_[ int rand @_ ]; }

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
jit = off
max_worker_processes = 12
max_parallel_workers = 12
deadlock_timeout = 200ms
CONF
$node->start;
# Texts in families of three: short ones, some that are compressed, some kept outside of their row.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION body_of(n int, version int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(concat(n / 3, word, CASE WHEN word = 1 + (n + version) % 7 THEN version END)), ' ') || n % 3 ||
        CASE WHEN n % 11 = 0 THEN repeat(' and again', 400) ELSE '' END
    FROM generate_series(1, CASE WHEN n % 13 = 0 THEN 150 ELSE 6 + n % 12 END) word
$$;
CREATE FUNCTION pause(n int) RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS
    'BEGIN IF n % 100 = 0 THEN PERFORM pg_sleep(0.005); END IF; RETURN true; END';
CREATE TABLE texts (id int, version int, pad text, body text) WITH (fillfactor = 80);
INSERT INTO texts SELECT n, 0, '', body_of(n, 0) FROM generate_series(1, 1500) n;
CREATE INDEX texts_id ON texts (id);
VACUUM ANALYZE texts;
SQL

# Statements that change the table, over and over, until the sessions are told to stop. An error means that another
# session holds a lock.
my %changes = (
    write => [
        'UPDATE texts SET version = version + 1 WHERE id BETWEEN A AND A + 200',
        'UPDATE texts SET body = body_of(id, version + 1), version = version + 1 WHERE id BETWEEN A AND A + 100',
        'DELETE FROM texts WHERE id BETWEEN A AND A + 100 AND id % 2 = 0',
        'INSERT INTO texts SELECT n, 5, \'\', body_of(n, 5) FROM generate_series(A, A + 100) n
            WHERE NOT EXISTS (SELECT FROM texts WHERE id = n)',
        'UPDATE texts SET pad = repeat(\'p\', A % 400) WHERE id BETWEEN A AND A + 100',
        'BEGIN; UPDATE texts SET body = \'gone\' || id WHERE id BETWEEN A AND A + 300; ROLLBACK',
        'BEGIN; SAVEPOINT s; DELETE FROM texts WHERE id < A; ROLLBACK TO s; UPDATE texts SET version = 1 WHERE id = A; COMMIT',
    ],
    prune => [
        'VACUUM texts', 'VACUUM (FREEZE, INDEX_CLEANUP ON) texts', 'VACUUM (DISABLE_PAGE_SKIPPING) texts',
        'SELECT count(*) FROM texts', 'SELECT sum(length(body)) FROM texts WHERE id > A', 'ANALYZE texts',
    ],
    ddl => [
        'VACUUM FULL texts', 'CLUSTER texts USING texts_id', 'REINDEX TABLE CONCURRENTLY texts',
        'CREATE INDEX CONCURRENTLY IF NOT EXISTS texts_version ON texts (version)', 'DROP INDEX IF EXISTS texts_version',
        'BEGIN; CREATE TEMP TABLE kept ON COMMIT DROP AS TABLE texts; TRUNCATE texts;
            INSERT INTO texts SELECT * FROM kept ORDER BY random(); COMMIT',
        'ALTER TABLE texts ALTER version TYPE bigint, ALTER pad TYPE varchar', 'ALTER TABLE texts ALTER version TYPE int',
        'ALTER TABLE texts ALTER body SET STORAGE EXTERNAL', 'ALTER TABLE texts ALTER body SET STORAGE EXTENDED',
        'BEGIN; ALTER TABLE texts RENAME TO old; CREATE TABLE texts (LIKE old); INSERT INTO texts TABLE old; DROP TABLE old;
            CREATE INDEX texts_id ON texts (id); COMMIT',
    ]);

# Changes the table over and over, until its session is ended. An error means that another session holds a lock.
sub disturb
{
    my ($kind) = @_;
    my $sql = "SET lock_timeout = '2s'; SET client_min_messages = panic;\n";
    for (1 .. 3000)
    {
        my $change = one_of(@{ $changes{$kind} });
        my $from = 1 + int rand 1500;
        $change =~ s/\bA\b/$from/g;
        $sql .= "$change;\nROLLBACK;\nSELECT pg_sleep(" . ($kind eq 'ddl' ? 0.5 : 0.02) . " * random()) \\g /dev/null\n";
    }
    return IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$sql, '>', '/dev/null', '2>', '/dev/null');
}

# Gets two answers from one snapshot: one reads rows again where they lie, the other reads rows that a materialized
# query keeps. PostgreSQL 16 renamed the setting.
my $forced = $node->safe_psql('postgres',
    q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
my %told;
sub ask
{
    my ($server, $where) = @_;
    my $level = one_of('READ COMMITTED', 'REPEATABLE READ', $where eq 'primary' ? 'SERIALIZABLE' : 'REPEATABLE READ');
    my $part = one_of('true', 'id > 400', 'id > 400 AND pause(id)');
    my $arguments = 'threshold => 0.6, num_hashes => 128, bands => 32, rows => 4';
    my ($columns, $function) = ('left_id, right_id, similarity', 'lsh_pairs');
    if (rand() < 0.3) { $arguments .= q{, other_query => 'SELECT id, body FROM texts WHERE id % 3 = 1'}; }
    elsif (rand() < 0.4) { ($columns, $function) = ('id, cluster_id, representative, size, similarity', 'lsh_clusters'); }
    my @answers = map { "(SELECT concat(count(*), ' ', sum(hashtextextended(concat_ws(',', $columns), 0))) FROM $function(\$\$$_\$\$, $arguments))" }
      "SELECT id, body FROM texts WHERE $part", "WITH t AS MATERIALIZED (TABLE texts) SELECT id, body FROM t WHERE $part";
    my $workers = 1 + int rand 4;
    my $sql = "SET max_parallel_maintenance_workers = $workers; SET $forced = regress; SET max_parallel_workers_per_gather = 0;
        SET maintenance_work_mem = '" . one_of('1MB', '64MB') . "'; SET enable_seqscan = " . one_of('on', 'on', 'off') . ';';
    # At READ COMMITTED each statement has its own snapshot, so one statement asks for both.
    $sql .= "BEGIN ISOLATION LEVEL $level;" . ($level eq 'READ COMMITTED' ? "SELECT $answers[0] UNION ALL SELECT $answers[1];"
        : "SELECT $answers[0]; SET LOCAL max_parallel_maintenance_workers = 0; SELECT $answers[1];") . 'COMMIT';
    my ($status, $said, $error) = $server->psql('postgres', $sql, on_error_stop => 1);
    if ($status)
    {
        $told{"$where: errors"}++;
        like($error, qr/could not serialize|deadlock detected|lock timeout|conflict with recovery|does not exist/,
            "$where: an error that others make") or diag($sql);
        return;
    }
    my ($again, $kept) = split /\n/, $said;
    $told{"$where: answers"}++;
    $told{"$where: pairs"} += (split / /, $again)[0];
    is($again, $kept, "$where, $level, $function of $part, $workers workers") or diag($sql);
}

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 1s\nhot_standby_feedback = off\n");
$standby->start;
my @sessions = map { disturb($_) } 'write', 'write', 'prune', 'ddl';
for my $round (1 .. $rounds)
{
    ask($round % 4 ? ($node, 'primary') : ($standby, 'standby'));
}
for my $session (@sessions)
{
    ok($session->pumpable, 'changes went on to the end');
    $session->kill_kill;
}
note(join ', ', map { "$_ $told{$_}" } sort keys %told);
cmp_ok($told{'primary: answers'}, '>=', $rounds * 0.6, 'most calls had an answer');
cmp_ok($told{'standby: answers'} // 0, '>', 0, 'and some on the standby');
cmp_ok($told{'primary: pairs'}, '>', $rounds * 50, 'there were pairs to find');
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|terminated by signal|could not read row/, 'no server was harmed') for $node, $standby;
$standby->stop;
$node->stop;
done_testing();
