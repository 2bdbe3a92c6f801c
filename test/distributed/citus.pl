# Tests doc/distributed/more-than-one-server.md on Citus, by hand: its SQL is run on a coordinator and three workers, then on a
# fourth worker, too. Lookups, pairs and clusters must be those of one server: for ids of both signs and of type uuid,
# after texts are added, committed late, changed and deleted, after a node is added during a job, and after faults in
# every step. test/distributed/citus.sh runs it; test/tap/Distributed.pm explains MINHASH_TEXTS.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;

# Citus nodes connect to each other by TCP.
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

my ($coordinator, @workers) = map { new_server($_, $_ eq 'coordinator' ? 1 : 4, <<'CONF') } qw(coordinator w1 w2 w3 w4);
shared_preload_libraries = 'citus'
max_connections = 200
max_prepared_transactions = 200
max_replication_slots = 20
max_wal_senders = 20
max_worker_processes = 24
random_page_cost = 1.1
wal_level = logical
CONF
my $fourth = pop @workers;
my @nodes = ($coordinator, @workers);
$_->safe_psql('postgres', 'CREATE EXTENSION citus') for @nodes;
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_set_coordinator_host('%s', %s)}, $coordinator->host, $coordinator->port);
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_add_node('%s', %s)}, $_->host, $_->port) for @workers;

sub fill
{
    my ($first, $last) = @_;
    my $texts = 'SELECT CASE WHEN id % 3 = 2 THEN -id ELSE id END AS id, body FROM (' . texts($first, $last) . ') AS t';
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
    system_or_bail('cp', '-RLT', $bin, "$dir$bin"); # programs look for their files relative to where they are
    system_or_bail('cp', '-RsT', $_, "$dir$_") for $lib, $share;
    unlink "$dir$lib/minhash_lsh.so", glob "$dir$share/extension/minhash_lsh*";
    return dirname("$dir$bin");
}

result_of($blocks{'Citus, tables'}[0]);
is($_->safe_psql('postgres', q{SELECT count(*) FROM pg_extension WHERE extname = 'minhash_lsh'}), 1, 'the extension is on ' . $_->name)
    for @nodes;
result_of('CREATE SCHEMA one; CREATE TABLE one.docs (id bigint, body text, sig minhash_signature)');
cost('texts, also on the coordinator', \@nodes, sub { fill(1, $old) });
result_of('CREATE INDEX ON one.docs USING lsh (sig)');
result_of("VACUUM ANALYZE $_") for qw(docs one.docs);

# Tests lookups with two thresholds in one session.
my ($look_up) = $blocks{'on the coordinator'}[2] =~ /(PREPARE .*?;)/s;
my $here      = "SET plan_cache_mode = force_custom_plan; $look_up" =~ s/FROM docs/FROM one.docs/r;
my $answers   = result_of("$look_up\n" . lookups('{0.8, 0.6}'));
is($answers, result_of("$here\n" . lookups('{0.8, 0.6}')), 'lookups give what one server gives');
cmp_ok(scalar(split /\n/, $answers), '>', 25, 'and find something');
is(result_of("$look_up EXECUTE look_up(minhash('x'), NULL)"), '', 'nothing is found with NULL as the threshold');
my $plan = result_of(<<"SQL");
SET citus.explain_all_tasks = on;
EXPLAIN SELECT id FROM docs WHERE minhash_similar(sig, minhash('a text'), 0.8);
SQL
is(() = $plan =~ /Index Scan (?:using|on) docs_sig_/g, 32, 'each shard uses its index');
my ($one, $citus) = map { lookup_time($coordinator, $_, lookups('{0.8}')) } $here, $look_up;
diag(sprintf 'a lookup: %.2f ms on one server, %.2f ms on Citus', $one, $citus) if is_measured();
my $by_setting = q{SELECT count(*) FROM docs WHERE sig % (SELECT sig FROM docs WHERE id = 1215)};
is(result_of("SET minhash_lsh.similarity_threshold = 0.5; $by_setting"), result_of($by_setting),
    'a setting does not reach the workers');
like(error_of(q{SELECT id FROM docs WHERE minhash_similar(sig, minhash('x', seed => 7), 0.1)}),
    qr/signature has a different scheme than .*set:7.*set:42/s, 'signatures of another scheme are an error, which names both');

