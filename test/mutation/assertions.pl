#!/usr/bin/env perl
# Makes each assertion of src fail once, and checks that a test notices. First, regress, isolation and unit tests run
# with assertions that note where they are evaluated. Then each assertion in turn fails when it is evaluated, and the
# first test that evaluated it must fail.
#
#   test/tools/private_postgres.sh test/mutation/assertions.pl
#
# It works on a copy in build/assertions, needs a quarter of an hour, and ends with the assertions that no test
# evaluates or notices; its exit status is 0 if there is none.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to install into
use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

chdir dirname(abs_path(__FILE__)) . '/../..' or die "cannot enter the checkout: $!\n";
my $copy = getcwd() . '/build/assertions';
if (!$ENV{MINHASH_ASSERTIONS})
{
    # The server's user, who is not this one, writes the places into this directory.
    my $dir = tempdir(DIR => '/tmp', CLEANUP => 1);
    chmod 0777, $dir;
    $ENV{MINHASH_ASSERTIONS} = $dir;
    exit(system('test/tools/with_server.sh', $^X, 'test/mutation/assertions.pl') >> 8);
}
my $dir = $ENV{MINHASH_ASSERTIONS};

sub read_file { open my $in, '<', $_[0] or return ''; local $/; return <$in> // '' }
sub write_file { my ($file, $text) = @_; open my $out, '>', $file or die "$file: $!\n"; print $out $text; close $out }
sub run_quietly { return system("$_[0] >$dir/output 2>&1 </dev/null") == 0 }

# An assignment binds less tightly than whatever a condition contains.
my $header = <<'CXX';
#pragma once
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <type_traits>
#include <unistd.h>
extern "C" __attribute__((weak, visibility("default"))) char *application_name;
inline void write_line(const char *name, const char *place)
{
    const std::string line = std::string(&application_name ? application_name : "unit") + " " + place + "\n";
    const std::string path = std::string(getenv("MINHASH_ASSERTIONS")) + name;
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
    (void)!write(file, line.data(), line.size());
    close(file);
}
inline bool may_hold(const char *place)
{
    static const std::string failing = [] {
        char name[200] = "";
        if (FILE *file = fopen((std::string(getenv("MINHASH_ASSERTIONS")) + "/failing").c_str(), "r"))
        {
            (void)!fscanf(file, "%199s", name);
            fclose(file);
        }
        return std::string(name);
    }();
    if (failing == place)
    {
        write_line("/failed", place);
        return false;
    }
    static std::atomic<const char *> seen[4096];
    std::size_t at = reinterpret_cast<std::size_t>(place) * 0x9E3779B97F4A7C15 >> 52;
    const char *there = nullptr;
    while ((there = seen[at]) != nullptr && there != place)
        at = (at + 1) % 4096;
    if (there == nullptr && failing.empty())
    {
        seen[at] = place;
        write_line("/evaluated", place);
    }
    return true;
}
struct assertion
{
    const char *place;
    constexpr bool operator=(bool holds) const
    {
        return std::is_constant_evaluated() ? holds : may_hold(place) && holds;
    }
};
CXX

run_quietly("test/tools/copy_project.sh '$copy'") or die read_file("$dir/output");
chdir $copy or die "$copy: $!\n";
write_file("$copy/src/assertion.h", $header);
my @places;
for my $file (split /\n/, `find src -name '*.cpp' -o -name '*.h' | sort`)
{
    next if $file eq 'src/assertion.h';
    my ($number, $text) = (0, '');
    for (split /(?<=\n)/, read_file($file))
    {
        $number++;
        my $place = "$file:$number";
        push @places, $place if s/^(\s*[Aa]ssert)\(/$1(assertion{"$place"} = /;
        $text .= $_;
    }
    write_file($file, $text);
}
my $include = "-include $copy/src/assertion.h";
run_quietly("make -s -j2 all 'SANITIZE=-O1 -DUSE_ASSERT_CHECKING $include' && make -s install")
  && run_quietly("make -s -C test -j2 ../build/test/unit_tests 'WARNINGS=$include'")
  or die read_file("$dir/output");

# All tests pass, and note what they evaluate.
my $unit = 'build/test/unit_tests --gtest_fail_fast --gtest_brief=1 --gtest_filter=-assertions.*';
run_quietly('make -s installcheck') or die read_file("$dir/output");
run_quietly($unit) or die read_file("$dir/output");
my %test;
for (split /\n/, read_file("$dir/evaluated"))
{
    my ($by, $place) = /^(.*) (\S+)$/;
    $test{$place} //= $by;
}
printf "%d assertions, %d evaluated\n", scalar @places, scalar keys %test;

$| = 1;
my ($noticed, @others) = (0);
for my $place (@places)
{
    my $by = $test{$place};
    if (!$by)
    {
        push @others, "$place is not evaluated";
        next;
    }
    write_file("$dir/failing", "$place\n");
    unlink "$dir/failed";
    my $passed = run_quietly(
          $by =~ m{^pg_regress/(\w+)} ? "make -s installcheck ISOLATION= REGRESS=$1"
        : $by =~ m{^isolation/(\w+)} ? "make -s installcheck REGRESS= ISOLATION=$1"
        : $unit);
    my $failed = read_file("$dir/failed") =~ / \Q$place\E\n/;
    if ($failed && !$passed) { $noticed++ }
    else { push @others, "$place: " . ($failed ? 'failed, but the test passes' : 'was not evaluated again') . " ($by)" }
    printf "%-40s %s\n", $place, $by;
    # The server restarts after a crash.
    for (1 .. 60)
    {
        last if run_quietly('psql -XAtqc "SELECT 1" postgres');
        sleep 1;
    }
}
print "$_\n" for @others;
printf "%d of %d were noticed\n", $noticed, scalar @places;
exit(@others ? 1 : 0);
