# Tests what happens to lsh indexes in the life of a server: prepared transactions, a crash with an unlogged table,
# cancelled builds and VACUUMs, a merge that is held, and an index of another version.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
# Clusters of 18 have checksums by default, which would see the changed version first.
$node->append_conf('postgresql.conf', "max_prepared_transactions = 3\nautovacuum = off\nignore_checksum_failure = on\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(md5(what::text) || md5((what + 1)::text), 512)$$;
CREATE TABLE docs (id int, sig minhash_signature);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 2000) i;
CREATE INDEX docs_sig ON docs USING lsh (sig);
CREATE UNLOGGED TABLE brief (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9));
INSERT INTO brief SELECT i, doc(i) FROM generate_series(1, 500) i;
CREATE TABLE guarded (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9));
SQL

sub ids
{
    my ($what) = @_;
    return $node->safe_psql('postgres', "SET enable_seqscan = off; SELECT string_agg(id::text, ',' ORDER BY id) FROM docs WHERE sig % doc($what)");
}

# How many rows the index has, and whether a new index has the same ones.
sub state
{
    return $node->safe_psql('postgres', <<'SQL');
CREATE INDEX docs_new ON docs USING lsh (sig);
SELECT a.records, a.contents = b.contents FROM lsh_check('docs_sig', heap => true) a, lsh_check('docs_new') b;
DROP INDEX docs_new;
SQL
}

# Prepared transactions: nobody sees their rows until they commit, even across a crash.
$node->safe_psql('postgres', "BEGIN; INSERT INTO docs VALUES (3001, doc(5)); INSERT INTO guarded VALUES (1, doc(1)); PREPARE TRANSACTION 'kept'");
$node->safe_psql('postgres', "BEGIN; INSERT INTO docs VALUES (3002, doc(6)); DELETE FROM docs WHERE id = 7; PREPARE TRANSACTION 'given up'");
is(ids(5), '5', 'a prepared row is not seen');
like(($node->psql('postgres', "SET lock_timeout = '200ms'; INSERT INTO guarded VALUES (2, doc(1))"))[2],
    qr/canceling statement due to lock timeout/, 'a near-duplicate waits for a prepared row');
$node->safe_psql('postgres', 'VACUUM docs');
$node->stop('immediate');
$node->start;
is(ids(5) . ';' . ids(7), '5;7', 'nor after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'kept'");
$node->safe_psql('postgres', "ROLLBACK PREPARED 'given up'");
is(join(';', map { ids($_) } 5, 6, 7), '5,3001;6;7', 'committed, it is');
like(($node->psql('postgres', 'INSERT INTO guarded VALUES (2, doc(1))'))[2], qr/violates exclusion constraint/, 'and refuses others');

# An unlogged table is empty after a crash; its constraint is as it was.
is($node->safe_psql('postgres', q{SELECT count(*) FROM brief; SELECT records FROM lsh_check('brief_sig_excl', heap => true)}), "0\n0", 'empty');
$node->safe_psql('postgres', 'INSERT INTO brief VALUES (1, doc(1)), (2, doc(2))');
like(($node->psql('postgres', 'SET minhash_lsh.similarity_threshold = 1; INSERT INTO brief VALUES (3, doc(2))'))[2],
    qr/violates exclusion constraint/, 'the constraint of an unlogged table after a crash');

# Builds and VACUUM are cancelled at any time. What they leave is sound, and the next one finishes their work.
my %ended;
for my $round (1 .. 12)
{
    my $after = 3 * $round;
    for my $statement ('CREATE INDEX docs_other ON docs USING lsh (sig)', 'REINDEX INDEX docs_sig')
    {
        my (undef, undef, $error) = $node->psql('postgres', "SET statement_timeout = '${after}ms'; $statement");
        $ended{ $error =~ /statement timeout/ ? 'cancelled' : 'done' }++;
        $node->safe_psql('postgres', 'DROP INDEX IF EXISTS docs_other');
    }
    $node->safe_psql('postgres', "INSERT INTO docs SELECT 10000, doc(i) FROM generate_series(1, 300) i; DELETE FROM docs WHERE id = 10000");
    my (undef, undef, $error) = $node->psql('postgres', "SET statement_timeout = '${after}ms'; VACUUM (INDEX_CLEANUP ON, TRUNCATE off) docs");
    $ended{ $error =~ /statement timeout/ ? 'cancelled' : 'done' }++;
}
note(join ', ', map { "$_: $ended{$_}" } sort keys %ended);
cmp_ok($ended{cancelled} // 0, '>', 3, 'some were cancelled');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
is(state(), '2001|t', 'the index is sound');

# The index moves to another tablespace.
$node->safe_psql('postgres', 'SET allow_in_place_tablespaces = on; CREATE TABLESPACE there LOCATION \'\'');
for my $move ('ALTER INDEX docs_sig SET TABLESPACE there', 'REINDEX (TABLESPACE pg_default) INDEX docs_sig',
    'REINDEX (TABLESPACE there) INDEX CONCURRENTLY docs_sig', 'ALTER TABLE docs SET TABLESPACE there; ALTER INDEX docs_sig SET TABLESPACE pg_default')
{
    $node->safe_psql('postgres', $move);
    is(ids(5) . ';' . state(), '5,3001;2001|t', $move);
}

# While VACUUM holds the lock on the runs, others look up and insert, and a tail may grow.
$node->safe_psql('postgres', 'INSERT INTO docs SELECT 10000, doc(i) FROM generate_series(1, 1500) i');
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id = 10000');
my $output = '';
my $vacuum = IPC::Run::start(
    [ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'SET vacuum_cost_delay = 20', '-c', 'SET vacuum_cost_limit = 1', '-c', 'VACUUM (INDEX_CLEANUP ON) docs' ],
    '>', \$output, '2>', \$output);
$node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'page' AND relation = 'docs_sig'::regclass)});
my $found = 0;
for my $round (1 .. 20)
{
    $node->safe_psql('postgres', "SET statement_timeout = '20s'; INSERT INTO docs SELECT 20000 + i, doc(5) FROM generate_series(1, 50) i");
    $found = split ',', ids(5);
}
is($found, 1002, 'rows inserted meanwhile are found');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'page' AND page = 0 AND relation = 'docs_sig'::regclass}), '1', 'while VACUUM works');
is($node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'page' AND relation = 'docs_sig'::regclass}), 't', 'it is ended in the midst of it');
$vacuum->finish;
$node->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'page')});
is(scalar(split ',', ids(5)), 1002, 'and nothing is lost');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs');
is(state(), '3001|t', 'the next VACUUM ends the work');

