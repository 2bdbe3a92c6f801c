# Takes kept clusters through random histories: after each refresh they must be the same as those of lsh_clusters(),
# their names must follow the rules, only rows that differ may be written, and a copy to which the log is applied must be
# the same. Rows change, settings are changed by UPDATE, ranks and scopes are NULL, verdicts come and go, others delete and
# change rows of the kept table, and refreshes run at each isolation level and are rolled back. Then it tests a cluster of many rows that
# is taken apart, two refreshes at once, a server that is killed, and a dump. MINHASH_ROUNDS=100000 is the long form, in
# steps of a history. Each run has another history, which MINHASH_SEED (0 to 1) reproduces.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Crash;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $steps = $ENV{MINHASH_ROUNDS} || 3000;
my $seed = $ENV{MINHASH_SEED} || sprintf('%.6f', 1e-6 + 0.99 * rand);
diag("MINHASH_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\n"); # JIT would compile disabled plans
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
SET check_function_bodies = off;
-- A text has 16 words in a row of one of 25 families, which have 40 words each. Texts whose windows are 4 words apart
-- have a similarity of 0.6, and 5 words apart 0.52. So families are chains, which fall apart if a row in the middle is
-- deleted.
CREATE FUNCTION some_text() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(md5(concat(family, '-', place + word)), ' ' ORDER BY word)
    FROM generate_series(1, 16) AS word,
        (SELECT floor(25 * random()) AS family, floor(24 * random()) AS place OFFSET 0) AS s
$$;
CREATE TABLE docs (id int PRIMARY KEY, body text, part int, preferred int);
CREATE TABLE told (id int);
CREATE TABLE verdicts (one int, other int); -- which rows a person has told apart
CREATE TABLE copied (id int PRIMARY KEY, cluster_id bigint, representative int);

