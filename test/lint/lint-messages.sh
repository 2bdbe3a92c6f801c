#!/usr/bin/env bash
# Every message that src/pg reports must be shown by a test, and every error with its SQLSTATE: in expected output as
# "22023: message", or in a TAP test by its longest part between two values. The list below has the messages that no
# test shows, and the reasons.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

errcodes=$("${PG_CONFIG:-pg_config}" --includedir-server)/utils/errcodes.h
mapfile -t sources < <(find src/pg -name '*.cpp' | sort)

# shellcheck disable=SC2016  # Perl's variables
perl -CSD -e '
    my %untested = map { $_ => 1 } (
        # These need more rows or texts than a test has the time or memory for.
        "query returns too many rows",
        "query returns too many different values",
        "too many distinct shingles",
        "texts are too long to be compared exactly",
        # This needs a file system of its own: test/README.md says how.
        "no workers are used, as /dev/shm has too little room",
        "out of shared memory",
        # These need a catalogue that somebody has changed by hand.
        "default conversion function for encoding \"%s\" to \"%s\" does not exist",
        # test/isolation/specs/owned_relation.spec shows this without its SQLSTATE.
        "table \"%s\" was dropped or changed by another session",
        # test/tap/260 damages many pages, and looks at the SQLSTATE alone.
        "index \"%s\" is damaged at block %u",
        # This needs an index owned by another session.
        "cannot read temporary tables of other sessions",
        # This needs a standby that replays merges of the same runs twenty times in a row.
        "index \"%s\" changes faster than it can be checked",
        # This needs an operator class that a user has made, without an operator.
        "operator class %u of access method lsh has no operator with number %d or %d",
        # Only COPY calls the receive function: sql/type.sql shows the message and the SQLSTATE separately.
        "invalid external \"minhash_signature\" value",
    );
    sub text_of { my $all = ""; for (@_) { open my $file, "<:utf8", $_ or die "$_: $!"; local $/; $all .= <$file> } $all }
    my ($errcodes, @sources) = @ARGV;
    my %sqlstate;
    for (split /\n/, text_of($errcodes)) {
        my ($name, $value) = /^#define (ERRCODE_\w+) MAKE_SQLSTATE\((.*)\)/ or next;
        $sqlstate{$name} = $value =~ s/\W//gr;
    }
    my $expected = text_of(glob "expected/*.out test/isolation/expected/*.out");
    (my $tap = text_of(glob "test/tap/*.pl")) =~ s/\\(.)/$1/g;
    my $failed = 0;
    for my $source (@sources) {
        my $text = text_of($source);
        while ($text =~ /\b(?:ereport|errsave|ereturn)\((.*?)\)\s*;/gs) {
            my $report = $1;
            my $state = $report =~ /\b(ERRCODE_\w+)/ ? $sqlstate{$1} : undef;
            $report =~ /\berrmsg(?:_plural)?\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/ or next;
            (my $message = join "", $1 =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\(.)/$1/g;
            my @pieces = split /%(?:%|[-.0-9]*(?:z|l*)[a-z])/, $message, -1;
            my $pattern = join ".*?", map quotemeta, @pieces;
            my ($longest) = sort { length $b <=> length $a } @pieces;
            my $tested = $expected =~ (defined $state ? qr/$state: $pattern/ : qr/$pattern/)
                || index($tap, $longest =~ s/^\W+|\W+$//gr) >= 0;
            my $excused = delete $untested{$message};
            next if $tested == !$excused;
            print "$source: ", $tested ? "a test shows it, so it is no exception" : "no test shows",
                ", with SQLSTATE ", $state // "-", ": $message\n";
            $failed = 1;
        }
    }
    print "no such message: $_\n" for sort keys %untested;
    print "to cure: show the error by error_of() (sql/include/errors.sql) in the test of its topic, or except it here\n"
        if $failed;
    exit($failed || %untested ? 1 : 0);
' "$errcodes" "${sources[@]}"
