#!/usr/bin/env bash
# Nothing in src/pg and src/bulk may have a destructor, because an error leaves by longjmp, which runs none. Asks clang
# for variables and temporaries whose destructor does anything, after checking that it finds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

query=$(command -v clang-query-14 clang-query | head -n 1) || true
if [[ -z $query ]]; then
    echo "clang-query is missing: install clang-tools"
    exit 1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A class has such a destructor if somebody wrote one, or if the compiler had to write its body.
cat >"$dir/query" <<'QUERY'
set output diag
let destructor cxxDestructorDecl(anyOf(unless(isDefaulted()), hasBody(stmt())))
let record hasUnqualifiedDesugaredType(recordType(hasDeclaration(cxxRecordDecl(has(destructor)))))
let array hasUnqualifiedDesugaredType(arrayType(hasElementType(record)))
match varDecl(isExpansionInFileMatching("src/(pg|bulk)/"), anyOf(hasType(record), hasType(array)))
match cxxBindTemporaryExpr(isExpansionInFileMatching("src/(pg|bulk)/"))
QUERY

find_destructors() {
    "$query" -f "$dir/query" "$@" -- -w -Wno-register -std=c++20 -Isrc \
        -I"$("${PG_CONFIG:-pg_config}" --includedir-server)" -fno-exceptions -fno-rtti \
        -DMINHASH_VERSION='"0"' -D_GNU_SOURCE 2>&1
}

# In this control file, the marked lines must be found, and three others must not.
mkdir -p "$dir/src/pg"
cat >"$dir/src/pg/control.cpp" <<'CONTROL'
#include "pg/glue.h"
#include <memory>
#include <string>
struct guard { ~guard() { CHECK_FOR_INTERRUPTS(); } };
struct holder { std::string inside; };
struct plain { int* at; std::span<const int> some; ~plain() = default; };
void lets_pass(std::string_view view, std::span<int>) { plain one{}; auto copy = one; (void)copy; }
void finds(int n)
{
    guard one;                                  // found
    std::string two;                            // found
    holder three;                               // found
    std::string four[2];                        // found
    auto five = std::make_unique<int>(n);       // found
    static guard six;                           // found
    elog(ERROR, "%s", std::to_string(n).c_str()); // found
}
CONTROL
expected=$(grep -n '// found' "$dir/src/pg/control.cpp" | cut -d: -f1)
found=$(find_destructors "$dir/src/pg/control.cpp" | tee "$dir/control.log" |
    sed -n 's/.*control\.cpp:\([0-9]*\):[0-9]*: note: "root" binds here.*/\1/p' | sort -nu) || true
if [[ $found != "$expected" ]]; then
    # shellcheck disable=SC2086  # lists of numbers
    echo "the control failed: found lines" $found "instead of" $expected
    grep -E 'error:|Error' "$dir/control.log" | head -n 5 || true
    exit 1
fi

output=$(find_destructors src/bulk/*/*.cpp src/pg/*.cpp src/pg/*/*.cpp src/pg/*/*/*.cpp)
if grep -E ' error: |^Error|[1-9][0-9]* match(es)?\.' <<<"$output" >/dev/null; then
    grep -E ' error: |^Error|"root" binds here' <<<"$output" | sort -u
    exit 1
fi
if [[ $(grep -c '^0 matches\.' <<<"$output") != 2 ]]; then
    echo "no answer of clang-query:"
    printf '%s\n' "$output" | tail -n 5
    exit 1
fi