# Finds all pairs, on the coordinator and with the workers.
my $of_signatures = 'SELECT id, minhash_compress(sig, 16) FROM one.docs';
my $wanted        = "SELECT * FROM lsh_pairs('$of_signatures', bands => 13, rows => 7)";
cost('lsh_pairs() on the coordinator', \@nodes, sub {
    result_of("CREATE TABLE on_coordinator AS SELECT * FROM lsh_pairs('SELECT id, minhash_compress(sig, 16) FROM docs')");
});
compare_query($coordinator, 'TABLE on_coordinator', "SELECT * FROM lsh_pairs('$of_signatures')", 'lsh_pairs() on the coordinator');
result_of($blocks{install}[0] =~ s{doc/distributed}{$ENV{TESTDIR}/distributed}r);
my $all_pairs = $blocks{'Citus, all pairs'}[0];
cost('all pairs', \@nodes, sub { result_of($all_pairs) });
compare_query($coordinator, 'TABLE doc_pairs', $wanted, 'pairs of three workers are those of one server');
cost('clusters', \@nodes, sub { result_of($blocks{clusters}[0] =~ s/, servers => '[^']*'//r) });
compare_query($coordinator, 'SELECT id, cluster_id FROM clusters',
    "SELECT id, cluster_id FROM lsh_clusters('$of_signatures', bands => 13, rows => 7)",
    'clusters are those of one server');
cost('exactly', \@nodes, sub { result_of($all_pairs =~ s/\);/, body => 'body');/r =~ s/doc_pairs/exact_pairs/r) });
compare_query($coordinator, 'TABLE exact_pairs', "SELECT * FROM lsh_pairs('SELECT id, body FROM one.docs', bands => 16, rows => 6)",
    'exact pairs and similarities');
is(result_of(q{SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%_job'}), 0, 'nothing is left but the pairs');

# The ids are of type uuid, and names contain quotes.
result_of(<<'SQL');
CREATE SCHEMA "The letters";
CREATE TABLE "The letters"."Letter's" ("key {id}" uuid PRIMARY KEY, "MH" minhash_signature);
SELECT create_distributed_table('"The letters"."Letter''s"', 'key {id}');
INSERT INTO "The letters"."Letter's" SELECT md5(id::text)::uuid, sig FROM one.docs;
CALL lsh_distributed_pairs('"The letters"."Letter''s"', 'key {id}', 'MH', '"Pairs of "" keys"', star_above => NULL);
SQL
compare_query($coordinator, 'TABLE "Pairs of "" keys"', q{SELECT * FROM lsh_pairs('SELECT md5(id::text)::uuid, minhash_compress(sig, 16)
    FROM one.docs', NULL::uuid, bands => 13, rows => 7)}, 'pairs of uuid');

# Only the first row of each bucket is compared with the others.
my (undef, undef, $notices) = $coordinator->psql('postgres', $all_pairs =~ s/\);/, star_above => 3);/r =~ s/doc_pairs/stars/r);
like($notices, qr/there are texts with 3 candidates or more/, 'large buckets are said');
is(result_of('SELECT count(*) FROM stars WHERE left_id % 400 = 0 AND right_id % 400 = 0'),
    int($old / 400) - int($old / 20000) - 1, 'identical texts each with the first');

# Texts are added (one of them by a transaction that commits late), changed and deleted.
my $every_night = $blocks{'Citus, every night'}[0];
cost('the first night', \@nodes, sub { result_of($every_night) });
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'a job that is kept');
my $late = $coordinator->background_psql('postgres');
$late->query_safe(q{BEGIN; INSERT INTO docs SELECT 0, body FROM docs WHERE id = 1215});
fill($old + 1, $all);
cost('a tenth more texts', \@nodes, sub { result_of($every_night) });
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'pairs after new texts have come');
$late->query_safe('COMMIT');
$late->quit;
result_of('INSERT INTO one.docs SELECT 0, body, sig FROM one.docs WHERE id = 1215');
result_of($every_night);
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'pairs after a text was committed late');
is(result_of('SELECT count(*) > 0 FROM kept_pairs WHERE 0 IN (left_id, right_id)'), 't', 'which has some');

# Rows that were kept are lost. A target of the same name in another schema has tables of its own.
result_of('DELETE FROM kept_pairs_job.done WHERE id % 7 = 0; CREATE SCHEMA aside');
(undef, undef, my $lost) = $coordinator->psql('postgres', $every_night);
like($lost, qr/what was kept has .* and all texts are compared again/, 'rows that were kept are lost, which is said');
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'pairs after that');
result_of($every_night =~ s/kept_pairs/aside.kept_pairs/r);
compare_query($coordinator, 'TABLE aside.kept_pairs', $wanted, 'pairs of a target that has the name of another');
result_of($every_night);
result_of(q{CALL lsh_drop_distributed_pairs('aside.kept_pairs')});
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'which still has its own');

