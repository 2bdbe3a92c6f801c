# doc/more-than-one-server.md on Citus, by hand: its SQL is run on a coordinator and three workers. Lookups, pairs and
# clusters are those of one server, also after steps that failed. test/distributed/citus.sh runs it; MINHASH_TEXTS is
# what test/tap/Distributed.pm says.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

# Nodes of Citus see each other by TCP.
BEGIN {
    require PostgreSQL::Test::Utils;
    $PostgreSQL::Test::Utils::use_unix_sockets = 0;
}
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Distributed;

my $old    = text_count();
my $all    = $old + $old / 10;
my %blocks = blocks_of_page();

my ($coordinator, @workers) = map { new_server($_, $_ eq 'coordinator' ? 1 : 4, <<'CONF') } qw(coordinator w1 w2 w3);
shared_preload_libraries = 'citus'
citus.shard_count = 12
max_prepared_transactions = 200
random_page_cost = 1.1
CONF
my @nodes = ($coordinator, @workers);
$_->safe_psql('postgres', 'CREATE EXTENSION citus') for @nodes;
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_set_coordinator_host('%s', %s)}, $coordinator->host, $coordinator->port);
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_add_node('%s', %s)}, $_->host, $_->port) for @workers;

# Runs a block of the page, each of its transactions by itself.
sub steps
{
    my ($sql, %variables) = @_;
    $sql =~ s/:$_\b/$variables{$_}/g for keys %variables;
    for my $step (split /(?<=COMMIT;)\n+/, $sql) {
        my ($table) = $step =~ /INSERT INTO (\w+)/;
        cost("step $table", \@nodes, sub { $coordinator->safe_psql('postgres', $step) });
    }
}

sub fill
{
    my ($first, $last) = @_;
    my $texts = texts($first, $last);
    $coordinator->safe_psql('postgres', "INSERT INTO docs SELECT * FROM ($texts) AS t");
    $coordinator->safe_psql('postgres', "INSERT INTO one.docs SELECT id, body, minhash(body) FROM ($texts) AS t");
}

sub result_of
{
    my ($sql) = @_;
    return $coordinator->safe_psql('postgres', $sql);
}

sub error_of
{
    my ($sql) = @_;
    my (undef, undef, $error) = $coordinator->psql('postgres', $sql);
    return $error;
}

# A PostgreSQL like this one, with Citus, but without the files of the extension.
my $elsewhere = PostgreSQL::Test::Utils::tempdir();
chomp(my ($bin, $lib, $share) = map { scalar `pg_config --$_` } qw(bindir pkglibdir sharedir));

sub install_without_extension
{
    my $dir = $elsewhere;
    system_or_bail('mkdir', '-p', "$dir$_") for $bin, $lib, $share;
    system_or_bail('cp', '-RLT', $bin, "$dir$bin"); # programs look for their files from where they are
    system_or_bail('cp', '-RsT', $_, "$dir$_") for $lib, $share;
    unlink "$dir$lib/minhash_lsh.so", glob "$dir$share/extension/minhash_lsh*";
    return dirname("$dir$bin");
}

result_of($blocks{'Citus, tables'}[0]);
is($_->safe_psql('postgres', q{SELECT count(*) FROM pg_extension WHERE extname = 'minhash_lsh'}), 1, 'the extension is on ' . $_->name)
    for @nodes;
result_of('CREATE SCHEMA one; CREATE TABLE one.docs (id bigint, body text, sig minhash_signature)');
cost('texts, also on the coordinator', \@nodes, sub { fill(1, $old) });
result_of('CREATE INDEX ON one.docs USING gin (sig)');
result_of("VACUUM ANALYZE $_") for qw(docs one.docs);

