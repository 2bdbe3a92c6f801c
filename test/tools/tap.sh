#!/usr/bin/env bash
# Runs TAP tests: those named, or all of test/tap. The extension must be installed.
#
#   tap.sh [FILE...]
#
# The tests start servers, which PostgreSQL refuses to do as root, and the user postgres may not be allowed to enter the
# checkout. So a copy is run, in its own directory. The logs of a failed run are kept in build/tap.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
#              MINHASH_ROUNDS  how often the tests that kill or compare do so; raise it for their long forms
#              MINHASH_OLD_PG_CONFIG  pg_config of another server with the extension, to upgrade from
#              MINHASH_SEED  the seed of tests that choose at random and can be given one
#              MINHASH_TEXTS  how many texts tests of several servers have, for their long form
#              MINHASH_MATCHING  a folder of labelled sets for 480_matching.pl, which is skipped without them; they are
#                           looked for in ../shared/data/matching
#              TAP_AGAIN  if set, failed tests run once more, and fail only if they fail again
#              PROVE_FLAGS  options of prove, e.g. "--verbose" to see what tests report
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bindir=$("${PG_CONFIG:-pg_config}" --bindir)
pgxs=$(dirname "$("${PG_CONFIG:-pg_config}" --pgxs)")/../..
if [[ ! -e $pgxs/src/test/perl/PostgreSQL/Test/Cluster.pm ]]; then
    echo "$0: this PostgreSQL comes without its Perl modules for tests" >&2
    exit 1
fi

user=()
if ((EUID == 0)); then
    name=postgres
    id -u postgres >/dev/null 2>&1 || name=nobody
    user=(runuser -u "$name" --)
fi

# Not below $TMPDIR: that may be private to the user who calls, and sockets need a short path.
dir=$(mktemp -d /tmp/tap.XXXXXX)
child=
# shellcheck disable=SC2317,SC2329  # called by the traps below
clean_up() {
    trap '' INT TERM HUP
    local pids=() pid tenth
    if [[ -n $child ]]; then
        kill -TERM -- "-$child" 2>/dev/null || true
        # The servers are not in our process groups; SIGQUIT stops them at once.
        for pid in "$dir"/tmp_check/*/pgdata/postmaster.pid; do
            [[ ! -e $pid ]] || pids+=("$(head -n 1 "$pid")")
        done
        for pid in "${pids[@]}"; do
            kill -QUIT "$pid" 2>/dev/null || true
        done
        for pid in "-$child" "${pids[@]}"; do
            for ((tenth = 0; tenth < 100; tenth++)); do
                kill -0 -- "$pid" 2>/dev/null || break
                sleep 0.1
            done
        done
    fi
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$dir/tap"
if (($# == 0)); then
    set -- test/tap/*.pl
fi
cp "$@" test/tap/*.pm "$dir/tap"
cp doc/*.md "$dir" # pages whose SQL is run
cp -r doc/examples doc/distributed "$dir"
matching=${MINHASH_MATCHING:-../shared/data/matching}
[[ ! -d $matching ]] || cp -r "$matching" "$dir/matching"
if ((EUID == 0)); then
    chown -R "$name" "$dir"
fi
tests=()
for file in "$@"; do
    tests+=("tap/$(basename "$file")")
done
read -r -a flags <<<"${PROVE_FLAGS:-}"

# run_prove OPTION...: runs prove in its own process group, so that all of it can be stopped. The user's own connection
# settings must not lead elsewhere; initdb uses LC_ALL.
run_prove() {
    local status=0
    set -m
    (cd "$dir" && exec "${user[@]}" env -i PATH="$bindir:/usr/local/bin:/usr/bin:/bin" HOME="$dir" \
        LC_ALL=C.UTF-8 TMPDIR="$dir" TESTDIR="$dir" TESTDATADIR="$dir/tmp_check" \
        TESTLOGDIR="$dir/tmp_check/log" PGPORT=65432 MINHASH_ROUNDS="${MINHASH_ROUNDS:-}" \
        MINHASH_TEXTS="${MINHASH_TEXTS:-}" MINHASH_SEED="${MINHASH_SEED:-}" \
        MINHASH_OLD_PG_CONFIG="${MINHASH_OLD_PG_CONFIG:-}" \
        PG_REGRESS="$(realpath "$pgxs/src/test/regress/pg_regress")" \
        prove -I "$(realpath "$pgxs/src/test/perl")" "${flags[@]}" "$@") </dev/null &
    child=$!
    set +m
    wait "$child" || status=$?
    child=
    return "$status"
}

status=0
run_prove --state=save "${tests[@]}" || status=$?
if ((status != 0)) && [[ -d $dir/tmp_check/log ]]; then
    mkdir -p build
    rm -rf build/tap
    cp -r "$dir/tmp_check/log" build/tap
    # If only this output is kept, it must say why a test failed. So print the ends of its logs.
    for log in build/tap/regress_log_*; do
        if grep -qE '^\S+ 1\.\.[0-9]' "$log" && ! grep -qE '^\S+ not ok' "$log"; then
            continue
        fi
        tail -n 30 "$log" "${log/regress_log_/}"_*.log 2>/dev/null || true
    done >&2
    echo "logs: build/tap" >&2
fi
if ((status != 0)) && [[ -n ${TAP_AGAIN:-} ]]; then
    echo '=== again, what failed'
    rm -rf "$dir/tmp_check"
    status=0
    run_prove --state=failed || status=$?
fi
exit "$status"
