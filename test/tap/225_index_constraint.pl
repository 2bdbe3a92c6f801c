# Sessions write the same texts at once to a table with an exclusion constraint using lsh, during deletion, VACUUM and
# merges. At the end, no text may be there twice. MINHASH_ROUNDS says for how many seconds it runs.
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
# Signatures have 1024 hashes, so that a few hundred rows make a run. Rows with the same `what` have the same signature.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE FUNCTION doc(what int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(md5(what::text) || md5((what + 1)::text), 1024)$$;
CREATE TABLE docs (id serial, part int, sig minhash_signature,
    EXCLUDE USING lsh (part WITH =, sig WITH %, id WITH <>) WITH (threshold = 0.9));
SQL

# Runs scripts at once, each with its own number of clients.
sub run_at_once
{
    my ($name, @scripts) = @_;
    my (@runs, @outputs);
    for my $at (0 .. $#scripts)
    {
        my ($clients, $script) = @{ $scripts[$at] };
        my $file = $node->basedir . "/$name$at";
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
        my ($what) = $scripts[$at][1] =~ /^(.{1,40})/;
        cmp_ok($count // 0, '>', 0, "$what: " . ($count // 'none') . ' times');
        unlike($outputs[$at], qr/ERROR|aborted/, "$what: without an error") or diag($outputs[$at]);
    }
}

my $one_of = '(random() * 400)::int';
run_at_once(
    'docs',
    [ 3, "INSERT INTO docs (part, sig) VALUES ((random() * 2)::int, doc($one_of)) ON CONFLICT DO NOTHING;" ],
    [ 1, "DO \$\$ BEGIN INSERT INTO docs (part, sig) SELECT i % 3, doc($one_of) FROM generate_series(1, 4) i; EXCEPTION WHEN exclusion_violation THEN NULL; END \$\$;" ],
    [ 1, "DO \$\$ BEGIN UPDATE docs SET sig = doc($one_of) WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT 2); EXCEPTION WHEN exclusion_violation THEN NULL; END \$\$;" ],
    [ 1, "DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT (SELECT greatest(count(*) - 100, 0) / 20 FROM docs));\n\\sleep 10 ms" ],
    [ 1, "VACUUM (INDEX_CLEANUP ON) docs;" ]);
my ($rows, $distinct, $written) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (part, sig)), max(id) FROM docs');
is($rows, $distinct, "$rows rows, $written tried, no two the same");
cmp_ok($rows, '>', 50, 'there are some');
like($node->safe_psql('postgres', q{SELECT * FROM lsh_check('docs_part_sig_id_excl', heap => true)}), qr/^\d/, 'the index is sound');
$node->safe_psql('postgres', 'REINDEX TABLE docs');

# Tests the function of doc/refuse-or-mark.md: eight writers insert a text or are told which similar text exists, while
# one session deletes and another one vacuums. Each answer must be a row that has, or had, a text like the given one.
my ($function) = slurp_file("$ENV{TESTDIR}/refuse-or-mark.md") =~ /^(CREATE TABLE questions.*?^END \$\$;)$/ms;
ok($function, 'the page has the function');
$node->safe_psql('postgres', $function . <<'SQL');
CREATE FUNCTION question(what int, how int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(format('%s %s', what, word)), ' ' ORDER BY word) || ' ' || how FROM generate_series(1, 20) word $$;
CREATE TABLE written (question bigint, what text);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO written VALUES (NEW.id, left(NEW.body, 32)); RETURN NULL; END $$;
CREATE TRIGGER keep AFTER INSERT ON questions FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TABLE answers (what text, question bigint, similarity float8);
SQL
run_at_once(
    'questions',
    [ 8, 'INSERT INTO answers SELECT left(body, 32), told.* FROM question((random() * 50)::int, (random() * 9)::int) body, insert_question(body) told;' ],
    [ 1, "DELETE FROM questions WHERE id IN (SELECT id FROM questions ORDER BY random() LIMIT 5);\n\\sleep 5 ms" ],
    [ 1, "VACUUM (INDEX_CLEANUP ON) questions;\n\\sleep 20 ms" ]);
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT left(body, 32)) FROM questions'), 0, 'no two questions are the same');
my ($answers, $wrong, $inserted, $kept) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT count(*), count(*) FILTER (WHERE a.what IS DISTINCT FROM w.what OR similarity < 0.8),
    count(*) FILTER (WHERE similarity IS NULL),
    (SELECT count(*) FROM written) FROM answers a LEFT JOIN written w USING (question)
SQL
is($wrong, 0, "each of $answers answers is the right one");
is($inserted, $kept, "$kept of them inserted");
cmp_ok($answers - $kept, '>', 100, 'the others were told');

# Many texts are just at the threshold, where a lookup at the same threshold would miss some of those that the constraint
# finds: six writers must be told about each of them, and meet no error.
$node->safe_psql('postgres', <<'SQL');
TRUNCATE questions, answers;
CREATE FUNCTION edited(what int, edits int) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(CASE WHEN random() < edits / 25.0 THEN 'x' || (random() * 99)::int
        ELSE repeat(chr(97 + (what + word * word) % 10), 3) || what * 31 + word END, ' ' ORDER BY word)
    FROM generate_series(1, 25) word $$;
SQL
run_at_once(
    'near_questions',
    [ 6, 'INSERT INTO answers SELECT left(body, 32), told.* FROM edited((random() * 30)::int, (random() * 5)::int) body, insert_question(body) told;' ],
    [ 1, "DELETE FROM questions WHERE id IN (SELECT id FROM questions ORDER BY random() LIMIT 3);\n\\sleep 5 ms" ]);
my ($told, $below) = split /\|/, $node->safe_psql('postgres',
    'SELECT count(similarity), count(*) FILTER (WHERE question IS NULL OR similarity < 0.8) FROM answers');
cmp_ok($told, '>', 500, "$told were told");
is($below, 0, 'each of them about a near question');
$node->stop;
done_testing();
