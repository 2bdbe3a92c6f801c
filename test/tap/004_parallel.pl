# Parallel workers compute what the leader does, and the planner uses them of its own accord.
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
-- 8,000 texts of 1 kB, so large a table that it is worth the workers.
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
       (minhash_scheme(minhash(body))).seed, minhash_slots(minhash(body)),
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
# Under "regress" the plan hides the Gather node on top; this one lies below it.
like($node->safe_psql('postgres', "$forced SET $setting = on; EXPLAIN (VERBOSE) $values"),
    qr/Workers Planned: \d/, 'it was workers who did');

# Nothing but the usual settings.
my $query = 'SELECT count(*), md5(min(minhash(body)::text)) FROM texts';
my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $query");
like($plan, qr/Workers Planned: [12].*Parallel Seq Scan/s, 'a large table is worth workers');
like($plan, qr/Workers Launched: [12]/, 'and gets them');
is($node->safe_psql('postgres', $query),
    $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $query"),
    'to the same end');
$node->stop;
done_testing();
