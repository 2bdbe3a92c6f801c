#!/usr/bin/env bash
# What an lsh index costs and brings, beside GIN:
#
#   index_bench.sh MAKE_TEXTS [DOCUMENTS [SECTION...]]
#
# On a throw-away server with everything in memory. Sections: build (with sizes), lookup (from the client's side by
# `latency`, beside MAKE_TEXTS), nearest (with recall), insert, single (by 1 to 16 writers), after (lookups after single
# inserts), aged (lookups after half as many inserts as DOCUMENTS, and after VACUUM) and constraint; all of these if none
# is given. And large, which is not among them: ten times DOCUMENTS signatures against DOCUMENTS; with 1,000,000 it wants
# SHARED_BUFFERS=12GB. Each figure is the median of interleaved runs, each ratio of one run; the spread is that of the
# runs. Bounds are in brackets.
# shellcheck disable=SC2016  # SQL's parameters
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
make_pairs=$(dirname "$make_texts")/make_pairs
latency=$(dirname "$make_texts")/latency # of measure.sh
documents=${2:-1000000}
sections=("${@:3}")
if ((${#sections[@]} == 0)); then
    sections=(build lookup nearest insert single after aged constraint)
fi

if [[ -z ${INDEX_BENCH_SERVER:-} ]]; then
    export INDEX_BENCH_SERVER=yes
    export SERVER_OPTS="-c shared_buffers=${SHARED_BUFFERS:-8GB} -c max_wal_size=32GB -c jit=off -c autovacuum=off"
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" "$@"
fi

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
turns=3
batches=10 # of 1,000 rows
fresh=$((batches * 1000 * turns * 3 + 100000))

per_document() { run -c "SELECT pg_relation_size('$1') / $documents"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# Tables and indexes are made when a section needs them.
exists() { [[ $(run -c "SELECT to_regclass('$1') IS NOT NULL") == t ]]; }
need() { # TABLE...: of the same signatures
    local table
    for table in "$@"; do
        exists "by_$table" && continue
        if ! exists signed; then
            run -c 'CREATE EXTENSION IF NOT EXISTS minhash_lsh' -c 'CREATE TABLE docs (id bigint, body text)'
            "$make_texts" "$documents" 1060 | run -c 'COPY docs FROM STDIN'
            run -c 'CREATE TABLE signed AS SELECT id, minhash(body) AS sig FROM docs'
        fi
        run -c "$large" -c "CREATE TABLE by_$table AS TABLE signed" -c "ALTER TABLE by_$table ADD PRIMARY KEY (id)" \
            -c "VACUUM ANALYZE by_$table"
    done
}
need_index() { # METHOD [TABLE]
    need "${2:-$1}"
    exists "${2:-$1}_sig" || run -c "$large" -c "CREATE INDEX ${2:-$1}_sig ON by_${2:-$1} USING $1 (sig)"
}
need_fresh() { # rows that no table has yet
    exists fresh && return
    run -c 'CREATE EXTENSION IF NOT EXISTS minhash_lsh' -c 'CREATE TABLE staged (id bigint, body text)'
    "$make_texts" "$fresh" 1060 3 | run -c 'COPY staged FROM STDIN'
    run -c 'CREATE TABLE fresh AS SELECT id, minhash(body) AS sig FROM staged' \
        -c 'ALTER TABLE fresh ADD PRIMARY KEY (id)' -c 'DROP TABLE staged' -c 'VACUUM ANALYZE fresh'
}

building() { # WORKERS [TABLE]: seconds of the session's own CPU time, and by the clock
    local table=${2:-lsh}
    run -c CHECKPOINT # so that what other builds have written is not written out beside this one
    sync
    run -c "$large" -c 'SET client_min_messages = log' -c "SET max_parallel_maintenance_workers = $1" \
        -c "DROP INDEX IF EXISTS ${table}_sig" -c 'SET log_statement_stats = on' \
        -c "CREATE INDEX ${table}_sig ON by_$table USING lsh (sig)" 2>&1 | awk '/s user, .* s system, .* s elapsed/ { cpu += $2 + $5; clock += $8 } END { print cpu, clock }'
}

measure_build() {
    need lsh gin
    echo 'Building, with 1 GB of maintenance_work_mem, and bytes a text:'
    runs=$((documents > 200000 ? 1 : 3)) # GIN takes a minute for each million
    compare 'lsh / GIN' "$large; SET max_parallel_maintenance_workers = 0; DROP INDEX IF EXISTS lsh_sig" \
        'CREATE INDEX lsh_sig ON by_lsh USING lsh (sig)' \
        "$large; DROP INDEX IF EXISTS gin_sig" 'CREATE INDEX gin_sig ON by_gin USING gin (sig)' '<= 0.083'
    : >"$work/building"
    for ((turn = 0; turn < 5; turn++)); do
        echo "$(building 0) $(building 1) $(building 2)" >>"$work/building"
    done
    figure 'without workers' "$(cut -d ' ' -f 2 "$work/building" | middle)" 's'
    figure 'with one' "$(cut -d ' ' -f 4 "$work/building" | middle)" 's'
    figure 'with two' "$(cut -d ' ' -f 6 "$work/building" | middle)" 's'
    figure 'without workers / with two, by the clock' "$(awk '{ print $2 / $6 }' "$work/building" | middle)" \
        times '>= 1.6'
    # What other processes do on this machine does not count, but where workers wait for each other does not show.
    figure 'the same by CPU time of the session' "$(awk '{ print $1 / $5 }' "$work/building" | middle)" times
    figure 'lsh, 23 x 5' "$(per_document lsh_sig)" bytes '<= 300'
    figure 'GIN, 13 x 7' "$(per_document gin_sig)" bytes
    run -c "$large" -c 'CREATE INDEX narrow ON by_lsh USING lsh (sig) WITH (bands = 13, rows = 7)'
    figure 'lsh, 13 x 7' "$(per_document narrow)" bytes '<= 260'
    run -c 'DROP INDEX narrow'
}

# look_up ROUNDS, then SQL and LABEL of each statement: prints latencies beside those of SELECT 1. p50 has them then.
look_up() {
    local rounds=$1 calls=$((documents < 20000 ? documents / 10 : 2000))
    local statements=('SELECT 1') labels=('SELECT 1 with the same parameter')
    while (($# > 1)); do
        statements+=("$2")
        labels+=("$3")
        shift 2
    done
    latencies "$rounds" "$calls" "SELECT body FROM docs ORDER BY hashint8(id) LIMIT $((rounds * calls * 2))" \
        "${statements[@]}" >"$work/latencies"
    while read -r place statement middle p99 over_first _ least most; do
        printf '%-3s %-40s p50 %6.1f  p99 %6.1f  p50 / first %5.2f  (p50 %s to %s)\n' \
            "$place" "${labels[statement]}" "$middle" "$p99" "$over_first" "$least" "$most"
    done <"$work/latencies"
}
p50() { # STATEMENT, counted from SELECT 1, on one core
    awk -v statement="$1" '$1 == "one" && $2 == statement { print $3 }' "$work/latencies"
}

measure_lookup() {
    need_index gin
    need_index lsh
    echo 'Looking a text up, with signing it, us; on one core or with client and server on two:'
    look_up 5 'SELECT id FROM by_gin WHERE sig % minhash($1)' 'by GIN' \
        'SELECT id FROM by_lsh WHERE sig % minhash($1)' 'by lsh' \
        'SELECT id FROM by_lsh WHERE minhash_similar(sig, minhash($1), 0.6)' 'by lsh at 0.6'
    figure 'lsh / GIN, on one core' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 0.7'
    figure 'lsh / SELECT 1, on one core' "$(ratio "$(p50 2)" "$(p50 0)")" times '<= 4'
    figure 'lsh at 0.6 / at 0.8, on one core' "$(ratio "$(p50 3)" "$(p50 2)")" times '<= 10'
}

nearest() { # TABLE TEXTS LABEL
    local query="SELECT q.id, n.place, n.distance FROM (SELECT id, sig FROM $1 ORDER BY hashint8(id) LIMIT $2) q,
        LATERAL (SELECT d.sig <%> q.sig AS distance, row_number() OVER () AS place
                 FROM (SELECT sig FROM $1 d ORDER BY d.sig <%> q.sig LIMIT 10) d) n"
    local by_index='SET enable_seqscan = off' truth found
    local by_table='SET enable_indexscan = off; SET max_parallel_workers_per_gather = 0'
    # Comparing all rows takes long, so what is timed is the truth, too.
    truth=$(time_of "$by_table" "CREATE TABLE truth AS $query")
    found=$(for ((turn = 0; turn < turns; turn++)); do
        time_of "$by_index" "CREATE TABLE found_$turn AS $query"
    done | middle)
    figure "$3: seq scan and sort" "$truth" ms
    figure "$3: lsh" "$found" ms
    figure "$3: seq scan and sort / lsh" "$(ratio "$truth" "$found")" times '>= 10'
    # Of rows at one distance any may come.
    figure "$3: recall" "$(run -c "
        WITH f AS (SELECT id, distance, count(*) FROM found_0 GROUP BY 1, 2),
             t AS (SELECT id, distance, count(*) FROM truth GROUP BY 1, 2)
        SELECT round(sum(least(f.count, t.count)) / sum(t.count), 4) FROM t LEFT JOIN f USING (id, distance)")" \
        '' '>= 0.99'
    figure "$3: rows that come too late" "$(run -c 'SELECT count(*) FROM (
        SELECT distance < lag(distance) OVER (PARTITION BY id ORDER BY place) AS late FROM found_0) s WHERE late')" \
        '' '<= 0'
    run -c 'DROP TABLE truth, found_0, found_1, found_2'
}

measure_nearest() {
    need_index lsh
    run -c 'CREATE TABLE alike (id bigint, body text)'
    "$make_pairs" "$documents" 1060 "$work/pairs" | run -c 'COPY alike FROM STDIN'
    run -c "$large" -c 'CREATE TABLE alike_lsh AS SELECT id, minhash(body) AS sig FROM alike' -c 'DROP TABLE alike' \
        -c 'VACUUM ANALYZE alike_lsh' -c 'CREATE INDEX alike_sig ON alike_lsh USING lsh (sig)'
    local texts=$((documents > 200000 ? 30 : 50))
    echo "The ten nearest of $texts texts:"
    nearest by_lsh "$texts" 'without near-duplicates'
    nearest alike_lsh "$texts" 'with near-duplicates'
    run -c 'DROP TABLE alike_lsh'
}

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

measure_insert() {
    need_index gin
    need_index lsh
    need bare
    need_fresh
    echo 'Insertion, batches of 1,000 (10), for GIN with what is pending at the end:'
    run -c 'CREATE SEQUENCE turn MINVALUE 0'
    : >"$work/insertions"
    for ((turn = 0; turn < turns; turn++)); do
        echo "$(time_of '' "$(insertion by_bare)") $(time_of '' "$(insertion by_lsh)")" \
            "$(time_of '' "$(insertion by_gin gin_sig)")" >>"$work/insertions"
    done
    figure 'no index' "$(cut -d ' ' -f 1 "$work/insertions" | middle)" ms
    figure 'lsh' "$(cut -d ' ' -f 2 "$work/insertions" | middle)" ms
    figure 'GIN' "$(cut -d ' ' -f 3 "$work/insertions" | middle)" ms
    figure "GIN's own share over that of lsh" "$(awk '{ print ($3 - $1) / ($2 - $1) }' "$work/insertions" | middle)" \
        times '>= 4'
}

single() { # TABLE WRITERS: rows a second, and bytes of WAL a row
    echo "INSERT INTO by_$1 SELECT $documents + 1000000 + n, sig FROM nextval('next_row') n,
          LATERAL (SELECT sig FROM fresh WHERE id = 1 + n % $fresh) s;" | tr '\n' ' ' >"$work/single.sql"
    local before
    before=$(run -c "SELECT pg_current_wal_insert_lsn() - '0/0'")
    "$("${PG_CONFIG:-pg_config}" --bindir)/pgbench" -n -M prepared -c "$2" -j 1 -T 3 \
        -f "$work/single.sql" >"$work/pgbench"
    awk -v bytes="$(run -c "SELECT pg_current_wal_insert_lsn() - '0/0' - $before")" '
        /^number of transactions actually/ { rows = $NF }
        /^tps/ { tps = $3 }
        END { print int(tps), int(bytes / rows) }' "$work/pgbench"
}

measure_single() {
    need_index lsh
    need bare
    need_fresh
    run -c 'CREATE SEQUENCE next_row MINVALUE 0' -c 'VACUUM by_lsh' -c 'VACUUM by_bare'
    local writers
    for writers in 1 4 8 16; do
        echo "Single rows, each a transaction, writers on this machine: $writers"
        : >"$work/single"
        for ((turn = 0; turn < 5; turn++)); do
            echo "$(single bare "$writers") $(single lsh "$writers")" >>"$work/single"
        done
        figure 'no index' "$(cut -d ' ' -f 1 "$work/single" | middle)" rows/s
        figure 'lsh' "$(cut -d ' ' -f 3 "$work/single" | middle)" rows/s
        figure 'lsh / no index' "$(awk '{ print $3 / $1 }' "$work/single" | middle)" times '>= 0.8'
    done
    figure 'WAL without index' "$(cut -d ' ' -f 2 "$work/single" | middle)" bytes
    figure 'WAL with lsh' "$(cut -d ' ' -f 4 "$work/single" | middle)" bytes
}

measure_after() {
    need_index lsh unchanged
    need_index lsh changed
    need_fresh
    echo 'Looking a text up after 20,000 single inserts, us:'
    run -c "DO \$\$ BEGIN FOR i IN 1 .. 20000 LOOP
        INSERT INTO by_changed SELECT $documents + id, sig FROM fresh WHERE id = i; COMMIT; END LOOP; END \$\$"
    look_up 5 'SELECT id FROM by_unchanged WHERE sig % minhash($1)' 'by lsh, without them' \
        'SELECT id FROM by_changed WHERE sig % minhash($1)' 'by lsh, with them'
    figure 'with them / without, on one core' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 1.3'
    run -c 'DROP TABLE by_unchanged, by_changed'
}

measure_aged() {
    need_index lsh unchanged
    need_index lsh aged
    local half=$((documents / 2))
    echo "Looking a text up after $half inserts, us:"
    run -c 'CREATE TABLE staged (id bigint, body text)'
    "$make_texts" "$half" 1060 4 | run -c 'COPY staged FROM STDIN'
    run -c "INSERT INTO by_aged SELECT id + $documents, minhash(body) FROM staged" -c 'DROP TABLE staged' \
        -c 'ANALYZE by_aged'
    figure 'runs' "$(run -c "SELECT runs FROM lsh_check('aged_sig')")" ''
    look_up 5 'SELECT id FROM by_unchanged WHERE sig % minhash($1)' 'by lsh, without them' \
        'SELECT id FROM by_aged WHERE sig % minhash($1)' 'by lsh, with them'
    figure 'with them / without, on one core' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 1.5'
    figure 'VACUUM' "$(time_of '' 'VACUUM by_aged')" ms
    figure 'runs' "$(run -c "SELECT runs FROM lsh_check('aged_sig')")" '' '<= 8'
    look_up 5 'SELECT id FROM by_unchanged WHERE sig % minhash($1)' 'by lsh, without them' \
        'SELECT id FROM by_aged WHERE sig % minhash($1)' 'by lsh, with them, after VACUUM'
    figure 'with them / without, on one core' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 1.5'
    run -c 'DROP TABLE by_unchanged, by_aged'
}

refusing() {
    echo "INSERT INTO $1 SELECT id, sig FROM fresh, (SELECT nextval('turn_$1') * 5000 AS first) s
          WHERE id > first AND id <= first + 5000"
}

measure_constraint() {
    need_fresh
    echo 'Refusing near-duplicates, 5,000 rows in one statement:'
    local table
    for table in excluding indexed; do
        run -c "CREATE TABLE $table (id bigint PRIMARY KEY, sig minhash_signature)" \
            -c "INSERT INTO $table SELECT id + $documents, sig FROM fresh WHERE id > 20000 LIMIT 50000" \
            -c "CREATE SEQUENCE turn_$table MINVALUE 0"
    done
    run -c 'ALTER TABLE excluding ADD EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.8)' \
        -c 'CREATE INDEX ON indexed USING lsh (sig)'
    runs=3
    compare 'exclusion constraint / an index alone' '' "$(refusing excluding)" '' "$(refusing indexed)"
}

measure_large() {
    need_index lsh
    echo 'Ten times as many signatures:'
    run -c 'CREATE TABLE by_large AS TABLE signed' -c 'CREATE TABLE more (id bigint, body text)'
    local part
    for part in {1..9}; do
        "$make_texts" "$documents" 1060 "$((part + 100))" | run -c 'COPY more FROM STDIN'
        run -c "INSERT INTO by_large SELECT id + $part * $documents, minhash(body) FROM more" -c 'TRUNCATE more'
    done
    run -c 'VACUUM ANALYZE by_large'
    local small ten
    small=$(for ((turn = 0; turn < turns; turn++)); do building 0; done | middle)
    ten=$(for ((turn = 0; turn < 2; turn++)); do building 0 large; done | tail -1) # the first one touches new memory
    figure 'building ten times as many, by the clock' "$(ratio "${ten#* }" "${small#* }")" times '<= 11'
    figure 'the same by CPU time' "$(ratio "${ten% *}" "${small% *}")" times '<= 11'
    figure 'building ten times as many' "${ten#* }" s
    look_up 5 'SELECT id FROM by_lsh WHERE sig % minhash($1)' "by lsh, $documents" \
        'SELECT id FROM by_large WHERE sig % minhash($1)' "by lsh, ten times as many"
    figure 'lookup, ten times as many' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 1.5'
}

for section in "${sections[@]}"; do
    echo
    "measure_$section"
    echo "($section: $SECONDS s)"
    SECONDS=0
done
