# Managed band tables come back from a dump, as superuser and as the owner of the tables, and
# outlive a restart: settings, triggers, guard and lookups are those of the original.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE DATABASE original OWNER keeper');
$node->safe_psql('original', <<'SQL');
CREATE EXTENSION minhash_lsh;
SET ROLE keeper;
CREATE SCHEMA app;
CREATE TABLE app."Two words" (
    "Der Name" text PRIMARY KEY,
    body text,
    "Unter""schrift" minhash_signature(64) GENERATED ALWAYS AS (minhash(body, num_hashes => 64)) STORED
);
INSERT INTO app."Two words" SELECT 'é ' || number, (SELECT string_agg(md5(concat(number / 4, word)), ' ')
        FROM generate_series(1, 8) word) || number % 4
    FROM generate_series(1, 200) number;
SELECT lsh_create_band_table('app."Two words"', 'Der Name', 'Unter"schrift', bands => 16, rows => 4);
SELECT lsh_create_band_table('app."Two words"', 'Der Name', 'Unter"schrift', bands => 4, rows => 2,
    band_table => 'Few');
CREATE TRIGGER zz_guard AFTER INSERT ON app."Two words" REFERENCING NEW TABLE AS new_rows
    WHEN ('app."Two words_bands"'::regclass IS NOT NULL)
    EXECUTE FUNCTION lsh_reject_near_duplicates('0.95');

CREATE TABLE app.parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE app.parts_low PARTITION OF app.parts FOR VALUES FROM (0) TO (100);
CREATE TABLE app.parts_high PARTITION OF app.parts FOR VALUES FROM (100) TO (1000);
INSERT INTO app.parts SELECT row_number() OVER (), minhash(body) FROM app."Two words";
SELECT lsh_create_band_table('app.parts');

CREATE TYPE app.language AS ENUM ('de', 'en', 'fr');
CREATE TABLE app.scoped (id int PRIMARY KEY, language app.language, sig minhash_signature);
INSERT INTO app.scoped SELECT row_number() OVER (), ('{de,en,fr}'::app.language[])[1 + length(body) % 3], minhash(body)
FROM app."Two words";
SELECT lsh_create_band_table('app.scoped', scope_column => 'language');
SELECT lsh_create_guard('app.scoped', 0.9);
SQL

my $sums = <<'SQL';
SELECT 'settings', count(*), string_agg(t::text, ' ' ORDER BY t::text) FROM lsh_band_tables t
UNION ALL
SELECT 'triggers', count(*), string_agg(pg_get_triggerdef(oid), ' ' ORDER BY tgrelid::regclass::text, tgname)
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'keys', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app."Two words_bands" b
UNION ALL
SELECT 'few', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app."Few" b
UNION ALL
SELECT 'parts', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app.parts_bands b
UNION ALL
SELECT 'scoped', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app.scoped_bands b
UNION ALL
SELECT 'near', count(*), md5(string_agg(concat_ws('|', t."Der Name", n.*), ' ' ORDER BY t."Der Name", n::text))
FROM app."Two words" t, lsh_near_duplicates('app."Two words"', NULL::text, "Unter""schrift", 0.5,
    band_table => 'app."Two words_bands"') n
UNION ALL
SELECT 'candidates', count(*), md5(string_agg(concat_ws('|', t.id, c), ' ' ORDER BY t.id, c))
FROM app.parts t, lsh_candidates('app.parts', NULL::int, sig) c
ORDER BY 1
SQL
my $original = $node->safe_psql('original', $sums);
like($original, qr/^settings\|4\|.*^triggers\|25\|/ms, 'four band tables, their triggers and guards');
like($original, qr/^near\|[2-9]\d\d\|/m, 'near-duplicates are found');

# How many keys the source has that the band table lacks, and the reverse.
sub differences
{
    my ($database, $source, $chosen) = @_;
    my ($table, $id, $sig, $bands, $rows) = split /\|/, $node->safe_psql($database, <<"SQL");
SELECT band_table, quote_ident(id_column), quote_ident(signature_column), bands, rows
FROM lsh_band_tables WHERE source = '$source'::regclass AND band_table = '$chosen'::regclass
SQL
    my $wanted = "SELECT k.key, $id AS id FROM $source, lsh_bands($sig, $bands, $rows) k";
    return $node->safe_psql($database, "SELECT (SELECT count(*) FROM ($wanted EXCEPT ALL TABLE $table) a),"
          . " (SELECT count(*) FROM (TABLE $table EXCEPT ALL $wanted) b)");
}