# Lookups, with two thresholds in one session.
my ($look_up) = $blocks{'on the coordinator'}[1] =~ /(PREPARE .*?;)/s;
my $here      = "SET plan_cache_mode = force_custom_plan; $look_up" =~ s/FROM docs/FROM one.docs/r;
my $answers   = result_of("$look_up\n" . lookups('{0.8, 0.6}'));
is($answers, result_of("$here\n" . lookups('{0.8, 0.6}')), 'lookups give what one server gives');
cmp_ok(scalar(split /\n/, $answers), '>', 25, 'and find something');
is(result_of("$look_up EXECUTE look_up(minhash('x'), NULL)"), '', 'nothing is found with NULL as the threshold');
my $plan = result_of(<<"SQL");
SET citus.explain_all_tasks = on;
EXPLAIN SELECT id FROM docs WHERE minhash_similar(sig, minhash('a text'), 0.8);
SQL
is(() = $plan =~ /Bitmap Index Scan on docs_sig_/g, 12, 'each shard uses its index');
my ($one, $citus) = map { lookup_time($coordinator, $_, lookups('{0.8}')) } $here, $look_up;
diag(sprintf 'a lookup: %.2f ms on one server, %.2f ms on Citus', $one, $citus) if is_measured();
my $by_setting = q{SELECT count(*) FROM docs WHERE sig % (SELECT sig FROM docs WHERE id = 1215)};
is(result_of("SET minhash_lsh.similarity_threshold = 0.5; $by_setting"), result_of($by_setting),
    'a setting does not reach the workers');
like(error_of(q{SELECT id FROM docs WHERE minhash_similar(sig, minhash('x', seed => 7), 0.1)}),
    qr/signatures of different schemes.*set:42.*set:7/s, 'signatures of another scheme are an error, which names both');

# All pairs, on the coordinator and by the workers.
my $of_signatures = 'SELECT id, minhash_compress(sig, 16) FROM one.docs';
my $wanted        = "SELECT * FROM lsh_pairs('$of_signatures', bands => 13, rows => 7)";
cost('lsh_pairs() on the coordinator', \@nodes, sub {
    result_of("CREATE TABLE on_coordinator AS SELECT * FROM lsh_pairs('SELECT id, minhash_compress(sig, 16) FROM docs')");
});
compare_query($coordinator, 'TABLE on_coordinator', "SELECT * FROM lsh_pairs('$of_signatures')", 'lsh_pairs() on the coordinator');
steps($blocks{'Citus, all pairs'}[0]);
compare_pairs($coordinator, $wanted, 'pairs of three workers are those of one server');
my ($clusters) = $blocks{'on the coordinator'}[3];
cost('clusters', \@nodes, sub { result_of($clusters) });
compare_query($coordinator, 'SELECT id, cluster_id FROM clusters',
    "SELECT id, cluster_id FROM lsh_clusters('$of_signatures', bands => 13, rows => 7)",
    'clusters are those of one server');

# New texts.
fill($old + 1, $all);
steps($blocks{'Citus, new texts'}[0], last => $old);
compare_pairs($coordinator, $wanted, 'pairs after new texts have come');
steps($blocks{'Citus, new texts'}[0], last => $old);
compare_pairs($coordinator, $wanted, 'the same after the steps were repeated');

# A step that fails keeps nothing of what it did, and is repeated: when a worker is killed amid the step, here while it
# waits for a lock; when the step is cancelled; without one of the workers.
my ($bands_step) = split /(?<=COMMIT;)\n+/, $blocks{'Citus, all pairs'}[0];
my $bands = result_of('SELECT count(*), sum(id) FROM bands');
my $shard = result_of(sprintf q{SELECT shard_name FROM citus_shards WHERE table_name = 'docs'::regclass AND nodeport = %s
    ORDER BY 1 LIMIT 1}, $workers[2]->port);

sub step_that_waits
{
    my $holder = start_psql($workers[2], "SET citus.enable_manual_changes_to_shards = on; LOCK TABLE $shard; SELECT pg_sleep(600)");
    $workers[2]->poll_query_until('postgres', qq{SELECT count(*) > 0 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
        AND relation = '$shard'::regclass}) or die;
    my $step = start_psql($coordinator, "SET application_name = 'step';\n" . $bands_step =~ s/^(BEGIN|COMMIT);$//mgr);
    $workers[2]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) or die;
    return ($holder, $step);
}
my ($holder, $step) = step_that_waits();
$workers[2]->stop('immediate');
like(finish_psql($step), qr/ERROR: /, 'a worker is killed amid a step');
finish_psql($holder);
like(error_of($bands_step), qr/connection to the remote node .* failed/, 'a step without one of the workers is an error');
$workers[2]->start;
is(result_of('SELECT count(*), sum(id) FROM bands'), $bands, 'both keep nothing');
($holder, $step) = step_that_waits();
result_of(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'step'});
like(finish_psql($step), qr/canceling statement due to user request/, 'a step is cancelled');
$workers[2]->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'});
finish_psql($holder);
is(result_of('SELECT count(*), sum(id) FROM bands'), $bands, 'and keeps nothing');
result_of('TRUNCATE pairs');
steps($blocks{'Citus, all pairs'}[0]);
compare_pairs($coordinator, $wanted, 'pairs after the steps were repeated');

