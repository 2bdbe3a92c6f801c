# Runs doc/distributed/distributed_pairs.sql on three servers and a coordinator, which connect through postgres_fdw. The
# pairs must be those of one server: for ids of any type and sign, after texts are added, committed late, changed and
# deleted, and after a server is killed, a session cancelled, or a table emptied in any step. test/distributed/citus.pl
# does the same on Citus.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Distributed;

my $count       = 3;
my @servers     = map { new_server("server$_", 4, '') } 0 .. $count - 1;
my $coordinator = new_server('coordinator', 1, '');
my $names       = join ', ', map { qq{"server $_"} } 0 .. $count - 1;

sub result_of
{
    my ($sql) = @_;
    return $coordinator->safe_psql('postgres', $sql);
}

sub error_of
{
    my ($sql) = @_;
    my (undef, undef, $error) = $coordinator->psql('postgres', $sql, on_error_stop => 1);
    return $error;
}

sub everywhere
{
    my ($sql) = @_;
    $servers[$_]->safe_psql('postgres', $sql =~ s/:me\b/$_/gr) for 0 .. $count - 1;
}

for my $server ($coordinator, @servers) {
    $server->safe_psql('postgres', 'CREATE EXTENSION minhash_lsh; CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink; '
        . join '', map { sprintf q{CREATE SERVER "server %d" FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s',
            dbname 'postgres'); CREATE USER MAPPING FOR CURRENT_USER SERVER "server %d";}, $_, $servers[$_]->host,
            $servers[$_]->port, $_ } 0 .. $count - 1);
}
result_of("\\i $ENV{TESTDIR}/distributed/distributed_pairs.sql");

# The texts on one server, and the same texts spread over the servers by no rule that the job knows. Half of the ids are
# negative.
my $texts = texts(1, 3000);
result_of(<<"SQL");
CREATE TABLE all_texts AS SELECT CASE WHEN id % 2 = 0 THEN -id ELSE id END AS id, md5(id::text)::uuid AS key, body FROM ($texts) AS t;
SQL
for my $me (0 .. $count - 1) {
    my $rows = $coordinator->safe_psql('postgres', "COPY (SELECT * FROM all_texts WHERE hashint8(id) & 3 = $me OR hashint8(id) & 3 = 3 AND $me = 0) TO STDOUT");
    $servers[$me]->safe_psql('postgres', <<'SQL');
CREATE TABLE all_texts (id bigint, key uuid, body text);
CREATE SCHEMA "The letters";
SQL
    my $file = PostgreSQL::Test::Utils::tempdir() . '/rows';
    append_to_file($file, "$rows\n");
    $servers[$me]->safe_psql('postgres', "\\copy all_texts from '$file'");
}
everywhere(<<'SQL');
CREATE TABLE "The letters"."Letter's" ("No." bigint PRIMARY KEY, "key {id} {me}" uuid UNIQUE, "The wording" text,
    "MH" minhash_signature GENERATED ALWAYS AS (minhash("The wording")) STORED);
INSERT INTO "The letters"."Letter's" SELECT * FROM all_texts;
SQL

# The query on one server that returns the same pairs for these bands and rows.
sub wanted
{
    my ($id, %more) = @_;
    my $type = $id eq 'key' ? ', NULL::uuid' : '';
    return $more{exactly} ? "SELECT * FROM lsh_pairs('SELECT $id, body FROM all_texts'$type, bands => 16, rows => 6)"
        : "SELECT * FROM lsh_pairs('SELECT $id, minhash_compress(minhash(body), 16) FROM all_texts'$type, bands => 13, rows => 7)";
}

sub job
{
    my ($id, $target, $more) = @_;
    return qq{CALL lsh_distributed_pairs('"The letters"."Letter''s"', '$id', 'MH', '$target', servers => '{$names}'$more);};
}

# The schemas that a job has left on the servers.
sub left_over { return join ' ', map { $_->safe_psql('postgres', q{SELECT nspname FROM pg_namespace WHERE nspname LIKE '%_job' ORDER BY 1}) } @servers }

