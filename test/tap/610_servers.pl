# Runs the SQL of doc/distributed/more-than-one-server.md on three servers and a coordinator, which connect through postgres_fdw.
# Lookups must transfer only their answer, pairs and clusters must be the same as on one server, and servers that do not
# match must be refused. Distributed.pm explains MINHASH_TEXTS.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

# Bytes are counted on the network interface.
BEGIN {
    require PostgreSQL::Test::Utils;
    $PostgreSQL::Test::Utils::use_unix_sockets = 0 if $ENV{MINHASH_TEXTS};
}
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Distributed;

my $count = 3;
my $old   = text_count();

my %blocks = blocks_of_page();

# Tables are small here, and postgres_fdw reads with cursors: the first two settings allow for that.
my $settings    = "random_page_cost = 1.1\ncursor_tuple_fraction = 1\nwal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\n";
my @servers     = map { new_server("server$_", 4, $settings) } 0 .. $count - 1;
my $coordinator = new_server('coordinator', 1, $settings);

# The page's servers are called db0, db1 and db2.
sub with_places
{
    my ($sql) = @_;
    for my $number (0 .. $count - 1) {
        my ($host, $port) = ($servers[$number]->host, $servers[$number]->port);
        $sql =~ s/(host )?'db$number', (port )?'5432'/($1 \/\/ '') . "'$host', " . ($2 \/\/ '') . "'$port'"/ge;
    }
    return $sql;
}

sub run_on
{
    my ($server, $sql, %variables) = @_;
    return $server->safe_psql('postgres', $sql,
        extra_params => [ '-1', map { ('-v', "$_=$variables{$_}") } sort keys %variables ]);
}

# Runs on all servers at once.
sub everywhere
{
    my ($sql, %variables) = @_;
    my @runs = map { start_psql($servers[$_], with_places($sql), me => $_, nodes => $count, %variables) } 0 .. $count - 1;
    my $errors = join '', map { finish_psql($_) } @runs;
    die $errors if $errors =~ /error|fatal/i;
}

sub fill
{
    my ($first, $last) = @_;
    my $texts = texts($first, $last);
    everywhere("INSERT INTO docs SELECT * FROM ($texts) AS t WHERE id % $count = :me");
    run_on($coordinator, "INSERT INTO one.docs SELECT id, body, minhash(body) FROM ($texts) AS t");
}

my $of_signatures = 'SELECT id, minhash_compress(sig, 16) FROM one.docs';
my $wanted        = "SELECT * FROM lsh_pairs('$of_signatures', bands => 13, rows => 7)";

everywhere($blocks{'on every server and the coordinator'}[0]);
everywhere($blocks{'on every server'}[0]);
run_on($coordinator, with_places($blocks{'on every server and the coordinator'}[0]));
run_on($coordinator, 'CREATE SCHEMA one; CREATE TABLE one.docs (id bigint, body text, sig minhash_signature)');
cost('texts, also on the coordinator', [ @servers, $coordinator ], sub { fill(1, $old) });
$_->safe_psql('postgres', 'VACUUM ANALYZE docs') for @servers;
run_on($coordinator, $blocks{'on the coordinator'}[1]);
run_on($coordinator, 'CREATE INDEX ON one.docs USING lsh (sig)');
$coordinator->safe_psql('postgres', 'VACUUM ANALYZE one.docs');

