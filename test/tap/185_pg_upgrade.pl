# Runs pg_upgrade: an upgraded cluster must have the indexes, band tables and constraints of the old one, and must go on
# working with them. So must a cluster into which the output of pg_dump is restored. The old cluster has the same
# version, because usually only one is installed; MINHASH_OLD_PG_CONFIG is the pg_config of another one, which must have
# the extension. The files of tables and indexes are transferred in either case.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @old_path;
if ($ENV{MINHASH_OLD_PG_CONFIG})
{
    chomp(my $bindir = `$ENV{MINHASH_OLD_PG_CONFIG} --bindir`);
    @old_path = (install_path => $bindir =~ s{/bin$}{}r);
}
my $old = PostgreSQL::Test::Cluster->new('old', @old_path);
my $new = PostgreSQL::Test::Cluster->new('new');
note('from ' . $old->pg_version . ' to ' . $new->pg_version);
# Both clusters are without checksums, which are the default from 18 on.
my @init = (extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
my @init_new = (extra => [ @{ $init[1] }, $old->pg_version < 18 && $new->pg_version >= 18 ? '--no-data-checksums' : () ]);
$old->init(@init);
$old->append_conf('postgresql.conf', "autovacuum = off\nmaintenance_work_mem = 1MB\n");
$old->start;
$old->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE DATABASE docs OWNER keeper');
# Signatures have 512 hashes, so that a few hundred rows make runs; the index has dead records and a tail.
$old->safe_psql('docs', <<'SQL');
CREATE EXTENSION minhash_lsh;
SET ROLE keeper;
CREATE FUNCTION doc(what int) RETURNS text IMMUTABLE LANGUAGE sql AS
    $$SELECT string_agg(md5((what / 3)::text || word), ' ') || what % 3 FROM generate_series(1, 8) word$$;
CREATE TABLE docs (id int PRIMARY KEY, part int, body text,
    sig minhash_signature(512) GENERATED ALWAYS AS (minhash(body, 512)) STORED);
INSERT INTO docs SELECT i, i % 2, doc(i) FROM generate_series(1, 900) i;
CREATE INDEX by_lsh ON docs USING lsh (sig);
CREATE INDEX by_scope ON docs USING lsh (part, sig);
CREATE INDEX by_text ON docs USING lsh (minhash(body)) WITH (bands = 20, rows = 5);
CREATE INDEX by_gin ON docs USING gin (sig);
SELECT lsh_create_band_table('docs', bands => 13, rows => 7);
INSERT INTO docs SELECT i, i % 2, doc(i) FROM generate_series(905, 2000, 3) i;
DELETE FROM docs WHERE id % 10 = 3;

CREATE TABLE parts (id int, sig minhash_signature) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (1000);
CREATE INDEX parts_sig ON parts USING lsh (sig);
INSERT INTO parts SELECT i, minhash(doc(i)) FROM generate_series(1, 200) i;

CREATE TABLE kept (id int, part int, sig minhash_signature,
    EXCLUDE USING lsh (part WITH =, sig WITH %) WITH (threshold = 0.9));
INSERT INTO kept SELECT i, 1, minhash(doc(i)) FROM generate_series(1, 300, 3) i;
CREATE TABLE nothing (sig minhash_signature);
CREATE INDEX nothing_sig ON nothing USING lsh (sig);
CREATE UNLOGGED TABLE brief (sig minhash_signature);
CREATE INDEX brief_sig ON brief USING lsh (sig);
INSERT INTO brief SELECT minhash(doc(i)) FROM generate_series(1, 100) i;
CREATE VIEW near AS SELECT a.id, b.id AS other, minhash_similarity(a.sig, b.sig)
    FROM docs a JOIN docs b ON minhash_similar(a.sig, b.sig, 0.9) AND a.id < b.id;
RESET ROLE;
ALTER DATABASE docs SET minhash_lsh.similarity_threshold = 0.75;
ALTER ROLE keeper SET minhash_lsh.ordered_scan_limit = 5000;
SQL
$old->safe_psql('docs', 'VACUUM (INDEX_CLEANUP ON) docs');
$old->safe_psql('docs', q{INSERT INTO docs SELECT i, i % 2, doc(i) FROM generate_series(3002, 3500, 3) i});

my @indexes = qw(by_lsh by_scope by_text parts_low_sig_idx parts_high_sig_idx kept_part_sig_excl nothing_sig brief_sig);
my %asked = (
    by_lsh => 'sig % p.sig',
    by_scope => 'd.part = 1 AND sig % p.sig',
    by_text => 'minhash(body) % minhash(p.body)',
    by_gin => 'sig % p.sig');

# Structure and contents of each index.
sub structure_of
{
    my ($node) = @_;
    return join "\n", map { "$_: " . $node->safe_psql('docs', "SELECT * FROM lsh_check('$_', heap => true)") } @indexes;
}

# What each index finds, and everything else that must be the same in both clusters.
sub answers_of
{
    my ($node) = @_;
    my @state;
    for my $index (sort keys %asked)
    {
        my $others = join ', ', map { "'$_'" } grep { $_ ne $index } qw(by_lsh by_scope by_text by_gin);
        my $query = "SELECT p.id, ARRAY(SELECT id FROM docs d WHERE $asked{$index} ORDER BY id) AS ids FROM docs p WHERE p.id % 50 = 8";
        # Hides the other indexes from the planner.
        my $out = $node->safe_psql('docs', <<"SQL");
BEGIN;
UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text IN ($others);
SET LOCAL enable_seqscan = off;
SET LOCAL minhash_lsh.similarity_threshold = 0.6;
SET LOCAL minhash_lsh.recall_notice = 0;
DO \$\$ DECLARE line text; BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) $query' LOOP IF line ~ '$index' THEN RETURN; END IF; END LOOP;
    RAISE '$index is not used';
END \$\$;
SELECT count(*), sum(cardinality(ids)), md5(string_agg(s::text, ',' ORDER BY id)) FROM ($query) s;
ROLLBACK;
SQL
        push @state, "found by $index: $out";
    }
    push @state, 'nearest: ' . $node->safe_psql('docs', <<'SQL');
SET enable_seqscan = off; SET enable_sort = off;
SELECT count(*), md5(string_agg(n::text, ',')) FROM docs p,
    LATERAL (SELECT d.id, d.sig <%> p.sig FROM docs d ORDER BY d.sig <%> p.sig LIMIT 5) n WHERE p.id % 100 = 8;
SQL
    push @state, 'band table: ' . $node->safe_psql('docs', <<'SQL');
SELECT count(*), md5(string_agg(b::text, ',' ORDER BY b::text COLLATE "C")) FROM docs_bands b;
SELECT count(*), md5(string_agg(concat_ws('|', p.id, n.id), ',' ORDER BY p.id, n.id)) FROM docs p, lsh_bands(p.sig, 13, 7) JOIN docs_bands n USING (key) WHERE p.id % 50 = 8;
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname ~ '^docs_bands' ORDER BY proname;
SELECT string_agg(pg_get_constraintdef(oid), ',') FROM pg_constraint WHERE contype = 'x';
SELECT string_agg(pg_get_triggerdef(oid), ',' ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal;
SQL
    push @state, 'other: ' . $node->safe_psql('docs', <<'SQL');
SELECT count(*), sum(id), sum(other), sum(minhash_similarity) FROM near;
SELECT count(*), md5(string_agg(p::text, ',')) FROM lsh_pairs('SELECT id, body FROM docs') p;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE atttypid = 'minhash_signature'::regtype AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p')) ORDER BY attrelid::regclass::text;
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname;
SELECT setdatabase > 0, setrole::regrole, setconfig FROM pg_db_role_setting
    WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) ORDER BY setrole <> 0;
SQL
    return join "\n", @state;
}
my ($structure, $before) = (structure_of($old), answers_of($old));
like($structure, qr/^by_lsh: \d+\|[1-9]\d*\|[1-9]\d*\|[1-9]/m, 'an index with dead records, a tail and runs');
like($before, qr/^found by $_: \d+\|[1-9]\d\|/m, "$_ finds something") for qw(by_lsh by_scope by_text by_gin);
$old->stop;

