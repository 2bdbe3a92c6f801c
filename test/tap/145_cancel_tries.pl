# Cancels long calls of every kind at random moments. After that, none may work for long: a second session cancels the
# call, waits until it has ended, and reads how much CPU time its process used meanwhile. A busy machine is not the
# call's fault, so the elapsed time is reported but has no limit.
#
# By hand, because on some machines a large text cannot be copied to its end within the limit: MINHASH_ROUNDS=1000 says
# how many tries, and MINHASH_SEED (0 to 1) gives other moments.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'by hand: MINHASH_ROUNDS=1000' unless $ENV{MINHASH_ROUNDS};
plan skip_all => 'the kernel does not tell how long a process ran' unless -e '/proc/self/schedstat';
my $tries = $ENV{MINHASH_ROUNDS};
my $seed = $ENV{MINHASH_SEED} || 0.5;
my $limit = 100;    # ms of CPU time that a call may still use after the cancel

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = none\nmax_wal_size = 4GB\nmaintenance_work_mem = 32MB\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- Two texts of 30 MB whose shingles are all different, and one of few.
CREATE TABLE long (id int, body text);
ALTER TABLE long ALTER body SET STORAGE external;
INSERT INTO long SELECT id, string_agg(md5(concat(n, id)), '') FROM generate_series(1, 950000) n, generate_series(1, 2) id GROUP BY id;
INSERT INTO long VALUES (3, repeat('abcdefgh ', 3400000));
CREATE TABLE texts AS
    SELECT id, (SELECT string_agg(md5(concat(id / 2, n)), ' ') FROM generate_series(1, 30) n) || id AS body
    FROM generate_series(1, 20000) id;
CREATE TABLE signatures (id int PRIMARY KEY, sig minhash_signature);
INSERT INTO signatures SELECT id, minhash('number ' || id || ' of many, ' || md5((id / 3)::text)) FROM generate_series(1, 100000) id;
-- Signatures that a constraint accepts, because no two of them are alike.
CREATE TABLE unlike AS SELECT id, minhash(md5(id::text) || md5((-id)::text)) AS sig FROM generate_series(1, 100000) id;
CREATE TABLE pairs AS SELECT n::bigint AS a, n::bigint * 7919 % 400009 AS b, n % 100 / 100.0::float8 AS s FROM generate_series(1, 600000) n;
ANALYZE;

CREATE UNLOGGED TABLE tries (call text, wall float8, cpu float8);
-- How many ms after its start a call is cancelled at most; fewer if it ended before that.
CREATE UNLOGGED TABLE moments (call text PRIMARY KEY, most float8);
CREATE FUNCTION ran(pid int) RETURNS float8 VOLATILE LANGUAGE sql AS
    $$SELECT split_part(pg_read_file('/proc/' || pid || '/schedstat'), ' ', 1)::float8 / 1e6$$;
-- The call that a session is executing and that is to be cancelled, and when it began.
CREATE FUNCTION working(pid int, OUT call text, OUT since timestamptz) VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT query, query_start INTO call, since FROM pg_stat_get_activity(pid) a WHERE state = 'active' AND query LIKE '/*try*/%';
END $$;
CREATE PROCEDURE cancel(pid int) LANGUAGE plpgsql AS $$
DECLARE
    doing record;
    now record;
    longest float8;
    before float8;
    told timestamptz;
BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_get_activity(pid)) LOOP
        SELECT * INTO doing FROM working(pid);
        IF doing.call IS NULL THEN
            PERFORM pg_sleep(0.002), pg_stat_clear_snapshot();
            CONTINUE;
        END IF;
        longest := coalesce((SELECT most FROM moments WHERE call = doing.call), 1000);
        PERFORM pg_sleep(random() * longest / 1000);
        before := ran(pid);
        SELECT * INTO now FROM working(pid);
        told := clock_timestamp();
        IF now.since IS DISTINCT FROM doing.since THEN
            INSERT INTO moments VALUES (doing.call, longest * 0.8)
            ON CONFLICT (call) DO UPDATE SET most = excluded.most;
        ELSE
            PERFORM pg_cancel_backend(pid);
            LOOP
                SELECT * INTO now FROM working(pid);
                EXIT WHEN now.since IS DISTINCT FROM doing.since;
                PERFORM pg_sleep(0.001);
            END LOOP;
            INSERT INTO tries VALUES (doing.call, 1000 * extract(epoch FROM clock_timestamp() - told), ran(pid) - before);
        END IF;
        COMMIT;
    END LOOP;
END $$;
SQL

