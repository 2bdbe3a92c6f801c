# Sessions that write the same texts at once to a table with an exclusion constraint using lsh, amid
# deletion, VACUUM and merges: at the end there are no two of a text. MINHASH_ROUNDS is the seconds
# that it runs.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{MINHASH_ROUNDS} || 10;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmaintenance_work_mem = 1MB\ndeadlock_timeout = 20ms\n");
$node->start;
# Signatures of 1024 hashes, so that a few hundred rows make a run. Those of one `what` are the same.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(md5(what::text) || md5((what + 1)::text), 1024)$$;
CREATE TABLE docs (id serial, part int, sig minhash_signature,
    EXCLUDE USING lsh (part WITH =, sig WITH %, id WITH <>) WITH (threshold = 0.9));
SQL

my $one_of = '(random() * 400)::int';
my @scripts = (
    [ 3, "INSERT INTO docs (part, sig) VALUES ((random() * 2)::int, doc($one_of)) ON CONFLICT DO NOTHING;" ],
    [ 1, "DO \$\$ BEGIN INSERT INTO docs (part, sig) SELECT i % 3, doc($one_of) FROM generate_series(1, 4) i; EXCEPTION WHEN exclusion_violation THEN NULL; END \$\$;" ],
    [ 1, "DO \$\$ BEGIN UPDATE docs SET sig = doc($one_of) WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 2); EXCEPTION WHEN exclusion_violation THEN NULL; END \$\$;" ],
    [ 1, "DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 20);\n\\sleep 10 ms" ],
    [ 1, "VACUUM (INDEX_CLEANUP ON) docs;" ]);
my (@runs, @outputs);
for my $at (0 .. $#scripts)
{
    my ($clients, $script) = @{ $scripts[$at] };
    my $file = $node->basedir . "/script$at";
    append_to_file($file, "$script\n");
    $outputs[$at] = '';
    push @runs, IPC::Run::start(
        [ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '--max-tries=1000', '-f', $file, $node->connstr('postgres') ],
        '>', \$outputs[$at], '2>', \$outputs[$at]);
}
$_->finish for @runs;
for my $at (0 .. $#scripts)
{
    my ($count) = $outputs[$at] =~ /number of transactions actually processed: (\d+)/;
    my $what = substr $scripts[$at][1], 0, 40;
    cmp_ok($count // 0, '>', 0, "$what: " . ($count // 'none') . ' times');
    unlike($outputs[$at], qr/ERROR|aborted/, "$what: without an error") or diag($outputs[$at]);
}
my ($rows, $distinct, $written) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (part, sig)), max(id) FROM docs');
is($rows, $distinct, "$rows rows, $written tried, no two the same");
cmp_ok($rows, '>', 50, 'there are some');
like($node->safe_psql('postgres', q{SELECT * FROM lsh_check('docs_part_sig_id_excl', heap => true)}), qr/^\d/, 'the index is sound');
$node->safe_psql('postgres', 'REINDEX TABLE docs');
$node->stop;
done_testing();
