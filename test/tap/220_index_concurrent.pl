# Sessions look up through an lsh index while others write, merge, vacuum and rebuild it. In each snapshot, the index
# must give the same rows as a sequential scan. MINHASH_ROUNDS says for how many seconds. A standby, which verifies
# every page that it replays, must give the same rows meanwhile.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{MINHASH_ROUNDS} || 12;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$primary->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
shared_buffers = 32MB
maintenance_work_mem = 1MB
autovacuum = off
max_wal_size = 4GB
wal_keep_size = 4GB
CONF
$primary->start;
# Signatures of 512 hashes, so that a few hundred rows make a run. Each text has exact copies, which
# bands never miss, and near ones.
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (id serial PRIMARY KEY, sig minhash_signature);
CREATE FUNCTION some_signature() RETURNS minhash_signature VOLATILE LANGUAGE sql AS
    $$SELECT minhash(repeat(md5((random() * 300)::int::text), 2) || (random() * 3)::int, 512)$$;
INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 500) i;
CREATE INDEX docs_sig ON docs USING lsh (sig);
-- Signatures outside of their rows: an insertion locks the table that they are in, and thereby learns of each VACUUM.
CREATE TABLE far AS SELECT minhash(i::text, 1024) AS sig FROM generate_series(1, 500) i;
CREATE TABLE copies (LIKE far);
CREATE INDEX ON copies USING lsh (sig);
-- Raises an error if index and table differ. Returns the number of rows that were found.
CREATE FUNCTION verify() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    query minhash_signature;
    by_index int[];
    by_table int[];
    nearest_by_index float8[];
    nearest_by_table float8[];
    n int;
BEGIN
    SELECT count(*) INTO n FROM docs;
    SELECT sig INTO query FROM docs OFFSET floor(random() * n) LIMIT 1;
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', (random() < 0.5)::text, true);
    PERFORM set_config('minhash_lsh.similarity_threshold', '1', true);
    EXECUTE 'SELECT array_agg(id) FROM (SELECT id FROM docs WHERE sig % $1) s' INTO by_index USING query;
    EXECUTE 'SELECT array_agg(d) FROM (SELECT sig <%> $1 AS d FROM docs ORDER BY sig <%> $1 LIMIT 7) s' INTO nearest_by_index USING query;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true);
    PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE 'SELECT array_agg(id ORDER BY id) FROM docs WHERE sig = $1' INTO by_table USING query;
    EXECUTE 'SELECT array_agg(d) FROM (SELECT sig <%> $1 AS d FROM docs ORDER BY d LIMIT 7) s' INTO nearest_by_table USING query;
    IF (SELECT array_agg(i ORDER BY i) FROM unnest(by_index) i) IS DISTINCT FROM by_table THEN
        RAISE 'by index %, by table %', by_index, by_table;
    END IF;
    IF nearest_by_index IS DISTINCT FROM nearest_by_table THEN
        RAISE 'nearest by index %, by table %', nearest_by_index, nearest_by_table;
    END IF;
    RETURN cardinality(by_index);
END $$;
-- lsh_check of the index by its name. A REINDEX CONCURRENTLY that ends between the name and the lock has
-- renamed or dropped the index that the name meant; then there is nothing to check.
CREATE FUNCTION check_index(heap boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT lsh_check(%L, heap => %L)', 'docs_sig', heap);
EXCEPTION WHEN undefined_table OR object_not_in_prerequisite_state THEN
    NULL;
END $$;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;
# In a long run, writers must wait for the standby. Otherwise it falls behind until the log that it needs is gone.
if ($seconds > 60)
{
    $primary->append_conf('postgresql.conf', "synchronous_standby_names = 'standby'\nsynchronous_commit = remote_apply\n");
    $primary->reload;
}

my $verify = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT verify(); COMMIT;';
my @scripts = (
    [ $primary, 1, q{INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 20);} ],
    [ $primary, 1, q{INSERT INTO copies SELECT sig FROM far;
\sleep 300 ms} ],
    [ $primary, 1, q{VACUUM ANALYZE copies;} ],
    [ $primary, 1, q{UPDATE docs SET sig = some_signature() WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 10);} ],
    [ $primary, 1, q{DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY id LIMIT 40);
\sleep 50 ms} ],
    [ $primary, 1, q{VACUUM (INDEX_CLEANUP ON) docs;} ],
    [ $primary, 1, q{REINDEX INDEX CONCURRENTLY docs_sig;
\sleep 1000 ms} ],
    [ $primary, 1, q{SELECT check_index(heap => true);
\sleep 300 ms} ],
    [ $primary, 2, $verify ],
    [ $standby, 1, $verify ],
    [ $standby, 1, q{SELECT check_index(heap => false);
SELECT check_index(heap => true);} ]);
my (@runs, @outputs);
for my $at (0 .. $#scripts)
{
    my ($node, $clients, $script) = @{ $scripts[$at] };
    my $file = $primary->basedir . "/script$at";
    append_to_file($file, "$script\n");
    $outputs[$at] = '';
    push @runs, IPC::Run::start(
        [ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '--max-tries=100', '-f', $file, $node->connstr('postgres') ],
        '>', \$outputs[$at], '2>', \$outputs[$at]);
}
$_->finish for @runs;
for my $at (0 .. $#scripts)
{
    my ($count) = $outputs[$at] =~ /number of transactions actually processed: (\d+)/;
    my $what = ($scripts[$at][0] == $standby ? 'standby: ' : '') . substr($scripts[$at][2], 0, 60) =~ s/\n.*//sr;
    cmp_ok($count // 0, '>', 0, "$what: " . ($count // 'none') . ' times');
    unlike($outputs[$at], qr/ERROR|aborted/, "$what: without an error") or diag($outputs[$at]);
}
note($primary->safe_psql('postgres', q{SELECT count(*), last_value, pg_relation_size('docs_sig') FROM docs, docs_id_seq GROUP BY 2}));

# Standby and primary must have the same rows.
my $check = q{SELECT * FROM lsh_check('docs_sig', heap => true)};
my $state = $primary->safe_psql('postgres', $check);
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $check), $state, "the standby holds the same: $state");
$primary->stop;
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|inconsistent page/, 'no page was replayed wrongly');
$standby->promote;
$standby->safe_psql('postgres', 'INSERT INTO docs (sig) SELECT some_signature() FROM generate_series(1, 1000); DELETE FROM docs WHERE id % 2 = 0');
$standby->safe_psql('postgres', 'VACUUM docs');
like($standby->safe_psql('postgres', $check), qr/^\d+\|/, 'promoted, it goes on');
like($standby->safe_psql('postgres', 'SELECT verify()'), qr/^\d+$/, 'promoted, lookups find what is there');
$standby->stop;
done_testing();