my $by_number = job('No.', 'pairs_of_numbers', ', star_above => NULL');
result_of($by_number);
compare_query($coordinator, 'TABLE pairs_of_numbers', wanted('id'), 'pairs of ids of both signs');
is(left_over(), '  ', 'nothing is left but the pairs');
result_of(job('key {id} {me}', '"Pairs of "" keys"', ', star_above => NULL'));
compare_query($coordinator, 'TABLE "Pairs of "" keys"', wanted('key'), 'pairs of uuid');
result_of(job('No.', 'exact_pairs', q{, body => 'The wording', star_above => NULL, unlogged => true}));
compare_query($coordinator, 'TABLE exact_pairs', wanted('id', exactly => 1), 'exact pairs');
result_of("\\i $ENV{TESTDIR}/distributed/distributed_pairs.sql");
result_of($by_number);
compare_query($coordinator, 'TABLE pairs_of_numbers', wanted('id'), 'the same job once more, by a file that was loaded again');

# Only the first row of each large bucket is compared with the others.
my (undef, undef, $notices) = $coordinator->psql('postgres', job('No.', 'stars', ', star_above => 3'));
like($notices, qr/there are texts with 3 candidates or more.*DETAIL: .*each is compared with the first of them only/s, 'which is said');
like($notices, qr/stars, run 1: step 1 of 4, bands\n.*: bands, \d+ rows.*step 4 of 4, pairs/s, 'each step is announced');
my $copies = result_of(q{SELECT count(*), count(DISTINCT body) FROM all_texts WHERE id % 400 = 0});
my ($all, $kinds) = split /\|/, $copies;
is(result_of('SELECT count(*) FROM stars WHERE left_id % 400 = 0 AND right_id % 400 = 0'), $all - $kinds, 'identical texts each with the first');
cmp_ok($all, '>', 6, 'there are such');
unlike(($coordinator->psql('postgres', $by_number))[2], qr/candidates or more/, 'nothing is said where nothing is left out');

# The first row of a star is deleted; the others are then compared with the next one.
my $stars = job('No.', 'kept_stars', ', keep => true, star_above => 3');
result_of($stars);
my $first = result_of('SELECT left_id FROM kept_stars WHERE left_id % 400 = 0 GROUP BY left_id ORDER BY count(*) DESC LIMIT 1');
result_of("DELETE FROM all_texts WHERE id = $first");
everywhere(qq{DELETE FROM "The letters"."Letter's" WHERE "No." = $first});
result_of($stars);
is(result_of('SELECT count(*) FROM kept_stars WHERE left_id % 400 = 0 AND right_id % 400 = 0'), $all - 1 - $kinds,
    'of identical texts the first is deleted');
# Tests stars again where ids sort differently as text. There, the first row of a star may be the right row of a pair.
everywhere(q{CREATE TABLE by_json AS SELECT to_jsonb(id) AS id, minhash(body) AS mh FROM all_texts; CREATE UNIQUE INDEX ON by_json (id)});
my $json_stars = qq{CALL lsh_distributed_pairs('by_json', 'id', 'mh', 'json_stars', servers => '{$names}', keep => true, star_above => 3)};
result_of($json_stars);
my $hub = result_of(q{SELECT id FROM (SELECT left_id AS id FROM json_stars UNION ALL SELECT right_id FROM json_stars) AS ids
    WHERE id::bigint % 400 = 0 GROUP BY id ORDER BY count(*) DESC LIMIT 1});
my $stars_left = result_of(q{SELECT count(*) FROM json_stars WHERE left_id::bigint % 400 = 0 AND right_id::bigint % 400 = 0});
cmp_ok(result_of("SELECT count(*) FROM json_stars WHERE right_id = '$hub'"), '>', 0, 'which it is here');
everywhere("DELETE FROM by_json WHERE id = '$hub'");
result_of($json_stars);
is(result_of(q{SELECT count(*) FROM json_stars WHERE left_id::bigint % 400 = 0 AND right_id::bigint % 400 = 0}), $stars_left - 1,
    'when it is deleted, the others are with the next one');