-- What is wrong with kept clusters: their rows, clusters or components differ from the true ones, or rows are together
-- that somebody has told apart.
CREATE FUNCTION complaints(query text, near boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
    at_least float8 := (SELECT threshold FROM kept_settings);
    judged text := (SELECT apart FROM kept_settings);
BEGIN
    DROP TABLE IF EXISTS truth;
    CREATE TEMP TABLE truth AS
    SELECT c.*, k.cluster_id AS component
    FROM lsh_clusters(query, NULL::int, threshold => at_least, bands => 64, rows => 2, num_hashes => 128, unit => 'word',
        shingle_size => 1, near_representative => near, singletons => true, apart => judged) AS c
    JOIN lsh_clusters(query, NULL::int, threshold => at_least, bands => 64, rows => 2, num_hashes => 128, unit => 'word',
        shingle_size => 1, singletons => true) AS k USING (id);
    SELECT string_agg(what, '; ') INTO found FROM (
        SELECT format('%s rows differ, such as %s', count(*), min(id)) AS what
        FROM (SELECT id, representative, similarity FROM kept EXCEPT SELECT id, representative, similarity FROM truth
              UNION ALL (SELECT id, representative, similarity FROM truth EXCEPT SELECT id, representative, similarity FROM kept)) AS s
        HAVING count(*) > 0
        UNION ALL
        SELECT 'other clusters' FROM kept k JOIN truth t USING (id)
        HAVING count(DISTINCT (k.cluster_id, t.cluster_id)) <> count(DISTINCT k.cluster_id)
            OR count(DISTINCT (k.cluster_id, t.cluster_id)) <> count(DISTINCT t.cluster_id)
        UNION ALL
        SELECT 'other components' FROM kept k JOIN truth t USING (id)
        HAVING count(DISTINCT (k.component, t.component)) <> count(DISTINCT k.component)
            OR count(DISTINCT (k.component, t.component)) <> count(DISTINCT t.component)
        UNION ALL
        SELECT format('%s and %s are together', one, other) FROM verdicts JOIN kept k ON k.id = one JOIN kept o ON o.id = other
        WHERE k.cluster_id = o.cluster_id AND one <> other AND judged IS NOT NULL) AS s;
    RETURN found;
END $$;

-- Applies the last refresh's log to the copy, and says whether the copy differs from the kept table.
CREATE FUNCTION replay() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    done bigint := 0;
BEGIN
    FOR entry IN SELECT * FROM events_of_kept WHERE refresh = (SELECT refreshes FROM kept_settings) LOOP
        IF entry.cluster_id IS NULL THEN
            DELETE FROM copied WHERE id = entry.id AND cluster_id = entry.old_cluster_id
                AND representative = entry.old_representative;
        ELSIF entry.old_cluster_id IS NULL THEN
            INSERT INTO copied VALUES (entry.id, entry.cluster_id, entry.representative);
        ELSE
            UPDATE copied SET cluster_id = entry.cluster_id, representative = entry.representative
            WHERE id = entry.id AND cluster_id = entry.old_cluster_id AND representative = entry.old_representative;
        END IF;
        IF NOT FOUND THEN
            RETURN format('the log does not fit: %s', entry);
        END IF;
    END LOOP;
    RETURN (SELECT format('the copy differs in %s rows', count(*)) FROM copied AS c
            FULL JOIN kept AS k USING (id, cluster_id, representative) WHERE c IS NULL OR k IS NULL HAVING count(*) > 0);
END $$;

CREATE FUNCTION broken_rules() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(what, '; ') FROM (
        -- A part with more than half of a cluster's rows keeps its name, or gets an older one.
        SELECT format('cluster %s: most of it is now %s', was, now) AS what FROM (
            SELECT b.cluster_id AS was, k.cluster_id AS now, count(*) AS part, sum(count(*)) OVER (PARTITION BY b.cluster_id) AS whole
            FROM before b JOIN kept k USING (id) WHERE b.content_hash = k.content_hash GROUP BY 1, 2) AS s
        WHERE 2 * part > whole AND now > was
        UNION ALL
        -- A cluster with rows left still exists, or its rows have joined an older cluster.
        SELECT format('cluster %s is lost', b.cluster_id) FROM before b JOIN kept k USING (id)
        WHERE NOT EXISTS (SELECT FROM kept WHERE cluster_id = b.cluster_id)
        GROUP BY b.cluster_id HAVING min(k.cluster_id) > b.cluster_id
        UNION ALL
        -- A name that did not exist before the refresh is new.
        SELECT format('cluster %s is back', cluster_id) FROM kept
        WHERE cluster_id <= (SELECT max(cluster_id) FROM ever) AND cluster_id NOT IN (SELECT cluster_id FROM before)
        UNION ALL
        SELECT format('row %s was written', k.id) FROM before b JOIN kept k USING (id)
        WHERE b.place <> k.ctid AND (b.cluster_id, b.representative, b.similarity, b.component, b.content_hash)
            = (k.cluster_id, k.representative, k.similarity, k.component, k.content_hash)) AS s
$$;

-- Changes verdicts: on rows of one cluster, on any rows, on ids that are not there.
CREATE PROCEDURE judge() LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM verdicts WHERE random() < CASE WHEN random() < 0.1 THEN 1 ELSE 0.2 END;
    INSERT INTO verdicts SELECT a.id, b.id FROM kept a JOIN kept b USING (cluster_id) WHERE a.id <> b.id
    ORDER BY random() LIMIT 5 * random();
    INSERT INTO verdicts SELECT a.id, CASE WHEN random() < 0.5 THEN 200000 * random() ELSE b.id END FROM kept a, kept b
    WHERE random() < 0.0001 LIMIT 5;
    INSERT INTO verdicts SELECT id, CASE WHEN random() < 0.5 THEN id END FROM kept LIMIT 2 * random();
END $$;

-- Makes random changes, with a refresh after some of them. If `telling`, a refresh is told which rows were changed.
CREATE PROCEDURE live(steps int, most_between int, query text, near boolean, telling boolean) LANGUAGE plpgsql AS $$
DECLARE
    done int := 0;
    refreshes int := 0;
    which int;
    report record;
    broken text;
BEGIN
    PERFORM lsh_create_clusters('kept', query, threshold => 0.56, bands => 64, rows => 2, num_hashes => 128,
        unit => 'word', shingle_size => 1, near_representative => near,
        apart => CASE WHEN near THEN 'SELECT one, other FROM verdicts' END);
    DROP TABLE IF EXISTS events_of_kept, ever;
    PERFORM lsh_refresh_clusters('kept', log => 'events_of_kept');
    CREATE TABLE ever AS SELECT max(cluster_id) AS cluster_id FROM kept;
    TRUNCATE copied;
    INSERT INTO copied SELECT id, cluster_id, representative FROM kept;
    COMMIT;
    WHILE done < steps LOOP
        DROP TABLE IF EXISTS before;
        CREATE TEMP TABLE before AS SELECT *, ctid AS place FROM kept;
        TRUNCATE told;
        IF random() < 0.1 AND NOT telling THEN
            UPDATE kept_settings SET threshold = 0.5 + 0.15 * random();
        END IF;
        IF random() < 0.3 THEN
            CALL judge();
        END IF;
        IF random() < 0.05 AND near THEN
            UPDATE kept_settings SET apart = CASE WHEN apart IS NULL THEN 'SELECT one, other FROM verdicts' END;
        END IF;
        PERFORM set_config('default_transaction_isolation',
            (ARRAY['read committed', 'repeatable read', 'serializable'])[1 + floor(3 * random())::int], false);
        COMMIT; -- the next transaction has that isolation level
        FOR step IN 1 .. CASE WHEN random() < 0.3 THEN 1 ELSE 1 + floor(random() * random() * most_between)::int END LOOP
            done := done + 1;
            SELECT id INTO which FROM docs ORDER BY random() LIMIT 1;
            CASE floor(random() * 3 + CASE WHEN (SELECT count(*) FROM docs) < 300 THEN 2.0 / 3 ELSE 0 END)::int
            WHEN 0 THEN
                DELETE FROM docs WHERE id = which;
            WHEN 1 THEN
                UPDATE docs SET body = CASE WHEN random() < 0.95 THEN some_text() END,
                    preferred = CASE WHEN random() < 0.7 THEN 5 * random() END WHERE id = which;
            ELSE
                -- A row may join a cluster without another clustering.
                which := CASE WHEN random() < 0.5 THEN 100000 * random() ELSE (SELECT coalesce(max(id), 0) + 1 FROM docs) END;
                INSERT INTO docs VALUES (which, some_text(),
                    CASE WHEN random() < 0.7 THEN random() END, CASE WHEN random() < 0.7 THEN 5 * random() END)
                    ON CONFLICT DO NOTHING;
            END CASE;
            INSERT INTO told VALUES (which);
        END LOOP;
        PERFORM set_config('enable_seqscan', (random() < 0.5)::text, true);
        IF random() < 0.1 THEN -- and forget it
            BEGIN
                PERFORM lsh_refresh_clusters('kept', CASE WHEN telling THEN 'told' END, log => 'events_of_kept');
                RAISE division_by_zero;
            EXCEPTION WHEN division_by_zero THEN
            END;
        END IF;
        SELECT * INTO report FROM lsh_refresh_clusters('kept', CASE WHEN telling THEN
            CASE WHEN random() < 0.5 THEN 'told' ELSE 'SELECT id FROM told' END END, log => 'events_of_kept');
        refreshes := refreshes + 1;
        RESET enable_seqscan;
        SELECT concat_ws('; ', complaints(query, near), broken_rules(), replay(),
            CASE WHEN report.rows_added - report.rows_removed <> (SELECT count(*) FROM kept) - (SELECT count(*) FROM before)
                THEN 'rows are counted wrongly' END,
            CASE WHEN report.clusters_made - report.clusters_joined - report.clusters_dissolved
                <> (SELECT count(DISTINCT cluster_id) FROM kept) - (SELECT count(DISTINCT cluster_id) FROM before)
                THEN 'clusters are counted wrongly' END) INTO broken;
        IF broken <> '' THEN
            RAISE EXCEPTION 'after % steps: %', done, broken;
        END IF;
        -- What others do to the kept table is undone, and the log knows of it.
        IF random() < 0.1 THEN
            COMMIT;
            CASE floor(random() * 4)::int
            WHEN 0 THEN
                DELETE FROM kept WHERE random() < 0.1;
            WHEN 1 THEN
                UPDATE kept SET representative = id, cluster_id = 1, component = 1 + random(), similarity = random()
                WHERE random() < 0.1;
            WHEN 2 THEN
                TRUNCATE kept;
            ELSE -- as by a foreign key
                DELETE FROM kept WHERE id % 11 = 0;
                DELETE FROM docs WHERE id % 11 = 0;
            END CASE;
            IF telling OR random() < 0.5 THEN -- by a refresh that writes no log, or else by the next one
                PERFORM lsh_refresh_clusters('kept');
                broken := complaints(query, near);
                IF broken <> '' THEN
                    RAISE EXCEPTION 'after % steps, what others did stays: %', done, broken;
                END IF;
            END IF;
        END IF;
        UPDATE ever SET cluster_id = greatest(cluster_id, (SELECT max(cluster_id) FROM kept));
        COMMIT;
    END LOOP;
    RAISE NOTICE 'refreshes: %, joins: %, splits: %', refreshes, (SELECT count(*) FROM events_of_kept WHERE event = 'joined'),
        (SELECT count(*) FROM events_of_kept WHERE event = 'split');
    DROP TABLE kept;
END $$;
SQL

sub live
{
    my ($share, $between, $query, $near, $telling, $what) = @_;
    my ($code, $out, $err) = $node->psql('postgres', "SELECT setseed($seed);\nCALL live(" . int($steps * $share) . ", $between, '$query', $near, $telling);",
        on_error_stop => 1, timeout => 6 * 3600);
    is($code, 0, "a history of $what") or diag($err);
    my ($joins, $splits) = $err =~ /joins: (\d+), splits: (\d+)/;
    note($err);
    ok($joins && $splits, 'clusters joined and split');
    return;
}

my $of_index = "SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE indexrelname = 'docs_words'";
live(1 / 3, 60, 'SELECT id, body FROM docs', 'true', 'false', 'rows near their representatives');
# Lookups find what the given bands promise: here, all but one pair in 10^9.
$node->safe_psql('postgres', q{CREATE INDEX docs_words ON docs USING lsh (minhash(body, unit => 'word', shingle_size => 1))});
live(1 / 3, 20, 'SELECT id, body FROM docs', 'true', 'true', 'rows that are told, and an index');
cmp_ok($node->safe_psql('postgres', $of_index), '>', 20, 'the index is used');
$node->safe_psql('postgres', 'DROP INDEX docs_words');
live(1 / 6, 40, 'SELECT id, body, part AS scope, preferred AS rank FROM docs', 'false', 'false', 'connected rows with scope and rank');
live(1 / 6, 2, 'SELECT id, body, part AS scope FROM docs', 'false', 'false', 'connected rows, changed one by one');

# A cluster of 10,000 rows is made and taken apart.
my $settings = q{threshold => 0.56, bands => 64, rows => 2, num_hashes => 128, unit => 'word', shingle_size => 1};
my $all = q{'SELECT id, body FROM docs'};
my $told = 'rows_added, rows_removed, rows_changed';
for my $near (qw(true false))
{
    $node->safe_psql('postgres', qq{SELECT setseed($seed); TRUNCATE docs;
INSERT INTO docs (id, body) SELECT i, some_text() FROM generate_series(20001, 20100) i;
SELECT lsh_create_clusters('kept', $all, $settings, near_representative => $near);
INSERT INTO docs (id, body) SELECT i, (SELECT string_agg(md5(word::text), ' ') FROM generate_series(1, 16) word) || ' ' || i
    FROM generate_series(1, 10000) i;});
    is($node->safe_psql('postgres', "SELECT $told FROM lsh_refresh_clusters('kept')"), '10000|0|0', 'many rows of one kind');
    is($node->safe_psql('postgres', 'SELECT count(*) FROM kept GROUP BY cluster_id HAVING count(*) > 1000'), '10000', 'are a cluster');
    $node->safe_psql('postgres', q{DELETE FROM docs WHERE id = 1 OR id % 10 = 3 AND id < 20000;
UPDATE docs SET body = concat(id, ' ', body, ' ', (SELECT string_agg(md5(concat(id, word)), ' ') FROM generate_series(1, 40) word)) WHERE id % 10 IN (4, 5, 6) AND id < 20000;
UPDATE docs SET body = (SELECT string_agg(md5(concat(id / 20, word)), ' ') FROM generate_series(1, 20) word) WHERE id % 10 IN (7, 8) AND id < 20000;});
    is($node->safe_psql('postgres', "SELECT $told, clusters_made FROM lsh_refresh_clusters('kept')"), '0|1001|5000|3500', 'it is taken apart');
    is($node->safe_psql('postgres', "SELECT complaints($all, $near)"), '', 'as lsh_clusters() says');
    is($node->safe_psql('postgres', 'SELECT count(*) FROM kept GROUP BY cluster_id HAVING count(*) > 1000'), '3999', 'the rest of it stays');
    $node->safe_psql('postgres', 'DROP TABLE kept') if $near eq 'true';
}

# The server is killed while rows change and clusters are refreshed. The clusters must then be those of one refresh, and
# the next refresh must make them right.
$node->safe_psql('postgres', qq{DROP TABLE kept; TRUNCATE docs; INSERT INTO docs (id, body) SELECT i, some_text() FROM generate_series(1, 300) i;
SELECT lsh_create_clusters('kept', $all, $settings, apart => 'TABLE verdicts'); CREATE TABLE refreshed AS SELECT 0 AS times;
SELECT lsh_refresh_clusters('kept', log => 'events'); TRUNCATE copied;
INSERT INTO copied SELECT id, cluster_id, representative FROM kept;});
# The rows in which the table differs from a copy to which the whole log is applied.
my $unlike_log = q{SELECT count(*) FROM (SELECT DISTINCT ON (id) id, cluster_id, representative
    FROM (SELECT 0 AS refresh, * FROM copied UNION ALL SELECT refresh, id, cluster_id, representative FROM events) AS s
    ORDER BY id, refresh DESC) AS l FULL JOIN kept AS k USING (id, cluster_id, representative)
WHERE l.id IS NULL OR k.id IS NULL AND l.cluster_id IS NOT NULL};
my @scripts = (
    q{\set id random(1, 600)
INSERT INTO docs (id, body) VALUES (:id, some_text()) ON CONFLICT (id) DO UPDATE SET body = some_text();},
    q{\set id random(1, 600)
DELETE FROM docs WHERE id = :id;},
    q{BEGIN;
SELECT lsh_refresh_clusters('kept', log => 'events');
UPDATE refreshed SET times = times + 1;
COMMIT;},
    q{BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO docs (id, body) VALUES (700, some_text()) ON CONFLICT (id) DO UPDATE SET body = some_text();
SELECT lsh_refresh_clusters('kept');
COMMIT;},
    q{CALL judge();
\sleep 100 ms});
my @files;
for my $script (@scripts)
{
    push @files, $node->basedir . '/kept' . @files;
    append_to_file($files[-1], $script . "\n");
}
for my $crash (1 .. 3)
{
    my $out = '';
    my @writers = map {
        IPC::Run::start([ 'pgbench', '-n', '-T', '120', '--max-tries=0', '-f', $_, $node->connstr('postgres') ], '>', \$out, '2>', \$out)
    } @files, $files[2]; # a second session refreshes, too
    my $times = $node->safe_psql('postgres', 'SELECT times FROM refreshed');
    $node->poll_query_until('postgres', "SELECT times > $times + 5 FROM refreshed") or die "no refreshes: $out";
    sleep rand;
    kill_server($node);
    $_->finish for @writers;
    # Clients lose their connections, and must have met no error before.
    unlike($out, qr/(ERROR|FATAL|PANIC): /, "$crash: clients met no error");
    my $lost = () = $out =~ /client \d+ aborted/g;
    is($lost, scalar @writers, "$crash: and were at work") or diag($out);
    $node->start;
    is($node->safe_psql('postgres', q{SELECT count(*) FROM kept k LEFT JOIN kept r ON r.id = k.representative AND r.cluster_id = k.cluster_id
WHERE r.id IS NULL OR (k.similarity < 0.56)}), '0', "$crash: whole clusters");
    $node->safe_psql('postgres', q{SELECT lsh_refresh_clusters('kept', log => 'events')});
    is($node->safe_psql('postgres', "SELECT complaints($all, true)"), '', "$crash: right after a refresh");
    is($node->safe_psql('postgres', $unlike_log), '0', "$crash: as the log says");
}

# A dump is restored between two refreshes: rows and settings must be the same, and a refresh must find nothing to
# change.
$node->safe_psql('postgres', 'DROP FUNCTION complaints(text, boolean), broken_rules');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-f', $node->basedir . '/dump', '-d', $node->connstr('postgres') ], 'dump');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $node->basedir . '/dump', '-d', $node->connstr('restored') ], 'restore');
my $sums = 'SELECT count(*), max(cluster_id), md5(string_agg(k::text, chr(10) ORDER BY id)) FROM kept k';
is($node->safe_psql('restored', $sums), $node->safe_psql('postgres', $sums), 'the same clusters');
my $places = 'SELECT md5(string_agg(ctid::text, chr(10) ORDER BY id)) FROM kept';
my $place = $node->safe_psql('restored', $places);
is($node->safe_psql('restored', q{SELECT lsh_refresh_clusters('kept', log => 'events')}), '(0,0,0,0,0,0,0)', 'nothing has changed');
is($node->safe_psql('restored', $places), $place, 'no row is written');
my $change = q{DELETE FROM docs WHERE id % 7 = 0; UPDATE docs SET body = upper(body) || ' more' WHERE id % 5 = 0;
INSERT INTO docs (id, body) SELECT 1000, body FROM docs WHERE id % 5 = 1 LIMIT 1;
INSERT INTO docs (id, body) VALUES (1001, 'all alone');
DELETE FROM docs WHERE id % 13 = 0; DELETE FROM kept WHERE id % 13 = 0;};
for my $database (qw(postgres restored))
{
    $node->safe_psql($database, "$change SELECT lsh_refresh_clusters('kept', log => 'events')");
    is($node->safe_psql($database, $unlike_log), '0', "$database: as the log says");
}
is($node->safe_psql('restored', $sums =~ s/max.cluster_id., //r =~ s/k::text/concat(id, representative, similarity)/r),
    $node->safe_psql('postgres', $sums =~ s/max.cluster_id., //r =~ s/k::text/concat(id, representative, similarity)/r), 'both go on alike');

# A refresh that is cancelled or fails must leave everything as it was.
$place = $node->safe_psql('restored', $places);
$node->safe_psql('restored', q{UPDATE docs SET body = body || ' again'});
like(($node->psql('restored', q{SET statement_timeout = 10; SELECT lsh_refresh_clusters('kept') FROM generate_series(1, 1000)}))[2],
    qr/canceling statement due to statement timeout/, 'cancelled');
is($node->safe_psql('restored', $places), $place, 'and nothing is written');

$node->stop;
done_testing();
