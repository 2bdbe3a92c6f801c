# Band tables are restored from a dump, by a superuser and by the owner of the tables, by one process and by several,
# and survive a restart. Their keys, triggers and functions are the same as in the original, and the triggers keep the
# keys up to date.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE writer LOGIN; CREATE DATABASE original OWNER keeper');
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
SELECT lsh_create_band_table('app."Two words"', id_column => 'Der Name', bands => 16, rows => 4);
SELECT lsh_create_band_table('app."Two words"', id_column => 'Der Name', signature_column => 'Unter"schrift', bands => 4, rows => 2, band_table => 'Few');
GRANT USAGE ON SCHEMA app TO writer;
GRANT SELECT, INSERT ON app."Two words" TO writer;
GRANT INSERT ON app."Two words_bands" TO writer;

CREATE TABLE app.parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE app.parts_low PARTITION OF app.parts FOR VALUES FROM (0) TO (100);
CREATE TABLE app.parts_high PARTITION OF app.parts FOR VALUES FROM (100) TO (1000);
INSERT INTO app.parts SELECT row_number() OVER (), minhash(body) FROM app."Two words";
SELECT lsh_create_band_table('app.parts', bands => 64, rows => 2);
-- Of two processes, one restores this large table, and meanwhile the other the band table and its triggers, which is
-- larger than the partitions.
CREATE TABLE app.large AS SELECT md5(i::text) FROM generate_series(1, 50000) i;
SQL

my $sums = <<'SQL';
SELECT 'triggers', count(*), string_agg(pg_get_triggerdef(oid), ' ' ORDER BY tgrelid::regclass::text, tgname)
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'functions', count(*), md5(string_agg(pg_get_functiondef(oid) || obj_description(oid), ' ' ORDER BY proname))
FROM pg_proc WHERE pronamespace = 'app'::regnamespace
UNION ALL
SELECT 'keys', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app."Two words_bands" b
UNION ALL
SELECT 'few', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app."Few" b
UNION ALL
SELECT 'parts', count(*), md5(string_agg(b::text, ' ' ORDER BY b::text COLLATE "C")) FROM app.parts_bands b
UNION ALL
SELECT 'rows', count(*), md5(string_agg(p::text, ' ' ORDER BY id)) FROM app.parts p
ORDER BY 1
SQL
my $original = $node->safe_psql('original', $sums);
like($original, qr/^functions\|10\|.*^triggers\|12\|/ms, 'three band tables, their functions and triggers');

# How many keys a band table lacks, and how many extra keys it has.
sub differences
{
    my ($database, $table, $wanted) = @_;
    return $node->safe_psql($database, "SELECT (SELECT count(*) FROM ($wanted EXCEPT ALL TABLE $table) a),"
          . " (SELECT count(*) FROM (TABLE $table EXCEPT ALL $wanted) b)");
}
my $words = 'SELECT key, "Der Name" AS id FROM app."Two words", lsh_bands("Unter""schrift", %s)';
my %wanted = (
    'app."Two words_bands"' => sprintf($words, '16, 4'),
    'app."Few"' => sprintf($words, '4, 2'),
    'app.parts_bands' => 'SELECT key, id FROM app.parts, lsh_bands(sig, 64, 2)');

