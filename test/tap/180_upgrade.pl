# Upgrades from this version to the next: a database with everything that stores data gets the files of a made-up next
# version, and then ALTER EXTENSION UPDATE. Its data must be unchanged, the new objects must exist, and the database
# must have the same extension as one where the next version was created at once.
use strict;
use warnings;

use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A copy of this PostgreSQL into which the next version can be installed. PostgreSQL finds its files relative to its
# programs.
chomp(my $bindir = `pg_config --bindir`);
chomp(my $sharedir = `pg_config --sharedir`);
chomp(my $pkglibdir = `pg_config --pkglibdir`);
my $copy = PostgreSQL::Test::Utils::tempdir;
for my $directory ($bindir, $sharedir, $pkglibdir)
{
    # Programs are copied, because a link would lead back to the original files.
    my $how = $directory eq $bindir ? '-RLT' : '-RsT';
    system_or_bail('mkdir', '-p', "$copy$directory");
    system_or_bail('cp', $how, $directory, "$copy$directory");
}
my $node = PostgreSQL::Test::Cluster->new('main', install_path => $copy . dirname($bindir));
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts (id int PRIMARY KEY, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO texts (id, body)
    SELECT i, string_agg(md5((i / 3 * 20 + word)::text), ' ') || i
    FROM generate_series(1, 300) i, generate_series(1, 20) word GROUP BY i;
CREATE INDEX texts_gin ON texts USING gin (sig);
CREATE INDEX texts_lsh ON texts USING lsh (sig);
SELECT lsh_create_band_table('texts', threshold => 0.8);
CREATE TABLE constrained (id int, sig minhash_signature, EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.8));
INSERT INTO constrained SELECT id, sig FROM texts WHERE id % 3 = 0;
CREATE VIEW near AS SELECT a.id, b.id AS other, minhash_similarity(a.sig, b.sig) FROM texts a JOIN texts b
    ON minhash_similar(a.sig, b.sig, 0.8) AND a.id < b.id;
SQL

# Queries whose answers must stay the same, also through each index alone.
my $questions = <<'SQL';
SELECT 'near', count(*), sum(id), sum(other), sum(minhash_similarity) FROM near;
SELECT 'band table', count(*), sum(hashint8(key)::bigint), sum(id) FROM texts_bands;
SELECT 'looked up', count(DISTINCT (a.id, b.id)) FROM texts a, lsh_bands(sig, 13, 7) JOIN texts_bands b USING (key) WHERE a.id <= 20;
SELECT 'pairs', count(*), sum(similarity) FROM lsh_pairs('SELECT id, body FROM texts');
SET enable_seqscan = off;
BEGIN; DROP INDEX texts_lsh;
SELECT 'gin', count(*) FROM texts a, texts b WHERE a.sig % b.sig; ROLLBACK;
BEGIN; DROP INDEX texts_gin;
SELECT 'lsh', count(*) FROM texts a, texts b WHERE a.sig % b.sig; ROLLBACK;
SELECT 'checked', lsh_check('texts_lsh', heap => true), lsh_check('constrained_sig_excl', heap => true) IS NULL;
SQL
my $before = $node->safe_psql('postgres', $questions);
like($before, qr/^gin\|\d{3,}\nlsh\|\d{3,}$/m, 'answers before the update');

# The next version has one new function, and one function whose cost has changed.
my $extension = "$copy$sharedir/extension";
my $control = slurp_file("$extension/minhash_lsh.control");
my ($version) = $control =~ /^default_version = '([^']+)'/m;
my $next = "$version.next";
my $change = <<'SQL';
CREATE FUNCTION minhash_next(minhash_signature) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT 'next' $$;
ALTER FUNCTION minhash_similarity(minhash_signature, minhash_signature) COST 7;
SQL
$control =~ s/^default_version = .*/default_version = '$next'/m;
my %files = (
    'minhash_lsh.control' => $control,
    "minhash_lsh--$version--$next.sql" => $change,
    "minhash_lsh--$next.sql" => slurp_file("$extension/minhash_lsh--$version.sql") . $change);
for my $name (keys %files)
{
    unlink "$extension/$name";
    append_to_file("$extension/$name", $files{$name});
}

is($node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'minhash_lsh'}),
    $version, 'the files alone change nothing');
is($node->safe_psql('postgres', $questions), $before, 'the same answers with the new files and the old version');
$node->safe_psql('postgres', 'ALTER EXTENSION minhash_lsh UPDATE');
my $installed = q{SELECT extversion, minhash_next(minhash('a')) FROM pg_extension WHERE extname = 'minhash_lsh'};
is($node->safe_psql('postgres', $installed), "$next|next", 'the update');
is($node->safe_psql('postgres', $questions), $before, 'the same answers after it');
my (undef, undef, $error) = $node->psql('postgres', 'INSERT INTO constrained SELECT 1000, sig FROM texts WHERE id = 4');
like($error, qr/violates exclusion constraint/, 'the constraint still refuses');

# The extension must be the same after an update, when created anew, and when restored from a dump.
my $members = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), p.procost, md5(pg_get_functiondef(p.oid))
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND p.prokind = 'f'
WHERE e.extname = 'minhash_lsh' AND d.deptype = 'e' ORDER BY 1;
SQL
my $updated = $node->safe_psql('postgres', $members);
cmp_ok(scalar(split /\n/, $updated), '>', 100, 'members of the extension');
$node->safe_psql('postgres', 'CREATE DATABASE anew');
$node->safe_psql('anew', 'CREATE EXTENSION minhash_lsh');
is($node->safe_psql('anew', $members), $updated, 'the same as created anew');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $dump = "$copy/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'a dump');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ],
    'its restore');
is($node->safe_psql('restored', $members), $updated, 'the same as restored');
is($node->safe_psql('restored', $questions), $before, 'with the same answers');

# There is no update back, and none to a version that does not exist.
(undef, undef, $error) = $node->psql('postgres', "ALTER EXTENSION minhash_lsh UPDATE TO '$version'");
like($error, qr/has no update path/, 'no way back');

$node->restart;
is($node->safe_psql('postgres', $questions), $before, 'the same answers after a restart');
is($node->safe_psql('postgres', <<'SQL'), '13', 'the band table is still kept in step');
INSERT INTO texts VALUES (1000, 'A new text');
SELECT count(*) FROM texts_bands WHERE id = 1000;
SQL
$node->stop;
done_testing();
