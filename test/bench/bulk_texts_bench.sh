#!/usr/bin/env bash
# Runs the bulk functions on texts that are hard for them. Prints CPU times of the session as ratios: medians of RUNS
# (3) interleaved runs. The manual pages and their sentences are those of this machine.
#
#   test/bench/bulk_texts_bench.sh MAKE_PAIRS
#
# MAKE_PAIRS is the program of make_pairs.cpp. Starts a throw-away server.
set -euo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
make_pairs=$(realpath "${1:?usage: $0 MAKE_PAIRS}")
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=1GB -c max_wal_size=8GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c maintenance_work_mem=1GB" "$@"
runs=${RUNS:-3}

# The CPU seconds of a query that has already run once in the same session; its result is thrown away.
cpu_of() {
    run -c "$1" -c "CREATE TEMP TABLE before AS SELECT * FROM ($cpu) AS t(seconds)" -c "$1" \
        -c "SELECT 'cpu', round((($cpu) - (SELECT * FROM before))::numeric, 2)" | sed -n 's/^cpu|//p'
}

# compare_cpu LABEL QUERY BASE [BOUND]
compare_cpu() {
    : >"$work/first"
    : >"$work/second"
    for ((turn = 0; turn < runs; turn++)); do
        cpu_of "$2" >>"$work/first"
        cpu_of "$3" >>"$work/second"
    done
    paste <(sort -n "$work/first") <(sort -n "$work/second") >"$work/both"
    local first second
    read -r first second < <(awk '{ a[NR] = $1; b[NR] = $2 } END { m = int((NR + 1) / 2); print a[m], b[m] }' "$work/both")
    figure "$1" "$(awk "BEGIN { printf \"%.2f\", $first / ($second > 0 ? $second : 0.01) }")" "($first s / $second s)" "${4:-}"
}

run -c 'CREATE EXTENSION minhash_lsh' \
    -c 'CREATE UNLOGGED TABLE texts (id bigint, body text)' \
    -c 'CREATE UNLOGGED TABLE pages (id bigint, body text)' \
    -c 'CREATE UNLOGGED TABLE sentences (id bigint, body text)'
"$make_pairs" 200000 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
perl "$here/man_texts.pl" pages | run -c 'COPY pages FROM STDIN'
perl "$here/man_texts.pl" sentences | run -c 'COPY sentences FROM STDIN'
run -c "CREATE UNLOGGED TABLE copies AS SELECT i AS id, body || ' copy number ' || i || ' of ' || md5(i::text) AS body
        FROM generate_series(1, 1000) i, texts WHERE id = 1" -c 'VACUUM ANALYZE'
run -c "SELECT format('%s manual pages of %s characters, %s sentences', (SELECT count(*) FROM pages),
        (SELECT avg(length(body))::int FROM pages), (SELECT count(*) FROM sentences))"

pairs() { echo "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM $1'$2)"; }

compare_cpu '200,000 texts of 1 KB, exact / count(minhash(body))' "$(pairs texts '')" 'SELECT count(minhash(body)) FROM texts' '<= 1.8'
compare_cpu 'the same, estimate / count(minhash(body))' "$(pairs texts ", verify => 'estimate'")" \
    'SELECT count(minhash(body)) FROM texts'
compare_cpu "100,000 texts of 1 KB at 0.7, weight => 'idf' / without" \
    "$(pairs 'texts WHERE id <= 100000' ", 0.7, weight => 'idf'")" "$(pairs 'texts WHERE id <= 100000' ', 0.7')" '<= 5'
compare_cpu 'manual pages, exact / estimate' "$(pairs pages '')" "$(pairs pages ", verify => 'estimate'")" '<= 6'
compare_cpu 'manual pages, clusters / pairs, exact' "SELECT count(*) FROM lsh_clusters('SELECT id, body FROM pages')" \
    "$(pairs pages '')"
compare_cpu 'sentences at 0.5: 100,000 / 25,000' "$(pairs 'sentences WHERE id <= 100000' ', 0.5')" \
    "$(pairs 'sentences WHERE id <= 25000' ', 0.5')" '<= 5'
compare_cpu '10,000 sentences: at 0.2 / at 0.8' "$(pairs 'sentences WHERE id <= 10000' ', 0.2')" \
    "$(pairs 'sentences WHERE id <= 10000' ', 0.8')" '<= 20'
compare_cpu '1,000 copies with a number each: pairs / signing' "$(pairs copies '')" 'SELECT count(minhash(body)) FROM copies'
figure 'the same: clusters at 0.97, which none reaches' "$(cpu_of "SELECT count(*) FROM lsh_clusters('SELECT id, body FROM copies', 0.97)")" \
    s '<= 0.5'
figure 'the same: clusters at 0.95, which none reaches' "$(cpu_of "SELECT count(*) FROM lsh_clusters('SELECT id, body FROM copies', 0.95)")" s
