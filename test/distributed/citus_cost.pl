# Measures what finding all pairs costs on Citus, by hand: the CPU time of all processes of a coordinator and three
# workers, bytes moved, WAL, and peak disk space. It runs with and without copies of one text (4.5 in 1,000), and
# compares with lsh_pairs() on one server, whose pairs must be the same. test/distributed/citus.sh runs it if
# MINHASH_TEXTS is set.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

# Bytes are counted on the network interface.
BEGIN {
    require PostgreSQL::Test::Utils;
    $PostgreSQL::Test::Utils::use_unix_sockets = 0;
}
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Distributed;

my $count  = text_count();
my %blocks = blocks_of_page();

my ($coordinator, @workers) = map { new_server($_, $_ eq 'coordinator' ? 1 : 4, <<'CONF') } qw(coordinator w1 w2 w3);
shared_preload_libraries = 'citus'
max_connections = 200
max_prepared_transactions = 200
max_worker_processes = 24
wal_level = replica
CONF
my @nodes = ($coordinator, @workers);
$_->safe_psql('postgres', 'CREATE EXTENSION citus') for @nodes;
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_set_coordinator_host('%s', %s)}, $coordinator->host, $coordinator->port);
$coordinator->safe_psql('postgres', sprintf q{SELECT citus_add_node('%s', %s)}, $_->host, $_->port) for @workers;

sub result_of
{
    my ($sql) = @_;
    return $coordinator->safe_psql('postgres', $sql);
}

sub written
{
    my $bytes = 0;
    $bytes += $_->safe_psql('postgres', q{SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')}) for @nodes;
    return $bytes;
}

# The size, in kilobytes, of a directory on all nodes together.
sub size_of
{
    my ($directory) = @_;
    my $paths = join ' ', map { $_->data_dir . "/$directory" } @nodes;
    return `du -skc $paths 2>/dev/null | tail -n 1` =~ s/\D.*//sr;
}

sub all_pairs
{
    my ($name, $more) = @_;
    my ($before, $written) = (size_of('base'), written());
    my $watcher = fork() // die;
    if ($watcher == 0) {
        my ($base, $cache) = (0, 0);
        local $SIG{TERM} = sub {
            diag(sprintf '    at the peak %.0f bytes a text, %.0f of them in the job cache', ($base - $before) * 1024 / $count,
                $cache * 1024 / $count);
            kill 'KILL', $$;
        };
        while (1) {
            my @sizes = map { size_of($_) } 'base/pgsql_job_cache', 'base';
            $cache = $sizes[0] if $sizes[0] > $cache;
            $base  = $sizes[1] if $sizes[1] > $base;
            sleep 1;
        }
    }
    cost("all pairs, $name", \@nodes, sub { result_of($blocks{'Citus, all pairs'}[0] =~ s/\);/, $more);/r) });
    kill 'TERM', $watcher;
    waitpid $watcher, 0;
    diag(sprintf '    WAL: %.0f bytes a text', (written() - $written) / $count);
    diag('    ' . result_of(q{SELECT string_agg(format('%s: %s in %s s', step, row_count, seconds), ', ' ORDER BY finished_at)
        FROM lsh_distributed_steps WHERE run = (SELECT max(run) FROM lsh_distributed_steps)}));
}

result_of($blocks{'Citus, tables'}[0] =~ s/CREATE INDEX.*//r);
cost('texts', \@nodes, sub { result_of('INSERT INTO docs ' . texts(1, $count)) });
result_of('VACUUM ANALYZE docs');
result_of($blocks{install}[0] =~ s{doc/distributed}{$ENV{TESTDIR}/distributed}r);
all_pairs('logged', 'unlogged => false');
all_pairs('unlogged', 'unlogged => true');
cost('signatures to the coordinator', \@nodes, sub { result_of('CREATE TABLE small AS SELECT id, minhash_compress(sig, 16) AS sig FROM docs') });
cost('lsh_pairs() on one server', \@nodes, sub {
    result_of(q{CREATE TABLE wanted AS SELECT * FROM lsh_pairs('TABLE small', bands => 13, rows => 7)});
});
compare_query($coordinator, 'TABLE doc_pairs', 'TABLE wanted', 'pairs');
result_of("INSERT INTO docs SELECT -id, repeat('The same answer to all letters. ', 32) FROM generate_series(1, $count / 220) AS id");
all_pairs('with copies', 'unlogged => true');
result_of('DELETE FROM docs WHERE id < 0');
all_pairs('without them', 'unlogged => true');

done_testing();
