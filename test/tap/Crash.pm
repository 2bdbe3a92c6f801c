# Helpers for tests that kill a server.
package Crash;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(family kill_server server_pid);

sub server_pid
{
    my ($node) = @_;
    return slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die 'no postmaster.pid';
}

# A process and all of its descendants, from /proc.
sub family
{
    my ($pid) = @_;
    my $children = join ' ', map { -r $_ ? slurp_file($_) : '' } glob "/proc/$pid/task/*/children";
    return ($pid, map { family($_) } split ' ', $children);
}

# The state of a process as in ps; X means that it is gone.
sub state_of
{
    my ($pid) = @_;
    open my $stat, '<', "/proc/$pid/stat" or return 'X';
    my $line = <$stat> // return 'X';
    return $line =~ /\) ([A-Za-z]) [^)]*$/ ? $1 : die "what is $line";
}

sub wait_for_state
{
    my ($wanted, @pids) = @_;
    my $end = time + 30;
    sleep 0.001 while (grep { state_of($_) !~ $wanted } @pids) && time < $end;
    die "a process is not in a state of $wanted" if grep { state_of($_) !~ $wanted } @pids;
    return;
}

# Kills a server and all of its processes at once, and returns how many there were. The postmaster is stopped first, so
# that it does not see its children die, and killed last, so that they do not see it die. Before it has stopped, it may
# still start a process (a parallel worker of VACUUM, say), which would survive and hold the shared memory, so that the
# server could not be started again.
sub kill_server
{
    my ($node) = @_;
    my $pid = server_pid($node);
    kill 'STOP', $pid;
    wait_for_state(qr/T/, $pid);
    my @pids = family($pid);
    kill 'KILL', reverse @pids;
    wait_for_state(qr/[ZX]/, @pids); # a zombie has ended but has not been waited for
    # A zombie still occupies its process number.
    unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
    $node->{_pid} = undef;
    return scalar @pids;
}

1;
