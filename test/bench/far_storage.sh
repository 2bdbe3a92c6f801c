#!/usr/bin/env bash
# Measures how much bulk functions read of a table four times as large as memory, and how long they take if each page
# read takes a millisecond (far_storage.c). Each call runs once with reads in the order of pages. It also runs once
# without that order; then effective_cache_size hides how little memory there is:
#
#   far_storage.sh MAKE_PAIRS [DOCUMENTS]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_pairs=$(realpath "$1")
documents=${2:-100000}

if [[ ${3:-} != --on-server ]]; then
    delayed=$(mktemp --suffix=.so)
    trap 'rm -f "$delayed"' EXIT
    cc -O2 -shared -fPIC -o "$delayed" "$here/far_storage.c" -ldl
    chmod 0755 "$delayed"
    export SERVER_ENV="LD_PRELOAD=$delayed" SERVER_OPTS="-c shared_buffers=$((documents / 28))
        -c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0"
    "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" "$make_pairs" "$documents" --on-server
    exit
fi

run() { psql -XqAtv ON_ERROR_STOP=1 "$@"; }

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE texts (id bigint, body text)'
"$make_pairs" "$documents" 1060 /dev/null | run -c 'COPY texts FROM STDIN'
run -c 'VACUUM ANALYZE texts'
run -c "SELECT format('%s pages, shared_buffers %s', relpages, current_setting('shared_buffers'))
    FROM pg_class WHERE relname = 'texts'"
for call in lsh_pairs lsh_clusters; do
    for workers in 0 1; do
        for cache in 4GB 1MB; do
            run -c 'SELECT pg_stat_reset()' >/dev/null
            result=$(run -c "SET max_parallel_maintenance_workers = $workers; SET effective_cache_size = '$cache';
                SET maintenance_work_mem = '1GB'; SET minhash_lsh.progress_interval = 0" -c '\timing on' \
                -c "SELECT md5(string_agg(p::text, ',')) FROM $call('TABLE texts') p")
            run -c "SELECT format('%s, %s workers, effective_cache_size %s: %s reads a page', '$call', $workers, '$cache',
                round(heap_blks_read::numeric / relpages, 2)) FROM pg_statio_user_tables JOIN pg_class ON oid = relid"
            echo "    $result"
        done
    done
done
