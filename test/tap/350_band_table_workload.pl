# Eight sessions write to tables with band tables in every possible way, with subtransactions, transactions that are
# rolled back, and deadlocks. In each snapshot, and at the end, the band tables must have exactly the keys that are
# computed from their source tables. MINHASH_ROUNDS says for how many seconds it runs.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{MINHASH_ROUNDS} || 12;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "deadlock_timeout = 20ms\nmax_connections = 20\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- Few kinds of texts, so that rows share keys.
CREATE FUNCTION some_text() RETURNS text LANGUAGE sql VOLATILE AS
    $$SELECT CASE WHEN random() < 0.9 THEN repeat(md5((random() * 50)::int::text), 2) || (random() * 5)::int
        WHEN random() < 0.5 THEN '' END$$;
CREATE TABLE docs (id bigserial PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED, n int);
CREATE TABLE parts (id bigint DEFAULT nextval('docs_id_seq'), part int, sig minhash_signature) PARTITION BY LIST (part);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 (sig minhash_signature, gone text, part int, id bigint);
ALTER TABLE parts_1 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES IN (1);
CREATE INDEX ON parts (id);
INSERT INTO docs (body) SELECT some_text() FROM generate_series(1, 500);
INSERT INTO parts (part, sig) SELECT i % 2, minhash(some_text()) FROM generate_series(1, 300) i;
SELECT lsh_create_band_table('docs');
SELECT lsh_create_band_table('parts', bands => 8, rows => 5);
CREATE VIEW docs_state AS WITH k AS (SELECT key, id FROM docs, lsh_bands(sig, 13, 7))
    SELECT (SELECT count(*) FROM (TABLE k EXCEPT ALL TABLE docs_bands) m) AS missing,
        (SELECT count(*) FROM (TABLE docs_bands EXCEPT ALL TABLE k) m) AS extra;
CREATE VIEW parts_state AS WITH k AS (SELECT key, id FROM parts, lsh_bands(sig, 8, 5))
    SELECT (SELECT count(*) FROM (TABLE k EXCEPT ALL TABLE parts_bands) m) AS missing,
        (SELECT count(*) FROM (TABLE parts_bands EXCEPT ALL TABLE k) m) AS extra;
CREATE VIEW pairs_by_table AS SELECT DISTINCT x.id AS a, y.id AS b FROM docs_bands x JOIN docs_bands y USING (key)
    WHERE x.id < y.id;
CREATE VIEW pairs_anew AS WITH k AS MATERIALIZED (SELECT key, id FROM docs, lsh_bands(sig, 13, 7))
    SELECT DISTINCT x.id AS a, y.id AS b FROM k x JOIN k y USING (key) WHERE x.id < y.id;
SQL