# Checks what must work in each of the databases.
sub try_writing
{
    my ($database, $what) = @_;
    $node->safe_psql($database, <<'SQL');
SET ROLE keeper;
INSERT INTO app."Two words" VALUES ('new', 'Nothing of the kind'), ('newer', 'Something else altogether');
UPDATE app."Two words" SET body = body || ' changed' WHERE "Der Name" IN ('é 5', 'new');
DELETE FROM app."Two words" WHERE "Der Name" IN ('é 7', 'newer');
UPDATE app.parts SET id = 500 WHERE id = 5;
INSERT INTO app.parts_high VALUES (501, minhash('By its own name'));
DELETE FROM app.parts WHERE id IN (7, 150);
SQL
    is(differences($database, $_, $wanted{$_}), '0|0', "$what: $_ follows") for sort keys %wanted;
    like(($node->psql($database, q{SET ROLE writer; INSERT INTO app."Two words" VALUES ('his', 'A text')}))[2],
        qr/permission denied for table Few\nHINT:  GRANT INSERT ON app\."Few" TO writer;/, "$what: what a writer lacks");
    # A control: the comparison above must notice a difference.
    $node->safe_psql($database, q{DELETE FROM app."Few" WHERE id = 'new'});
    is(differences($database, 'app."Few"', $wanted{'app."Few"'}), '4|0', "$what: missing keys are seen");
    like(($node->psql($database, q{DELETE FROM app."Two words" WHERE "Der Name" = 'new'}))[2],
        qr/4 keys of rows of app\."Two words" are missing from band table app\."Few"/, "$what: and reported");
}

sub left
{
    my ($database) = @_;
    return $node->safe_psql($database, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'app'::regnamespace})
      . '|' . $node->safe_psql($database, q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'app'::regnamespace});
}

for my $role (qw(superuser keeper))
{
    for my $format (qw(plain custom directory))
    {
        my $database = "${role}_$format";
        my $what = "$format as $role";
        my $file = $node->basedir . "/$database";
        my @as = $role eq 'keeper' ? qw(-U keeper) : ();
        $node->safe_psql('postgres', "CREATE DATABASE $database OWNER keeper");
        # Only a superuser can restore the extension itself.
        $node->safe_psql($database, 'CREATE EXTENSION minhash_lsh') if @as;
        $node->command_ok(
            [ 'pg_dump', '-F', $format, '-f', $file, (@as ? qw(-n app) : ()), @as, '-d', $node->connstr('original') ],
            "$what: dump");
        # Several processes may make the triggers of a partitioned table before its partitions have their rows.
        my @restore = $format eq 'plain'
          ? qw(psql -X -q -v ON_ERROR_STOP=1 -f)
          : (qw(pg_restore --exit-on-error), $format eq 'directory' ? '--jobs=2' : ());
        $node->command_ok([ @restore, $file, @as, '-d', $node->connstr($database) ], "$what: restore");
        is($node->safe_psql($database, $sums), $original, "$what: all is as it was");
        $node->restart if $format eq 'custom';
        try_writing($database, $what);
        # A dump has no automatic dependencies.
        like(($node->psql($database, 'SET ROLE keeper; DROP TABLE app.parts_bands'))[2],
            qr/cannot drop table app\.parts_bands because other objects depend on it/, "$what: DROP TABLE wants CASCADE");
        # That leaves the functions, which do not stand in the way of another band table.
        $node->safe_psql($database, <<'SQL');
SET ROLE keeper;
DROP TABLE app.parts_bands CASCADE;
SELECT lsh_create_band_table('app.parts', bands => 64, rows => 2);
INSERT INTO app.parts VALUES (502, minhash('After all'));
SQL
        is(differences($database, 'app.parts_bands', $wanted{'app.parts_bands'}), '0|0', "$what: another follows");
        $node->safe_psql($database, <<'SQL');
SET ROLE keeper;
SELECT lsh_drop_band_table(t) FROM unnest(ARRAY['app.parts_bands', 'app."Two words_bands"', 'app."Few"']::regclass[]) t;
DROP TABLE app."Two words", app.parts, app.large;
SQL
        is(left($database), '0|0', "$what: nothing is left");
    }
}
$node->restart;
is($node->safe_psql('original', $sums), $original, 'after a restart all is as it was');
try_writing('original', 'original');
$node->safe_psql('original', 'SET ROLE keeper; DROP TABLE app."Two words_bands"; DROP TABLE app."Two words", app.parts, app.large');
is(left('original'), '0|0', 'original: nothing is left');
$node->stop;
done_testing();
