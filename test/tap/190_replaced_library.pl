# The library's file is replaced by another build while sessions use it, as an upgrade does before the server restarts.
# A session's workers load the new file. They must notice before they read what the session shares, and leave all work
# to the session; a new session has workers again.
use strict;
use warnings;

use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
my $folder = $node->basedir . '/lib';
my $library = "$folder/minhash_lsh.so";
mkdir $folder or die $!;
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<CONF);
dynamic_library_path = '$folder:\$libdir'
max_worker_processes = 10
max_parallel_workers = 8
max_parallel_maintenance_workers = 3
CONF

my $built = slurp_file($node->config_data('--pkglibdir') . '/minhash_lsh.so');
my $note = qr/(?<=\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0)(.{20})/s;
is(() = $built =~ /$note/g, 1, 'the library has an identity');

# Replaces the library's file by a build of this identity, in one step, as package managers do.
sub install_build
{
    my ($identity) = @_;
    open my $file, '>:raw', "$library.new" or die $!;
    print $file $built =~ s/$note/$identity/r;
    close $file or die $!;
    chmod 0755, "$library.new";
    rename "$library.new", $library or die $!;
    return;
}
my ($first, $second) = ('first build.........', 'second build........');
install_build($first);

# The extension's functions are loaded from the folder, too.
$node->start;
$node->safe_psql('postgres', <<SQL);
CREATE EXTENSION minhash_lsh;
UPDATE pg_proc SET probin = '$folder/minhash_lsh' WHERE probin = '\$libdir/minhash_lsh';
CREATE TABLE texts WITH (parallel_workers = 2) AS
    SELECT n AS id, string_agg(md5(concat(n / 3, word)), ' ') || n % 3 AS body
    FROM generate_series(1, 8000) n, generate_series(1, 30) word GROUP BY n;
ALTER TABLE texts ADD sig minhash_signature;
UPDATE texts SET sig = public.minhash(body, 64);
VACUUM FULL ANALYZE texts;
SQL

my $calls = <<'SQL';
SELECT md5(string_agg(p::text, ',')) || count(*) FROM lsh_pairs('SELECT id, body FROM texts') p;
SELECT md5(string_agg(c::text, ',')) || count(*) FROM lsh_clusters('SELECT id, body FROM texts') c;
CREATE INDEX by_sig ON texts USING lsh (sig);
CREATE INDEX CONCURRENTLY by_sig_again ON texts USING lsh (sig);
SELECT contents FROM lsh_check('by_sig', heap => true);
SELECT contents FROM lsh_check('by_sig_again', heap => true);
DROP INDEX by_sig, by_sig_again;
SQL
my $told = 'no workers are used, as the library of minhash_lsh has been replaced since this session began';
my $alone = $node->safe_psql('postgres', "SET max_parallel_maintenance_workers = 0; $calls");

# Runs the calls in one session: what it returned, and the number of calls that had no workers for this reason.
sub run_calls
{
    my ($session) = @_;
    my ($out, $messages) = $session->($calls);
    return ($out, scalar(() = $messages =~ /^WARNING:  $told$/mg));
}

# A session that runs what it is given, and returns what that printed.
sub open_session
{
    my ($in, $out, $messages) = ('', '', '');
    my $psql = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$messages);
    return sub {
        my ($statements) = @_;
        return $psql->finish if !defined $statements;
        ($out, $messages) = ('', '');
        $in = "$statements;\n\\echo done\n";
        $psql->pump until $out =~ s/^done\n//m;
        $psql->pump_nb;
        chomp $out;
        return ($out, $messages);
    };
}

my $old = open_session();
my $other = open_session();
is_deeply([ run_calls($old) ], [ $alone, 0 ], 'the results do not depend on workers');
$other->("SELECT minhash('loads the library')");
install_build($first);
is_deeply([ run_calls($old) ], [ $alone, 0 ], 'the same build again is no other one');

install_build($second);
is_deeply([ run_calls($old) ], [ $alone, 4 ], 'a session of the old build has no workers, and the same results');
is_deeply([ run_calls($other) ], [ $alone, 4 ], 'nor has one that had none before');
my (undef, $messages) = $old->('CREATE INDEX by_sig ON texts USING lsh (sig)');
like($messages, qr/^WARNING:  $told\nHINT:  Reconnect to use the new library, with workers\.\n/, 'what to do');
$old->('DROP INDEX by_sig');
my $new = open_session();
is_deeply([ run_calls($new) ], [ $alone, 0 ], 'a new session has workers');
my ($out, $debug) = $new->("SET client_min_messages = debug1; SELECT count(*) > 0 FROM lsh_pairs('SELECT id, body FROM texts')");
like($debug, qr/DEBUG:  3 of 3 workers started/, 'as many as it may');
is($out, 't', 'that work');

install_build($first);
is_deeply([ run_calls($old) ], [ $alone, 0 ], 'and the old one, when its file is back');
$_->() for ($old, $other, $new);
$node->stop;
done_testing();