my $rows = $node->basedir . '/rows';
append_to_file($rows, join '', map { "copied text number $_ of a few\n" } 1 .. 20);
my $some = '(SELECT id FROM docs OFFSET (random() * (SELECT count(*) FROM docs))::int LIMIT 3)';
# What the sessions do, and how often.
my %scripts = (
    inserted => [ 20, q{INSERT INTO docs (body) SELECT some_text() FROM generate_series(1, 1 + (random() * 4)::int);} ],
    'inserted or updated' => [ 15, qq{INSERT INTO docs (id, body) SELECT id, some_text() FROM $some s
ON CONFLICT (id) DO UPDATE SET body = excluded.body, n = coalesce(docs.n, 0) + 1;} ],
    signatures => [ 20, qq{UPDATE docs SET body = some_text() WHERE id IN $some;} ],
    ids => [ 10, qq{UPDATE docs SET id = nextval('docs_id_seq'), body = CASE WHEN random() < 0.5 THEN body ELSE some_text() END
WHERE id IN $some;} ],
    'other columns' => [ 5, q{UPDATE docs SET n = 1;} ],
    deleted => [ 15, qq{DELETE FROM docs WHERE id IN $some;} ],
    merged => [ 5, qq{MERGE INTO docs USING $some s ON docs.id = s.id WHEN MATCHED AND random() < 0.5 THEN DELETE
WHEN MATCHED THEN UPDATE SET body = some_text();} ],
    copied => [ 5, "COPY docs (body) FROM '$rows';" ],
    truncated => [ 1, q{BEGIN; TRUNCATE docs; INSERT INTO docs (body) SELECT some_text() FROM generate_series(1, 300); COMMIT;} ],
    'rolled back in part' => [ 15, qq{BEGIN; DELETE FROM docs WHERE id IN $some; SAVEPOINT a; UPDATE docs SET body = some_text()
WHERE id IN $some; SAVEPOINT b; INSERT INTO docs (body) VALUES (some_text()); ROLLBACK TO a;
INSERT INTO docs (body) VALUES (some_text()); COMMIT;} ],
    'rolled back' => [ 5, q{BEGIN; UPDATE docs SET body = some_text() WHERE id % 10 = 3; TRUNCATE docs; ROLLBACK;} ],
    'of one snapshot' => [ 10, qq{BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE docs SET body = some_text() WHERE id IN $some;
DELETE FROM docs WHERE id IN $some; COMMIT;} ],
    'into parts' => [ 15, q{INSERT INTO parts (part, sig) SELECT i % 2, minhash(some_text()) FROM generate_series(1, 3) i;
INSERT INTO parts_1 (part, sig, id) VALUES (1, minhash(some_text()), nextval('docs_id_seq'));} ],
    'moved' => [ 15, q{UPDATE parts SET part = 1 - part, sig = CASE WHEN random() < 0.5 THEN sig ELSE minhash(some_text()) END
WHERE id % 97 = (random() * 97)::int;} ],
    'of parts' => [ 10, q{DELETE FROM parts WHERE id % 97 = (random() * 97)::int; UPDATE parts_0 SET sig = minhash(some_text())
WHERE id % 31 = 3;} ]);
my @files;
for my $name (sort keys %scripts)
{
    my ($weight, $script) = @{ $scripts{$name} };
    my $file = $node->basedir . '/script' . @files;
    append_to_file($file, $script =~ s/\n/ /gr . "\n");
    push @files, '-f', "$file\@$weight";
}

my $out = '';
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '8', '-j', '2', '-T', $seconds, '--max-tries=1000', @files,
    $node->connstr('postgres') ], '>', \$out, '2>', \$out);
my $until = time() + $seconds;
my $looks = 0;
my $wrong = '';
while (time() < $until - 1)
{
    my $state = $node->safe_psql('postgres', 'SELECT * FROM docs_state, parts_state AS p (a, b)');
    $wrong .= "$state " if $state ne '0|0|0|0';
    $looks++;
}
ok($bench->finish, 'all sessions wrote to the end');
like($out, qr/number of failed transactions: 0 /, 'no transaction failed');
unlike($out, qr/aborted|ERROR/, 'no session gave up') or diag($out);
note($out);
cmp_ok($looks, '>', 0, "$looks snapshots");
is($wrong, '', 'in each of them the band tables have the keys of their sources');
is($node->safe_psql('postgres', 'SELECT * FROM docs_state, parts_state AS p (a, b)'), '0|0|0|0', 'and at the end');
my $pairs = $node->safe_psql('postgres', 'SELECT count(*) FROM pairs_anew');
cmp_ok($pairs, '>', 100, "$pairs pairs share keys made anew");
is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE pairs_anew EXCEPT TABLE pairs_by_table) a'), 0, 'a join finds all');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE pairs_by_table EXCEPT TABLE pairs_anew) a'), 0, 'and no others');
my $log = slurp_file($node->logfile);
my $deadlocks = () = $log =~ /deadlock detected/g;
note("$deadlocks deadlocks, ", $node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM docs), (SELECT count(*) FROM parts)'), ' rows');

# The comparison must notice differences.
$node->safe_psql('postgres', 'DELETE FROM docs_bands WHERE id = (SELECT max(id) FROM docs_bands); INSERT INTO parts_bands VALUES (1, -1)');
is($node->safe_psql('postgres', 'SELECT * FROM docs_state, parts_state AS p (a, b)'), '13|0|0|1', 'a band table out of step is seen');
$node->stop;
done_testing();