# What must work in any of the databases, as the tables' owner.
sub try_writing
{
    my ($database, $what) = @_;
    my $words = 'app."Two words"';
    my @tables = ([ $words, 'app."Two words_bands"' ], [ $words, 'app."Few"' ], [ 'app.parts', 'app.parts_bands' ]);
    $node->safe_psql($database, <<'SQL');
SET ROLE keeper;
INSERT INTO app."Two words" VALUES ('new', 'Nothing of the kind'), ('newer', 'Something else altogether');
UPDATE app."Two words" SET body = body || ' changed' WHERE "Der Name" IN ('é 5', 'new');
DELETE FROM app."Two words" WHERE "Der Name" IN ('é 7', 'newer');
UPDATE app.parts SET id = 500 WHERE id = 5;
DELETE FROM app.parts WHERE id IN (7, 150);
TRUNCATE app.parts_high;
SQL
    is(differences($database, @$_), '0|0', "$what: $_->[1] follows") for @tables;
    like(($node->psql($database, <<'SQL'))[2],
INSERT INTO app."Two words" SELECT 'copy', body FROM app."Two words" WHERE "Der Name" = 'é 8'
SQL
        qr/Row copy has similarity 1 to row é (?:8|9|10|11);/, "$what: the guard refuses");
    # PostgreSQL hashes an enum by OIDs, which are others after a restore.
    like(($node->psql($database, q{INSERT INTO app.scoped SELECT 1000, language, sig FROM app.scoped WHERE id = 8}))[2],
        qr/Row 1000 has similarity 1 to row/, "$what: the guard with a scope refuses in it");
    $node->safe_psql($database, q{INSERT INTO app.scoped VALUES (1001, 'de', minhash('a text')), (1002, 'fr', minhash('a text'))});
    is($node->safe_psql($database, q{SELECT id FROM lsh_near_duplicates('app.scoped', minhash('a text'), scope => 'fr')}),
        '1002', "$what: found in its scope");
    $node->safe_psql($database, <<'SQL');
SET ROLE keeper;
ALTER TABLE app."Two words" RENAME "Der Name" TO called;
ALTER TABLE app."Two words" RENAME TO renamed;
ALTER TABLE app."Few" RENAME TO fewer;
INSERT INTO app.renamed VALUES ('renamed', 'With other names, but the same');
SQL
    is(differences($database, 'app.renamed', 'app.fewer'), '0|0', "$what: renamed");
    is($node->safe_psql($database, q{SELECT n.id FROM app.renamed t, lsh_near_duplicates('app.renamed',
        NULL::text, "Unter""schrift", band_table => 'app.fewer') n WHERE called = 'renamed'}),
        'renamed', "$what: found by the new names");
    is($node->safe_psql($database, <<'SQL'), "0|0\n0|0\n0|0\n0|0", "$what: a refresh has nothing to do");
SET ROLE keeper;
SELECT r.* FROM lsh_band_tables t, lsh_refresh_band_table(source, band_table) r;
SQL
    # The control of what was compared above.
    $node->safe_psql($database, q{DELETE FROM app.fewer WHERE id = 'renamed'});
    is(differences($database, 'app.renamed', 'app.fewer'), '4|0', "$what: missing keys are seen");
    $node->safe_psql($database, 'SET ROLE keeper; DROP TABLE app.renamed, app.parts, app.scoped; DROP TYPE app.language');
    is($node->safe_psql($database, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'app'::regnamespace}),
        '0', "$what: nothing is left");
}

my $file = $node->basedir . '/dump';
for my $role (qw(superuser keeper))
{
    for my $format (qw(plain custom))
    {
        my $database = "${role}_$format";
        my $what = "$format as $role";
        my @as = $role eq 'keeper' ? qw(-U keeper) : ();
        $node->safe_psql('postgres', "CREATE DATABASE $database OWNER keeper");
        # Only a superuser can restore the extension itself.
        $node->safe_psql($database, 'CREATE EXTENSION minhash_lsh') if @as;
        $node->command_ok(
            [ 'pg_dump', '-F', $format, '-f', $file, (@as ? qw(-n app) : ()), @as, '-d', $node->connstr('original') ],
            "$what: dump");
        my @restore = $format eq 'plain'
          ? qw(psql -X -q -v ON_ERROR_STOP=1 -f)
          : qw(pg_restore --exit-on-error);
        $node->command_ok([ @restore, $file, @as, '-d', $node->connstr($database) ], "$what: restore");
        is($node->safe_psql($database, $sums), $original, "$what: all is as it was");
        $node->restart if $format eq 'custom';
        is($node->safe_psql($database, <<'SQL'), '0', "$what: a band table is dropped with its triggers");
SET ROLE keeper;
BEGIN;
DO 'BEGIN PERFORM lsh_drop_band_table(''app.parts''); END';
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.parts'::regclass;
ROLLBACK;
SQL
        try_writing($database, $what);
    }
}
$node->restart;
is($node->safe_psql('original', $sums), $original, 'after a restart all is as it was');
try_writing('original', 'original');
$node->stop;
done_testing();
