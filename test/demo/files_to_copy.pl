#!/usr/bin/perl
# Print text files as rows "id<TAB>name<TAB>body" for PostgreSQL's COPY FROM.
#
#   files_to_copy.pl [DIR]
#
# Uses the regular files below DIR, or, without DIR, the licence and copyright
# files of this machine's packages. Files that PostgreSQL's type text cannot
# hold are left out and counted on standard error. Exit status 1 if none is left.
# The client reads the files, because the server may run as a user who cannot.
use strict;
use warnings;
use Cwd qw(realpath);
use Encode ();
use File::Find qw(find);
no warnings 'File::Find';    # folders that cannot be read are counted below

use constant MAX_FILES => 50_000;
use constant MAX_FILE  => 16 * 1024 * 1024;
use constant MAX_TOTAL => 256 * 1024 * 1024;    # keeps the demonstration short

my ($dir) = @ARGV;
$dir = undef if defined $dir && $dir eq '';

my (@files, $top, %skipped, $unreadable_dirs);
if (defined $dir) {
    if (!-d $dir) {
        print STDERR "not a folder: $dir\n";
        exit 1;
    }
    $top = realpath($dir) // $dir;
    my %kernel = map { $_ => 1 } qw(/proc /sys /dev /run);    # these hold no documents
    find({
        no_chdir   => 1,
        # Called for each folder: sorts the names, so that the order is the same in every run.
        preprocess => sub { return @files > MAX_FILES ? () : sort @_ },
        wanted     => sub {
            my $path = $File::Find::name;
            return if $path eq $top || @files > MAX_FILES;
            lstat $path;    # a symbolic link is neither followed nor a file
            if (-d _) {
                $File::Find::prune = 1
                    if $path =~ m{/\.[^/]*\z} || $kernel{$path};
                $unreadable_dirs++ if !$File::Find::prune && !(-r _ && -x _);
            }
            elsif (-f _) {
                push @files, $path;
            }
        },
    }, $top);
    if (@files > MAX_FILES) {
        pop @files;
        print STDERR 'taking the first ', MAX_FILES, " files only\n";
    }
}
else {
    # Many of these are symbolic links: each real file counts once.
    my %seen;
    for my $path (glob '/usr/share/doc/*/copyright /usr/share/common-licenses/*'
        . ' /usr/share/licenses/*/*') {
        my $real = realpath($path) // next;
        push @files, $real if -f $real && !$seen{$real}++;
    }
    @files = sort @files;
}

binmode STDOUT;
my ($id, $total) = (0, 0);
my %escape = ("\\" => "\\\\", "\n" => "\\n", "\r" => "\\r", "\t" => "\\t");
for my $path (@files) {
    my ($why, $body) = read_text($path);
    if ($why) {
        $skipped{$why}++;
        next;
    }
    # A name may hold any bytes; it is only displayed.
    my $name = $path;
    $name =~ s{^\Q$top\E/*}{} if defined $top;
    $name = Encode::encode('UTF-8', Encode::decode('UTF-8', $name));
    $name =~ tr/\0-\x1f\x7f/?/;
    s/([\\\n\r\t])/$escape{$1}/g for $name, $body;
    print ++$id, "\t", $name, "\t", $body, "\n" or die "cannot write: $!\n";
}
close STDOUT or die "cannot write: $!\n";

print STDERR "skipped $skipped{$_} file", $skipped{$_} == 1 ? '' : 's', ": $_\n"
    for sort keys %skipped;
print STDERR "skipped $unreadable_dirs folder", $unreadable_dirs == 1 ? '' : 's',
    ": cannot be read\n" if $unreadable_dirs;
if ($id == 0) {
    print STDERR 'no readable text file in ',
        $dir // '/usr/share/doc/*/copyright and /usr/share/common-licenses', "\n";
    exit 1;
}

# Returns (reason for skipping) or (undef, content).
sub read_text {
    my ($path) = @_;
    my $size = -s $path // return 'cannot be read';
    return 'empty' if $size == 0;
    return 'bigger than ' . MAX_FILE / 1024 / 1024 . ' MB' if $size > MAX_FILE;
    return 'beyond ' . MAX_TOTAL / 1024 / 1024 . ' MB in all'
        if $total + $size > MAX_TOTAL;

    open my $file, '<:raw', $path or return 'cannot be read';
    my $got = read $file, my $body, MAX_FILE;
    return 'cannot be read' if !defined $got;
    return 'not text (NUL bytes)' if index($body, "\0") >= 0;
    # Encode's own strict check is stricter than the server's: it refuses
    # noncharacters such as U+FFFE. Perl's lax one lets these two ranges through.
    my $text = $body;
    return 'not UTF-8 text' if !utf8::decode($text)
        || $text =~ /[\x{D800}-\x{DFFF}]|[^\x{0}-\x{10FFFF}]/;
    return 'empty' if $text !~ /\S/;
    $total += $got;
    return (undef, $body);
}