# Faults happen in the middle of each step of a run that processes new, changed and deleted texts: the session is
# cancelled, a worker is killed, or the coordinator is killed. Each step waits for a lock on one shard.
fill($all + 1, $all + 200);
for my $table ('docs', 'one.docs') {
    my $signature = $table eq 'one.docs' ? ', sig = minhash(body || md5(body))' : '';
    result_of("UPDATE $table SET body = body || md5(body)$signature WHERE id % 13 = 1; DELETE FROM $table WHERE id % 17 = 1");
}

sub night_that_waits
{
    my ($table) = @_;
    my ($shard, $port) = split /\|/, result_of(qq{SELECT shard_name, nodeport FROM citus_shards
        WHERE table_name = '$table'::regclass AND nodeport = @{[ $workers[2]->port ]} ORDER BY 1 LIMIT 1});
    my $holder = start_psql($workers[2], "SET citus.enable_manual_changes_to_shards = on; LOCK TABLE $shard; SELECT pg_sleep(600)");
    $workers[2]->poll_query_until('postgres', qq{SELECT count(*) > 0 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
        AND relation = '$shard'::regclass}) or die;
    my $night = start_psql_with([], $coordinator, "$every_night");
    $workers[2]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) or die;
    return ($holder, $night);
}

sub release
{
    my ($holder) = @_;
    $workers[2]->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'pg_sleep' AND pid <> pg_backend_pid()});
    finish_psql($holder);
}
my @faults = ('cancel', 'kill a worker', 'kill the coordinator');
for my $table (qw(gone orphans bands fresh new_bands candidates halves pairs bands done)) {
    my ($holder, $night) = night_that_waits($table eq 'pairs' ? 'kept_pairs' : "kept_pairs_job.$table");
    my $fault = $faults[0];
    push @faults, shift @faults;
    if ($fault eq 'cancel') {
        like(error_of($every_night), qr/another session is at work on public.kept_pairs/, "$table: a second session is refused");
        result_of(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL lsh%'});
        like(finish_psql($night), qr/canceling statement due to user request/, "$table: cancelled");
    } elsif ($fault eq 'kill a worker') {
        $workers[2]->stop('immediate');
        like(finish_psql($night), qr/ERROR: /, "$table: a worker is killed");
        $workers[2]->start;
    } else {
        $coordinator->stop('immediate');
        like(finish_psql($night), qr/terminating connection|server closed the connection/, "$table: the coordinator is killed");
        $coordinator->start;
    }
    release($holder);
}

# A node is added during the job; the texts, their index, and the job's tables move to it.
$fourth->safe_psql('postgres', 'CREATE EXTENSION citus');
result_of(sprintf q{SELECT citus_add_node('%s', %s)}, $fourth->host, $fourth->port);
# A job that begins while shards are moved fails instead of waiting for ever, as the move may be waiting for it.
my $moves = start_psql_with([], $coordinator, 'SELECT rebalance_table_shards()');
$coordinator->poll_query_until('postgres', 'SELECT count(*) > 0 FROM get_rebalance_progress() WHERE progress = 1') or die;
(undef, undef, my $amid) = $coordinator->psql('postgres', $all_pairs =~ s/doc_pairs/amid_moves/r);
diag($amid) if is_measured();
unlike(finish_psql($moves), qr/ERROR/, 'shards are moved while a job begins');
result_of($all_pairs =~ s/doc_pairs/amid_moves/r);
compare_query($coordinator, 'TABLE amid_moves', $wanted, 'pairs after that');
push @workers, $fourth;
my $moved = sprintf q{SELECT count(*) FROM citus_shards WHERE nodeport = %s AND table_name = }, $fourth->port;
cmp_ok(result_of("$moved '$_'::regclass"), '>', 5, "shards of $_ are on the fourth node")
    for qw(docs kept_pairs kept_pairs_job.halves kept_pairs_job.bands kept_pairs_job.done);
(undef, undef, $notices) = $coordinator->psql('postgres', $every_night);
like($notices, qr/goes on after 9 steps/, 'the job is gone on with');
compare_query($coordinator, 'TABLE kept_pairs', $wanted, 'pairs after faults in each step, on four workers');
is(result_of("$look_up\n" . lookups('{0.8, 0.6}')), result_of("$here\n" . lookups('{0.8, 0.6}')), 'lookups after the move');

# A worker crashes between two steps and loses what it had in unlogged tables.
my $unlogged = $all_pairs =~ s/\);/, unlogged => true);/r =~ s/doc_pairs/unlogged_pairs/r;
$every_night = $unlogged;
result_of(q{SELECT _lsh_begin_job('public.unlogged_pairs', arguments || '{"keep": false, "unlogged": true}')
    FROM lsh_distributed_jobs WHERE target = 'public.kept_pairs'});