result_of($by_number);

# Clusters are made, and made again when pairs have changed; a table of the user is not touched.
my $clusters = job('No.', 'letter_clusters', ', star_above => NULL, keep => true') =~ s/lsh_distributed_pairs/lsh_distributed_clusters/r;
my $wanted_clusters = q{SELECT id, cluster_id, size FROM lsh_clusters('SELECT id, minhash_compress(minhash(body), 16) FROM all_texts',
    bands => 13, rows => 7)};
result_of($clusters);
compare_query($coordinator, 'TABLE letter_clusters', $wanted_clusters, 'clusters');
my $deleted = result_of('SELECT min(id) FROM letter_clusters WHERE size > 2');
result_of("DELETE FROM all_texts WHERE id = $deleted");
everywhere(qq{DELETE FROM "The letters"."Letter's" WHERE "No." = $deleted});
result_of($clusters);
compare_query($coordinator, 'TABLE letter_clusters', $wanted_clusters, 'clusters after a text was deleted');
is(result_of("SELECT count(*) FROM letter_clusters WHERE id = $deleted"), 0, 'it is in none');
like(error_of($clusters =~ s/letter_clusters/all_texts/r), qr/relation all_texts already exists, and this procedure has not made it/,
    'a table of the user');
result_of(q{CALL lsh_drop_distributed_pairs('letter_clusters_pairs')});
result_of(qq{CALL lsh_drop_distributed_pairs('json_stars')});

# Texts are added (one by a transaction that commits after a later one has been seen), changed and deleted.
my $kept = job('No.', 'kept', ', keep => true, star_above => NULL');
result_of($kept);
compare_query($coordinator, 'TABLE kept', wanted('id'), 'a job that is kept');
my $late = $servers[1]->background_psql('postgres');
$late->query_safe(q{BEGIN; INSERT INTO "The letters"."Letter's" SELECT 5001, md5('5001')::uuid, body FROM all_texts WHERE id % 400 = 0 LIMIT 1});
my $body_of_late = $servers[1]->safe_psql('postgres', 'SELECT body FROM all_texts WHERE id % 400 = 0 LIMIT 1');
my $more = texts(3001, 3200);
result_of("INSERT INTO all_texts SELECT id + 2001, md5((id + 2001)::text)::uuid, body FROM ($more) AS t");
everywhere(qq{INSERT INTO "The letters"."Letter's" SELECT id + 2001, md5((id + 2001)::text)::uuid, body FROM ($more) AS t WHERE id % $count = :me});
result_of($kept);
compare_query($coordinator, 'TABLE kept', wanted('id'), 'new texts');
$late->query_safe('COMMIT');
$late->quit;
result_of("INSERT INTO all_texts VALUES (5001, md5('5001')::uuid, '$body_of_late')");
result_of($kept);
compare_query($coordinator, 'TABLE kept', wanted('id'), 'a text that was committed late');
is(result_of('SELECT count(*) > 0 FROM kept WHERE right_id = 5001 OR left_id = 5001'), 't', 'which has pairs');
result_of('CREATE TABLE was AS TABLE kept');
my $gone = result_of('SELECT string_agg(DISTINCT left_id::text, \',\') FROM kept WHERE left_id % 7 = 0');
result_of("DELETE FROM all_texts WHERE id IN ($gone); UPDATE all_texts SET body = md5(body) || body WHERE id % 11 = 1");
everywhere(qq{DELETE FROM "The letters"."Letter's" WHERE "No." IN ($gone);
    UPDATE "The letters"."Letter's" SET "The wording" = md5("The wording") || "The wording" WHERE "No." % 11 = 1});
result_of($kept);
compare_query($coordinator, 'TABLE kept', wanted('id'), 'changed and deleted texts');
isnt(result_of('SELECT count(*) FROM (TABLE was EXCEPT TABLE kept) AS x'), '0', 'took pairs away');

