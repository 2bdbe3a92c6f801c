# doc/more-than-one-server.md: its SQL is run on three servers and a coordinator that see each other
# through postgres_fdw. Look-ups move nothing but their answer; pairs and clusters are those of one
# server, also after a step that failed; servers that do not fit together are an error.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $count = 3;

# The blocks of the page, by what stands before them.
my $page = slurp_file("$ENV{TESTDIR}/more-than-one-server.md");
my %blocks;
push @{ $blocks{$1} }, $2 while $page =~ /<!-- (.*?) -->\n```sql\n(.*?)\n```/gs;
my @marked = map { @$_ } values %blocks;
my @all    = $page =~ /```sql/g;
is(scalar @marked, scalar @all, 'each block of SQL says where it is run');

sub server
{
    my ($name) = @_;
    my $server = PostgreSQL::Test::Cluster->new($name);
    $server->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
    # Tables are small here, and postgres_fdw reads through cursors.
    $server->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
fsync = off
jit = off
random_page_cost = 1.1
cursor_tuple_fraction = 1
CONF
    $server->start;
    return $server;
}
my @servers     = map { server("server$_") } 0 .. $count - 1;
my $coordinator = server('coordinator');

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

sub everywhere
{
    my ($sql, %variables) = @_;
    run_on($servers[$_], with_places($sql), me => $_, nodes => $count, %variables) for 0 .. $count - 1;
}

sub steps
{
    my ($names, %variables) = @_;
    everywhere($blocks{"step $_"}[0], %variables) for @$names;
}

# Every third text is near the one before it; of one in a hundred all are the same.
sub texts
{
    my ($first, $last) = @_;
    return <<"SQL";
SELECT id, CASE WHEN id % 100 = 0 THEN 'one and the same text, whatever its number may be'
    ELSE (SELECT string_agg(md5((id - (id % 3 = 2)::int)::text || i), ' ') FROM generate_series(1, 8) i)
        || CASE WHEN id % 3 = 2 THEN repeat('x', (id % 40)::int) ELSE '' END END AS body
FROM generate_series($first, $last) AS id
SQL
}

sub fill
{
    my ($first, $last) = @_;
    my $texts = texts($first, $last);
    everywhere("INSERT INTO docs SELECT * FROM ($texts) AS t WHERE id % $count = :me");
    run_on($servers[0], "INSERT INTO one.docs SELECT id, body, minhash(body) FROM ($texts) AS t");
}

# What all servers found, and what one server finds.
sub found
{
    return $coordinator->safe_psql('postgres', 'SELECT * FROM pairs ORDER BY 1, 2');
}

sub wanted
{
    my ($query) = @_;
    return run_on($servers[0], "SELECT * FROM lsh_pairs('$query', bands => 13, rows => 7) ORDER BY 1, 2");
}
my $of_signatures = 'SELECT id, minhash_compress(sig, 16) FROM one.docs';

everywhere($blocks{'on every server'}[0]);
run_on($servers[0], 'CREATE SCHEMA one; CREATE TABLE one.docs (id bigint, body text, sig minhash_signature)');
fill(1, 3000);
$_->safe_psql('postgres', 'VACUUM ANALYZE docs') for @servers;
run_on($coordinator, with_places($blocks{'on the coordinator'}[0]));
run_on($servers[0], 'ANALYZE one.docs');

# Look-ups: by the plan for any parameters, with two thresholds in one session.
my $look_up = $blocks{'on the coordinator'}[1];
my $text    = $servers[0]->safe_psql('postgres', 'SELECT body FROM one.docs WHERE id = 1199');
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
            $servers[0]->safe_psql('postgres', <<"SQL"), "found at $threshold what one server finds");
SELECT id, round((sig <%> minhash('$text'))::numeric, 2) AS distance
FROM one.docs WHERE minhash_similarity(sig, minhash('$text')) >= $threshold ORDER BY distance, id
SQL
    }
}
ok($servers[1]->poll_query_until('postgres', "SELECT idx_scan > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'docs_sig'"),
    'the servers use their indexes');
my $plan = $coordinator->safe_psql('postgres', <<'SQL');
PREPARE look_up_text(text) AS SELECT id FROM docs WHERE minhash_similar(sig, minhash($1), 0.8);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE look_up_text('x');
SQL
like($plan, qr/Filter/, 'a text as the parameter is not shipped: it has a collation of this server');
$plan = $coordinator->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs WHERE sig % minhash('x')");
like($plan, qr/Filter: .*%/, 'the operator depends on a setting, and is not shipped');
$plan = $coordinator->safe_psql('postgres',
    "EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs WHERE sig % minhash_query(minhash('x'), 0.8)");
unlike($plan, qr/Filter/, 'with a query that has its threshold it is');
$plan = $coordinator->safe_psql('postgres', <<'SQL');
SET enable_partitionwise_aggregate = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id % 3, minhash_union_agg(sig) FROM docs GROUP BY id % 3
SQL
is(() = $plan =~ /Remote SQL: SELECT .*minhash_union_agg/g, $count, 'aggregates are shipped by partition');

# All pairs, on the coordinator and on all servers.
is($coordinator->safe_psql('postgres', $blocks{'on the coordinator'}[2]),
    $servers[0]->safe_psql('postgres', "SELECT count(*) FROM lsh_pairs('$of_signatures', threshold => 0.8)"),
    'lsh_pairs() on the coordinator');
everywhere($blocks{'on every server'}[1]);
everywhere($blocks{'then on every server'}[0]);
$plan = run_on($servers[1], 'EXPLAIN (VERBOSE, COSTS OFF) SELECT key, id FROM shuffle.all_keys WHERE abs(key % 3) = 1');
is(() = $plan =~ /Remote SQL: SELECT key, id FROM shuffle.keys WHERE .*abs/g, $count - 1, 'each server pulls its keys only');
steps([qw(bands candidates halves pairs)]);
my $wanted = wanted($of_signatures);
cmp_ok(scalar(split /\n/, $wanted), '>', 1000, 'there are pairs to be found');
is(found(), $wanted, 'pairs of three servers are those of one');

# Clusters.
run_on($coordinator, $blocks{'on the coordinator'}[3]);
is($coordinator->safe_psql('postgres', 'SELECT id, cluster_id FROM clusters ORDER BY 1'),
    run_on($servers[0], "SELECT id, cluster_id FROM lsh_clusters('$of_signatures', bands => 13, rows => 7) ORDER BY 1"),
    'clusters are those of one server');

# New texts.
fill(3001, 3600);
steps([qw(new_bands new_candidates halves new_pairs keep)], last => 3000);
$wanted = wanted($of_signatures);
is(found(), $wanted, 'pairs after new texts have come');
steps([qw(new_bands new_candidates halves new_pairs keep)], last => 3000);
is(found(), $wanted, 'the same after the steps were repeated');

# A step that fails keeps nothing of what it did, and is repeated.
my $bands = run_on($servers[1], 'SELECT count(*), sum(id) FROM shuffle.bands');
$servers[2]->stop('immediate');
my ($status, $out, $error) = $servers[1]->psql('postgres', $blocks{'step bands'}[0],
    extra_params => [ '-1', '-v', 'me=1', '-v', 'nodes=3', '-v', 'ON_ERROR_STOP=1' ]);
isnt($status, 0, 'a step without one of the servers is an error');
like($error, qr/could not connect to server "peer_2"/, 'which names the server');
is(run_on($servers[1], 'SELECT count(*), sum(id) FROM shuffle.bands'), $bands, 'and keeps nothing');
$servers[2]->start;
($status, $out, $error) = $servers[0]->psql('postgres', "SET LOCAL statement_timeout = 1; $blocks{'step candidates'}[0]",
    extra_params => [ '-1', '-v', 'ON_ERROR_STOP=1' ]);
like($error, qr/statement timeout/, 'a step is cancelled');
steps([qw(bands candidates halves pairs)]);
is(found(), $wanted, 'pairs after the steps were repeated');

# Exactly.
everywhere($blocks{'on every server'}[2]);
steps([qw(bands candidates halves near texts exact)]);
is(found(),
    run_on($servers[0], "SELECT * FROM lsh_pairs('SELECT id, body FROM one.docs', bands => 16, rows => 6) ORDER BY 1, 2"),
    'exact pairs and similarities');

# Only the first of each bucket with the others: the same clusters of identical texts.
steps([qw(star_candidates halves pairs)]);
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM pairs WHERE left_id % 100 = 0 AND right_id % 100 = 0'),
    35, 'identical texts each with the first');

# Servers that do not fit together.
run_on($servers[1], q{ALTER TABLE docs DROP sig CASCADE});
run_on($servers[1], q{ALTER TABLE docs ADD sig minhash_signature GENERATED ALWAYS AS (minhash(body, seed => 7)) STORED});
run_on($servers[1], 'CREATE VIEW shuffle.sample AS SELECT sig FROM public.docs LIMIT 1');
($status, $out, $error) = $servers[0]->psql('postgres', $blocks{'step bands'}[0],
    extra_params => [ '-1', '-v', 'me=0', '-v', 'nodes=3', '-v', 'ON_ERROR_STOP=1' ]);
isnt($status, 0, 'signatures of another scheme are an error');
like($error, qr/signatures of different schemes.*set:42.*set:7/s, 'which names both schemes');
($status, $out, $error) = $coordinator->psql('postgres', "SELECT id FROM docs WHERE minhash_similar(sig, minhash('x'), 0.5)");
like($error, qr/signatures of different schemes.*set:7.*set:42/s, 'also of a look-up that compares them');

my ($host, $port) = ($servers[2]->host, $servers[2]->port);
$servers[2]->safe_psql('postgres', 'CREATE DATABASE bare');
$servers[2]->safe_psql('bare', 'CREATE TABLE docs (id bigint, body text)');
$coordinator->safe_psql('postgres', <<"SQL");
CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '$host', port '$port', dbname 'bare', extensions 'minhash_lsh');
CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
CREATE FOREIGN TABLE bare (id bigint, body text) SERVER bare OPTIONS (table_name 'docs');
SQL
($status, $out, $error) = $coordinator->psql('postgres',
    "SELECT id FROM bare WHERE minhash_similar(minhash(body), minhash('x'), 0.8)");
like($error, qr/(function public\.minhash|type "public\.minhash_signature").* does not exist.*remote SQL command/s,
    'a server without the extension says what it lacks');
$coordinator->safe_psql('postgres', 'ALTER FOREIGN TABLE bare OPTIONS (SET table_name \'nowhere\')');
($status, $out, $error) = $coordinator->psql('postgres',
    "ALTER SERVER bare OPTIONS (SET dbname 'unknown'); SELECT id FROM bare");
like($error, qr/could not connect to server "bare"/, 'a database that is not there');

done_testing();
