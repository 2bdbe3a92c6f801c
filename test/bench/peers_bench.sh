#!/usr/bin/env bash
# Finds all near-duplicate pairs of texts at 0.8 with lsh_pairs() in one process, and with what a reader may have at
# hand instead.
#
#   peers_bench.sh MAKE_PAIRS [DOCUMENTS [DATASKETCH]]
#
# DATASKETCH is a checkout of that Python library, which needs numpy and scipy. Without it, only the other two are
# measured: an index join of pg_trgm, and a comparison of each text with every other one. Both run on the first texts
# only, because their cost grows with the square of the number of texts. Each time comes from one run, except that of
# lsh_pairs(), which is the median of five. Recall and precision are measured against the exact similarities that the
# texts are made with. Memory is the peak of the process, without shared buffers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_pairs=$(realpath "$1")
documents=${2:-100000}
datasketch=${3:-}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=2GB -c max_wal_size=8GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1GB" "$@"
warm=yes
settings='SET pg_trgm.similarity_threshold = 0.8; SET enable_seqscan = off' # pg_trgm must use its index

# truth_of PAIRS: recall and precision of the pairs that a query returns, among the first $documents texts.
truth_of() {
    run -c "$settings" -c "WITH found AS ($1), truth AS (SELECT * FROM truth WHERE jaccard >= 0.8 AND
            greatest(left_id, right_id) <= $documents)
        SELECT format('%s pairs, recall %s, precision %s', (SELECT count(*) FROM found),
            round(count(found.*)::numeric / (SELECT count(*) FROM truth), 4),
            round(count(found.*)::numeric / nullif((SELECT count(*) FROM found), 0), 4))
        FROM truth JOIN found USING (left_id, right_id)"
}

# report LABEL SECONDS PAIRS
report() {
    printf '%-42s %10.2f s  %7.0f times  %s\n' "$1" "$2" "$(awk "BEGIN { print $2 / $ours }")" "$(truth_of "$3")"
}

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE EXTENSION pg_trgm' -c 'CREATE TABLE texts (id bigint, body text)' \
    -c 'CREATE TABLE truth (left_id bigint, right_id bigint, jaccard float8)'
"$make_pairs" "$documents" 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
run -c 'COPY truth FROM STDIN' <"$work/truth"
run -c 'UPDATE truth SET left_id = right_id, right_id = left_id WHERE left_id > right_id' -c 'VACUUM ANALYZE'
all=$documents

ours_of() {
    for ((turn = 0; turn < 5; turn++)); do
        time_of '' "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM $1')"
    done | sort -n | awk 'NR == 3 { print $1 / 1000 }'
}
ours=$(ours_of texts)
echo "$all texts of 1,060 characters:"
report 'lsh_pairs(), exact' "$ours" "SELECT left_id, right_id FROM lsh_pairs('SELECT id, body FROM texts')"
run -c "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM texts')" -c "SELECT format('%s MB in one process',
    ((regexp_match(status, 'VmHWM:\s*(\d+)'))[1]::int - (regexp_match(status, 'RssShmem:\s*(\d+)'))[1]::int) / 1024)
    FROM pg_read_file('/proc/self/status') AS status" | tail -n 1
if [[ -n $datasketch ]]; then
    run -c "COPY (SELECT id, body FROM texts ORDER BY id) TO STDOUT" >"$work/texts"
    read -r sign find memory < <(/usr/bin/python3 "$here/datasketch_pairs.py" "$datasketch" "$work/texts" "$work/pairs")
    run -c 'CREATE TABLE datasketch (left_id bigint, right_id bigint)' -c 'COPY datasketch FROM STDIN' <"$work/pairs"
    report "datasketch, 128 hashes ($sign s to sign, $memory MB)" "$(awk "BEGIN { print $sign + $find }")" \
        'SELECT least(left_id, right_id) AS left_id, greatest(left_id, right_id) AS right_id FROM datasketch'
fi

# slow_of LABEL TEXTS CONDITION [INDEX]: a join that is too slow for all texts.
slow_of() {
    documents=$2
    run -c "CREATE TABLE few AS SELECT * FROM texts WHERE id <= $2" ${4:+-c "$4"} -c 'ANALYZE few'
    ours=$(ours_of few)
    echo "$2 of them (lsh_pairs() $ours s):"
    local query="SELECT a.id AS left_id, b.id AS right_id FROM few a JOIN few b ON $3 AND a.id < b.id"
    report "$1" "$(warm='' time_of "$settings" "SELECT count(*) FROM ($query) q" |
        awk '{ print $1 / 1000 }')" "$query"
    run -c 'DROP TABLE few'
}
slow_of 'pg_trgm, GIN index' 2000 'a.body % b.body' 'CREATE INDEX ON few USING gin (body gin_trgm_ops)'
slow_of 'shingle_jaccard() of every pair' 1000 'shingle_jaccard(a.body, b.body) >= 0.8'
