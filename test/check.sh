#!/usr/bin/env bash
# Runs all tests, ring by ring, on a machine that may have nothing yet: it installs what is missing, builds, installs
# the extension and runs the rings, two at a time: the longest beside the others, which start with those that fail
# fastest. Once a minute it says what is running, and it prints the output of a ring when that ring has ended. It
# continues after a ring that fails, and ends with the counts of each ring, the names of the tests that failed and
# `N passed, N failed`. It fails if anything failed or a ring ran no test.
#
#   check.sh [RING...]     runs the rings named; --short, the default, runs those that take minutes; --long the others
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
#              CHECK_JOBS   how many rings run at a time
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
[[ -w . ]] || exec test/tools/in_copy.sh test/check.sh "$@"

short=(tap lint regress isolation unit oracle) # tap takes as long as the others together
long=(trixie forky experimental older asserted sanitized kernels threads clang fuzz)
[[ $(uname -m) != x86_64 ]] || long+=(arm)
declare -A needs=(
    [lint]='clang-format clang-tools unicode-data'
    [unit]=libgtest-dev [kernels]=libgtest-dev [threads]=libgtest-dev
    [arm]='g++-aarch64-linux-gnu qemu-user googletest'
    [fuzz]='clang libclang-rt-dev' [clang]=clang
    [regress]='' [isolation]='' [sanitized]=python3-psycopg [oracle]=python3-psycopg
    [asserted]='bison bzip2 flex libicu-dev pkg-config'
    [tap]="libipc-run-perl python3-psycopg python3-psycopg2 python3-sqlalchemy"
    [trixie]=debootstrap [forky]=debootstrap [experimental]=debootstrap [older]=debootstrap
)

run_ring() {
    case $1 in
    lint) test/lint/all.sh ;;
    unit | kernels | threads | arm) make -s -C test -j"$(nproc)" "$1" ;;
    # Each fuzzer runs briefly, to see that it still runs and finds nothing at once.
    fuzz) make -s -C test -j"$(nproc)" fuzz FUZZ_SECONDS=15 ;;
    # The SQL tests and the isolation tests run separately, because make would stop after the first kind if it fails.
    # While autovacuum analyses another table, VACUUM may have to leave dead rows that a test counts.
    regress) SERVER_OPTS='-c autovacuum=off' test/tools/with_server.sh make -s installcheck ISOLATION= ;;
    isolation) test/tools/with_server.sh make -s installcheck REGRESS= ;;
    # Makes random calls of the bulk functions and compares them with brute force; each finding is a line with its seed.
    oracle) SERVER_OPTS='-c max_worker_processes=16 -c max_parallel_workers=16' \
        test/tools/with_server.sh /usr/bin/python3 test/oracle/oracle.py 1 200 ;;
    clang | sanitized | asserted) "test/tools/$1.sh" ;;
    # Some tests race with other work on the machine: see below how tests that pass only in a second run are counted.
    tap) TAP_AGAIN=yes test/tools/tap.sh ;;
    trixie | forky | experimental) CHECK_JOBS=1 test/tools/lane.sh "$1" ;;
    older) test/tools/older.sh ;;
    esac
}

rings=()
(($# > 0)) || set -- --short
for name in "$@"; do
    case $name in
    --short) rings+=("${short[@]}") ;;
    --long) rings+=("${long[@]}") ;;
    *) rings+=("$name") ;;
    esac
done
packages=()
for name in "${rings[@]}"; do
    if [[ ! -v needs[$name] ]]; then
        echo "$0: there is no ring '$name'" >&2
        exit 2
    fi
    # shellcheck disable=SC2206  # several packages
    packages+=(${needs[$name]})
done

logs=$(mktemp -d)
summary=() failures=() passed=0 failed=0
declare -A ring_of=() started=() # by process, and by ring
# shellcheck disable=SC2317,SC2329  # called by the trap below
clean_up() {
    local pid
    for pid in "${!ring_of[@]}"; do
        kill -TERM -- "-$pid" 2>/dev/null && wait "$pid"
    done
    [[ -z $clock ]] || kill "$clock" 2>/dev/null
    rm -rf "$logs"
}
clock='' # a process that ends after a minute
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# sum RING EXPRESSION: adds up what a sed expression finds in the ring's output.
sum() {
    sed -nE "$2" "$logs/$1" | awk '{ sum += $1 } END { print sum + 0 }'
}

