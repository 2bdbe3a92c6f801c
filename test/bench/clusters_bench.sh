#!/usr/bin/env bash
# Measures what a refresh of kept clusters costs, in CPU time of the session, so that other work on the machine does not
# count.
#
#   clusters_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# Starts a throw-away server. One text in a hundred is new, and every second new text is near an old one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "${1:?usage: $0 MAKE_TEXTS [DOCUMENTS]}")
documents=${2:-1000000}
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=4GB -c max_wal_size=16GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1GB \
    -c work_mem=256MB" "$@"

new=$((documents / 100))
# A statement's CPU seconds. The statements after it also run, but are not counted.
cpu_of() {
    run -c "CREATE TEMP TABLE before (seconds float8)" -c 'BEGIN' -c "INSERT INTO before $cpu" -c "$1" \
        -c "SELECT 'cpu', round((($cpu) - (SELECT seconds FROM before))::numeric, 2)" -c "${2:-COMMIT}" |
        sed -n 's/^cpu|//p'
}
measure() { # LABEL STATEMENT [END]
    measured=$(cpu_of "$2" "${3:-COMMIT}")
    figure "$1" "$measured" s
}
share() { # LABEL OF BASE [BOUND]
    figure "  $1" "$(awk "BEGIN { printf \"%.2f\", $2 / ($3 > 0 ? $3 : 0.01) }")" 'times' "${4:-}"
}
refresh() { echo "SELECT lsh_refresh_clusters('kept'${1:+, changed => '$1'})"; }

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE docs (id bigint, body text)'
"$make_texts" $((documents + new)) 1060 | run -c 'COPY docs FROM STDIN'
run -c 'ALTER TABLE docs ADD PRIMARY KEY (id)' \
    -c "CREATE TABLE later AS SELECT n.id, CASE WHEN n.id % 2 = 0 THEN o.body || ' and so on' ELSE n.body END AS body
        FROM docs n JOIN docs o ON o.id = n.id - $documents / 2 WHERE n.id > $documents" \
    -c "DELETE FROM docs WHERE id > $documents" -c 'VACUUM ANALYZE docs'

clusters="SELECT count(*) FROM lsh_clusters('SELECT id, body FROM docs', near_representative => true, singletons => true)"
measure 'lsh_clusters() of all' "$clusters" && all=$measured
measure 'hash of all texts' 'SELECT sum(hash_record_extended(ROW(body), 1)::numeric) FROM docs' && scan=$measured
measure 'lsh_create_clusters()' "SELECT lsh_create_clusters('kept', 'SELECT id, body FROM docs')"
share 'lsh_clusters()' "$measured" "$all"
measure 'refresh, nothing has changed' "$(refresh)"
share 'the hash of all texts' "$measured" "$scan"
run -c 'INSERT INTO docs TABLE later' -c 'ANALYZE docs'
measure "refresh, $new new rows, no index" "$(refresh 'SELECT id FROM later')" ROLLBACK
share 'lsh_clusters()' "$measured" "$all"
run -c 'CREATE INDEX docs_minhash ON docs USING lsh (minhash(body))'
for threshold in 0.8 0.7135; do # the given threshold, and the lower one at which a refresh looks rows up
    measure "$new lookups from $threshold on" "SELECT count(*) FROM later n JOIN docs o
        ON minhash_similar(minhash(o.body), minhash(n.body), $threshold)" && lookups=$measured
done
# A refresh compares texts exactly, as the look-ups in doc/look-up.md do.
measure "$new exact lookups from 0.8 on" "SELECT count(*) FROM later n JOIN docs o
    ON minhash_similar(minhash(o.body), minhash(n.body), 0.7135) AND shingle_jaccard(o.body, n.body) >= 0.8" &&
    exact=$measured
measure "refresh, $new new rows that are told" "$(refresh 'SELECT id FROM later')" ROLLBACK
share 'those lookups, without the exact comparison' "$measured" "$lookups" '<= 1.5'
share 'exact lookups' "$measured" "$exact" '<= 1.5'
share 'lsh_clusters()' "$measured" "$all"
measure "refresh, $new new rows" "$(refresh)" ROLLBACK
share 'lsh_clusters()' "$measured" "$all"
measure '100 new rows that are told' "$(refresh 'SELECT id FROM later LIMIT 100')" ROLLBACK
