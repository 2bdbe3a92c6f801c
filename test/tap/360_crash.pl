# The whole server is killed while sessions write, again and again. After each recovery, which also verifies every page
# that it replays, band table and GIN index must agree with the heap.
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

my $crashes = 6;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
autovacuum_naptime = 1s
gin_pending_list_limit = 64kB
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (
    id serial PRIMARY KEY,
    body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED
);
INSERT INTO docs (body) SELECT repeat(md5((i / 3)::text), 2) || i FROM generate_series(1, 300) i;
SELECT lsh_create_band_table('docs');
CREATE INDEX docs_sig ON docs USING gin (sig);
-- See test/bench/HISTORY.md on wal_consistency_checking.
ALTER TABLE docs SET (vacuum_truncate = off, toast.vacuum_truncate = off);
ALTER TABLE docs_bands SET (vacuum_truncate = off);
SQL

# One script for each writer: one writes rows near existing ones, one writes several rows per statement, and one rolls
# parts of its transactions back.
my @scripts = (
    q{INSERT INTO docs (body) SELECT repeat(md5((random() * 500)::int::text), 2) || i FROM generate_series(1, 5) i;},
    q{UPDATE docs SET body = repeat(md5((random() * 500)::int::text), 2) || id WHERE id % 97 = (random() * 96)::int;},
    q{BEGIN; DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 2);
SAVEPOINT a; INSERT INTO docs (body) VALUES (md5(random()::text)); ROLLBACK TO a;
INSERT INTO docs (body) VALUES (repeat(md5(random()::text), 3)); COMMIT;});
my @files;
for my $script (@scripts)
{
    push @files, $node->basedir . '/script' . @files;
    append_to_file($files[-1], $script . "\n");
}

my $wanted = 'SELECT k.key, d.id FROM docs d, lsh_bands(sig, 13, 7) k';
sub missing_and_too_many
{
    return $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
SELECT (SELECT count(*) FROM ($wanted EXCEPT ALL TABLE docs_bands) a),
       (SELECT count(*) FROM (TABLE docs_bands EXCEPT ALL $wanted) b);
SQL
}

# Finds which rows share a band, through the index and through a join of keys that no index helps.
sub pairs_by_index
{
    return $node->safe_psql('postgres', <<'SQL');
SET enable_seqscan = off; SET enable_indexscan = off;
SET minhash_lsh.similarity_threshold = 0.05; SET minhash_lsh.recall_notice = 0;
SELECT count(*), sum(hashint4(p.id) # hashint4(d.id)) FROM docs p JOIN docs d ON d.sig % p.sig WHERE p.id % 3 = 0;
SQL
}

sub pairs_by_keys
{
    return $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
WITH k AS MATERIALIZED ($wanted), p AS MATERIALIZED (SELECT DISTINCT x.id AS left_id, y.id AS right_id
    FROM k x JOIN k y USING (key) WHERE x.id % 3 = 0)
SELECT count(*), sum(hashint4(left_id) # hashint4(right_id))
FROM p JOIN docs a ON a.id = left_id JOIN docs b ON b.id = right_id
WHERE minhash_similarity(a.sig, b.sig) >= 0.05;
SQL
}

like($node->safe_psql('postgres', <<'SQL'), qr/docs_sig/, 'the index is used');
SET enable_seqscan = off; SET enable_indexscan = off;
EXPLAIN (COSTS off) SELECT count(*) FROM docs p JOIN docs d ON d.sig % p.sig WHERE p.id % 3 = 0;
SQL

my $before = 0;
for my $crash (1 .. $crashes)
{
    my $out = '';
    my @writers = map {
        IPC::Run::start(
            [ 'pgbench', '-n', '-c', '1', '-T', '60', '--max-tries=100',
                '-f', $_, $node->connstr('postgres') ],
            '>', \$out, '2>', \$out)
    } @files;
    # Every other round has a checkpoint, so that there is sometimes less to replay and sometimes more.
    $node->safe_psql('postgres', 'CHECKPOINT') if $crash % 2;
    ok($node->poll_query_until('postgres', <<"SQL"), "$crash: all are writing");
SELECT count(*) = @{[ scalar @files ]} AND EXISTS (SELECT FROM docs WHERE id > $before)
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
SQL
    sleep rand;
    my $killed = kill_server($node);
    cmp_ok($killed, '>', 6, "$crash: $killed processes");
    $_->finish for @writers;
    my $start = -s $node->logfile;
    $node->start;
    like(slurp_file($node->logfile, $start), qr/redo starts at/, "$crash: recovery had something to replay");
    my $written = $node->safe_psql('postgres', 'SELECT last_value FROM docs_id_seq');
    cmp_ok($written, '>', $before, "$crash: rows were written");
    $before = $written;
    is(missing_and_too_many(), '0|0', "$crash: the band table has the heap's keys");
    my $pairs = pairs_by_keys();
    is(pairs_by_index(), $pairs, "$crash: the index finds what the heap's keys say");
    note("$pairs, " . $node->safe_psql('postgres', 'SELECT count(*) FROM docs') . ' rows');
}
unlike(slurp_file($node->logfile), qr/PANIC|inconsistent page/, 'no page was replayed wrongly');

# The comparison must notice differences.
$node->safe_psql('postgres', <<'SQL');
DELETE FROM docs_bands WHERE id = (SELECT max(id) FROM docs_bands);
INSERT INTO docs_bands VALUES (1, -1);
UPDATE pg_index SET indisready = false WHERE indexrelid = 'docs_sig'::regclass;
SQL
is(missing_and_too_many(), '13|1', 'a band table out of step is seen');
$node->safe_psql('postgres', q{INSERT INTO docs (id, body) SELECT 3 - max(id) % 3 + max(id), 'Not in the index' FROM docs});
$node->safe_psql('postgres', q{UPDATE pg_index SET indisready = true WHERE indexrelid = 'docs_sig'::regclass});
isnt(pairs_by_index(), pairs_by_keys(), 'an index out of step is seen');
$node->stop;
done_testing();
