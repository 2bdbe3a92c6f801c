# What reads much of an lsh index leaves the buffers of other tables alone, as PostgreSQL's sequential scans do: searches
# that compare all records, VACUUM and lsh_check(). VACUUM with few dead rows reads the index once.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
fsync = off
shared_buffers = 16MB
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
CONF
# The rings of VACUUM have had 2 MB since PostgreSQL 16, an eighth of these buffers.
$node->append_conf('postgresql.conf', 'vacuum_buffer_usage_limit = 256kB') if $node->pg_version >= 16;
$node->start;
my $contrib = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'});
plan skip_all => 'needs pg_buffercache' unless $contrib;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE EXTENSION pg_buffercache;
CREATE TABLE docs AS SELECT id, id % 100 AS part, minhash(md5(id::text) || md5((id + 1)::text), shingle_size => 3) AS sig
FROM generate_series(1, 120000) id;
CREATE INDEX docs_sig ON docs USING lsh (sig);
CREATE INDEX docs_id ON docs (id);
-- 400 pages in 2,048 buffers, which is less than the quarter from which a sequential scan takes a ring.
CREATE TABLE hot (filler text);
ALTER TABLE hot ALTER filler SET STORAGE PLAIN;
INSERT INTO hot SELECT repeat('x', 7000) FROM generate_series(1, 400);
VACUUM ANALYZE;
SQL
my $pages = $node->safe_psql('postgres', q{SELECT pg_relation_size('docs_sig') / 8192});
cmp_ok($pages, '>', 4000, "the index has $pages pages");

# Counts the pages of a relation in shared buffers.
sub cached
{
    my ($relation) = @_;
    return $node->safe_psql('postgres', "SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('$relation')");
}

# Runs statements while all of the other table is in use and in memory.
sub keeps_others
{
    my ($what, $statements, $times) = @_;
    $node->safe_psql('postgres', join '', map { 'SELECT count(filler) FROM hot;' } 1 .. 6);
    my $before = cached('hot');
    cmp_ok($before, '>=', 400, "$what: $before pages of another table are in memory");
    $node->safe_psql('postgres', $statements) for 1 .. $times;
    my $after = cached('hot');
    cmp_ok($after, '>=', 380, "$what: $after of them still are");
    return;
}

# How many pages of the index a statement reads, in memory or not.
sub pages_read
{
    my ($statement) = @_;
    my $count = q{SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'docs_sig'};
    my $before = $node->safe_psql('postgres', $count);
    $node->safe_psql('postgres', "$statement; SELECT pg_stat_force_next_flush()");
    return $node->safe_psql('postgres', $count) - $before;
}

my $nearest = q{SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM docs ORDER BY sig <%> minhash(md5('a') || md5('b'), shingle_size => 3) LIMIT 10) s};
cmp_ok(pages_read($nearest), '>', 2000, 'a search for the nearest rows reads all records');
$node->restart; # forget the pages of the build
keeps_others('nearest rows', $nearest, 10);
cmp_ok(cached('docs_sig'), '<', 800, 'the index does not fill the buffers');
keeps_others('a low threshold',
    q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE minhash_similar(sig, minhash(md5('a') || md5('b'), shingle_size => 3), 0.2)}, 10);
keeps_others('lsh_check', q{SELECT lsh_check('docs_sig')}, 5);

# VACUUM with a few dead rows, whose records stay as dead ones.
my $read = 0;
keeps_others('VACUUM, few dead rows',
    'DELETE FROM docs WHERE id IN (SELECT min(id) FROM docs); VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs', 5);
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id IN (SELECT min(id) FROM docs)');
$read = pages_read('VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs');
cmp_ok($read, '>=', $pages, "VACUUM reads the index, $read pages");
cmp_ok($read, '<', 1.1 * $pages, 'once');
is($node->safe_psql('postgres', q{SELECT dead, runs FROM lsh_check('docs_sig', heap => true)}), '6|1', 'and leaves the dead records there');

# VACUUM that rewrites the run, and one that makes a run from the tail and merges it.
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id % 4 = 0');
keeps_others('VACUUM, many dead rows', 'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs', 1);
is($node->safe_psql('postgres', q{SELECT dead FROM lsh_check('docs_sig', heap => true)}), 0, 'no dead record is left');
$node->safe_psql('postgres', 'INSERT INTO docs SELECT id + 100000, part, sig FROM docs WHERE id % 3 = 0');
keeps_others('VACUUM that merges', 'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs', 1);
is($node->safe_psql('postgres', q{SELECT lost_pages FROM lsh_check('docs_sig', heap => true)}), 0, 'no page is lost');
$node->stop;
done_testing();
