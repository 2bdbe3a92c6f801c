#!/usr/bin/env bash
# Runs the SQL tests on servers with settings that make PostgreSQL compute the same results in other ways. By hand: it
# takes some minutes. test/README.md says which plans, orders and notices may differ.
#
#   settings.sh [TEST...]    names of sql/, by default all
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use, where the extension is installed
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if (($# == 0)); then
    mapfile -t tests < <(basename -s .sql -a sql/*.sql)
    set -- "${tests[@]}"
fi
version=$(test/tools/with_server.sh psql -qAtc 'SHOW server_version_num')
assertions=$(test/tools/with_server.sh psql -qAtc 'SHOW debug_assertions')
parallel=$( ((version >= 160000)) && echo debug_parallel_query || echo force_parallel_mode)

failed=0
# with SETTINGS TEST...
with() {
    echo "=== $1"
    if ! SERVER_OPTS=$1 test/tools/with_server.sh make -s installcheck ISOLATION= REGRESS="${*:2}" 2>&1 |
        grep -E '^(# |not ok|test .*FAILED| .* tests? )'; then
        failed=1
        cat build/regress/regression.diffs
    fi
}
with "-c $parallel=regress" "$@"
with '-c work_mem=64kB' "$@"
with '-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0' bands compress operators sets type
if [[ $assertions == on ]]; then
    with '-c debug_discard_caches=1' bands catalog compress exchange
fi
exit "$failed"
