# Merges of an lsh index proceed in small steps: the work of one insertion is bounded whatever was inserted before, a
# cancel loses no more than its own row, a crash during a merge loses no work of the merge, and few runs are left.
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
full_page_writes = off
fsync = off
checkpoint_timeout = 1h
max_wal_size = 4GB
log_min_error_statement = panic
log_min_messages = fatal
max_parallel_maintenance_workers = 0
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int, hashes int DEFAULT 128) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(md5(what::text) || md5((what + 1)::text), hashes, shingle_size => 3)$$;
CREATE TABLE docs (id int, sig minhash_signature);
CREATE INDEX docs_sig ON docs USING lsh (sig);
-- Inserts rows one by one. Returns the most log that one insertion wrote, and the most runs that there were after one.
CREATE FUNCTION insert_rows(first int, last int, OUT most_log bigint, OUT most_runs int) LANGUAGE plpgsql AS $$
DECLARE
    before pg_lsn;
BEGIN
    most_log := 0;
    most_runs := 0;
    FOR i IN first .. last LOOP
        before := pg_current_wal_insert_lsn();
        INSERT INTO docs VALUES (i, doc(i));
        most_log := greatest(most_log, pg_current_wal_insert_lsn() - before);
        IF i % 500 = 0 THEN
            most_runs := greatest(most_runs, (SELECT runs FROM lsh_check('docs_sig')));
        END IF;
    END LOOP;
END $$;
SQL

# Fields of the meta page, as format.h defines them.
sub meta
{
    $node->safe_psql('postgres', 'CHECKPOINT');
    my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('docs_sig')});
    my $page = substr(slurp_file($file), 24, 88);
    my (undef, $version, $runs, $unswept, $rewritten, $merges, $dead_trees) = unpack 'L L x20 L x8 Q Q L L', $page;
    is($version, 5, 'the format version') or BAIL_OUT('format.h has changed');
    return { runs => $runs, unswept => $unswept, rewritten => $rewritten, merges => $merges,
        dead_trees => $dead_trees };
}

sub same_as_new
{
    my ($what, $records) = @_;
    my ($state) = $node->safe_psql('postgres', <<'SQL');
CREATE INDEX docs_new ON docs USING lsh (sig);
SELECT a.records, a.contents = b.contents FROM lsh_check('docs_sig', heap => true) a,
    lsh_check('docs_new', heap => true) b;
DROP INDEX docs_new;
SQL
    is($state, "$records|t", "$what: all is there");
    return;
}

# The work of one insertion. It logs about a page for each index page that it writes, and a hundredth of a page for each
# that it frees. It writes at most 42 pages for a run of the tail, or 32 leaves with their filters and inner pages.
my ($log, $runs) = split /\|/, $node->safe_psql('postgres', 'SELECT * FROM insert_rows(1, 40000)');
cmp_ok($log, '>', 34 * 5000, "one insertion writes a run of the tail, $log bytes of log");
cmp_ok($log, '<', 48 * 8192, 'and no more than that');
cmp_ok($runs, '>', 2, "$runs runs at most");
cmp_ok($runs, '<=', 10, 'and not many');
same_as_new('inserted one by one', 40000);

# The server crashes during a merge. The next insertions and VACUUM continue the merge.
my $at = 40000;
my $state;
do {
    $node->safe_psql('postgres', "SELECT insert_rows($at + 1, $at + 20)");
    $at += 20;
    $state = meta();
} until $state->{merges} > 0 || $at > 50000;
cmp_ok($state->{merges}, '>', 0, 'a merge is under way');
$node->stop('immediate');
$node->start;
is(meta()->{merges}, $state->{merges}, 'and after a crash still is');
same_as_new('after a crash', $at);
$node->safe_psql('postgres', "SELECT insert_rows($at + 1, $at + 1000)");
$at += 1000;
same_as_new('and insertions', $at);
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'VACUUM docs');
$state = meta();
is("$state->{merges} $state->{dead_trees} $state->{unswept}", '0 0 0', 'VACUUM brings all to its end');
cmp_ok($state->{runs}, '<=', 3, "and leaves $state->{runs} runs");
same_as_new('after VACUUM', $at);

