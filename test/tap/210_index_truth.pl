# Compares what an lsh index answers with what the table says, for random tables: with NULL, the empty set, exact
# copies, rows that were deleted or moved, scopes, bands, few and many hashes, and little memory. No row may be wrong,
# none may come twice, the order must be right, and no more rows may be missing than was promised. MINHASH_ROUNDS=200 is
# the long form; MINHASH_SEED gives other tables.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{MINHASH_ROUNDS} || 8;
my $seed = $ENV{MINHASH_SEED} || 20261123;
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- The results of a question: how many rows were wrong, how many came twice, and how often a row came before a nearer
-- one; how many signatures should have come (`wanted`), and how many of these did.
CREATE TABLE answers (form text, threshold float8, wrong int, twice int, disorder int, wanted int, found int, query text);

CREATE FUNCTION use_index(yes boolean) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_seqscan', (NOT yes)::text, true), set_config('enable_sort', (NOT yes)::text, true),
        set_config('enable_indexscan', yes::text, true),
        set_config('enable_bitmapscan', (yes AND random() < 0.5)::text, true)
$$;

-- Asks for the rows of a condition, or only for `most` of them (LIMIT).
CREATE PROCEDURE ask(form text, threshold float8, condition text, most int DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT array_agg(id) FROM (SELECT id FROM things WHERE ' || condition || ' LIMIT $1) s';
    by_index int[];
    by_table int[];
BEGIN
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true), use_index(true);
    EXECUTE query INTO by_index USING most;
    PERFORM use_index(false);
    EXECUTE query INTO by_table USING NULL::int;
    by_index := coalesce(by_index, '{}');
    by_table := coalesce(by_table, '{}');
    INSERT INTO answers SELECT form, threshold,
        (SELECT count(*) FROM unnest(by_index) i WHERE i <> ALL (by_table)),
        cardinality(by_index) - (SELECT count(DISTINCT i) FROM unnest(by_index) i), 0,
        CASE WHEN most IS NULL THEN (SELECT count(DISTINCT sig) FROM things WHERE id = ANY (by_table))
            ELSE least(most, cardinality(by_table)) END,
        CASE WHEN most IS NULL THEN (SELECT count(DISTINCT sig) FROM things WHERE id = ANY (by_index))
            ELSE cardinality(by_index) END, condition;
END $$;

-- Asks for rows in order of distance. There must be as many as were asked for, and at the right distances.
CREATE PROCEDURE ask_in_order(form text, threshold float8, target text, condition text, most int) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT array_agg(id), array_agg(d) FROM (SELECT id, sig <%%> %1$s AS d FROM things WHERE %2$s
        ORDER BY sig <%%> %1$s LIMIT %3$s) s', target, condition, coalesce(most::text, 'NULL'));
    ids int[];
    near float8[];
    truth float8[];
    ids_by_table int[];
BEGIN
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true), use_index(true);
    PERFORM set_config('enable_bitmapscan', 'off', true);
    EXECUTE query INTO ids, near;
    PERFORM use_index(false);
    EXECUTE query INTO ids_by_table, truth;
    ids := coalesce(ids, '{}');
    ids_by_table := coalesce(ids_by_table, '{}');
    near := coalesce(near, '{}');
    truth := coalesce(truth, '{}');
    INSERT INTO answers SELECT form, threshold,
        CASE WHEN most IS NULL THEN (SELECT count(*) FROM unnest(ids) i WHERE i <> ALL (ids_by_table))
            ELSE greatest(0, cardinality(ids) - cardinality(ids_by_table)) END,
        cardinality(ids) - (SELECT count(DISTINCT i) FROM unnest(ids) i),
        (SELECT count(*) FROM (SELECT d, coalesce(lag(d) OVER (ORDER BY at), 0) AS before,
            coalesce(lag(d IS NULL) OVER (ORDER BY at), false) AS null_before
            FROM unnest(near) WITH ORDINALITY u (d, at)) s WHERE d < before OR (d IS NOT NULL AND null_before)),
        CASE WHEN form = 'nearest, bounded' THEN (SELECT count(*) FROM unnest(truth) d WHERE d <= 0.3)
            ELSE cardinality(truth) END,
        CASE WHEN form = 'nearest, bounded' THEN (SELECT count(*) FROM unnest(near) d WHERE d <= 0.3)
            ELSE (SELECT count(*) FROM unnest(near) d WHERE d <= truth[cardinality(truth)] OR truth[cardinality(truth)] IS NULL)
            END,
        target || ' ' || condition;