result_of(q{SELECT _lsh_next_step('public.unlogged_pairs')}) for 1 .. 3;
$workers[2]->stop('immediate');
$workers[2]->start;
(undef, undef, $notices) = $coordinator->psql('postgres', $unlogged);
like($notices, qr/goes on after 3 steps.*halves has \d+ rows.*candidates has \d+ rows.*bands has \d+ rows/s, 'which is noticed');
compare_query($coordinator, 'TABLE unlogged_pairs', $wanted, 'pairs after an unlogged table was emptied');

# Tests error messages.
like(error_of($blocks{'Citus, every night'}[0] =~ s/keep/threshold => 0.7, keep/r), qr/was begun with other arguments/, 'other arguments');
result_of(q{CREATE TABLE plain (id bigint PRIMARY KEY, sig minhash_signature)});
like(error_of(q{CALL lsh_distributed_pairs('plain', 'id', 'sig', 'nowhere')}), qr/plain is not distributed by its column id/, 'a local table');
result_of(q{CREATE TABLE twice (id bigint, sig minhash_signature); SELECT create_distributed_table('twice', 'id')});
like(error_of(q{CALL lsh_distributed_pairs('twice', 'id', 'sig', 'nowhere')}), qr/column id of twice has no unique index/, 'ids that are not unique');
result_of(q{CALL lsh_drop_distributed_pairs('kept_pairs')});
is(result_of(q{SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%_job'}), 0, 'nothing is left of jobs that are dropped');

# Finds pairs within tenants, which are ranges of ids here.
result_of($blocks{'Citus, tenants'}[0]);
result_of('INSERT INTO mails SELECT id / 1000, id, body FROM one.docs WHERE id <= 20000');
result_of($blocks{'Citus, pairs of tenants'}[0]);
compare_query($coordinator, 'SELECT left_id, right_id, similarity FROM mail_pairs',
    q{SELECT * FROM lsh_pairs('SELECT id, sig, (id / 1000)::text AS scope FROM one.docs WHERE id <= 20000', bands => 13, rows => 7)},
    'pairs within tenants are those of one server', 80);

# Tests a guard within tenants.
result_of($blocks{'Citus, a guard of tenants'}[0]);
result_of(q{INSERT INTO notes VALUES (1, 1, minhash('the same letter to the editor')), (2, 2, minhash('the same letter to the editor'))});
like(error_of(q{INSERT INTO notes VALUES (1, 3, minhash('the same letter to the editor'))}), qr/conflicting key value violates exclusion/,
    'a near-duplicate within a tenant is refused');

# Tests aggregates.
is(result_of('SELECT minhash_union_agg(sig) FROM docs'), result_of('SELECT minhash_union_agg(sig) FROM one.docs'),
    'the union of all signatures');
is(result_of('SELECT minhash_union_agg(minhash(body)) FROM docs'), result_of('SELECT minhash_agg(body) FROM one.docs'),
    'the signature of all texts');

# Band tables are refused for a distributed table, and for one that Citus manages.
like(error_of(q{SELECT lsh_create_band_table('docs')}), qr/triggers are not supported on distributed tables|cannot run function command/,
    'a distributed table takes no band table');
is(result_of(q{SELECT to_regclass('docs_bands')}), '', 'and nothing is left of it');
result_of('CREATE TABLE known (id bigint PRIMARY KEY, sig minhash_signature)');
result_of(q{INSERT INTO known VALUES (1, NULL)});
result_of(q{SELECT citus_add_local_table_to_metadata('known')});
like(error_of(q{SELECT lsh_create_band_table('known')}), qr/ERROR: .*known_bands/, 'a local table that Citus manages takes none');

# Servers that cannot join the cluster are refused.
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
