# Runs a random workload on a table with lsh and GIN indexes. After each round, it runs the same queries through each
# index and as a sequential scan. MINHASH_ROUNDS=1000 is the long form; MINHASH_SEED gives another workload.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{MINHASH_ROUNDS} || 8;
my $seed = $ENV{MINHASH_SEED} || 20261122;
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmaintenance_work_mem = 1MB\nminhash_lsh.recall_notice = 0\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- A text of one of 150 families: the family's 30 words, some of them replaced.
CREATE FUNCTION some_text() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(md5(format('%s %s', family, word + CASE WHEN random() < changed THEN 1000 * random() ELSE 0 END)), ' ' ORDER BY word)
    FROM generate_series(1, 30) word, (SELECT (random() * 150)::int AS family, random() * random() * 0.4 AS changed OFFSET 0) s
$$;
CREATE TABLE docs (id serial PRIMARY KEY, part int, sig minhash_signature);
CREATE INDEX by_lsh ON docs USING lsh (sig);
CREATE INDEX by_scope ON docs USING lsh (part, sig);
CREATE INDEX by_gin ON docs USING gin (sig);

-- The rows that an index finds, or a sequential scan ('none'). The other indexes are hidden from the planner meanwhile.
CREATE FUNCTION rows_of(way text, query text, asked minhash_signature) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
    found float8[];
BEGIN
    PERFORM set_config('enable_seqscan', (way = 'none')::text, true), set_config('enable_indexscan', (way <> 'none')::text, true),
        set_config('enable_bitmapscan', (way <> 'none' AND (way = 'by_gin' OR random() < 0.5))::text, true);
    PERFORM set_config('enable_sort', (way = 'none' OR query !~ '<%>')::text, true);
    UPDATE pg_index SET indisvalid = (indexrelid::regclass::text = way) WHERE indexrelid::regclass::text LIKE 'by_%';
    EXECUTE format('SELECT array_agg(v) FROM (%s) s (v)', query) INTO found USING asked;
    RETURN coalesce(found, '{}');
END $$;

CREATE TABLE tally (threshold float8, truth bigint, lsh bigint, scope_truth bigint, scope bigint, gin bigint, both_ways bigint, nearest bigint, nearest_found bigint);
-- Runs all queries for one text. Raises an error if an index returns what it must not.
CREATE FUNCTION verify() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    asked minhash_signature := (SELECT sig FROM docs WHERE sig IS NOT NULL ORDER BY random() LIMIT 1);
    threshold float8 := (ARRAY[0.5, 0.6, 0.7, 0.8, 0.9, 1])[1 + floor(random() * 6)];
    part int := floor(random() * 5);
    near_it text := format('SELECT id FROM docs WHERE minhash_similar(sig, $1, %s)', threshold);
    scoped text := near_it || format(' AND part = %s', part);
    nearest text := 'SELECT sig <%> $1 FROM docs WHERE minhash_cardinality(sig) > 0 ORDER BY sig <%> $1 LIMIT 7';
    truth float8[];
    lsh float8[];
    scope_truth float8[];
    scope float8[];
    gin float8[];
    near_truth float8[];
    near float8[];
BEGIN
    IF minhash_cardinality(asked) = 0 THEN RETURN; END IF;
    truth := rows_of('none', near_it, asked);
    lsh := rows_of('by_lsh', near_it, asked);
    gin := rows_of('by_gin', near_it, asked);
    scope_truth := rows_of('none', scoped, asked);
    scope := rows_of('by_scope', scoped, asked);
    near_truth := rows_of('none', nearest, asked);
    near := rows_of('by_lsh', nearest, asked);
    IF NOT (lsh <@ truth AND gin <@ truth AND scope <@ scope_truth) THEN
        RAISE 'rows that are not similar at %: % % %, not of % and %', threshold, lsh, gin, scope, truth, scope_truth;
    END IF;
    IF cardinality(lsh) <> (SELECT count(DISTINCT v) FROM unnest(lsh) v) OR cardinality(scope) <> (SELECT count(DISTINCT v) FROM unnest(scope) v) THEN
        RAISE 'a row is found twice: % %', lsh, scope;
    END IF;
    IF NOT ARRAY(SELECT id::float8 FROM docs WHERE sig = asked) <@ lsh THEN
        RAISE 'a copy is not found: %', lsh;
    END IF;
    IF near <> ARRAY(SELECT v FROM unnest(near) v ORDER BY v) THEN
        RAISE 'out of order: %', near;
    END IF;
    INSERT INTO tally VALUES (threshold, cardinality(truth), cardinality(lsh), cardinality(scope_truth), cardinality(scope), cardinality(gin),
        (SELECT count(*) FROM unnest(gin) g WHERE g = ANY (lsh)), cardinality(near_truth),
        (SELECT count(*) FROM generate_subscripts(near_truth, 1) i WHERE near[i] = near_truth[i]));