# Exactly.
my @exactly = map { s/bands => 13, rows => 7/bands => 16, rows => 6/r } split /(?<=COMMIT;)\n+/, $blocks{'Citus, all pairs'}[0];
steps(join "\n", @exactly[ 0 .. 2 ]);
steps($blocks{'Citus, exactly'}[0]);
compare_pairs($coordinator, "SELECT * FROM lsh_pairs('SELECT id, body FROM one.docs', bands => 16, rows => 6)",
    'exact pairs and similarities');

# Only the first of each bucket with the others.
result_of('TRUNCATE candidates');
result_of($blocks{'step star_candidates'}[0] =~ s/shuffle\.//gr);
is(result_of('SELECT count(*) FROM candidates WHERE left_id % 400 = 0 AND right_id % 400 = 0'),
    int($all / 400) - int($all / 20000) - 1, 'identical texts each with the first');

# Pairs within tenants, which are ranges of ids here.
result_of($blocks{'Citus, tenants'}[0]);
result_of('INSERT INTO mails SELECT id / 1000, id, body FROM one.docs WHERE id <= 20000');
result_of($blocks{'Citus, pairs of tenants'}[0]);
compare_query($coordinator, 'SELECT left_id, right_id, similarity FROM mail_pairs',
    q{SELECT * FROM lsh_pairs('SELECT id, sig, (id / 1000)::text AS scope FROM one.docs WHERE id <= 20000', bands => 13, rows => 7)},
    'pairs within tenants are those of one server', 80);

# Aggregates.
is(result_of('SELECT minhash_union_agg(sig) FROM docs'), result_of('SELECT minhash_union_agg(sig) FROM one.docs'),
    'the union of all signatures');
is(result_of('SELECT minhash_union_agg(minhash(body)) FROM docs'), result_of('SELECT minhash_agg(body) FROM one.docs'),
    'the signature of all texts');

# Band tables: not of a distributed table, nor of one that Citus manages, which is said before a row is read.
like(error_of(q{SELECT lsh_create_band_table('docs')}), qr/triggers are not supported on distributed tables/,
    'a distributed table takes no band table');
result_of('CREATE TABLE known (id bigint PRIMARY KEY, sig minhash_signature)');
result_of(q{INSERT INTO known VALUES (1, NULL)});
result_of(q{SELECT citus_add_local_table_to_metadata('known')});
like(error_of(q{SELECT lsh_create_band_table('known')}), qr/ERROR: .*known_bands/, 'a local table that Citus manages takes none');

# Servers that do not fit together.
like(error_of(q{SELECT citus_add_node('nowhere.invalid', 5432)}), qr/nowhere\.invalid/, 'an unknown server');
my $other = new_server('other', 4, "shared_preload_libraries = 'citus'\n", install_path => install_without_extension());
$other->safe_psql('postgres', 'CREATE EXTENSION citus');
my $add_other = sprintf q{SELECT citus_add_node('%s', %s)}, $other->host, $other->port;
like(error_of($add_other), qr/could not open extension control file .*minhash_lsh\.control|extension "minhash_lsh" is not available/,
    'a worker without the files of the extension');
$share .= '/extension';
my $control = slurp_file("$share/minhash_lsh.control");
my ($version) = $control =~ /default_version = '(.*)'/;
append_to_file("$elsewhere$share/minhash_lsh.control", $control =~ s/'\Q$version\E'/'another'/r);
system_or_bail('cp', "$share/minhash_lsh--$version.sql", "$elsewhere$share/minhash_lsh--another.sql");
system_or_bail('cp', "$lib/minhash_lsh.so", "$elsewhere$lib");
like(error_of($add_other), qr/extension "minhash_lsh" has no installation script nor update path for version "\Q$version\E"/,
    'a worker with another version of the extension');
$other->safe_psql('postgres', 'CREATE EXTENSION minhash_lsh');
result_of($add_other);
is(result_of(q{SELECT DISTINCT result FROM run_command_on_workers($$SELECT extversion FROM pg_extension
    WHERE extname = 'minhash_lsh'$$) ORDER BY 1}), "$version\nanother", 'Citus takes one that has it already');

done_testing();
