#!/usr/bin/env bash
# All tests, ring by ring, on a machine that may have nothing yet: installs what is missing, builds,
# installs the extension and runs lints, unit tests, pg_regress, isolation and TAP tests. Goes on
# after a ring that fails, ends with `N passed, N failed`, and fails if anything failed or a ring
# ran no test.
#
#   check.sh [RING...]     those named only: lint, unit, arm, fuzz, regress, isolation, sanitized, tap
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
here=$PWD/test
log=$(mktemp)
trap 'rm -f "$log"' EXIT

total_passed=0 total_failed=0
summary=()

finish() {
    echo
    printf '%s\n' "${summary[@]}"
    echo "$total_passed passed, $total_failed failed"
    ((total_failed == 0))
    exit
}

# Sums what a sed expression, given first, finds in the ring's output.
sum() {
    sed -nE "$1" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

# ring NAME COMMAND...: runs it, with its output shown and kept in $log; then the caller counts.
status=0 started=0
ring() {
    echo
    echo "=== $1"
    started=$SECONDS
    "${@:2}" </dev/null 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
}

# counted NAME PASSED FAILED: a ring that ends badly without a failed test (it did not build, or
# crashed), or runs none, counts as a failed one.
counted() {
    local name=$1 passed=$2 failed=$3 remark=
    if ((failed == 0 && status != 0)); then
        failed=1 remark=" (ended with status $status)"
    elif ((passed + failed == 0)); then
        failed=1 remark=' (ran no test)'
    fi
    summary+=("$(printf '%-9s %5d passed, %d failed, %d s%s' "$name" "$passed" "$failed" \
        $((SECONDS - started)) "$remark")")
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
}

# The rings asked for, and the Debian packages that they need.
rings=("$@")
if ((${#rings[@]} == 0)); then
    rings=(lint unit fuzz regress isolation sanitized tap)
    if [[ $(uname -m) == x86_64 ]]; then
        rings+=(arm)
    fi
fi
declare -A needs=(
    [lint]='clang-format clang-tools unicode-data'
    [unit]=libgtest-dev
    [arm]='g++-aarch64-linux-gnu qemu-user googletest'
    [fuzz]='clang libclang-rt-dev'
    [regress]='' [isolation]='' [sanitized]=''
    [tap]="libipc-run-perl python3-psycopg python3-psycopg2 python3-sqlalchemy"
)
packages=()
for name in "${rings[@]}"; do
    if [[ ! -v needs[$name] ]]; then
        echo "$0: there is no ring '$name'" >&2
        exit 2
    fi
    # shellcheck disable=SC2206  # several packages
    packages+=(${needs[$name]})
done
wanted() {
    [[ " ${rings[*]} " == *" $1 "* ]]
}

# Without a build there is nothing to test.
echo '=== packages'
PG_CONFIG=$("$here/tools/get_postgresql.sh" "${packages[@]}")
status=$?
export PG_CONFIG
if ((status == 0)); then
    ring build "$here/tools/build_and_install.sh"
fi
if ((status != 0)); then
    counted build 0 1
    finish
fi

if wanted lint; then
    ring lint "$here/lint/all.sh"
    counted lint "$(sum 's/^lint: ([0-9]+) passed.*/\1/p')" "$(sum 's/^lint: .* ([0-9]+) failed$/\1/p')"
fi

# GoogleTest says "1 FAILED TEST" or "2 FAILED TESTS".
gtest() {
    ring "$1" make -s -C "$here" -j"$(nproc)" "$1"
    counted "$1" "$(sum 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p')" \
        "$(sum 's/^ *([0-9]+) FAILED TESTS?$/\1/p')"
}
if wanted unit; then gtest unit; fi
# The same tests for another machine, under emulation.
if wanted arm; then gtest arm; fi

# Each fuzzer for a short while: that they still run, and find nothing at once.
if wanted fuzz; then
    ring fuzz make -s -C "$here" -j"$(nproc)" fuzz FUZZ_SECONDS=15
    failed=$(grep -cE '^SUMMARY' "$log")
    counted fuzz "$(grep -c '^stat::number_of_executed_units' "$log")" "$failed"
fi

# compared NAME ASSIGNMENT: one of the two kinds of tests whose output is compared, by itself, as
# make would not come to the second if the first fails. They end with "All 9 tests passed." or
# "2 of 9 tests failed.", after a "#" since PostgreSQL 16.
compared() {
    local run failed
    ring "$1" "$here/tools/with_server.sh" make -s installcheck "$2"
    run=$(sum 's/^[# ]*All ([0-9]+) tests passed.*/\1/p')
    failed=$(sum 's/^[# ]*([0-9]+) of [0-9]+ tests failed.*/\1/p')
    if ((failed > 0)); then
        run=$(sum 's/^[# ]*[0-9]+ of ([0-9]+) tests failed.*/\1/p')
        tail -n 100 "build/$1/regression.diffs"
    elif ((run == 0)); then
        # It gave up half-way, as it does for a test without an expected file.
        run=$(grep -cE '^(test .* \.\.\. ok|ok [0-9])' "$log")
    fi
    counted "$1" $((run - failed)) "$failed"
}
if wanted regress; then compared regress ISOLATION=; fi
if wanted isolation; then compared isolation REGRESS=; fi

# The same two with sanitizers in the extension; a report ends the server, and so fails a test.
if wanted sanitized; then
    ring sanitized "$here/tools/sanitized.sh"
    counted sanitized "$(sum 's/^[# ]*All ([0-9]+) tests passed.*/\1/p')" \
        "$(sum 's/^[# ]*([0-9]+) of [0-9]+ tests failed.*/\1/p')"
fi

# A script that dies has run fewer tests than it wanted, but none need have failed.
if wanted tap; then
    ring tap "$here/tools/tap.sh"
    failed=$(sum 's/^.* \(Wstat: .* Tests: [0-9]+ Failed: ([0-9]+)\)$/\1/p')
    died=$(grep -cE '\(Wstat: [^0].* Failed: 0\)$' "$log")
    counted tap "$(($(sum 's/^Files=[0-9]+, Tests=([0-9]+),.*/\1/p') - failed))" $((failed + died))
fi

finish
