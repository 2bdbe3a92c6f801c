#!/usr/bin/env bash
# The install script declares what the catalogue needs to know, its parts are in order, and the version appears only where it may.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" minhash_lsh.control)

# shellcheck disable=SC2016,SC2046  # Perl's variables; a list of files
perl -0777 -ne '
    my @wrong;
    s/^\s*--.*$//mg;
    push @wrong, "does not start with \\echo Use \"CREATE EXTENSION ...\" ... \\quit"
        unless /\A\s*\\echo Use "(?:CREATE|ALTER) EXTENSION minhash_lsh\b[^\n]*\\quit\n/;
    for my $phrase ("CREATE OR REPLACE", "IF NOT EXISTS", "SECURITY DEFINER") {
        (my $pattern = $phrase) =~ s/ /\\s+/g;
        push @wrong, "has $phrase" if /\b$pattern\b(?!\s*\()/i;
    }
    push @wrong, "makes a name from a regclass: _lsh_locked_name() and _lsh_kept_locked_name() give names that last"
        if /\bAS\s+regclass\)\s+AS\s+text\)|::\s*regclass\s*::\s*text/i;
    push @wrong, "asks whether an id IS NULL, which is wrong of a row with a NULL field: use IS DISTINCT FROM NULL"
        if /(?:\bid|\$s)\s+IS\s+(?:NOT\s+)?NULL/i;
    push @wrong, "has a backslash in a string without E, which means another string if standard_conforming_strings is off"
        if /(?<![E\w\x27])\x27[^\x27\n]*\\[^\x27\n]*\x27/;
    while (/CREATE\s+(?:OR\s+REPLACE\s+)?(FUNCTION|AGGREGATE)\s+(\w+)(.*?);/gsi) {
        my ($kind, $name, $text) = ($1, $2, $3);
        push @wrong, "$name does not state whether it is PARALLEL SAFE"
            unless $text =~ /\bPARALLEL\s*=?\s*(?:SAFE|RESTRICTED|UNSAFE)\b/i;
        next if uc $kind eq "AGGREGATE";
        push @wrong, "$name does not state its volatility"
            unless $text =~ /\b(?:IMMUTABLE|STABLE|VOLATILE)\b/i;
    }
    print "$ARGV: $_\n" for @wrong;
    $failed = 1 if @wrong;
    END { exit 1 if $failed }
' "src/sql/minhash_lsh--$version.sql" $(find src/sql/upgrade -name '*.sql' 2>/dev/null) || status=1

# No part needs a later one. (PostgreSQL would not notice: it does not check the bodies of functions.)
# shellcheck disable=SC2016  # Perl's variables
perl -0777 -ne '
    s/--[^\n]*|MODULE_PATHNAME[^;]*|COMMENT ON.*?;\n|HINT = .*?;\n//gs;
    push @parts, [$ARGV, $_];
    $first{$1} //= $ARGV while /CREATE (?:FUNCTION|AGGREGATE|TYPE|DOMAIN|OPERATOR CLASS|OPERATOR FAMILY)\s+(\w+)/g;
    END {
        for (@parts) {
            my ($part, $text) = @$_;
            my %seen = map { $_ => 1 } $text =~ /\b_?(?:lsh|minhash|shingle)\w*/g;
            for (sort grep { ($first{$_} // "") gt $part } keys %seen) {
                print "$part needs $_ of $first{$_}\n";
                $failed = 1;
            }
        }
        exit 1 if $failed;
    }
' src/sql/[0-9]*.sql || status=1

while read -r other; do
    if [[ $other != "$version" ]]; then
        echo "META.json says version $other, minhash_lsh.control $version"
        status=1
    fi
# The last version in META.json is the version of its format.
done < <(sed -n 's/^ *"version": "\(.*\)".*/\1/p' META.json | head -n -1)

packaged=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
if [[ $packaged != "$version" ]]; then
    echo "debian/changelog says version $packaged, minhash_lsh.control $version"
    status=1
fi

if ! grep -q "^Version $version[, ]" README.md; then
    echo "README.md does not say \"Version $version\", as minhash_lsh.control does"
    status=1
fi

# Frozen scripts and files about the history contain versions by their nature.
found=$(test/tools/project_files.sh | grep -vE '^(minhash_lsh\.control|META\.json|README\.md|CHANGELOG.*|debian/changelog)$' |
    grep -vE '^src/sql/(released|upgrade)/' |
    xargs -d '\n' grep -nIE "(^|[^0-9.])${version//./\\.}([^0-9.]|\$)") || true
if [[ -n $found ]]; then
    echo "the version stands in minhash_lsh.control, META.json, README.md and debian/changelog only:"
    printf '%s\n' "$found"
    status=1
fi
exit $status