# Statements are cancelled at any point. With 1,024 hashes, every seventh row fills a page.
$node->safe_psql('postgres', 'DROP TABLE docs; CREATE TABLE docs (id int, sig minhash_signature);
    CREATE INDEX docs_sig ON docs USING lsh (sig)');
my ($rows, $batch) = (6000, 30);
$node->safe_psql('postgres', "CREATE TABLE staged AS
    SELECT i AS id, doc(i, 1024) AS sig FROM generate_series(1, $rows) i; ALTER TABLE staged ADD PRIMARY KEY (id)");
my $script = "\\set ON_ERROR_STOP off\nSET enable_seqscan = off;\n";
for (my $i = 0; $i < $rows; $i += $batch)
{
    my $timeout = 1 + $i / $batch % 8;
    $script .= "SET statement_timeout = '${timeout}ms';\nINSERT INTO docs SELECT * FROM staged WHERE id > $i AND id <= $i + $batch;\n";
}
my (undef, undef, $errors) = $node->psql('postgres', $script);
my $cancelled = () = $errors =~ /statement timeout|user request/g;
note("$cancelled cancelled");
cmp_ok($cancelled, '>', 10, 'insertions are cancelled');
# If a statement times out at its very end, PostgreSQL cancels the next statement, as if a user had asked for it.
is(join("\n", grep { /ERROR/ && !/statement timeout|user request/ } split /\n/, $errors), '', 'cancelled: no other error');
my ($records, $size) = split /\|/, $node->safe_psql('postgres',
    q{SELECT count(*), pg_relation_size('docs_sig') FROM docs});
cmp_ok($records, '>=', $rows - $batch * $cancelled, 'what was not cancelled is there'); # SET can be cancelled, too
$runs = $node->safe_psql('postgres', q{SELECT runs FROM lsh_check('docs_sig', heap => true)});
cmp_ok($runs, '<=', 16, "cancelled: $runs runs");
my $new_size = $node->safe_psql('postgres', q{CREATE INDEX docs_new ON docs USING lsh (sig);
    SELECT pg_relation_size('docs_new'); DROP INDEX docs_new});
cmp_ok($size, '<', 2.5 * $new_size * $rows / $records, 'cancelled: the index has not grown for nothing');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
is(meta()->{unswept}, 0, 'cancelled: VACUUM leaves no page unused');
same_as_new('cancelled', $records);

# VACUUM is cancelled wherever it is. Pages that it has written and that nothing points to are free again after the next
# one.
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id % 3 = 0');
my ($before, $times, @sizes) = ($node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig') / 8192}), 0);
for my $round (1 .. 30)
{
    my (undef, undef, $error) = $node->psql('postgres',
        'SET statement_timeout = ' . 3 * $round . '; VACUUM (INDEX_CLEANUP ON) docs');
    $times++ if $error =~ /statement timeout/;
    push @sizes, $node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig') / 8192});
    $node->safe_psql('postgres', "INSERT INTO docs SELECT 1, doc(i, 1024) FROM generate_series(1, 40) i;
        DELETE FROM docs WHERE id = 1");
}
note("VACUUM was cancelled $times times of 30; pages: $before, then @sizes");
cmp_ok($times, '>', 2, 'VACUUM was cancelled');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs') for 1 .. 2;
$state = meta();
is("$state->{merges} $state->{dead_trees} $state->{unswept} $state->{rewritten}", '0 0 0 0',
    'the next VACUUM brings all to its end');
is($node->safe_psql('postgres', q{SELECT lost_pages FROM lsh_check('docs_sig')}), 0, 'all pages are free or used');
cmp_ok($node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig') / 8192}), '<', 2.5 * $before,
    'and pages were used again');
same_as_new('VACUUM cancelled', $node->safe_psql('postgres', 'SELECT count(*) FROM docs'));

# A run that a cancelled VACUUM was rewriting may be merged at once.
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id % 3 = 1');
my $slow = "SET vacuum_cost_delay = 1; SET vacuum_cost_limit = 1; SET vacuum_cost_page_hit = 1; SET vacuum_cost_page_miss = 1;
SET vacuum_cost_page_dirty = 1; VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs";
my $ended = '';
my $vacuum = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), map { ('-c', $_) } split /;\s*/, $slow ], '>', \$ended,
    '2>', \$ended);
my $rewriting = q{FROM pg_locks WHERE locktype = 'page' AND page = 1 AND relation = 'docs_sig'::regclass};
ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT $rewriting)"), 'VACUUM writes a run again');
is($node->safe_psql('postgres', "SELECT pg_sleep(0.3); SELECT pg_cancel_backend(pid) $rewriting"), "\nt", 'for some time');
$vacuum->finish;
like($ended, qr/canceling statement/, 'and is cancelled');
isnt(meta()->{rewritten}, 0, 'the run is said to be written again');
cmp_ok($node->safe_psql('postgres', q{SELECT lost_pages FROM lsh_check('docs_sig')}), '>', 0,
    'lsh_check() tells of the pages that it left');
