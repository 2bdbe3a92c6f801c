#!/usr/bin/env bash
# Runs all tests, ring by ring, on a machine that may have nothing yet: it installs what is missing, builds, installs
# the extension and runs the rings, two at a time: the longest beside the others, which start with those that fail
# fastest. Once a minute it says what is running, and it prints the output of a ring when that ring has ended. It
# continues after a ring that fails, and ends with the counts of each ring, the names of the tests that failed and
# `N passed, N failed`. It fails if anything failed or a ring ran no test.
#
# Each ring appends to the file that the environment variable COUNTS names: `passed N`, `failed N`, and lines `FAILED
# name`. `UNSTABLE name` is a test that failed and then passed: it counts as passed but has to be mended. So does this
# script itself for its caller.
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
    export COUNTS=$logs/$1.counts
    case $1 in
    lint) test/lint/all.sh ;;
    unit | kernels | threads | arm) make -s -C test -j"$(nproc)" "$1" ;;
    # Each fuzzer runs briefly, to see that it still runs and finds nothing at once.
    fuzz) make -s -C test -j"$(nproc)" fuzz FUZZ_SECONDS=15 ;;
    # The SQL tests and the isolation tests run separately, because make would stop after the first kind if it fails.
    # While autovacuum analyses another table, VACUUM may have to leave dead rows that a test counts.
    regress) SERVER_OPTS='-c autovacuum=off' test/tools/with_server.sh make -s installcheck ISOLATION= 2>&1 |
        test/tools/counts.awk ;;
    isolation) test/tools/with_server.sh make -s installcheck REGRESS= 2>&1 | test/tools/counts.awk ;;
    # Makes random calls of the bulk functions, and compares them with brute force, and two ways of reading with each
    # other; each finding is a line with its seed.
    oracle) SERVER_OPTS='-c max_worker_processes=16 -c max_parallel_workers=16' \
        test/tools/with_server.sh sh -c '/usr/bin/python3 test/oracle/oracle.py 1 200;
            a=$?; /usr/bin/python3 test/oracle/both_ways.py 1 80 && exit $a' ;;
    clang | sanitized | asserted) "test/tools/$1.sh" 2>&1 | test/tools/counts.awk ;;
    # Some tests race with other work on the machine, so those that fail run again.
    tap) TAP_AGAIN=yes test/tools/tap.sh 2>&1 | test/tools/counts.awk ;;
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

# count RING WORD: adds up the numbers of its lines `passed N` or `failed N`.
count() {
    awk -v word="$2" '$1 == word { sum += $2 } END { print sum + 0 }' "$logs/$1.counts"
}

# Prints what failed in a ring, one per line; a failure without a name is shown by the last line of the ring's output.
name_failures() {
    local names
    names=$(grep -E '^(FAILED|UNSTABLE) ' "$logs/$1.counts" | awk '!seen[$0]++')
    [[ -n $names ]] || names="FAILED $(grep -v '^ *$' "$logs/$1" | tail -n 1)"
    sed -nE -e "s/^(FAILED|UNSTABLE) /\\1 $1: /" -e 's/^(.{160}).*/\1.../' -e '1,12p' -e "13s/.*/FAILED $1: and more/p" \
        <<<"$names"
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
    touch "$logs/$name.counts"
    counts=("$(count "$name" passed)" "$(count "$name" failed)")
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
    if ((counts[1] > 0)) || grep -q '^UNSTABLE ' "$logs/$name.counts"; then
        failures+=("$(name_failures "$name")")
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
    printf 'failed 1\nFAILED build\n' >>"${COUNTS:-/dev/null}"
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
printf '%s\n' "${failures[@]}" "passed $passed" "failed $failed" >>"${COUNTS:-/dev/null}"
echo "$passed passed, $failed failed"
((passed > 0 && failed == 0))
