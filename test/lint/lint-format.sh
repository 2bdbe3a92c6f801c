#!/usr/bin/env bash
# C++ is formatted as .clang-format says. Versions of clang-format differ in detail: 14 decides.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

format=$(command -v clang-format-14 clang-format | head -n 1) || true
if [[ -z $format ]]; then
    echo "clang-format is missing: install clang-format"
    exit 1
fi
if ! "$format" --version | grep -q 'version 14\.'; then
    echo "skipped: not clang-format 14"
    exit 0
fi

mapfile -t files < <(find src test \( -name '*.cpp' -o -name '*.h' \) | sort)
if ! output=$("$format" --dry-run -Werror "${files[@]}" 2>&1); then
    printf '%s\n' "$output" | grep ' error: ' | cut -d: -f1,2 | sort -u | head -n 40
    echo "to cure: clang-format -i FILE"
    exit 1
fi
