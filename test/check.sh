#!/usr/bin/env bash
# All tests, ring by ring, on a machine that may have nothing yet: installs what is missing, builds,
# installs the extension and runs lints, unit tests, pg_regress, isolation and TAP tests. Goes on
# after a ring that fails, ends with `N passed, N failed`, and fails if anything failed or a ring
# ran no test.
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

# Without a build there is nothing to test.
packages=(libgtest-dev clang-format clang-tools unicode-data libipc-run-perl clang libclang-rt-dev)
if [[ $(uname -m) == x86_64 ]]; then
    packages+=(g++-aarch64-linux-gnu qemu-user googletest)
fi
ring build "$here/tools/build_and_install.sh" "${packages[@]}"
if ((status != 0)); then
    counted build 0 1
    finish
fi

ring lint "$here/lint/all.sh"
counted lint "$(sum 's/^lint: ([0-9]+) passed.*/\1/p')" "$(sum 's/^lint: .* ([0-9]+) failed$/\1/p')"

# GoogleTest says "1 FAILED TEST" or "2 FAILED TESTS".
ring unit make -s -C "$here" -j"$(nproc)" unit
counted unit "$(sum 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p')" \
    "$(sum 's/^ *([0-9]+) FAILED TESTS?$/\1/p')"

# The same tests for another machine, under emulation.
if [[ $(uname -m) == x86_64 ]]; then
    ring arm make -s -C "$here" -j"$(nproc)" arm
    counted arm "$(sum 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p')" \
        "$(sum 's/^ *([0-9]+) FAILED TESTS?$/\1/p')"
fi

# Each fuzzer for a short while: that they still run, and find nothing at once.
ring fuzz make -s -C "$here" -j"$(nproc)" fuzz FUZZ_SECONDS=15
failed=$(grep -cE '^SUMMARY' "$log")
counted fuzz "$(grep -c '^stat::number_of_executed_units' "$log")" "$failed"

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
compared regress ISOLATION=
compared isolation REGRESS=

# The same two with sanitizers in the extension; a report ends the server, and so fails a test.
ring sanitized "$here/tools/sanitized.sh"
counted sanitized "$(sum 's/^[# ]*All ([0-9]+) tests passed.*/\1/p')" \
    "$(sum 's/^[# ]*([0-9]+) of [0-9]+ tests failed.*/\1/p')"

# A script that dies has run fewer tests than it wanted, but none need have failed.
ring tap "$here/tools/tap.sh"
failed=$(sum 's/^.* \(Wstat: .* Tests: [0-9]+ Failed: ([0-9]+)\)$/\1/p')
died=$(grep -cE '\(Wstat: [^0].* Failed: 0\)$' "$log")
counted tap "$(($(sum 's/^Files=[0-9]+, Tests=([0-9]+),.*/\1/p') - failed))" $((failed + died))

finish