$new->init(@init_new);
my ($old_bindir, $bindir) = map { $_->config_data('--bindir') } $old, $new;
# pg_upgrade writes into the current directory.
chdir $PostgreSQL::Test::Utils::tmp_check or die $!;
for my $check ([ '--check' ], [])
{
    command_ok([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_bindir, '-B', $bindir,
            '-s', $new->host, '-p', $old->port, '-P', $new->port, @$check ],
        join ' ', 'pg_upgrade', @$check);
}
$new->start;
is(structure_of($new), $structure, 'indexes are the same files');
is(answers_of($new), $before, 'all is as it was');

# The other way to upgrade: pg_dump of the new version reads the old server.
$new->command_ok([ 'psql', '-Xqd', $new->connstr('postgres'), '-c', 'ALTER DATABASE docs RENAME TO upgraded' ], 'make place for another');
$old->start;
my $dump = $new->basedir . '/dump';
$new->command_ok([ 'pg_dump', '--create', '-f', $dump, '-d', $old->connstr('docs') ], 'pg_dump');
$old->stop;
$new->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $new->connstr('postgres') ], 'restore');
like(structure_of($new), qr/^by_lsh: \d+\|0\|/, 'restored, indexes are sound, without dead records');
is(answers_of($new), $before, 'restored, all is as it was');
$new->safe_psql('postgres', 'DROP DATABASE docs');
$new->safe_psql('postgres', 'ALTER DATABASE upgraded RENAME TO docs');

