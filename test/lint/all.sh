#!/usr/bin/env bash
# Runs every lint-*.sh beside this file. Each lint prints what is wrong and exits 1. To add a lint, put its file here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

passed=0 failed=0
for lint in "$here"/lint-*.sh; do
    name=$(basename "$lint" .sh)
    if output=$(bash "$lint" 2>&1 </dev/null); then
        echo "ok      ${name#lint-}${output:+ ($output)}"
        passed=$((passed + 1))
    else
        echo "FAILED  ${name#lint-}"
        printf '%s\n' "$output" | sed 's/^/        /'
        failed=$((failed + 1))
        echo "FAILED ${name#lint-}" >>"${COUNTS:-/dev/null}" # see test/check.sh
    fi
done
printf 'passed %d\nfailed %d\n' "$passed" "$failed" >>"${COUNTS:-/dev/null}"
echo "lint: $passed passed, $failed failed"
((failed == 0))
