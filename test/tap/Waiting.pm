# Helpers for tests that wait for a state.
package Waiting;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(holds_soon);

# Whether a condition becomes true within the time that tests wait for anything.
sub holds_soon
{
    my ($condition) = @_;
    my $end = time + $PostgreSQL::Test::Utils::timeout_default;
    while (time < $end)
    {
        return 1 if $condition->();
        sleep 0.02;
    }
    return 0;
}

1;
