#!/usr/bin/env bash
# What an lsh index costs and brings, beside GIN:
#
#   index_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# On a throw-away server with everything in memory: sizes, building, insertion, lookups from the client's side by
# `latency` (beside MAKE_TEXTS), the nearest rows and their recall, exclusion constraints. Each figure is the median
# of interleaved runs, each ratio of one run; the spread is that of the runs. Bounds are in brackets.
# shellcheck disable=SC2016  # SQL's parameters
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
latency=$(dirname "$make_texts")/latency # of measure.sh
documents=${2:-1000000}

if [[ ${3:-} != --on-server ]]; then
    export SERVER_OPTS="-c shared_buffers=${SHARED_BUFFERS:-8GB} -c max_wal_size=32GB -c jit=off -c autovacuum=off"
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" "$make_texts" "$documents" --on-server
fi

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
per_document() { run -c "SELECT pg_relation_size('$1') / $documents"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# The texts: without near-duplicates, and with them, in families of two to five.
run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE docs (id bigint, body text)' \
    -c 'CREATE TABLE alike (id bigint, body text)'
"$make_texts" "$documents" 1060 | run -c 'COPY docs FROM STDIN'
"$(dirname "$make_texts")/make_pairs" "$((documents / 5))" 1060 "$work/truth" | run -c 'COPY alike FROM STDIN'
for table in lsh gin bare; do
    run -c "$large" -c "CREATE TABLE by_$table AS SELECT id, minhash(body) AS sig FROM docs" \
        -c "ALTER TABLE by_$table ADD PRIMARY KEY (id)" -c "VACUUM ANALYZE by_$table"
done
run -c 'CREATE TABLE alike_lsh AS SELECT id, minhash(body) AS sig FROM alike' -c 'VACUUM ANALYZE alike_lsh'
run -c "SELECT 'texts: ' || count(*) FROM docs"

echo
echo 'Building, with 1 GB of maintenance_work_mem, and bytes a text:'
runs=3
alone='SET max_parallel_maintenance_workers = 0'
compare 'lsh / GIN' "$large; $alone; DROP INDEX IF EXISTS lsh_sig" 'CREATE INDEX lsh_sig ON by_lsh USING lsh (sig)' \
    "$large; DROP INDEX IF EXISTS gin_sig" 'CREATE INDEX gin_sig ON by_gin USING gin (sig)' '<= 0.083'
# The session's own CPU time: what other processes do on this machine does not count, and the session is as busy as any
# worker.
building() { # WORKERS: seconds
    run -c "$large" -c 'SET client_min_messages = log' -c "SET max_parallel_maintenance_workers = $1" \
        -c 'DROP INDEX lsh_sig' -c 'SET log_statement_stats = on' -c 'CREATE INDEX lsh_sig ON by_lsh USING lsh (sig)' \
        2>&1 | awk '/s user, .* s system, .* s elapsed/ { sum += $2 + $5 } END { print sum }'
}
: >"$work/building"
for ((turn = 0; turn < runs; turn++)); do
    echo "$(building 0) $(building 2)" >>"$work/building"
done
figure 'CPU of the session, without workers / with two' \
    "$(awk '{ print $1 / $2 }' "$work/building" | sort -n | sed -n "$(((runs + 1) / 2))p")" times '>= 1.6'
figure 'lsh, 23 x 5' "$(per_document lsh_sig)" bytes '<= 300'
figure 'GIN, 13 x 7' "$(per_document gin_sig)" bytes
run -c "$large" -c 'CREATE INDEX narrow ON by_lsh USING lsh (sig) WITH (bands = 13, rows = 7)'
figure 'lsh, 13 x 7' "$(per_document narrow)" bytes '<= 260'
run -c 'DROP INDEX narrow' -c 'CREATE INDEX alike_sig ON alike_lsh USING lsh (sig)'

labels=('SELECT 1 with the same parameter' 'by GIN' 'by lsh' 'by lsh at 0.6')
look_up() { # ROUNDS: prints the latencies of the statements above
    local calls=$((documents < 20000 ? documents / 10 : 2000))
    latencies "$1" "$calls" "SELECT body FROM docs ORDER BY hashint8(id) LIMIT $(($1 * calls * 2))" 'SELECT 1' \
        'SELECT id FROM by_gin WHERE sig % minhash($1)' 'SELECT id FROM by_lsh WHERE sig % minhash($1)' \
        'SELECT id FROM by_lsh WHERE minhash_similar(sig, minhash($1), 0.6)'
}
p50() { awk -v place="$2" -v statement="$3" '$1 == place && $2 == statement { print $3 }' "$work/$1"; }
show() { # FILE
    while read -r place statement middle p99 over_first _ least most; do
        printf '%-3s %-40s p50 %6.1f  p99 %6.1f  p50 / first %5.2f  (p50 %s to %s)\n' \
            "$place" "${labels[statement]}" "$middle" "$p99" "$over_first" "$least" "$most"
    done <"$work/$1"
}
echo
echo 'Looking a text up, with signing it, us; on one core or with client and server on two:'
look_up 5 >"$work/fresh"
show fresh
figure 'lsh / GIN, on one core' "$(ratio "$(p50 fresh one 2)" "$(p50 fresh one 1)")" times '<= 0.7'
figure 'lsh / SELECT 1, on one core' "$(ratio "$(p50 fresh one 2)" "$(p50 fresh one 0)")" times '<= 4'
figure 'lsh at 0.6 / at 0.8, on one core' "$(ratio "$(p50 fresh one 3)" "$(p50 fresh one 2)")" times '<= 10'

echo
echo 'The ten nearest of 50 texts, and the share of the true ones:'
nearest() { # TABLE LABEL
    local query="SELECT count(*) FROM (SELECT sig FROM $1 ORDER BY hashint8(id) LIMIT 50) q,
                 LATERAL (SELECT d.id FROM $1 d ORDER BY d.sig <%> q.sig LIMIT 10) n"
    runs=3
    compare "$2: seq scan and sort / lsh" 'SET enable_indexscan = off' "$query" 'SET enable_seqscan = off' "$query" \
        '>= 10'
    local distances="SELECT array_agg(n.d ORDER BY n.d) FROM (SELECT id, sig FROM $1 ORDER BY hashint8(id) LIMIT 50) q,
                 LATERAL (SELECT d.sig <%> q.sig AS d FROM $1 d ORDER BY d.sig <%> q.sig LIMIT 10) n GROUP BY q.id"
    run -c 'SET enable_seqscan = off' -c "CREATE TABLE found AS SELECT * FROM ($distances) s (d)" \
        -c 'SET enable_seqscan = on' -c 'SET enable_indexscan = off' \
        -c "CREATE TABLE truth AS SELECT * FROM ($distances) s (d)"
    figure "$2: recall" "$(run -c "WITH f AS (SELECT x, count(*) FROM found, unnest(d) x GROUP BY x),
        t AS (SELECT x, count(*) FROM truth, unnest(d) x GROUP BY x)
        SELECT round(sum(least(f.count, t.count)) / (SELECT sum(count) FROM t), 4) FROM f JOIN t USING (x)")" '' '>= 0.99'
    run -c 'DROP TABLE found, truth'
}
nearest by_lsh 'without near-duplicates'
nearest alike_lsh 'with near-duplicates'

echo
echo 'Insertion, batches of 1,000 (10), for GIN with what is pending at the end:'
runs=3
batches=10
fresh=$((batches * 1000 * runs * 3 + 100000))
run -c 'CREATE TABLE staged (id bigint, body text)'
"$make_texts" "$fresh" 1060 3 | run -c 'COPY staged FROM STDIN'
run -c "CREATE TABLE fresh AS SELECT id, minhash(body) AS sig FROM staged" -c 'ALTER TABLE fresh ADD PRIMARY KEY (id)' \
    -c 'DROP TABLE staged' -c 'VACUUM ANALYZE fresh' -c 'CREATE SEQUENCE turn MINVALUE 0'
insertion() { # TABLE [INDEX]
    cat <<SQL
DO \$\$
DECLARE
    first bigint := nextval('turn') * $batches * 1000;
BEGIN
    FOR batch IN 0 .. $batches - 1 LOOP
        INSERT INTO $1 SELECT id + $documents, sig FROM fresh
            WHERE id > first + batch * 1000 AND id <= first + (batch + 1) * 1000;
        COMMIT;
    END LOOP;
    ${2:+PERFORM gin_clean_pending_list('$2');}
END
\$\$
SQL
}
: >"$work/insertions"
for ((turn = 0; turn < runs; turn++)); do
    echo "$(time_of '' "$(insertion by_bare)") $(time_of '' "$(insertion by_lsh)")" \
        "$(time_of '' "$(insertion by_gin gin_sig)")" >>"$work/insertions"
done
read -r bare lsh gin share < <(awk '{ print $1, $2, $3, ($3 - $1) / ($2 - $1) }' "$work/insertions" | sort -n -k4 |
    sed -n "$(((runs + 1) / 2))p")
figure 'no index' "$bare" ms
figure 'lsh' "$lsh" ms
figure 'GIN' "$gin" ms
figure "GIN's own share over that of lsh" "$share" times '>= 4'

echo
echo 'Single rows, each a transaction, 4 writers on this machine, rows/s:'
run -c 'CREATE SEQUENCE next_row MINVALUE 0' -c 'VACUUM by_lsh' -c 'VACUUM by_bare'
single() { # TABLE
    echo "INSERT INTO by_$1 SELECT $documents + 1000000 + n, sig FROM nextval('next_row') n,
          LATERAL (SELECT sig FROM fresh WHERE id = 1 + n % $fresh) s;" | tr '\n' ' ' >"$work/single.sql"
    "$("${PG_CONFIG:-pg_config}" --bindir)/pgbench" -n -M prepared -c 4 -j 1 -T 5 -f "$work/single.sql" |
        sed -n 's/^tps = \([0-9]*\).*/\1/p'
}
: >"$work/single"
for ((turn = 0; turn < runs; turn++)); do
    echo "$(single bare) $(single lsh)" >>"$work/single"
done
read -r bare lsh share < <(awk '{ print $1, $2, $2 / $1 }' "$work/single" | sort -n -k3 | sed -n "$(((runs + 1) / 2))p")
figure 'no index' "$bare" 'rows/s'
figure 'lsh' "$lsh" 'rows/s'
figure 'lsh / no index' "$share" times '>= 0.8'

echo
echo 'Looking up after 20,000 single inserts, us:'
run -c 'REINDEX INDEX lsh_sig' -c "DO \$\$ BEGIN FOR i IN 1 .. 20000 LOOP
    INSERT INTO by_lsh SELECT $documents + 100000000 + id, sig FROM fresh WHERE id = i; COMMIT; END LOOP; END \$\$"
look_up 3 >"$work/after"
show after
figure 'lsh, over what it was, on one core' "$(ratio "$(p50 after one 2)" "$(p50 fresh one 2)")" times '<= 1.3'

echo
echo 'Refusing near-duplicates, 5,000 rows in one statement:'
for table in excluding guarded; do
    run -c "CREATE TABLE $table (id bigint PRIMARY KEY, sig minhash_signature)" \
        -c "INSERT INTO $table SELECT id + $documents, sig FROM fresh WHERE id > 20000 LIMIT 50000"
done
run -c 'ALTER TABLE excluding ADD EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.8)' \
    -c "SELECT lsh_create_band_table('guarded')" -c "SELECT lsh_create_guard('guarded', threshold => 0.8)" >/dev/null
run -c 'CREATE SEQUENCE turn_excluding MINVALUE 0' -c 'CREATE SEQUENCE turn_guarded MINVALUE 0'
refusing() {
    echo "INSERT INTO $1 SELECT id, sig FROM fresh, (SELECT nextval('turn_$1') * 5000 AS first) s
          WHERE id > first AND id <= first + 5000"
}
compare 'guard by triggers / exclusion constraint' '' "$(refusing guarded)" '' "$(refusing excluding)" '>= 3'
