#!/usr/bin/env bash
# Prints the project's own files, one per line: what git tracks, or would track if it were added now. In an unpacked
# archive, without git, prints every file that no build makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# git refuses a checkout that belongs to another user, unless told otherwise.
if files=$(git -c safe.directory='*' ls-files --cached --others --exclude-standard 2>/dev/null); then
    while read -r file; do
        [[ ! -f $file ]] || printf '%s\n' "$file"
    done <<<"$files"
else
    find . -type f ! -path './.git/*' ! -path './build/*' ! -name '*.o' ! -name '*.d' \
        ! -name '*.so' ! -name 'minhash_lsh--*.sql' -printf '%P\n'
fi | sort
