# Parallel workers must compute the same as the leader, and the planner must use them of its own accord.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- 8,000 texts of 1 kB: enough that parallel workers pay off.
CREATE TABLE texts AS
    SELECT number AS id, string_agg(md5(concat(number / 3, word)), ' ') || number % 3 AS body
    FROM generate_series(1, 8000) number, generate_series(1, 30) word GROUP BY number;
CREATE TABLE bodies AS SELECT * FROM texts WHERE id <= 500;
ANALYZE;
SQL

# Everything that a worker can be asked to compute, as one number per row.
my $values = <<'SQL';
SELECT id, minhash(body), minhash(body, 64, 2, 'word', false, true, 7, 'classic'),
       shingle_jaccard(body, 'none of it'), cardinality(shingles(body)),
       shingle_containment(body, lower(body)), lsh_band_keys(minhash(body), 13, 7),
       minhash_similarity(minhash(body), minhash(body || 'more')),
       (minhash_scheme(minhash(body))).seed, minhash(body)::bigint[],
       (SELECT sum(key) FROM lsh_bands(minhash(body), 13, 7)),
       (lsh_params(0.7)).bands, lsh_probability(0.5, 3, 4)
FROM bodies
SQL
my $sum = "SELECT count(*), md5(string_agg(v::text, ',' ORDER BY id)) FROM ($values) v";
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $setting = $version >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode';
my $forced = "SET $setting = regress; SET parallel_tuple_cost = 0; SET parallel_setup_cost = 0;"
  . ' SET min_parallel_table_scan_size = 0;';

my $alone = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $sum");
like($alone, qr/^500\|/, 'values are computed');
is($node->safe_psql('postgres', "$forced $sum"), $alone, 'workers compute the same');
# With the value "regress", EXPLAIN would hide the Gather node on top of the plan; so this sets "on".
like($node->safe_psql('postgres', "$forced SET $setting = on; EXPLAIN (VERBOSE) $values"),
    qr/Workers Planned: \d/, 'it was workers who did');

# Uses only the usual settings.
my $query = 'SELECT count(*), md5(min(minhash(body)::text)) FROM texts';
my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $query");
like($plan, qr/Workers Planned: [12].*Parallel Seq Scan/s, 'a large table is worth workers');
like($plan, qr/Workers Launched: [12]/, 'and gets them');
is($node->safe_psql('postgres', $query),
    $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $query"),
    'to the same end');

# The notice that a GIN index finds too few rows comes once in a statement from each process that scans the index:
# the leader, one worker that builds the bitmap for all, or each process for itself.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE signatures AS SELECT id, minhash(body, 32) AS sig FROM texts WHERE id <= 2000;
CREATE INDEX ON signatures USING gin (sig);
CREATE TABLE asked AS SELECT id, sig FROM signatures WHERE id % 4 = 0;
ALTER TABLE signatures SET (parallel_workers = 2);
ALTER TABLE asked SET (parallel_workers = 2);
CREATE TABLE halves (id bigint, sig minhash_signature) PARTITION BY LIST ((id % 2));
CREATE TABLE even PARTITION OF halves FOR VALUES IN (0);
CREATE TABLE odd PARTITION OF halves FOR VALUES IN (1);
INSERT INTO halves SELECT * FROM signatures;
CREATE INDEX ON halves USING gin (sig);
ANALYZE;
SQL
my $one = $node->safe_psql('postgres', 'SELECT sig FROM signatures WHERE id = 3');
my %scans = (
    'a bitmap for all' => [
        "SELECT count(*) FROM signatures WHERE sig % '$one'", 'Parallel Bitmap Heap Scan' ],
    'a bitmap of each process' => [
        'SELECT count(*) FROM asked JOIN signatures ON signatures.sig % asked.sig',
        'Parallel Seq Scan on asked.*Bitmap Index Scan' ],
    'a threshold for each row' => [
        'SELECT count(*) FROM asked JOIN signatures'
          . ' ON minhash_similar(signatures.sig, asked.sig, 0.1 + asked.id % 8 / 40.0)',
        'Parallel Seq Scan on asked.*Bitmap Index Scan' ],
    'the indexes of partitions' => [
        "SELECT count(*) FROM halves WHERE sig % '$one'",
        'Parallel Append.*Bitmap Index Scan.*Bitmap Index Scan' ]);
my $set = 'SET parallel_tuple_cost = 0; SET parallel_setup_cost = 0; SET random_page_cost = 0;'
  . ' SET cpu_tuple_cost = 10; SET enable_material = off; SET enable_memoize = off;'
  . ' SET minhash_lsh.similarity_threshold = 0.1;';
for my $name (sort keys %scans)
{
    my ($statement, $expected) = @{ $scans{$name} };
    # Without the leader, only workers scan.
    for my $who ([ 0, 'on' ], [ 1, 'on' ], [ 2, 'on' ], [ 2, 'off' ])
    {
        my ($workers, $leader) = @$who;
        my $how = "$name, $workers workers, leader $leader";
        my $for = "$set SET max_parallel_workers_per_gather = $workers;"
          . " SET parallel_leader_participation = $leader;";
        my ($code, $out, $told) = $node->psql('postgres', <<"SQL");
$for
PREPARE kept AS $statement;
SET plan_cache_mode = force_generic_plan;
\\warn -
$statement;
\\warn -
EXECUTE kept;
\\warn -
EXECUTE kept;
\\warn -
EXPLAIN (ANALYZE, COSTS off) EXECUTE kept;
SQL
        like($out, qr/Workers Launched: $workers.*$expected/s, "plan of $how") if $workers;
        my @notices = map { scalar(() = /NOTICE:  index with bands/g) } split /^-\n/m, $told;
        my $most = $workers + ($leader eq 'on');
        like("@notices", qr/^0( [1-$most]){4}$/, "at most one notice a process: $how") or diag($told);
    }
}
$node->stop;
done_testing();