$node->safe_psql('postgres', 'INSERT INTO docs SELECT -i, doc(i, 1024) FROM generate_series(1, 400) i');
is(meta()->{rewritten}, 0, 'until the next insertion that merges');
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id < 0; VACUUM (INDEX_CLEANUP ON) docs');
is($node->safe_psql('postgres', q{SELECT lost_pages FROM lsh_check('docs_sig')}), 0, 'all pages are free or used again');

# With little memory, a build sorts in parts, and so does a VACUUM that rewrites a run. Another session watches the
# build's progress.
$node->safe_psql('postgres', 'DROP TABLE docs; CREATE TABLE docs AS
    SELECT i AS id, doc(i, 16) AS sig FROM generate_series(1, 250000) i');
my ($seen, $watching) = ('', <<'SQL');
CREATE TEMP TABLE seen (phase text, tuples_done bigint, tuples_total bigint);
\echo watches
DO $$BEGIN
    FOR i IN 1 .. 20000 LOOP
        INSERT INTO seen SELECT phase, tuples_done, tuples_total FROM pg_stat_progress_create_index;
        EXIT WHEN NOT FOUND AND EXISTS (SELECT FROM seen);
        PERFORM pg_stat_clear_snapshot(), pg_sleep(0.001);
    END LOOP;
END$$;
SELECT phase, count(DISTINCT tuples_done) > 1, max(tuples_total)
FROM seen WHERE phase ~ 'scanning|sorting' GROUP BY 1 ORDER BY 1;
SQL
my $watcher = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$watching, '>', \$seen,
    '2>', \$seen);
$watcher->pump until $seen =~ /watches/;
$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; CREATE INDEX docs_sig ON docs USING lsh (sig)");
$watcher->finish;
like($seen, qr/^building index: scanning table\|t\|\d+\nbuilding index: sorting keys\|t\|250000$/m,
    'progress of a build by rows');
is(meta()->{runs}, 1, 'a build with little memory: one run');
my ($parts, $whole) = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT pg_relation_size('docs_sig');
SET maintenance_work_mem = '64MB';
CREATE INDEX docs_new ON docs USING lsh (sig);
SELECT pg_relation_size('docs_new');
DROP INDEX docs_new;
SQL
cmp_ok($parts, '<', 1.02 * $whole, "as large as with much memory: $parts, $whole bytes");
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id % 4 = 0');
$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; VACUUM (INDEX_CLEANUP ON) docs");
is($node->safe_psql('postgres', q{SELECT dead, runs FROM lsh_check('docs_sig')}), '0|1',
    'VACUUM with little memory: one run, nothing dead');
same_as_new('with little memory', 187500);
$node->stop;
done_testing();
