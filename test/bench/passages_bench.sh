#!/usr/bin/env bash
# Measures how long it takes to find texts that copied a passage, by the recipe of doc/containment.md: excerpts of 40
# words from 20,000 texts, found through an index of their windows of 20 words.
#
#   test/bench/passages_bench.sh MAKE_PAIRS
#
# MAKE_PAIRS is the program of make_pairs.cpp. Starts a throw-away server.
set -euo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
make_pairs=$(realpath "${1:?usage: $0 MAKE_PAIRS}")
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=1GB -c max_wal_size=8GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c maintenance_work_mem=1GB" "$@"

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE UNLOGGED TABLE texts (id bigint PRIMARY KEY, body text)'
"$make_pairs" 20000 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
run -c "CREATE UNLOGGED TABLE passages AS SELECT id, position AS place, regexp_replace(passage, '\s+', ' ', 'g') AS passage
        FROM texts, lsh_windows(body, words => 20, step => 10)" -c '\timing on' \
    -c 'CREATE INDEX ON passages USING gin (minhash(passage) gin_minhash_ops (bands = 21, rows = 6))' -c '\timing off' \
    -c 'VACUUM ANALYZE passages' -c "SELECT format('%s windows, %s', count(*), pg_size_pretty(pg_indexes_size('passages')))
        FROM passages"
run -c "SELECT format('EXECUTE who_has(%L, %s);', passage, id) FROM texts, LATERAL
        (SELECT passage FROM lsh_windows(body, words => 40, step => 7) OFFSET id % 11 LIMIT 1) w
        WHERE id % 97 = 0 LIMIT 200" >"$work/excerpts"
{
    echo 'PREPARE who_has(text, bigint) AS SELECT bool_or(id = $2) FROM (
              SELECT id, count(DISTINCT place) AS windows, min(place) AS first_place
              FROM lsh_windows($1, words => 20, step => 1) AS sought,
                   LATERAL (SELECT id, place FROM passages
                            WHERE minhash_similar(minhash(passage), minhash(sought.passage), 0.7)) found
              GROUP BY id ORDER BY windows DESC, id) AS who;'
    cat "$work/excerpts"
    echo 'SET log_executor_stats = on; SET client_min_messages = log;'
    cat "$work/excerpts"
} | run >"$work/answers" 2>"$work/statistics"
found=$(grep -c '^t$' "$work/answers")
figure 'excerpts found, of twice 200' "$found" '' '>= 400'
# CPU time. Each run reports twice: for the query, and for EXECUTE, which includes the query's time.
awk '/ s elapsed/ && ++lines % 2 == 0 { print ($2 + $5) * 1000 }' "$work/statistics" | sort -n >"$work/times"
figure 'CPU, median' "$(sed -n 100p "$work/times")" ms
figure 'CPU of 95%' "$(sed -n 190p "$work/times")" ms '<= 5'
