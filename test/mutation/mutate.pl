#!/usr/bin/env perl
# Checks whether the tests notice changes. It changes one condition, bound, operator, constant or call of the sources at
# a time, builds, and runs unit, regress and isolation tests until one fails. For the bulk functions it also runs the
# oracle; for indexes, the TAP files that ask random questions or hold merges.
#
#   test/tools/private_postgres.sh test/tools/with_server.sh test/mutation/mutate.pl
#       [--count=N] [--seed=N] [--sanitized] [--list] [PATTERN...]
#
# N changes are drawn from the files that match the patterns in git (default: all sources): from each file in proportion
# to its size, and at least one. Results go to build/mutation/results.tsv. A change that is listed there is not tried
# again, so a run can be stopped and continued. The run ends with the changes that no test noticed. With --sanitized,
# changes of core and bulk that no other test noticed are also tried with sanitizers, for ten minutes each. It needs
# hours and a clean checkout, which is left as it was: run it in a clone.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to install into
#              PGHOST       its server, as with_server.sh says
use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::MD5 qw(md5_hex);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use Getopt::Long;

my ($count, $seed, $list, $sanitized) = (150, 1, 0, 0);
GetOptions('count=i' => \$count, 'seed=i' => \$seed, 'list' => \$list, 'sanitized' => \$sanitized) or exit 2;
chdir dirname(abs_path(__FILE__)) . '/../..' or die "cannot enter the checkout: $!\n";
my @paths = @ARGV ? @ARGV : ('src/core', 'src/bulk', 'src/pg');
my $longest = 150;    # if a test prints no line for this many seconds, it hangs
my $results = 'build/mutation/results.tsv';

# This file is generated, and a lint compares it with Unicode's own files.
my $generated = qr/unicode_tables/;