# Tests lookups with the generic plan, with two thresholds in one session.
my $look_up = $blocks{'on the coordinator'}[2];
my $text    = $coordinator->safe_psql('postgres', 'SELECT body FROM one.docs WHERE id = 1203');
for my $mode ('force_generic_plan', 'force_custom_plan') {
    my $explain = "$look_up SET plan_cache_mode = $mode; EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)";
    my $plan    = $coordinator->safe_psql('postgres', "$explain EXECUTE look_up(minhash('$text'), 0.8)");
    is(() = $plan =~ /Async Foreign Scan/g, $count, "all servers are asked at once, $mode");
    is(() = $plan =~ /Remote SQL: SELECT [^\n]* WHERE \(\(?public\.minhash_similar\(sig/g, $count, 'the condition is shipped');
    unlike($plan, qr/Filter/, 'nothing is filtered here');
    my $moved = 0;
    $moved += $1 while $plan =~ /Async Foreign Scan[^\n]*rows=([0-9.]+)/g;
    is($moved, 2, 'only the rows of the answer are moved');
    for my $threshold (0.8, 0.6) {
        is( $coordinator->safe_psql('postgres',
                "SET plan_cache_mode = $mode; $look_up EXECUTE look_up(minhash('$text'), $threshold)"),
            $coordinator->safe_psql('postgres', <<"SQL"), "found at $threshold what one server finds");
SELECT id, round((sig <%> minhash('$text'))::numeric, 2) AS distance
FROM one.docs WHERE minhash_similarity(sig, minhash('$text')) >= $threshold ORDER BY distance, id
SQL
    }
    is($coordinator->safe_psql('postgres', "SET plan_cache_mode = $mode; $look_up EXECUTE look_up(minhash('$text'), NULL)"),
        '', 'nothing is found with NULL as the threshold');
}
ok($servers[1]->poll_query_until('postgres', "SELECT idx_scan > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'docs_sig'"),
    'the servers use their indexes');

# Looks up many texts at both thresholds in one session, with the generic plan.
my $local_look_up = $look_up =~ s/FROM docs/FROM one.docs/r;
my $look_ups      = lookups('{0.8, 0.6}');
my $generic       = 'SET plan_cache_mode = force_generic_plan;';
my $custom        = 'SET plan_cache_mode = force_custom_plan;'; # other servers plan for the values they receive
my $answers       = $coordinator->safe_psql('postgres', "$generic $look_up\n$look_ups");
is($answers, $coordinator->safe_psql('postgres', "$custom $local_look_up\n$look_ups"), 'many lookups give what one server gives');
cmp_ok(scalar(split /\n/, $answers), '>', 25, 'and find something');
if (is_measured()) {
    my ($here, $there) = map { lookup_time($coordinator, "$generic $_", lookups('{0.8}')) } $local_look_up, $look_up;
    diag(sprintf 'a lookup: %.2f ms on one server, %.2f ms through postgres_fdw, ratio %.1f', $here, $there, $there / $here);
}

my $plan = $coordinator->safe_psql('postgres', <<'SQL');
PREPARE look_up_text(text) AS SELECT id FROM docs WHERE minhash_similar(sig, minhash($1), 0.8);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE look_up_text('x');
SQL
like($plan, qr/Filter/, 'a text as the parameter is not shipped: it has a collation of this server');
$plan = $coordinator->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs WHERE sig % minhash('x')");
like($plan, qr/Filter: .*%/, 'the operator depends on a setting, and is not shipped');
$plan = $coordinator->safe_psql('postgres', <<'SQL');
SET enable_partitionwise_aggregate = on;
BEGIN;
ANALYZE docs;
EXPLAIN (VERBOSE, COSTS OFF) SELECT abs(id % 3), minhash_union_agg(sig) FROM docs GROUP BY abs(id % 3);
ROLLBACK
SQL
is(() = $plan =~ /Remote SQL: SELECT .*minhash_union_agg/g, $count, 'aggregates are shipped by partition');

# Finds all pairs, on the coordinator and with all servers; tap/620 tests the rest of the command.
is( cost('lsh_pairs() on the coordinator', [ @servers, $coordinator ],
        sub { $coordinator->safe_psql('postgres', $blocks{'on the coordinator'}[0]) }),
    $coordinator->safe_psql('postgres', "SELECT count(*) FROM lsh_pairs('$of_signatures', threshold => 0.8)"),
    'lsh_pairs() on the coordinator');
$coordinator->safe_psql('postgres', $blocks{install}[0] =~ s{doc/distributed}{$ENV{TESTDIR}/distributed}r);
cost('all pairs by all servers', [ @servers, $coordinator ],
    sub { $coordinator->safe_psql('postgres', $blocks{'all pairs by all servers'}[0]) });
compare_query($coordinator, 'TABLE doc_pairs', $wanted, 'pairs of three servers are those of one');

# Clusters.
cost('clusters', [ @servers, $coordinator ], sub { $coordinator->safe_psql('postgres', $blocks{clusters}[0]) });
compare_query($coordinator, 'SELECT id, cluster_id FROM clusters',
    "SELECT id, cluster_id FROM lsh_clusters('$of_signatures', bands => 13, rows => 7)",
    'clusters are those of one server');

# A reporting server subscribes to all three.
my $reports = new_server('reports', 4, $settings);
my ($subscription, $check) = ($blocks{subscription}[0], $blocks{'check of the reporting server'}[0]);
everywhere($blocks{publication}[0]);
for my $number (0 .. $count - 1) {
    my $statements = $number == 0 ? $subscription : ($subscription =~ /(CREATE SUBSCRIPTION.*)/s)[0];
    my ($host, $port) = ($servers[$number]->host, $servers[$number]->port);
    $reports->safe_psql('postgres', $statements =~ s/host=db0 port=5432/host=$host port=$port/r =~ s/server_0/server_$number/r);
}
my $contents = q{SELECT count(*), md5(string_agg(id || sig::text, ',' ORDER BY id)) FROM docs};
ok($reports->poll_query_until('postgres', q{SELECT count(*) = 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel}), 'texts are copied');
is($reports->safe_psql('postgres', $contents), $coordinator->safe_psql('postgres', $contents), 'with the same signatures');
$servers[1]->safe_psql('postgres', q{UPDATE docs SET body = body || body WHERE id = 1204; DELETE FROM docs WHERE id = 1213});
$servers[1]->wait_for_catchup('docs_of_server_1');
is($reports->safe_psql('postgres', $contents), $coordinator->safe_psql('postgres', $contents), 'which follow changes');
like($reports->safe_psql('postgres', $check), qr/^\d{4,}\|\d+$/, 'the index is right');
is($reports->safe_psql('postgres', q{SELECT id FROM docs WHERE minhash_similar(sig, (SELECT sig FROM docs WHERE id = 1203), 0.5) ORDER BY id}),
    $coordinator->safe_psql('postgres', q{SELECT id FROM docs WHERE minhash_similar(sig, (SELECT sig FROM docs WHERE id = 1203), 0.5) ORDER BY id}),
    'lookups give what the servers give');
$servers[1]->safe_psql('postgres', 'UPDATE docs SET body = left(body, length(body) / 2) WHERE id = 1204');
$reports->safe_psql('postgres', "DROP SUBSCRIPTION docs_of_server_$_") for 0 .. $count - 1;

# Tests the export: plain SQL on the exported keys and slots must give the same pairs as lsh_pairs().
# test/distributed/duckdb.sh does the same with DuckDB.
my ($keys, $slots) = map { $blocks{"export $_"}[0] } qw(keys slots);
my $here = sub { return $_[0] =~ s/FROM docs/FROM one.docs/r };
my $export = PostgreSQL::Test::Utils::tempdir();
append_to_file("$export/keys.csv", $coordinator->safe_psql('postgres', $here->($keys)) . "\n");
append_to_file("$export/slots.csv", $coordinator->safe_psql('postgres', $here->($slots)) . "\n");
$coordinator->safe_psql('postgres', <<"SQL");
CREATE TABLE keys (key bigint, id bigint);
CREATE TABLE slots (id bigint PRIMARY KEY, slots json);
\\copy keys FROM '$export/keys.csv' (FORMAT csv)
\\copy slots FROM '$export/slots.csv' (FORMAT csv)
SQL
compare_query($coordinator, <<'SQL', "SELECT left_id, right_id, round(similarity::numeric, 9) FROM ($wanted) AS w", 'what is exported');
SELECT left_id, right_id, round(similarity::numeric, 9)
FROM (SELECT DISTINCT x.id AS left_id, y.id AS right_id FROM keys x JOIN keys y ON x.key = y.key AND x.id < y.id) AS c
    JOIN slots l ON l.id = left_id JOIN slots r ON r.id = right_id,
    LATERAL (SELECT 1 - (1 - count(*) / 128.0::float8) * 65536 / 65535 AS similarity
        FROM json_array_elements_text(l.slots) WITH ORDINALITY AS a(slot, n)
            JOIN json_array_elements_text(r.slots) WITH ORDINALITY AS b(slot, n) USING (n, slot)) AS s
WHERE similarity >= 0.8
SQL

# Servers that do not match are refused.
run_on($servers[1], q{ALTER TABLE docs DROP sig CASCADE});
run_on($servers[1], q{ALTER TABLE docs ADD sig minhash_signature GENERATED ALWAYS AS (minhash(body, seed => 7)) STORED});
my $error;
(undef, undef, $error) = $coordinator->psql('postgres', "SELECT id FROM docs WHERE minhash_similar(sig, minhash('x'), 0.5)");
like($error, qr/signatures of different schemes.*set:7.*set:42/s, 'signatures of another scheme are an error, which names both');

my ($host, $port) = ($servers[2]->host, $servers[2]->port);
$servers[2]->safe_psql('postgres', 'CREATE DATABASE bare');
$servers[2]->safe_psql('bare', 'CREATE TABLE docs (id bigint, body text)');
$coordinator->safe_psql('postgres', <<"SQL");
CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '$host', port '$port', dbname 'bare', extensions 'minhash_lsh');
CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
CREATE FOREIGN TABLE bare (id bigint, body text) SERVER bare OPTIONS (table_name 'docs');
SQL
(undef, undef, $error) = $coordinator->psql('postgres',
    "SELECT id FROM bare WHERE minhash_similar(minhash(body), minhash('x'), 0.8)");
like($error, qr/(function public\.minhash|type "public\.minhash_signature").* does not exist.*remote SQL command/s,
    'a server without the extension says what it lacks');
$coordinator->safe_psql('postgres', 'ALTER FOREIGN TABLE bare OPTIONS (SET table_name \'nowhere\')');
(undef, undef, $error) = $coordinator->psql('postgres',
    "ALTER SERVER bare OPTIONS (SET dbname 'unknown'); SELECT id FROM bare");
like($error, qr/could not connect to server "bare"/, 'a database that is not there');

done_testing();