# The numbers of passed and of failed tests in a ring's output.
count_tests() {
    local name=$1 all failures last_try
    case $name in
    lint | trixie | forky | experimental | older)
        echo "$(sum "$name" 's/^(lint: )?([0-9]+) passed, [0-9]+ failed$/\2/p')" \
            "$(sum "$name" 's/^(lint: )?[0-9]+ passed, ([0-9]+) failed$/\2/p')"
        ;;
    # GoogleTest says "1 FAILED TEST" or "2 FAILED TESTS".
    unit | kernels | threads | arm)
        echo "$(sum "$name" 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p')" \
            "$(sum "$name" 's/^ *([0-9]+) FAILED TESTS?$/\1/p')"
        ;;
    oracle)
        echo "$(sum oracle 's/^seeds .* ([0-9]+) compared.*/\1/p')" "$(sum oracle 's/^seeds .* ([0-9]+) findings$/\1/p')"
        ;;
    fuzz)
        echo "$(grep -c '^stat::number_of_executed_units' "$logs/fuzz")" "$(grep -cE '^SUMMARY' "$logs/fuzz")"
        ;;
    # A script that dies runs fewer tests than planned, perhaps without a failed test.
    tap)
        all=$(sed '/^=== again/,$d' "$logs/tap" | sed -nE 's/^Files=[0-9]+, Tests=([0-9]+),.*/\1/p')
        last_try=$(sed -n '/^=== again/,$p' "$logs/tap")
        [[ -n $last_try ]] || last_try=$(<"$logs/tap")
        failures=$(sed -nE 's/^.* \(Wstat: .* Tests: [0-9]+ Failed: ([0-9]+)\)$/\1/p' <<<"$last_try" |
            awk '{ sum += $1 } END { print sum + 0 }')
        echo $((all - failures)) $((failures + $(grep -cE '\(Wstat: [^0].* Failed: 0\)$' <<<"$last_try")))
        ;;
    # "All 9 tests passed." or "2 of 9 tests failed.", after a "#" since PostgreSQL 16.
    *)
        all=$(sum "$name" 's/^[# ]*(All|[0-9]+ of) ([0-9]+) tests (passed|failed).*/\2/p')
        failures=$(sum "$name" 's/^[# ]*([0-9]+) of [0-9]+ tests failed.*/\1/p')
        # If pg_regress stopped half-way, as it does for a test without an expected file, counts the tests that passed.
        ((all > 0)) || all=$(grep -cE '^(test .* \.\.\. ok|ok [0-9])' "$logs/$name")
        echo $((all - failures)) "$failures"
        ;;
    esac
}

# name_failures RING [VERDICT]: prints what failed, one per line, as the ring's own output names it; a failure without a
# name is shown by the last line of its output. The verdict UNSTABLE marks tests that failed and then passed. They count
# as passed but have to be fixed.
name_failures() {
    local log=$logs/$1 verdict=${2:-FAILED} names
    names=$(case $1 in
        lint) sed -nE 's/^FAILED  //p' "$log" ;;
        trixie | forky | experimental | older) sed -nE "s/^$verdict //p" "$log" ;;
        # GoogleTest prints a failure where it happens, and again in the list at the end.
        unit | kernels | threads | arm) sed -nE 's/^\[  FAILED  \] ([[:alnum:]_/]+\.[[:alnum:]_/]+).*/\1/p' "$log" | sort -u ;;
        oracle) grep -E '^[0-9]+: ' "$log" ;;
        fuzz) grep -E '^SUMMARY' "$log" ;;
        # Matches "tap/140_cancel.pl (Wstat: 256 (exited 1) Tests: 9 Failed: 1)", and before that the test's name.
        tap) sed -nE -e 's/^#   Failed test /test /p' -e 's/^(tap.*\.pl) +\(Wstat: [^0].*/\1/p' "$log" ;;
        # "test bands ... FAILED    9 ms", "not ok 3     - bands    9 ms" since PostgreSQL 16.
        *) sed -nE -e 's/^(test)? +([[:alnum:]_-]+) +\.\.\. FAILED.*/\2/p' \
            -e 's/^not ok [0-9]+ +[-+] +([[:alnum:]_-]+) .*/\1/p' "$log" ;;
        esac)
    names=$(awk '!seen[$0]++' <<<"$names")
    [[ -n $names ]] || names=$(grep -v '^ *$' "$log" | tail -n 1)
    sed -n -e "s/^/$verdict $1: /" -e 's/\(.\{160\}\).*/\1.../' -e '1,12p' -e "13s/.*/$verdict $1: and more/p" <<<"$names"
}