END $$;
SQL

# What may happen in a round. The number seeds each statement, so that the same seed gives the same workload.
my @steps = (
    'INSERT INTO docs (part, sig) SELECT random() * 4, minhash(some_text()) FROM generate_series(1, %d) i',
    'INSERT INTO docs (part, sig) SELECT NULL, minhash(some_text()) FROM generate_series(1, %d / 5) i',
    'INSERT INTO docs (part, sig) SELECT random() * 4, CASE WHEN random() < 0.5 THEN minhash(\'\') END FROM generate_series(1, %d / 20) i',
    'INSERT INTO docs (part, sig) SELECT random() * 4, sig FROM docs ORDER BY random() LIMIT %d / 5',
    'UPDATE docs SET sig = minhash(some_text()) WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT %d / 2)',
    'UPDATE docs SET part = random() * 4 WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT %d / 2)',
    'DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT %d / 2)',
    'BEGIN; DELETE FROM docs WHERE id %% 3 = 0; INSERT INTO docs (part, sig) SELECT 1, minhash(some_text()) FROM generate_series(1, %d); ROLLBACK',
    'BEGIN; SAVEPOINT a; INSERT INTO docs (part, sig) SELECT 1, minhash(some_text()) FROM generate_series(1, %d / 4); ROLLBACK TO a; DELETE FROM docs WHERE id %% 50 = 7; COMMIT',
    'VACUUM (INDEX_CLEANUP ON) docs', 'VACUUM docs', 'VACUUM FULL docs', 'CLUSTER docs USING docs_pkey',
    'REINDEX INDEX by_lsh', 'REINDEX INDEX CONCURRENTLY by_scope', 'REINDEX TABLE docs',
    'DROP INDEX by_lsh; CREATE INDEX by_lsh ON docs USING lsh (sig) WITH (bands = 23, rows = 5)',
    'DROP INDEX by_scope; CREATE INDEX by_scope ON docs USING lsh (part, sig) WITH (bands = 30, rows = 4)',
    'SELECT gin_clean_pending_list(\'by_gin\')');
my $number = 0;
$node->safe_psql('postgres', sprintf("SELECT setseed(0.5); $steps[0]", 1500));
for my $round (1 .. $rounds)
{
    my @done = map { sprintf $steps[ int rand @steps ], 100 + int rand 400 } 1 .. 5;
    my $session = join '', map { $number++; sprintf("SELECT setseed(%s);\n%s;\n", ($number * 37 % 1999) / 2000, $_) } @done;
    my ($status, undef, $error) = $node->psql('postgres', $session, on_error_stop => 1);
    is($status, 0, "round $round of seed $seed") or do { diag("@done\n$error"); last; };
    ($status, undef, $error) = $node->psql('postgres', sprintf("SELECT setseed(%s);\n", ($number * 53 % 1999) / 2000) . ("BEGIN; SELECT verify(); COMMIT;\n" x 8)
          . "UPDATE pg_index SET indisvalid = true WHERE indexrelid::regclass::text LIKE 'by_%';\n"
          . "SELECT lsh_check('by_lsh', heap => true), lsh_check('by_scope', heap => true);");
    is("$status$error", '0', "round $round: indexes and table agree") or do { diag("@done"); last; };
}
note($node->safe_psql('postgres', 'SELECT threshold, sum(truth), sum(lsh), sum(gin), sum(scope_truth), sum(scope) FROM tally GROUP BY 1 ORDER BY 1'));
my ($truth, $lsh, $gin, $both, $scope_truth, $scope, $nearest, $found) = split /\|/, $node->safe_psql('postgres',
    'SELECT sum(truth), sum(lsh), sum(gin) FILTER (WHERE threshold >= 0.8), sum(both_ways) FILTER (WHERE threshold >= 0.8), sum(scope_truth), sum(scope), sum(nearest), sum(nearest_found) FROM tally');
cmp_ok($truth, '>', 100, 'there was something to find');
cmp_ok($lsh, '>=', 0.95 * $truth, "lsh: $lsh of $truth");
cmp_ok($scope, '>=', 0.95 * $scope_truth, "lsh with a scope: $scope of $scope_truth");
cmp_ok($both, '>=', 0.95 * $gin, "lsh: $both of what GIN finds from 0.8 on, $gin");
cmp_ok($found, '>=', 0.99 * $nearest, "nearest: $found of $nearest");
$node->stop;
done_testing();