my $texts = q{'SELECT id, body FROM texts'};
my $signatures = q{'SELECT id, sig FROM signatures'};
my @calls = (
    'SELECT lsh_create_band_table(\'signatures\')',
    'CREATE INDEX other ON texts USING lsh (minhash(body))',
    'SELECT minhash(body, bag => true) FROM long WHERE id = 1',
    'SELECT minhash(body, bag => true) FROM long WHERE id = 3',
    'SELECT minhash(body) FROM long',
    'SELECT minhash(body, 4096, method => \'classic\') FROM long',
    'SELECT minhash(body, unit => \'word\') FROM long',
    'SELECT cardinality(shingles(body)) FROM long',
    'SELECT cardinality(shingles(body, bag => true)) FROM long WHERE id = 2',
    'SELECT shingle_jaccard(a.body, b.body) FROM long a, long b WHERE a.id = 1 AND b.id = 2',
    'SELECT shingle_containment(a.body, b.body, bag => true) FROM long a, long b WHERE a.id = 1 AND b.id = 2',
    q{SELECT count(*) FROM lsh_windows((SELECT repeat(md5('a') || ' ', 900000)), 400, 100)},
    'SELECT count(*) FROM long, lsh_windows(body, 400, 100) WHERE id = 1',
    'SELECT element_jaccard(array_agg(a), array_agg(b)) FROM pairs',
    'SELECT minhash_elements(array_agg(a::text), bag => true) FROM pairs',
    'SELECT minhash_agg(a::text) FROM pairs',
    'SELECT minhash_union_agg(sig) FROM signatures, generate_series(1, 20)',
    "SELECT count(*) FROM lsh_pairs($texts)",
    "SELECT count(*) FROM lsh_pairs($texts, threshold => 0.3)",
    "SELECT count(*) FROM lsh_pairs($texts, num_hashes => 4096, method => 'classic')",
    "SELECT count(*) FROM lsh_pairs($signatures, threshold => 0.5)",
    q{SELECT count(*) FROM lsh_pairs('SELECT id, body FROM long')},
    q{SELECT count(*) FROM lsh_pairs('SELECT id, body FROM long', bag => true)},
    "SELECT count(*) FROM lsh_contained($texts)",
    "SELECT count(*) FROM lsh_clusters($texts, near_representative => true)",
    "SELECT count(*) FROM lsh_clusters($signatures, threshold => 0.5)",
    q{SELECT count(*) FROM lsh_components('SELECT a, b, s FROM pairs', thresholds => '{0.1, 0.3, 0.5, 0.6}')},
    "SELECT count(*) FROM lsh_evaluate($texts, anchors => 20000)",
    'CREATE INDEX other ON signatures USING lsh (sig)',
    'CREATE INDEX other ON signatures USING gin (sig)',
    'ALTER TABLE unlike ADD CONSTRAINT other EXCLUDE USING lsh (sig WITH %)',
    # These calls do no work of the extension; they show how long PostgreSQL itself needs to end (to remove large
    # temporary files, for instance).
    'SELECT /*control*/ count(*) FROM generate_series(1, 100000000)',
    'CREATE TABLE other AS SELECT /*control*/ md5((n % 1000)::text), n FROM generate_series(1, 3000000) n ORDER BY 1');

# Each call, and the statement that removes its result if it finishes before it is cancelled.
my $script = "SET minhash_lsh.progress_interval = 0;\nSET client_min_messages = error;\n";
for my $call (@calls)
{
    my $undo = $call =~ /INDEX other/ ? 'DROP INDEX IF EXISTS other'
      : $call =~ /CONSTRAINT/ ? 'ALTER TABLE unlike DROP CONSTRAINT IF EXISTS other'
      : $call =~ /band_table/ ? q{DO $$ BEGIN PERFORM lsh_drop_band_table(to_regclass('signatures_bands')); EXCEPTION WHEN others THEN NULL; END $$}
      : 'DROP TABLE IF EXISTS other';
    $script .= "/*try*/ $call;\nSELECT pg_sleep(0.05);\n$undo;\n";
}
my $file = PostgreSQL::Test::Utils::tempdir() . '/calls.sql';
append_to_file($file, "SELECT pg_backend_pid();\nSELECT pg_sleep(0.2);\n$script");
my $tried = 0;
while ($tried < $tries)
{
    my ($out, $error) = ('', '');
    my $worker = IPC::Run::start([ 'psql', '-XAtq', '-f', $file, '-d', $node->connstr('postgres') ],
        '<', '/dev/null', '>', \$out, '2>', \$error, IPC::Run::timeout(3600));
    $worker->pump until $out =~ /^(\d+)\n/;
    my $pid = $1;
    $node->safe_psql('postgres', "SELECT setseed($seed)\\gset\nCALL cancel($pid)");
    $seed = $seed * 997 - int $seed * 997;
    $worker->finish;
    $error =~ s/^.*canceling statement due to user request$//mg;
    unlike($error, qr/ERROR|FATAL|PANIC/, 'no other error');
    my $before = $tried;
    $tried = $node->safe_psql('postgres', 'SELECT count(*) FROM tries');
    last if $tried == $before;
}
cmp_ok($tried, '>=', $tries, "calls were cancelled");
is($node->safe_psql('postgres', "SELECT call, round(cpu), round(wall) FROM tries WHERE cpu >= $limit AND call NOT LIKE '%/*control*/%' ORDER BY cpu DESC"), '',
    "none worked for $limit ms after that");
note($node->safe_psql('postgres', <<'SQL'));
SELECT concat_ws(' ', count(*), 'tries, ms until the end:', 'median', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wall)),
    'of 99 in 100', round(percentile_cont(0.99) WITHIN GROUP (ORDER BY wall)), 'longest', round(max(wall)),
    '; of CPU: median', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu)),
    'of 99 in 100', round(percentile_cont(0.99) WITHIN GROUP (ORDER BY cpu)), 'longest', round(max(cpu)))
FROM tries WHERE call NOT LIKE '%/*control*/%';
SELECT concat_ws(' ', count(*), 'tries, longest', round(max(wall)), 'ms, CPU', round(max(cpu)), 'ms:', substr(call, 9)) FROM tries GROUP BY call ORDER BY max(cpu) DESC;
SQL
$node->stop;
done_testing();