# How a line is changed: name, pattern, replacement. clang-format puts spaces around binary operators.
my @changes = (
    [ 'bound', qr/ < /, ' <= ' ], [ 'bound', qr/ <= /, ' < ' ], [ 'bound', qr/ > /, ' >= ' ], [ 'bound', qr/ >= /, ' > ' ],
    [ 'condition', qr/ == /, ' != ' ], [ 'condition', qr/ != /, ' == ' ],
    [ 'condition', qr/ && /, ' || ' ], [ 'condition', qr/ \|\| /, ' && ' ],
    [ 'condition', qr/(?<=[( ])!(?=[\w(])/, '' ], [ 'condition', qr/\bif \((.*)\)(?= \{?$|$)/, sub { "if (!($_[0]))" } ],
    [ 'condition', qr/ \? /, ' && false ? ' ],
    [ 'operator', qr/ \+ /, ' - ' ], [ 'operator', qr/ - /, ' + ' ], [ 'operator', qr/ \* /, ' + ' ], [ 'operator', qr{ / }, ' * ' ],
    [ 'operator', qr/ << /, ' >> ' ], [ 'operator', qr/ >> /, ' << ' ], [ 'operator', qr/ & /, ' | ' ], [ 'operator', qr/ \| /, ' & ' ],
    [ 'operator', qr/ \^ /, ' | ' ], [ 'operator', qr/ \+= /, ' -= ' ], [ 'operator', qr/ -= /, ' += ' ], [ 'operator', qr/ \|= /, ' &= ' ],
    [ 'constant', qr/(?<![\w.'"\[{])(\d+)(?![\w.'])/, sub { $_[0] + 1 } ], [ 'constant', qr/\btrue\b/, 'false' ], [ 'constant', qr/\bfalse\b/, 'true' ],
    [ 'call', qr/std::min\b/, 'std::max' ], [ 'call', qr/std::max\b/, 'std::min' ],
    [ 'call', qr/^( +)[\w:.>-]+\(.*\);$/, sub { "$_[0];" } ], [ 'call', qr/\bcontinue;/, 'break;' ]);

# Functions that read, write and run.
sub read_lines { open my $in, '<', $_[0] or die "$_[0]: $!\n"; return <$in> }
sub write_lines { my $file = shift; open my $out, '>', $file or die "$file: $!\n"; print $out @_; close $out }

# Blanks out strings, characters and comments; the other characters keep their places.
sub code_of
{
    my ($line) = @_;
    $line =~ s/("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)')/'@' x length $1/ge;
    $line =~ s{//.*}{};
    return $line;
}

# All changes of a file: line number, position, length, replacement, name.
sub changes_of
{
    my ($file) = @_;
    my @lines = read_lines($file);
    my (@found, %seen);
    for my $number (0 .. $#lines)
    {
        chomp(my $line = $lines[$number]);
        my $code = code_of($line);
        # Not changed: messages, which expected output shows; checks for cancel, which TAP tests cover; and what only
        # informs the compiler.
        next if $code =~ /^\s*(#|static_assert|using|template|case|MINHASH_FUNCTION)\b|\b(elog|err\w+|CHECK_FOR_INTERRUPTS|pg_unreachable|[Aa]ssert)\b/;
        for my $change (@changes)
        {
            my ($kind, $pattern, $new) = @$change;
            while ($code =~ /$pattern/g)
            {
                my ($start, $end) = ($-[0], $+[0]);
                my $group = defined $1 ? substr $line, $-[1], $+[1] - $-[1] : '';
                my $text = ref $new ? $new->($group) : $new;
                my $changed = substr($line, 0, $start) . $text . substr $line, $end;
                next if $changed eq $line;
                my $key = join "\t", $file, $line, $changed;
                push @found, { file => $file, line => $number + 1, kind => $kind, from => $line, to => $changed, id => substr md5_hex($key . "\t" . $seen{$key}++), 0, 10 };
            }
        }
    }
    return @found;
}

# Draws changes by a hash, so that the draw stays nearly the same while the sources change. No shell expands the
# patterns, because `src/pg/*.cpp` would match less in a shell than in git.
my $listed = sub { open my $out, '-|', 'git', 'ls-files', @_ or die "git: $!\n"; return <$out> };
my @files = grep { /\.(cpp|h)$/ && $_ !~ $generated } map { chomp; $_ } $listed->(@paths);
my %of = map { $_ => [ changes_of($_) ] } @files;
my $all = 0;
$all += @{ $of{$_} } for @files;
die "nothing to change in @paths\n" if !$all;
my @drawn;
for my $file (@files)
{
    my @candidates = sort { md5_hex("$seed$a->{id}") cmp md5_hex("$seed$b->{id}") } @{ $of{$file} };
    my $share = int @candidates * $count / $all + 0.5;
    $share = 1 if $share < 1;
    push @drawn, grep { defined } @candidates[ 0 .. $share - 1 ];
}
@drawn = sort { md5_hex("$seed$a->{id}") cmp md5_hex("$seed$b->{id}") } @drawn;
printf "%d of %d possible changes in %d files\n", scalar @drawn, $all, scalar @files;
if ($list)
{
    printf "%s:%d %s\n  %s\n  %s\n", @$_{qw(file line kind from to)} for @drawn;
    exit;
}

make_path('build/mutation');
my (%outcome, %kills);
sub remember
{
    my ($change, $outcome, $by) = @_;
    $outcome{ $change->{id} } = $outcome;
    $kills{ $change->{file} }{$by}++, $kills{ dirname($change->{file}) }{$by}++ if $outcome eq 'noticed';
}
if (-e $results)
{
    for (read_lines($results))
    {
        chomp;
        my ($id, $outcome, $by, $file) = split /\t/;
        remember({ id => $id, file => $file }, $outcome, $by);
    }
}

# Runs a command; $watch sees each line, and may return the reason to stop.
my $child;
sub run
{
    my ($watch, $patience, @command) = @_;
    my $pid = open(my $out, '-|') // die "fork: $!\n";
    if (!$pid)
    {
        open STDERR, '>&', \*STDOUT;
        open STDIN, '<', '/dev/null';
        setpgrp;
        exec @command or exit 127;
    }
    $child = $pid;
    my ($end, $buffer) = ('', '');
    while (!$end)
    {
        my $ready = '';
        vec($ready, fileno $out, 1) = 1;
        if (!select $ready, undef, undef, $patience)
        {
            $end = 'hangs';
            last;
        }
        last if !sysread $out, $buffer, 65536, length $buffer;
        # pg_regress writes a test's name first, and its result later on the same line.
        while (!$end && $buffer =~ s/^(.*)\n//)
        {
            my $line = $1;
            $end = $watch->($line) // '';
        }
    }
    if ($end)
    {
        kill 'KILL', -$pid;
        $child = undef;
        close $out;
        waitpid $pid, 0;
        return ($end, 1);
    }
    waitpid $pid, 0;
    my $status = $?;
    $child = undef;
    close $out;
    return ('', $status);
}

my @kernels;

my @unit = ('-C', 'test', '-j2', 'WARNINGS=');
my $unit_tests = 'build/test/unit_tests';
my @regress = map { /(\w+)\.sql$/ } glob 'sql/*.sql';
my @isolation = map { /(\w+)\.spec$/ } glob 'test/isolation/specs/*.spec';

# Tests come first if they noticed changes of this file or its directory, and if their name is like the file's.
sub ordered
{
    my ($file, @tests) = @_;
    my ($stem) = $file =~ m{(\w+)\.\w+$};
    my %rank;
    for my $test (@tests)
    {
        $rank{$test} = 3 * ($kills{$file}{$test} // 0) + ($kills{ dirname $file }{$test} // 0);
        $rank{$test} += 2 if index($test, $stem) >= 0 || index($stem, $test) >= 0;
        # These tests take as long as all others together.
        $rank{$test} -= 1 if $test =~ /^(large|clusters|pairs|band_table|elements)$/;
    }
    return sort { $rank{$b} <=> $rank{$a} || $a cmp $b } @tests;
}

sub unit_fails
{
    my ($what, $program) = @_;
    my ($end, $status) = run(sub { $_[0] =~ /^\[  FAILED  \]|ERROR: AddressSanitizer|runtime error:/ ? 'fails' : undef }, $longest, @$program);
    return $end || $status ? $what : undef;
}

# Removes what a run that was cut short left behind: roles, and sessions, perhaps in an endless loop.
sub clean_server
{
    my $sql = q{SELECT pid FROM pg_stat_activity WHERE datname ~ '_regression$'};
    kill 'QUIT', grep { /^\d+$/ } split /\s+/, `psql -qAtc "$sql" postgres 2>&1`;
    for (1 .. 60)
    {
        last if system('psql -qAtc "SELECT 1" postgres >/dev/null 2>&1') == 0;
        sleep 1;
    }
    my $roles = q{SELECT format('DROP ROLE %I;', rolname) FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> current_user};
    system qq{psql -qc "DROP DATABASE IF EXISTS contrib_regression" -c "DROP DATABASE IF EXISTS isolation_regression" postgres >/dev/null 2>&1};
    system qq{psql -qc "DROP DATABASE IF EXISTS oracle" postgres >/dev/null 2>&1};
    system qq{psql -qAtc "$roles" postgres | psql -q postgres >/dev/null 2>&1};
}

# Returns the name of the test that notices the change; undef if none does; "build" if it does not compile.
sub noticed_by
{
    my ($file) = @_;
    my $core = $file =~ m{^src/(core|bulk)/};
    my $make = sub { return (run(sub { undef }, 1000, 'make', '-s', @_))[1] };
    if ($core)
    {
        return 'build' if $make->(@unit, "../$unit_tests");
        my $by = unit_fails('unit', [ $unit_tests, '--gtest_fail_fast' ]);
        return $by if $by;
    }
    return 'build' if $make->('-j2', 'SANITIZE=-O1', 'all') || $make->('install');
    clean_server();
    for my $kind ([ 'REGRESS', 'ISOLATION=', ordered($file, @regress) ], [ 'ISOLATION', 'REGRESS=', ordered($file, @isolation) ])
    {
        my ($name, $none, @tests) = @$kind;
        my ($end, $wrong) = run(
            sub { return $_[0] =~ /^(?:test (\w+) .*FAILED|not ok \d+ +[-+] (\w+))/ ? "\L$name\E " . ($1 // $2) : undef },
            $longest, 'make', '-s', 'installcheck', $none, "$name=@tests");
        return $end eq 'hangs' ? "\L$name\E hangs" : $end if $end;
        return "\L$name" if $wrong;
    }
    if ($file =~ m{^src/(pg/)?bulk/})
    {
        return 'build' if system 'createdb', 'oracle';
        my ($end, $wrong) = run(sub { return $_[0] =~ /^\d+: / ? 'oracle' : undef }, 4 * $longest,
            'env', 'PGDATABASE=oracle', '/usr/bin/python3', 'test/oracle/oracle.py', 1, 40);
        return $end eq 'hangs' ? 'oracle hangs' : 'oracle' if $end || $wrong;
    }
    for my $tap ($file =~ m{^src/pg/index/} ? glob 'test/tap/03[02]_*.pl' : ())
    {
        my ($end, $wrong) = run(sub { return undef }, 4 * $longest, 'make', '-s', 'tap', "PROVE_TESTS=$tap");
        return "tap $tap" if $end || $wrong;
    }
    for my $kernels ($file =~ m{^src/core/(simd/|kernels)} ? @kernels : ())
    {
        my $by = unit_fails("unit ($kernels)", [ 'env', "MINHASH_KERNELS=$kernels", $unit_tests ]);
        return $by if $by;
    }
    if ($core && $sanitized)
    {
        my $program = 'build/test/sanitized_tests';
        return 'build' if $make->(@unit, "../$program");
        my $by = unit_fails('unit (sanitized)', [ $program, '--gtest_fail_fast' ]);
        return $by if $by;
    }
    return undef;
}

die "the checkout is not clean\n" if `git status --porcelain --untracked-files=no`;
my ($changed, @original);
sub restore
{
    write_lines($changed, @original) if $changed;
    $changed = undef;
}
$SIG{INT} = $SIG{TERM} = sub { kill 'KILL', -$child if $child; restore(); exit 130 };

if (grep { !$outcome{ $_->{id} } } @drawn)
{
    system('make', '-s', @unit, "../$unit_tests") == 0 or die "the unit tests do not build\n";
    @kernels = split ' ', `$unit_tests --runnable`;
    pop @kernels;
    # Before the first change, all tests must pass.
    my $by = %outcome ? undef : noticed_by('src/core/hash.h');
    die "without a change, $by fails\n" if $by;
}
open my $table, '>>', $results or die "$results: $!\n";
select((select($table), $| = 1)[0]);
$| = 1;
my $tried = 0;
for my $change (@drawn)
{
    next if $outcome{ $change->{id} };
    my $started = time;
    $changed = $change->{file};
    @original = read_lines($changed);
    my @lines = @original;
    $lines[ $change->{line} - 1 ] = "$change->{to}\n";
    write_lines($changed, @lines);
    my $by = noticed_by($changed);
    restore();
    my $outcome = !defined $by ? 'SURVIVES' : $by eq 'build' ? 'invalid' : 'noticed';
    (my $test = $by // '') =~ s/^(regress|isolation) //;
    remember($change, $outcome, $test);
    print $table join("\t", $change->{id}, $outcome, $test, $change->{file}, $change->{line}, $change->{kind}, $change->{from}, $change->{to}), "\n";
    printf "%3d %-8s %-20s %s:%d (%d s)\n", ++$tried, $outcome, $test, $change->{file}, $change->{line}, time - $started;
}

# Prints the totals.
my %sum;
$sum{ $outcome{ $_->{id} } }++ for @drawn;
printf "\n%d noticed, %d survive, %d do not compile\n", map { $sum{$_} // 0 } qw(noticed SURVIVES invalid);
for my $change (grep { $outcome{ $_->{id} } eq 'SURVIVES' } @drawn)
{
    print "\n$change->{file}:$change->{line} ($change->{kind})\n-$change->{from}\n+$change->{to}\n";
}
