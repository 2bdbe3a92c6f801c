# The nearest rows where none is near enough to share several slots of one band, but some are at similarity 0.3 or more:
# a search by score finds them and reads a fraction of the pages. Counts pages, and compares with the truth.
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
enable_seqscan = off
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
CONF
$node->start;

# Families of 400 rows: 360 unrelated ones, and 40 that have the first one's text with 20 to 220 of its 256 characters
# replaced, so that their similarities to it are spread from 0.85 down to that of unrelated texts.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION random_text(seed text) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN (SELECT string_agg(md5(seed || part), '' ORDER BY part) FROM generate_series(1, 8) part);
CREATE FUNCTION signed(id int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql
    RETURN minhash(CASE WHEN id % 10 = 0
                        THEN overlay(random_text((id / 400 * 400 + 1)::text)
                                     PLACING left(random_text('new' || id), 20 + id / 10 % 26 * 8)
                                     FROM 20 FOR 20 + id / 10 % 26 * 8)
                        ELSE random_text(id::text) END, shingle_size => 3);
CREATE TABLE docs AS SELECT id, signed(id) AS sig FROM generate_series(1, 100000) id;
CREATE INDEX docs_sig ON docs USING lsh (sig);
CREATE INDEX docs_id ON docs (id);
VACUUM ANALYZE docs;
CREATE TABLE truth AS
SELECT base.id AS base, near.id, minhash_similarity(base.sig, near.sig) AS similarity
FROM docs base JOIN docs near ON near.id BETWEEN base.id - 1 AND base.id + 398 AND (near.id % 10 = 0 OR near.id = base.id)
WHERE base.id % 400 = 1 AND base.id > 1;
-- Asks for exactly the rows that are near, so that a scan ends with them if it finds them all.
CREATE FUNCTION find_near(bases int) RETURNS TABLE (base int, id int, place bigint, similarity float8)
LANGUAGE sql BEGIN ATOMIC
    SELECT b.id, n.id, n.place, n.similarity
    FROM (SELECT docs.id, docs.sig FROM docs WHERE docs.id % 400 = 1 AND docs.id > 1 ORDER BY docs.id LIMIT bases) b,
         LATERAL (SELECT count(*) FROM truth t WHERE t.base = b.id AND t.similarity >= 0.3) wanted,
         LATERAL (SELECT d.id, row_number() OVER () AS place, minhash_similarity(d.sig, b.sig) AS similarity
                  FROM (SELECT docs.id, docs.sig FROM docs ORDER BY docs.sig <%> b.sig LIMIT wanted.count) d) n;
END;
CREATE FUNCTION recall(bases int) RETURNS TABLE (range int, rows bigint, recall numeric) LANGUAGE sql BEGIN ATOMIC
    SELECT (t.similarity >= 0.35)::int + (t.similarity >= 0.5)::int, count(*), round(avg((f.id IS NOT NULL)::int), 4)
    FROM truth t LEFT JOIN find_near(bases) f ON f.base = t.base AND f.id = t.id
    WHERE t.similarity >= 0.3 AND t.base <= bases * 400 + 1 GROUP BY 1 ORDER BY 1;
END;
SQL

# A page has 60 records.
my $records = $node->safe_psql('postgres', q{SELECT records FROM lsh_check('docs_sig')}) / 60;

# How many pages of the index a statement reads.
sub pages_read
{
    my ($statement) = @_;
    my $count = q{SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'docs_sig'};
    my $before = $node->safe_psql('postgres', $count);
    $node->safe_psql('postgres', "$statement; SELECT pg_stat_force_next_flush()");
    return $node->safe_psql('postgres', $count) - $before;
}

sub check_recall
{
    my ($what, $bases, $settings) = @_;
    my %wanted = (0 => 0.95, 1 => 0.98, 2 => 0.99);
    for (split /\n/, $node->safe_psql('postgres', "$settings SELECT * FROM recall($bases)")) {
        my ($range, $rows, $recall) = split /\|/;
        my $where = 'at similarity ' . (0.3, 0.35, 0.5)[$range] . ' and more';
        cmp_ok($rows, '>', $bases, "$what: $rows rows $where");
        cmp_ok($recall, '>=', delete $wanted{$range}, "$what: recall $recall $where");
    }
    is(keys %wanted, 0, "$what: all ranges have rows");
    return;
}

my $near = q{SELECT id FROM docs ORDER BY sig <%> (SELECT sig FROM docs WHERE id = 4001) LIMIT};
my $found = $node->safe_psql('postgres', 'SELECT count(*) FROM truth WHERE base = 4001 AND similarity >= 0.35');
cmp_ok($found, '>', 8, "$found rows are at similarity 0.35 or more");
my $few = pages_read("$near $found");
my $all = pages_read("$near 1000");
cmp_ok($all, '>', $records, "1,000 rows need all pages, $all");
cmp_ok($few, '<', 0.5 * $records, "$found rows need $few pages, less than half of $records");
cmp_ok(pages_read("$near 2"), '<', 120, 'rows that are near need few pages');
check_recall('one run', 120, '');
check_recall('in several parts, for want of memory', 60, 'SET work_mem = 64; SET hash_mem_multiplier = 1;');
is($node->safe_psql('postgres', <<'SQL'), '0', 'no row comes after a farther one');
SELECT count(*) FROM (SELECT similarity > lag(similarity) OVER (PARTITION BY base ORDER BY place) AS late
                      FROM find_near(100)) s WHERE late
SQL
is($node->safe_psql('postgres', <<'SQL'), '100000', 'a complete scan returns all rows once');
SELECT count(DISTINCT id) FROM (SELECT id FROM docs ORDER BY sig <%> minhash('unrelated', shingle_size => 3)) s
SQL
is($node->safe_psql('postgres', <<'SQL'), 't', 'where nothing is near, the nearest are as near as by a sequential scan');
WITH found AS MATERIALIZED
         (SELECT sig <%> minhash(random_text('x'), shingle_size => 3) AS d FROM docs
          ORDER BY sig <%> minhash(random_text('x'), shingle_size => 3) LIMIT 10),
     truth AS MATERIALIZED
         (SELECT minhash_similarity(sig, minhash(random_text('x'), shingle_size => 3)) AS s FROM docs
          ORDER BY 1 DESC LIMIT 10)
SELECT (SELECT array_agg(d ORDER BY d) FROM found) = (SELECT array_agg(1 - s ORDER BY s DESC) FROM truth)
SQL

# With bands of many rows, hundreds of unrelated rows share some slots of a band by chance. They are no reason to keep all
# rows, and to sort them in a file.
my $plan = $node->safe_psql('postgres', <<'SQL');
CREATE INDEX docs_long ON docs USING lsh (sig) WITH (bands = 14, rows = 9);
BEGIN;
DROP INDEX docs_sig;
SET work_mem = 64;
EXPLAIN (ANALYZE, BUFFERS) SELECT id FROM docs ORDER BY sig <%> (SELECT sig FROM docs WHERE id = 4001) LIMIT 100;
ROLLBACK;
DROP INDEX docs_long;
SQL
like($plan, qr/docs_long/, 'an index with bands of nine rows is used');
unlike($plan, qr/temp/, 'the nearest rows are found without files');

# Dead rows, rows of the tail, NULL and empty sets.
$node->safe_psql('postgres', <<'SQL');
DELETE FROM docs WHERE id % 30 = 0;
DELETE FROM truth WHERE id % 30 = 0;
INSERT INTO docs SELECT id + 1000000, sig FROM docs WHERE id % 10 = 0 AND id % 20 = 0;
INSERT INTO truth SELECT base, id + 1000000, similarity FROM truth WHERE id % 10 = 0 AND id % 20 = 0;
INSERT INTO docs SELECT -n, CASE WHEN n % 2 = 0 THEN minhash('', shingle_size => 3) END FROM generate_series(1, 500) n;
SQL
check_recall('with a tail and dead rows', 60, '');

# VACUUM replaces the run while searches read it.
my $vacuum = $node->background_psql('postgres', on_error_stop => 1);
$vacuum->query_until(qr/begun/, <<'SQL');
\echo begun
DELETE FROM docs WHERE id % 4 = 3 AND id % 10 <> 0;
VACUUM (INDEX_CLEANUP ON) docs;
INSERT INTO docs SELECT id + 2000000, sig FROM docs WHERE id % 4 = 2 AND id % 10 <> 0;
VACUUM (INDEX_CLEANUP ON) docs;
SQL
check_recall('during VACUUM', 60, '') for 1 .. 3;
$vacuum->quit;
check_recall('after VACUUM', 60, '');
is($node->safe_psql('postgres', q{SELECT lost_pages FROM lsh_check('docs_sig', heap => true)}), 0, 'the index is in order');

$node->stop;
done_testing();