# Keys are lost between runs, as they may be when a standby is promoted.
$servers[1]->safe_psql('postgres', 'DELETE FROM kept_job.bands WHERE key % 2 = 0');
result_of('DELETE FROM all_texts WHERE id % 19 = 1');
everywhere(qq{DELETE FROM "The letters"."Letter's" WHERE "No." % 19 = 1});
(undef, undef, $notices) = $coordinator->psql('postgres', $kept);
like($notices, qr/what was kept has .*"bands": \d+.* rows instead of .*, and all texts are compared again/, 'lost keys are noticed');
compare_query($coordinator, 'TABLE kept', wanted('id'), 'pairs after keys were lost');

# A job continues after faults. Each step in turn waits for a lock on server 2, and then a fault happens.
sub job_that_waits
{
    my ($job, $statement) = @_;
    my $holder = $servers[2]->background_psql('postgres');
    $holder->query_safe("BEGIN; LOCK TABLE $statement");
    my $waiting = start_psql_with([], $coordinator, "$job");
    $servers[2]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) or die;
    return ($holder, $waiting);
}
my $letters = qq{"The letters"."Letter's"};
my $faulty  = job('No.', 'faulty', ', keep => true, unlogged => true, star_above => NULL');
my ($holder, $waiting) = job_that_waits($faulty, $letters);
like(error_of($faulty), qr/another session is at work on .*faulty/, 'two sessions at once are refused');
$servers[2]->stop('immediate');
like(finish_psql($waiting), qr/ERROR: .*(server closed the connection|terminating connection).*lsh server 2/s, 'a server is killed amid a step');
eval { $holder->quit };
like(error_of($faulty), qr/could not .*connect/, 'a job without one of the servers is an error');
$servers[2]->start;
($holder, $waiting) = job_that_waits($faulty, $letters);
result_of(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL lsh%'});
like(finish_psql($waiting), qr/canceling statement due to user request/, 'a job is cancelled');
ok($servers[2]->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_locks WHERE NOT granted'), 'and its statements with it');
$holder->query_safe('COMMIT');
$holder->quit;
# The coordinator is killed in the middle of each step of a run that processes new, changed and deleted texts.
result_of($faulty);
compare_query($coordinator, 'TABLE faulty', wanted('id'), 'the job is gone on with');
my $last = texts(3201, 3400);
result_of("INSERT INTO all_texts SELECT id + 2001, md5((id + 2001)::text)::uuid, body FROM ($last) AS t");
result_of('UPDATE all_texts SET body = body || md5(body) WHERE id % 13 = 1; DELETE FROM all_texts WHERE id % 17 = 1');
everywhere(qq{INSERT INTO $letters SELECT id + 2001, md5((id + 2001)::text)::uuid, body FROM ($last) AS t WHERE id % $count = :me;
    UPDATE $letters SET "The wording" = "The wording" || md5("The wording") WHERE "No." % 13 = 1;
    DELETE FROM $letters WHERE "No." % 17 = 1});
my @steps = qw(gone orphans bands fresh new_bands candidates halves pairs bands done);
for my $table (@steps) {
    ($holder, $waiting) = job_that_waits($faulty, $table eq 'pairs' ? 'faulty_parts.pairs' : "faulty_job.$table");
    $coordinator->stop('immediate');
    finish_psql($waiting);
    $coordinator->start;
    ok($servers[2]->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_locks WHERE NOT granted'),
        "the coordinator is killed amid $table");
    # A crash empties unlogged tables; their contents are computed again.
    if ($table eq 'pairs') {
        $servers[2]->stop('immediate');
        $servers[2]->start;
        ($holder, $waiting) = job_that_waits($faulty, 'faulty_job.bands');
        $coordinator->stop('immediate');
        $notices = finish_psql($waiting);
        $coordinator->start;
        like($notices, qr/$_ has \d+ rows instead of \d+, and is made again/, "$_ is empty after a crash, which is noticed")
            for qw(halves candidates new_bands);
    }
    eval { $holder->query_safe('COMMIT') };
    eval { $holder->quit };
}
(undef, undef, $notices) = $coordinator->psql('postgres', $faulty);
like($notices, qr/run 2: goes on after 9 steps/, 'and then gone on with');
compare_query($coordinator, 'TABLE faulty', wanted('id'), 'pairs after all these faults');

# Servers sort these ids differently: one of them ignores case, if this PostgreSQL can.
for my $server ($coordinator, @servers) {
    my $icu = $server->pg_version >= 15 && $server == $servers[1] ? q{LOCALE_PROVIDER icu ICU_LOCALE 'de'} : '';
    $server->safe_psql('postgres', "CREATE DATABASE sorted TEMPLATE template0 $icu");
    $server->safe_psql('sorted', 'CREATE EXTENSION minhash_lsh; CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink; '
        . join '', map { sprintf q{CREATE SERVER "server %d" FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s',
            dbname 'sorted'); CREATE USER MAPPING FOR CURRENT_USER SERVER "server %d";}, $_, $servers[$_]->host,
            $servers[$_]->port, $_ } 0 .. $count - 1);
}
for my $me (0 .. $count - 1) {
    $servers[$me]->safe_psql('sorted', "CREATE TABLE named AS SELECT CASE WHEN id % 2 = 0 THEN 'a' ELSE 'B' END || id AS id,
        minhash(repeat(md5((id / 6)::text), 9) || id) AS mh FROM generate_series(1, 600) AS id WHERE id % 3 = $me; CREATE UNIQUE INDEX ON named (id)");
}
$coordinator->safe_psql('sorted', "\\i $ENV{TESTDIR}/distributed/distributed_pairs.sql");
$coordinator->safe_psql('sorted', qq{CALL lsh_distributed_pairs('named', 'id', 'mh', 'named_pairs', threshold => 0.7, servers => '{$names}')});
is($coordinator->safe_psql('sorted', q{SELECT count(*) > 300, count(*) - count(DISTINCT (least(left_id, right_id), greatest(left_id, right_id))),
    count(*) FILTER (WHERE left_id COLLATE "C" > right_id) FROM named_pairs}), 't|0|0', 'ids that servers sort differently');

# Targets of the same name in different schemas have different tables. Columns may have double quotes, as in SQL.
result_of('CREATE SCHEMA "Aside"');
result_of(job('"No."', '"Aside".kept', ', star_above => NULL'));
compare_query($coordinator, 'TABLE "Aside".kept', wanted('id'), 'pairs of a target that has the name of another');
result_of($kept);
compare_query($coordinator, 'TABLE kept', wanted('id'), 'which still has its own');
like(error_of(job('No.', 'nope.kept', '')), qr/schema "nope" does not exist/, 'a schema that is not there');
$servers[1]->safe_psql('postgres', 'CREATE SCHEMA mine_job; CREATE TABLE mine_job.mine ()');
like(error_of(job('No.', 'mine', '')), qr/schema mine_job already exists, and no job of public.mine has made it/, 'a schema of the user');
is($servers[1]->safe_psql('postgres', 'SELECT count(*) FROM mine_job.mine; DROP SCHEMA mine_job CASCADE'), 0, 'is not dropped');

# Tests error messages.
like(error_of(job('No.', 'nowhere', '') =~ s/servers => '[^']*'/servers => '{}'/r), qr/must be different foreign servers/, 'no servers');
like(error_of(job('No.', 'nowhere', '') =~ s/servers => '[^']*'/servers => '{nix}'/r), qr/must be different foreign servers/, 'an unknown server');
like(error_of(job('No.', 'nowhere', '') =~ s/servers => '[^']*'/star_above => 3/r), qr/no Citus, and no servers are given/, 'servers left out');
like(error_of(job('No.', 'kept', ', keep => true, threshold => 0.7')), qr/was begun with other arguments.*HINT: .*lsh_drop_distributed_pairs/s,
    'other arguments');
like(error_of(job('The wording', 'nowhere', '')), qr/is not of one type and with a unique index/, 'a column that is not unique');
like(error_of(job('No.', 'all_texts', '')), qr/relation public.all_texts already exists, and no job has made it/, 'a table of the user');
like(error_of(job('No.', 'x' x 51, '')), qr/name .* is too long/, 'a name that is too long');
result_of(q{CALL lsh_drop_distributed_pairs('kept')});
is(left_over(), join(' ', ("faulty_job\nkept_stars_job") x $count), 'nothing is left of a job that is dropped');
like(error_of('TABLE kept'), qr/relation "kept" does not exist/, 'nor its pairs');
like(error_of(q{CALL lsh_drop_distributed_pairs('kept')}), qr/no job has made kept/, 'a job that is not there');
result_of(qq{CALL lsh_drop_distributed_pairs('$_')}) for qw(faulty kept_stars);
$servers[1]->safe_psql('postgres', qq{ALTER TABLE $letters DROP "MH";
    ALTER TABLE $letters ADD "MH" minhash_signature GENERATED ALWAYS AS (minhash("The wording", seed => 7)) STORED});
like(error_of(job('No.', 'nowhere', '')), qr/different schemes.*DETAIL: .*"seed": 7.*"seed": 42|different schemes.*DETAIL: .*"seed": 42.*"seed": 7/s,
    'signatures of another scheme are an error, which names both');

# A server that lies about its signatures or its ids can do nothing to the others but spoil the pairs. What it replies
# ends the string, type or line that it is meant to stand in.
$servers[1]->safe_psql('postgres', <<'SQL');
CREATE SCHEMA liar;
CREATE TABLE liar.replies (scheme jsonb, id_type text);
INSERT INTO liar.replies VALUES ('{}', NULL);
CREATE FUNCTION liar.minhash_scheme(public.minhash_signature) RETURNS jsonb LANGUAGE sql STABLE AS
    'SELECT to_jsonb(public.minhash_scheme($1)) || scheme FROM liar.replies';
CREATE FUNCTION liar.format_type(oid, integer) RETURNS text LANGUAGE sql STABLE AS
    'SELECT coalesce(id_type, pg_catalog.format_type($1, $2)) FROM liar.replies';
ALTER DATABASE postgres SET search_path = liar, pg_catalog, public;
SQL

sub told
{
    my ($target, $column, $value) = @_;
    $servers[1]->safe_psql('postgres', qq{UPDATE liar.replies SET (scheme, id_type) = ROW ('{}', NULL);
        UPDATE liar.replies SET $column = \$lie\$$value\$lie\$});
    return job('No.', $target, q{, body => 'The wording', star_above => NULL}) =~ s/servers => '[^']*'/servers => '{"server 1"}'/r;
}
for my $value ('"5); CREATE TABLE hacked (); SELECT (5"', '"5 --"') {
    like(error_of(told('lies', 'scheme', qq({"$_": $value}))), qr/invalid input syntax for type \w+: "+5|cannot cast jsonb string to type int/, "$_ $value")
        for qw(num_hashes bits shingle_size fold bag);
}
like(error_of(told('lies', 'scheme', q<{"unit": "char'); CREATE TABLE hacked (); SELECT ('"}>)), qr/unrecognized unit: "char'\); CREATE/, 'a unit');
result_of(q{CALL lsh_drop_distributed_pairs('lies')});
like(error_of(told('lies', 'id_type', 'bigint); CREATE TABLE hacked (id bigint')), qr/invalid type name|syntax error/, 'a type');
result_of(told('honest', 'id_type', 'bigint'));
result_of(told('lies',   'id_type', 'bigint --'));
is(result_of('SELECT count(*) > 0, count(*) = (SELECT count(*) FROM lies), count(*) = (SELECT count(*) FROM (TABLE lies INTERSECT TABLE honest) AS t)
    FROM honest'), 't|t|t', 'a type with a comment after it');
is(join(' ', map { $_->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname = 'hacked'}) } $coordinator, @servers),
    '0 0 0 0', 'nothing of it was run');

done_testing();