# The new cluster goes on working.
$new->safe_psql('docs', 'SET ROLE keeper; INSERT INTO docs SELECT i, i % 2, doc(i) FROM generate_series(5002, 6000, 3) i; DELETE FROM docs WHERE id % 10 = 4');
for my $way ('', 'VACUUM (INDEX_CLEANUP ON) docs', 'REINDEX INDEX CONCURRENTLY by_lsh')
{
    $new->safe_psql('docs', $way) if $way;
    for my $index (@indexes)
    {
        like($new->safe_psql('docs', "SELECT * FROM lsh_check('$index', heap => true)"), qr/^\d+\|/, "written, $way: $index is sound");
    }
    is($new->safe_psql('docs', q{SET enable_seqscan = off; SELECT string_agg(id::text, ',') FROM docs WHERE sig % minhash(doc(5005), 512)}),
        '5005', "written, $way: found by an index");
    is($new->safe_psql('docs', q{SELECT string_agg(DISTINCT id::text, ',') FROM docs_bands WHERE key = ANY (lsh_band_keys(minhash(doc(5005), 512), 13, 7))}),
        '5005', "written, $way: found by the band table");
}
is($new->safe_psql('docs', <<'SQL'), '0|0', 'the band table is in step');
WITH k AS (SELECT key, id FROM docs, lsh_bands(sig, 13, 7))
SELECT (SELECT count(*) FROM (TABLE k EXCEPT TABLE docs_bands) a), (SELECT count(*) FROM (TABLE docs_bands EXCEPT TABLE k) b)
SQL
like(($new->psql('docs', 'SET minhash_lsh.similarity_threshold = 1; INSERT INTO kept VALUES (9000, 1, minhash(doc(5)))'))[2],
    qr/violates exclusion constraint/, 'the constraint refuses');
$new->safe_psql('docs', 'INSERT INTO kept VALUES (9000, 2, minhash(doc(5))), (9001, 1, minhash(doc(900)))');
$new->safe_psql('docs', 'INSERT INTO nothing SELECT sig FROM docs LIMIT 5; INSERT INTO brief SELECT sig FROM kept LIMIT 5');
$new->stop;
done_testing();
