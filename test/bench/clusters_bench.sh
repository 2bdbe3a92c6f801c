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
# The mean of 100 refreshes, each of which is told of one new row, in ms.
one_by_one() { # LABEL QUERY [BOUND]
    measured=$(cpu_of "DO \$\$ DECLARE d record; BEGIN FOR d IN SELECT * FROM ($2) AS q (id, body) LIMIT 100 LOOP
        INSERT INTO docs VALUES (d.id, d.body);
        PERFORM lsh_refresh_clusters('kept', changed => format('SELECT %s', d.id)); END LOOP; END \$\$" ROLLBACK)
    figure "$1" "$(awk "BEGIN { printf \"%.1f\", 10 * $measured }")" ms "${3:-}"
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
share 'the hash of all texts' "$measured" "$scan" '<= 1.0'
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
share 'those lookups, without the exact comparison' "$measured" "$lookups"
share 'exact lookups' "$measured" "$exact" '<= 1.2'
share 'lsh_clusters()' "$measured" "$all"
measure "refresh, $new new rows" "$(refresh)" ROLLBACK
share 'lsh_clusters()' "$measured" "$all"
measure '100 new rows that are told' "$(refresh 'SELECT id FROM later LIMIT 100')" ROLLBACK
run -c 'DELETE FROM docs USING later WHERE docs.id = later.id' -c 'VACUUM docs'
one_by_one 'one new row that is near another' "SELECT * FROM later WHERE id % 2 = 0 ORDER BY id" '<= 10'
one_by_one 'one new row that is near none' "SELECT * FROM later WHERE id % 2 = 1 ORDER BY id" '<= 10'

# A cluster of 50,000 rows, among as many others.
run -c 'DROP TABLE kept' -c 'DELETE FROM docs WHERE id > 50000' -c "INSERT INTO docs SELECT $documents + i,
        (SELECT body FROM docs WHERE id = 1) || i FROM generate_series(1, 50000) AS i" -c 'VACUUM FULL ANALYZE docs' \
    -c "SELECT lsh_create_clusters('kept', 'SELECT id, body FROM docs')" >/dev/null
measure 'lsh_clusters() of one cluster of 50,000' "${clusters/docs/docs WHERE id > $documents}" && cluster=$measured
one_of_many() { # LABEL CHANGE [BOUND]
    run -c 'BEGIN' -c "$2" -c "CREATE TEMP TABLE before (seconds float8)" -c "INSERT INTO before $cpu" \
        -c "$(refresh "SELECT $documents + 25000 UNION ALL SELECT $documents + 60000 UNION ALL SELECT 1
            UNION ALL SELECT $documents + generate_series(60001, 60010)
            UNION ALL SELECT $documents + generate_series(49996, 50000)")" \
        -c "SELECT 'cpu', round((($cpu) - (SELECT seconds FROM before))::numeric, 2)" -c ROLLBACK |
        sed -n 's/^cpu|//p' >"$work/one"
    figure "$1" "$(cat "$work/one")" s
    share 'lsh_clusters() of it' "$(cat "$work/one")" "$cluster" "${3:-}"
}
one_of_many '  a new row joins it' "INSERT INTO docs SELECT $documents + 60000, body || 'x' FROM docs WHERE id = 1" \
    '<= 0.5'
one_of_many '  a row in it has changed' "UPDATE docs SET body = body || 'x' WHERE id = $documents + 25000" '<= 0.5'
one_of_many '  a row in it is gone' "DELETE FROM docs WHERE id = $documents + 25000" '<= 0.5'
one_of_many '  ten come, five go, one changes' "INSERT INTO docs SELECT $documents + g, body || 'x' || g FROM docs,
        generate_series(60001, 60010) AS g WHERE id = 1;
    DELETE FROM docs WHERE id BETWEEN $documents + 49996 AND $documents + 50000;
    UPDATE docs SET body = body || 'x' WHERE id = $documents + 25000"
one_of_many '  its representative is gone' 'DELETE FROM docs WHERE id = 1' '<= 0.5'
