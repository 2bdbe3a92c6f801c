#!/usr/bin/env bash
# Lines of C++, SQL and pages have at most 120 characters, so that diffs can be read side by side. Only tables in pages
# and results of statements may be wider. (doc/examples draws pictures, in long strings.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# COMMENT ON FUNCTION must name all arguments on one line, so that a search finds it.
mapfile -t files < <(test/tools/project_files.sh | grep -E '^(src|sql|test)/.*\.(cpp|h|sql)$|\.md$')
# shellcheck disable=SC2016  # Perl's variables
perl -CSD -ne '
    $result = 0 if $. == 1;
    $result = $1 eq "text" if $ARGV =~ /\.md$/ && /^```(\w*)$/;
    if (length > 121 && !$result && !/^\|.*\|$/ && !/^COMMENT ON FUNCTION /) {
        print "$ARGV:$.: longer than 120 characters\n";
        $failed = 1;
    }
    close ARGV if eof;
    END { exit 1 if $failed }
' "${files[@]}"