END $$;

-- A set near the others of its topic: `changed` of its 40 elements are replaced.
CREATE FUNCTION elements(topic int, changed int, variant int) RETURNS int[] IMMUTABLE LANGUAGE sql AS $$
    SELECT array_agg(CASE WHEN n <= changed THEN 1000000 + topic * 10000 + variant * 50 + n ELSE topic * 100 + n END)
    FROM generate_series(1, 40) n
$$;

CREATE PROCEDURE fill(rows int, topics int, hashes int, hot float8) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO things (part, sig) SELECT nullif((random() * 5)::int, 0),
        CASE WHEN random() < 0.02 THEN NULL WHEN random() < 0.02 THEN signed('{}'::int[], hashes)
            WHEN random() < hot THEN signed(elements(0, 0, 0), hashes)
            ELSE signed(elements((random() * topics)::int, (40 * random() ^ 3)::int, (random() * 20)::int), hashes)
        END
    FROM generate_series(1, rows) i;
END $$;

-- Asks questions about the signature of a row, or about another signature.
CREATE PROCEDURE ask_all(hashes int, topics int, threshold float8) LANGUAGE plpgsql AS $$
DECLARE
    q text := format('%L::minhash_signature', CASE WHEN random() < 0.7
        THEN (SELECT sig FROM things WHERE sig IS NOT NULL ORDER BY random() LIMIT 1)
        WHEN random() < 0.1 THEN signed('{}'::int[], hashes)
        ELSE signed(elements((random() * topics)::int, (random() * 20)::int, 77), hashes) END);
    part text := 'part = ' || 1 + (random() * 4)::int;
    few int := 1 + (random() * 20)::int;
    other text := format('(SELECT sig FROM things WHERE id = %s)', (SELECT id FROM things ORDER BY random() LIMIT 1));
    ids text := ARRAY(SELECT id FROM things ORDER BY random() LIMIT 5)::text;
