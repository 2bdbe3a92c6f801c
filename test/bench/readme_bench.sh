#!/usr/bin/env bash
# Measures the figures of README.md, in one run on one server with one process and everything in memory:
#
#   readme_bench.sh MAKE_PAIRS [DOCUMENTS]
#
# Times are seconds of CPU of the session, so that they mean something on a machine that does other work, too; each is
# the median of three calls, but for GIN and pg_trgm, which are called once. Recall is measured against the exact
# similarities that the texts are made with. One text is looked up 20,000 times, by a client on the same machine: that
# time is the clock's.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_pairs=$(realpath "$1")
documents=${2:-1000000}

# shellcheck source=test/bench/measure.sh disable=SC2154
. "$here/measure.sh"
on_server "-c shared_buffers=4GB -c max_wal_size=16GB -c jit=off -c autovacuum=off -c fsync=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1900MB" "$@"

few=$((documents / 10))
# cpu_of QUERY: the CPU seconds of the second of two calls in one session.
cpu_of() {
    run -c "$1" -c "$cpu" -c "$1" -c "$cpu" | awk 'NR == 2 { before = $1 } NR == 4 { printf "%.2f\n", $1 - before }'
}
# seconds LABEL QUERY [TURNS]
seconds() {
    local turn
    for ((turn = 0; turn < ${3:-3}; turn++)); do cpu_of "$2"; done | middle | xargs printf '%-72s %8s s\n' "$1"
}
once() { # LABEL STATEMENT...
    local label=$1
    shift
    run -c "$cpu" "${@/#/-c}" -c "$cpu" | awk -v label="$label" 'NR == 1 { before = $1 } { now = $1 }
        END { printf "%-72s %8.2f s\n", label, now - before }'
}
found_of() { # TEXTS CALL
    run -c "WITH truth AS (SELECT least(left_id, right_id) AS left_id, greatest(left_id, right_id) AS right_id FROM truth
            WHERE jaccard >= 0.8 AND greatest(left_id, right_id) <= $1)
        SELECT format('    found %s of %s, and %s others', count(found.similarity) FILTER (WHERE known),
            count(*) FILTER (WHERE known), count(*) FILTER (WHERE known IS NULL))
        FROM $2 AS found FULL JOIN (SELECT *, true AS known FROM truth) t USING (left_id, right_id)"
}

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE EXTENSION pg_trgm' -c 'CREATE TABLE texts (id bigint, body text)' \
    -c 'CREATE TABLE truth (left_id bigint, right_id bigint, jaccard float8)'
"$make_pairs" "$documents" 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
run -c 'COPY truth FROM STDIN' <"$work/truth"
run -c "CREATE TABLE few AS SELECT * FROM texts WHERE id <= $few" -c 'CREATE TABLE tiny AS SELECT * FROM few LIMIT 2000' \
    -c 'CREATE TABLE sigs AS SELECT id, minhash(body) AS sig FROM texts' -c 'VACUUM ANALYZE'

for recall in '' ', recall => 1'; do
    seconds "all pairs of $few texts${recall}" "SELECT count(*) FROM lsh_pairs('TABLE few'$recall)"
    found_of "$few" "lsh_pairs('TABLE few'$recall)"
done
seconds "all pairs of $documents texts" "SELECT count(*) FROM lsh_pairs('TABLE texts')"
found_of "$documents" "lsh_pairs('TABLE texts')"
seconds "all pairs of $documents signatures" "SELECT count(*) FROM lsh_pairs('TABLE sigs')"
seconds "clusters of $documents texts, near_representative" \
    "SELECT count(*) FROM lsh_clusters('TABLE texts', near_representative => true)"
seconds "sign $documents texts" 'SELECT count(minhash(body)) FROM texts'
see='SELECT min(_minhash_hash(sig)) FROM sigs'
once "build an lsh index on $documents signatures, with a look at them" "$see" 'CREATE INDEX sigs_lsh ON sigs USING lsh (sig)'
run -c 'ANALYZE sigs'
text=$(run -c 'SELECT body FROM texts WHERE id = 7')
for statement in 'SELECT :text::text' 'SELECT id FROM sigs WHERE minhash_similar(sig, minhash(:text), 0.8)'; do
    echo "$statement;" >"$work/statement.sql"
    PGOPTIONS='-c plan_cache_mode=force_generic_plan' pgbench -n -M prepared -t 20000 -D "text=$text" \
        -f "$work/statement.sql" 2>/dev/null | awk -v what="$statement" '/^latency average/ { print what ": " $4, $5 }'
done
run -c 'DROP INDEX sigs_lsh'
once "build a GIN index on the same" "$see" 'CREATE INDEX sigs_gin ON sigs USING gin (sig)'
once 'pg_trgm: all pairs of 2,000 of the texts by its GIN index' \
    'CREATE INDEX ON tiny USING gin (body gin_trgm_ops)' 'SET pg_trgm.similarity_threshold = 0.8' 'SET enable_seqscan = off' \
    'SELECT count(*) FROM tiny a JOIN tiny b ON a.body % b.body AND a.id < b.id'
seconds 'lsh_pairs(): the same' "SELECT count(*) FROM lsh_pairs('TABLE tiny')"
