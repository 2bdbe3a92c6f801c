#!/usr/bin/env bash
# Words that had several meanings are retired where a better one exists; the glossary of src/README.md has those that
# stay. Each line of the table: the retired word, as a pattern, where it may stand, and what to write instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck disable=SC2016  # Perl's variables
found=$(find src -name '*.cpp' -o -name '*.h' | sort | xargs perl -ne '
    BEGIN {
        $type = qr/(?:\w+::)*\w+(?:<[^;()]*>)?/;
        @retired = (
            # A place is where texts are: a server or a shard.
            [qr/\bplaces?\b(?!\()/, qr{/scatter\.cpp$}, "location (of a row), cell (of a hash table), ordinal, offset"],
            [qr/(?<![A-Za-z])shapes?(?![A-Za-z])/, qr/^$/, "banding, dimensions"],
            [qr/\bband_choice\b/, qr/^$/, "banding"],
            [qr/[\w>] ?[&*] ?state\b(?!\()/, qr/^$/, "self"],
            [qr/^\s*(?:const )?(?!(?:minhash::)?scheme\b|auto\b|return\b)$type&? scheme(?: =|;|\{)/, qr/^$/,
             "made, or what it is: a scheme is how a signature was made"],
        );
        # Plain English.
        $plain = qr/\b(?:[Ii]n(?: the)?|one|put something else in its|taken? the|takes the|its) place\b|in_place|void\* state|_signer& state;|PlanState\b.*|ExplainState\b.*/;
    }
    (my $line = $_) =~ s/$plain//g;
    for (@retired) {
        my ($word, $allowed, $instead) = @$_;
        print "$ARGV:$.: $& is retired; write $instead\n" if $ARGV !~ $allowed && $line =~ $word;
    }
    close ARGV if eof;
')
if [[ -n $found ]]; then
    printf '%s\n' "$found"
    exit 1
fi
