# Helpers for tests of several servers: the SQL of doc/distributed/more-than-one-server.md, the texts, the comparison with one
# server, and what a step costs.
#
# MINHASH_TEXTS=1000000 is the long form, which also prints costs.
package Distributed;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(blocks_of_page compare_query cost finish_psql is_measured lookup_time lookups new_server
    start_psql start_psql_with text_count texts);

sub is_measured { return defined $ENV{MINHASH_TEXTS} && $ENV{MINHASH_TEXTS} ne ''; }

sub text_count { return is_measured() ? $ENV{MINHASH_TEXTS} : 3000; }

# The page's blocks of SQL, found by the text before them.
sub blocks_of_page
{
    my $page = slurp_file("$ENV{TESTDIR}/distributed/more-than-one-server.md");
    my %blocks;
    push @{ $blocks{$1} }, $2 while $page =~ /<!-- (.*?) -->\n```sql\n(.*?)\n```/gs;
    my $marked = map { @$_ } values %blocks;
    my $all    = () = $page =~ /```sql/g;
    is($marked, $all, 'each block of SQL says where it is run');
    return %blocks;
}

# A server that gets 1/$share of the memory that tests with many texts use.
sub new_server
{
    my ($name, $share, $settings, %options) = @_;
    my $server = PostgreSQL::Test::Cluster->new($name, %options);
    $server->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
    $server->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\n$settings");
    $server->append_conf('postgresql.conf', <<"CONF") if is_measured();
full_page_writes = off
maintenance_work_mem = @{[ int(2048 / $share) ]}MB
max_wal_size = 8GB
shared_buffers = @{[ int(4096 / $share) ]}MB
synchronous_commit = off
work_mem = 256MB
CONF
    $server->start;
    return $server;
}

# Texts of 1,024 characters. Every fourth one is the text before it with up to 312 characters changed, so that
# similarities range from 0.52 to 0.95. One in 400 is a text that has some fifty copies.
sub texts
{
    my ($first, $last) = @_;
    my $fresh = sub {
        my ($number, $blocks) = @_;
        return join ' || ', map { "encode(sha512(($number || ' $_')::bytea), 'hex')" } 1 .. $blocks;
    };
    return <<"SQL";
SELECT id, CASE WHEN id % 400 = 0 THEN repeat(md5((id / 20000)::text), 2)
    WHEN id % 4 = 3 THEN overlay(@{[ $fresh->('id - 1', 8) ]}
        PLACING left(@{[ $fresh->('id', 3) ]}, (id % 40)::int * 8) FROM 200)
    ELSE @{[ $fresh->('id', 8) ]} END AS body
FROM generate_series(${first}::bigint, $last) AS id
SQL
}

my $runs    = 0;
my $scripts = PostgreSQL::Test::Utils::tempdir();

# A psql in the background, which runs SQL in one transaction.
sub start_psql { return start_psql_with([ '-1' ], @_); }

# A psql in the background, with these options.
sub start_psql_with
{
    my ($options, $server, $sql, %variables) = @_;
    my $file = $scripts . '/' . ++$runs . '.sql';
    append_to_file($file, $sql);
    my $run = { out => '', error => '' };
    $run->{process} = IPC::Run::start(
        [ 'psql', '-XqAt', @$options, '-v', 'ON_ERROR_STOP=1', (map { ('-v', "$_=$variables{$_}") } sort keys %variables),
          '-d', $server->connstr('postgres'), '-f', $file ],
        '<' => '/dev/null', '>' => \$run->{out}, '2>' => \$run->{error});
    return $run;
}

# Waits until such a psql has ended, and returns its error messages.
sub finish_psql
{
    my ($run) = @_;
    $run->{process}->finish;
    return $run->{error};
}

# Whether two queries return the same rows, with none missing and none extra. There must be more than `least` rows.
sub compare_query
{
    my ($server, $found, $wanted, $name, $least) = @_;
    my $result = $server->safe_psql('postgres', <<"SQL");
CREATE TEMPORARY TABLE found AS $found;
CREATE TEMPORARY TABLE wanted AS $wanted;
SELECT count(*), (SELECT count(*) FROM (TABLE wanted EXCEPT ALL TABLE found) AS missing),
    (SELECT count(*) FROM (TABLE found EXCEPT ALL TABLE wanted) AS extra) FROM wanted
SQL
    my ($count, $missing, $extra) = split /\|/, $result;
    is("$missing missing, $extra extra", '0 missing, 0 extra', $name);
    cmp_ok($count, '>', $least // text_count() / 30, "$name: there is something to be found");
    diag("$name: $count rows") if is_measured();
}

# The seconds of CPU time that servers and their child processes have used, and the bytes that this machine has sent to
# itself.
sub used
{
    my $ticks = 0;
    for my $server (@_) {
        my $postmaster = $server->{_pid};
        my @children   = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
        $ticks += $_ for (split ' ', slurp_file("/proc/$postmaster/stat") =~ s/.*\) //sr)[ 13, 14 ];
        for my $child (@children) {
            open my $stat, '<', "/proc/$child/stat" or next;
            local $/;
            my $text = <$stat> // next;
            $ticks += $_ for (split ' ', $text =~ s/.*\) //sr)[ 11, 12 ];
        }
    }
    my ($bytes) = slurp_file('/proc/net/dev') =~ /lo:\s*(\d+)/;
    return ($ticks / 100, $bytes);
}

# Runs code, and prints what it cost all servers.
sub cost
{
    my ($name, $servers, $code) = @_;
    return $code->() unless is_measured();
    my ($cpu, $bytes) = used(@$servers);
    my $time   = time;
    my $result = $code->();
    $time = time - $time;
    sleep 1;    # until sessions have ended
    my ($cpu_after, $bytes_after) = used(@$servers);
    diag(sprintf '%-40s %8.2f s %8.2f s of CPU %9.1f MB', $name, $time, $cpu_after - $cpu, ($bytes_after - $bytes) / 1e6);
    return $result;
}

# psql commands that execute look_up(signature, threshold) with thirty texts of one.docs, at each threshold.
sub lookups
{
    my ($thresholds) = @_;
    return <<"SQL";
SELECT format('EXECUTE look_up(%L, %s)', sig, threshold)
FROM (SELECT id, sig FROM one.docs WHERE id % 4 = 3 ORDER BY hashint8(id) LIMIT 30) AS chosen,
    unnest('$thresholds'::float8[]) AS threshold
ORDER BY id, threshold \\gexec
SQL
}

# The median time of these lookups in ms, when they are executed again in the same session.
sub lookup_time
{
    my ($server, $prepare, $lookups) = @_;
    my $out   = $server->safe_psql('postgres', "$prepare\n$lookups\\timing on\n$lookups");
    my @times = sort { $a <=> $b } $out =~ /^Time: ([0-9.]+) ms/gm;
    return $times[ @times / 2 ];
}

1;
