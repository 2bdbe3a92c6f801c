#!/usr/bin/env bash
# Run every lint-*.sh beside this file; each prints what is wrong and exits 1. A new lint only has to be put here.
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
    fi
done
echo "lint: $passed passed, $failed failed"
((failed == 0))