# The free space map is not logged. A crash or a promotion may lose it: after an INSERT and a VACUUM, even with no dead
# row, free pages are used again. It may also name pages that are in use; then only a few of them are tried.
$node->safe_psql('postgres', 'CREATE TABLE mapped (id int, sig minhash_signature);
    CREATE INDEX mapped_sig ON mapped USING lsh (sig);
    INSERT INTO mapped SELECT i, doc(i) FROM generate_series(1, 6000) i;
    DELETE FROM mapped WHERE id > 1500; VACUUM (INDEX_CLEANUP ON) mapped');
my $mapped = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('mapped_sig')");
my $pages = q{SELECT pg_relation_size('mapped_sig') / 8192};
$node->stop;
my $free = grep { $_ == 0 || $_ == 5 } map { unpack 'v', $_ } slurp_file($mapped) =~ /\G.{8188}(..)../gs;
cmp_ok($free, '>', 200, "$free pages are free");
my $map = slurp_file("${mapped}_fsm");
unlink "${mapped}_fsm";
$node->start;
my $before = $node->safe_psql('postgres', $pages);
$node->safe_psql('postgres', 'INSERT INTO mapped SELECT i, doc(i) FROM generate_series(10001, 10030) i; VACUUM (INDEX_CLEANUP ON) mapped');
$node->safe_psql('postgres', 'INSERT INTO mapped SELECT i, doc(i) FROM generate_series(10031, 11600) i');
cmp_ok($node->safe_psql('postgres', $pages), '<', $before + 30, 'a lost map of free space: free pages are used again');
$node->safe_psql('postgres', 'INSERT INTO mapped SELECT i, doc(i) FROM generate_series(20001, 26000) i');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) mapped');
$node->safe_psql('postgres', 'INSERT INTO mapped SELECT i, doc(i) FROM generate_series(30001, 30300) i');
$node->stop;
open my $stale, '>:raw', "${mapped}_fsm" or die $!;
print $stale $map;
close $stale;
$node->start;
my $most = 0;
for my $i (1 .. 16)
{
    my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) INSERT INTO mapped VALUES ($i, doc($i))");
    my $touched = 0;
    $touched += $_ for $plan =~ /(?:hit|read)=(\d+)/g;
    $most = $touched if $touched > $most;
}
cmp_ok($most, '<', 400, "a map of free space that is wrong: an insertion touches $most pages at most");

# An index of another format version, here with a larger meta page, causes an error that says so, wherever it is used.
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('docs_sig')");
$node->stop;
my $bytes = slurp_file($file);
substr($bytes, index($bytes, 'MLSX') + 4, 1) = "\x63";
substr($bytes, 12, 2) = pack 'v', 8 + unpack 'v', substr $bytes, 12, 2; # pd_lower
open my $out, '>:raw', $file or die $!;
print $out $bytes;
close $out;
$node->start;
for my $statement ('SELECT id FROM docs WHERE sig % doc(5)', 'INSERT INTO docs VALUES (1, doc(5))', 'VACUUM (INDEX_CLEANUP ON) docs', "SELECT lsh_check('docs_sig')")
{
    like(($node->psql('postgres', "SET enable_seqscan = off; DELETE FROM docs WHERE id = 1; $statement"))[2],
        qr/index "docs_sig" has format version 99, which this version of minhash_lsh does not read.*DETAIL.*HINT: +Rebuild the index with REINDEX INDEX/s, "version: $statement")
      unless $statement =~ /^VACUUM/;
}
like(($node->psql('postgres', 'VACUUM (INDEX_CLEANUP ON) docs'))[2], qr/has format version 99/, 'version: VACUUM');
$node->safe_psql('postgres', 'REINDEX INDEX docs_sig');
like(ids(6), qr/^6$/, 'REINDEX repairs it');
$node->stop;
done_testing();