BEGIN
    CALL ask('%', threshold, 'sig % ' || q);
    CALL ask('similar', threshold, format('minhash_similar(sig, %s, %s)', q, threshold));
    CALL ask('% and part', threshold, format('sig %% %s AND %s', q, part));
    CALL ask('% or %', threshold, format('sig %% %s OR sig %% %s', q, other));
    CALL ask('limit', threshold, 'sig % ' || q, few);
    CALL ask('limit and part', threshold, format('sig %% %s AND %s', q, part), 1);
    CALL ask('exists', threshold, format('EXISTS (SELECT FROM things b WHERE b.sig %% things.sig AND b.id <> things.id)
        AND id = ANY (%L)', ids));
    CALL ask('join', threshold, format('id IN (SELECT b.id FROM things a JOIN things b ON b.sig %% a.sig
        WHERE a.id = ANY (%L))', ids));
    CALL ask_in_order('nearest', threshold, q, 'true', few);
    -- A bound on the work may lose far rows, but no near one.
    PERFORM set_config('minhash_lsh.ordered_scan_limit', (SELECT count(*) / 2 FROM things)::text, true);
    CALL ask_in_order('nearest, bounded', threshold, q, 'true', few);
    PERFORM set_config('minhash_lsh.ordered_scan_limit', '-1', true);
    CALL ask_in_order('nearest of part', threshold, q, part, few);
    CALL ask_in_order('% in order', threshold, q, 'sig % ' || q, NULL);
    CALL ask_in_order('nearest of %', threshold, q, 'sig % ' || q, few);
    CALL ask_in_order('all in order', threshold, q, 'true', NULL);
    CALL ask_in_order('part in order', threshold, q, part, NULL);
    CALL ask_in_order('order by another', threshold, q, 'sig % ' || other, few);
END $$;

-- Reads with a cursor while rows are inserted and deleted, and the index changes.
CREATE PROCEDURE ask_slowly(threshold float8, hashes int, topics int, in_order boolean) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT id FROM things WHERE sig %% (SELECT sig FROM things WHERE id = %s)%s',
        (SELECT id FROM things WHERE sig IS NOT NULL ORDER BY random() LIMIT 1),
        CASE WHEN in_order THEN ' ORDER BY sig <%> (SELECT sig FROM things ORDER BY id LIMIT 1)' END);
    c refcursor;
    one int;
    by_index int[];
    by_table int[];
BEGIN
    PERFORM set_config('minhash_lsh.similarity_threshold', threshold::text, true), use_index(false);
    EXECUTE 'SELECT array_agg(id) FROM (' || query || ') s' INTO by_table;
    PERFORM use_index(true), set_config('enable_bitmapscan', 'off', true);
    by_index := '{}';
    by_table := coalesce(by_table, '{}');
    OPEN c FOR EXECUTE query;
    LOOP
        FETCH c INTO one;
        EXIT WHEN NOT FOUND;
        by_index := by_index || one;
        IF cardinality(by_index) IN (3, 100) THEN
            CALL fill(2500, topics, hashes, 0.3);
            DELETE FROM things WHERE id % 7 = 0;
        END IF;
    END LOOP;
    CLOSE c;
    INSERT INTO answers SELECT 'cursor', threshold,
        (SELECT count(*) FROM unnest(by_index) i WHERE i <> ALL (by_table)),
        cardinality(by_index) - (SELECT count(DISTINCT i) FROM unnest(by_index) i), 0,
        cardinality(by_table), cardinality(by_index), query;
END $$;
SQL

# How signatures are made, with this many bits per slot.
sub make_signed
{
    my ($bits) = @_;
    my $made = 'minhash_elements($1, $2)';
    $made = "minhash_compress($made, $bits)" if $bits < 32;
    return "CREATE OR REPLACE FUNCTION signed(int[], int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS 'SELECT $made';\n";
}
$node->safe_psql('postgres', make_signed(32));

# A number in this range; small ones are drawn as often as large ones.
sub any_size { my ($first, $last) = @_; return int($first * ($last / $first)**rand); }
sub one_of { return $_[ int rand @_ ]; }

for my $round (1 .. $rounds)
{
    my $hashes = one_of(8, 16, 64, 128, 128, 256, 1024, 4096);
    my $bits = one_of(32, 32, 16, 8);
    my $topics = any_size(1, 100);
    my $hot = one_of(0, 0, 0.3);
    my $options = one_of('', '', $hashes >= 64 ? 'WITH (bands = 20, rows = 3)' : 'WITH (bands = 4, rows = 2)');
    my $make = 'CREATE INDEX things_sig ON things USING lsh (' . one_of('sig', 'sig', 'part, sig') . ") $options;";
    my $rows = any_size(100, $hashes > 256 ? 1000 : 8000);
    my $work_mem = one_of('64kB', '64kB', '4MB');
    my $state = make_signed($bits) . join "\n", 'DROP TABLE IF EXISTS things;', 'SELECT setseed(' . (rand() * 2 - 1) . ');',
        'CREATE TABLE things (id serial PRIMARY KEY, part int, sig minhash_signature);',
        one_of($make, ''), "CALL fill($rows, $topics, $hashes, $hot);",
        one_of('', 'DELETE FROM things WHERE random() < 0.3;', 'UPDATE things SET part = 1 + id % 5 WHERE random() < 0.3;'),
        one_of('', 'VACUUM (INDEX_CLEANUP ON) things;'), "CALL fill($rows / 10, $topics, $hashes, $hot);",
        one_of('', 'DELETE FROM things WHERE id % 3 = 0;');
    $state .= "\n$make" if $state !~ /CREATE INDEX/;
    my $ask = join "\n", "SET work_mem = '$work_mem';", 'SET minhash_lsh.recall_notice = 0;',
        map { "CALL ask_all($hashes, $topics, " . one_of(1, 0.8, 0.5, map { sprintf '%.2f', 0.02 + 0.98 * rand } 1 .. 3) . ');' } 1 .. 5;
    my $slow = 'CALL ask_slowly(' . sprintf('%.2f', 0.3 + 0.7 * rand) . ", $hashes, $topics, " . one_of('true', 'false') . ');';
    my ($status, undef, $error) = $node->psql('postgres',
        "$state\nANALYZE things;\n$ask\n$slow\nSELECT lsh_check('things_sig', heap => true);", on_error_stop => 1);
    is($status, 0, "round $round of seed $seed: $hashes hashes of $bits bits, $rows rows, $make") or do { diag("$state\n$ask\n$error"); last; };
    my $wrong = $node->safe_psql('postgres', 'SELECT * FROM answers WHERE wrong > 0 OR twice > 0 OR disorder > 0 LIMIT 3');
    is($wrong, '', "round $round: no row is wrong, comes twice or out of order") or do { diag("$state\n$ask"); last; };
}
note($node->safe_psql('postgres', 'SELECT form, count(*), sum(wanted), sum(found) FROM answers GROUP BY form ORDER BY form'));
# This much may be missing: 5% of what % finds, plus what chance explains; in order, one row in a thousand.
is($node->safe_psql('postgres', <<'SQL'), '', 'no more is missing than was promised');
WITH sums AS (SELECT form, sum(wanted) AS n, sum(found) AS found, CASE WHEN form ~ '^(nearest|all|part|nearest of part)$|in order$'
    AND form !~ '%' THEN 0.995 ELSE 0.95 END AS promised FROM answers GROUP BY form)
SELECT * FROM sums WHERE found < n * promised - 5 * sqrt(n * promised * (1 - promised)) OR n < 10
SQL
# An exclusion constraint must reject what its own threshold says, whatever threshold the session has set.
for my $threshold (0.5, 0.8, 1, map { sprintf '%.2f', 0.05 + 0.95 * rand } 1 .. 3)
{
    my ($hashes, $bits) = (one_of(8, 64, 128, 128, 512), one_of(32, 16, 8));
    my $near = $node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS kept, things;
CREATE TABLE things (id serial PRIMARY KEY, part int, sig minhash_signature);
SELECT setseed($threshold) \\gset
@{[ make_signed($bits) ]}
CALL fill(600, 20, $hashes, 0.1);
CREATE TABLE kept (id int, part int, sig minhash_signature,
    EXCLUDE USING lsh (part WITH =, sig WITH %) WITH (threshold = $threshold));
INSERT INTO kept SELECT id, part, sig FROM things ON CONFLICT DO NOTHING;
SELECT (SELECT count(*) FROM kept a JOIN kept b USING (part) WHERE a.id < b.id AND minhash_similarity(a.sig, b.sig) >= $threshold),
    (SELECT count(*) FROM things t WHERE NOT EXISTS (SELECT FROM kept WHERE id = t.id)),
    (SELECT count(*) FROM things t WHERE NOT EXISTS (SELECT FROM kept WHERE id = t.id) AND NOT EXISTS (SELECT FROM kept k
        WHERE k.part = t.part AND minhash_similarity(k.sig, t.sig) >= $threshold AND k.id < t.id))
SQL
    my ($left, $refused, $wrongly) = split /\|/, $near;
    cmp_ok($refused, '>', 20, "constraint of $threshold, $hashes hashes of $bits bits: some are refused");
    is($wrongly, 0, "constraint of $threshold, $hashes hashes of $bits bits: none of them wrongly");
    cmp_ok($left, '<=', $refused * 0.02 + 3, "constraint of $threshold, $hashes hashes of $bits bits: $left near pairs are left, $refused rows refused");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|leak/, 'the server lives');
$node->stop;
done_testing();