# end_ring NAME STATUS: a ring that ends badly without a failed test (because it did not build, or crashed), or that
# runs no test, counts as one failed test.
end_ring() {
    local name=$1 status=$2 remark='' counts
    ((slots == 1)) || { echo && echo "=== $name" && cat "$logs/$name"; }
    if ((status == 77)); then
        summary+=("$(printf '%-12s SKIPPED: %s' "$name" "$(grep -m 1 '^no ' "$logs/$name")")")
        return
    fi
    read -r -a counts < <(count_tests "$name")
    if ((counts[1] > 0)); then
        find "build/$name" -name regression.diffs -exec tail -n 100 {} + 2>/dev/null
    fi
    if ((counts[1] == 0 && status != 0)); then
        counts[1]=1 remark=" (ended with status $status)"
    elif ((counts[0] + counts[1] == 0)); then
        counts[1]=1 remark=' (ran no test)'
    fi
    summary+=("$(printf '%-12s %5d passed, %d failed, %d s%s' "$name" "${counts[@]}" \
        $((SECONDS - started[$name])) "$remark")")
    ((slots == 1)) || echo "=== ${summary[-1]}"
    if ((counts[1] > 0)); then
        failures+=("$(name_failures "$name")")
    elif grep -qE '^(=== again|UNSTABLE)' "$logs/$name"; then
        failures+=("$(name_failures "$name" UNSTABLE)")
    fi
    passed=$((passed + counts[0]))
    failed=$((failed + counts[1]))
}

# Each ring has its own process group, so that all of it can be stopped.
start_ring() {
    local name=$1
    started[$name]=$SECONDS
    set -m
    if ((slots > 1)); then
        run_ring "$name" >"$logs/$name" 2>&1 </dev/null &
    else
        echo && echo "=== $name"
        { run_ring "$name" 2>&1 </dev/null | tee "$logs/$name"; } &
    fi
    set +m
    ring_of[$!]=$name
}

# Waits until a ring ends, and says once a minute what is running.
longest=40 # minutes of a ring
wait_for_ring() {
    local ended status pid name minutes
    while true; do
        if [[ -z $clock ]]; then
            sleep 60 &
            clock=$!
        fi
        wait -n -p ended "$clock" "${!ring_of[@]}"
        status=$?
        [[ $ended == "$clock" ]] || break
        clock=
        for pid in "${!ring_of[@]}"; do
            name=${ring_of[$pid]} minutes=$(((SECONDS - started[${ring_of[$pid]}]) / 60))
            ((slots == 1)) || printf -- '--- %d min: %s for %d min; %s\n' $((SECONDS / 60)) "$name" "$minutes" \
                "$(tail -n 1 "$logs/$name" | cut -c 1-80)"
            # No ring may prevent the others from being counted.
            ((minutes < longest)) || kill -TERM -- "-$pid"
        done
    done
    name=${ring_of[$ended]}
    unset "ring_of[$ended]"
    end_ring "$name" "$status"
}

# Without a build there is nothing to test.
echo '=== build'
slots=1
build() {
    PG_CONFIG=$(test/tools/get_postgresql.sh "${packages[@]}") && export PG_CONFIG && test/tools/build_and_install.sh
}
if ! build; then
    echo 'build: failed'
    echo '0 passed, 1 failed'
    exit 1
fi

slots=${CHECK_JOBS:-$(($(nproc) > 1 ? 2 : 1))}
for name in "${rings[@]}"; do
    ((${#ring_of[@]} < slots)) || wait_for_ring
    start_ring "$name"
done
while ((${#ring_of[@]} > 0)); do
    wait_for_ring
done

echo
printf '%s\n' "${summary[@]}" "${failures[@]}"
echo "$passed passed, $failed failed"
((passed > 0 && failed == 0))
