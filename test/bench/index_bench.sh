#!/usr/bin/env bash
# Measures what an lsh index costs and what it finds, compared with GIN:
#
#   index_bench.sh MAKE_TEXTS [DOCUMENTS [SECTION...]]
#
# Runs on a throw-away server with everything in memory. The sections are: build (with sizes), lookup (measured on the
# client by `latency`, beside MAKE_TEXTS), nearest (with recall), insert, single (1 to 16 writers, with and without
# durable commits), after (lookups after single inserts), aged (lookups after half as many inserts as DOCUMENTS, and
# after VACUUM), constraint, tail (the longest single insertions), hot (many equal texts), limit (ordered_scan_limit),
# cost (estimates against times) and bloat (updates and VACUUM in turns). All of these run if no section is given. The
# section large runs only when it is named: it measures ten times as many signatures as DOCUMENTS says, and compares the
# results with those for DOCUMENTS. With 1,000,000 documents, set SHARED_BUFFERS=12GB.
# shellcheck disable=SC2016  # SQL's parameters
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
make_pairs=$(dirname "$make_texts")/make_pairs
latency=$(dirname "$make_texts")/latency # for measure.sh
documents=${2:-1000000}
sections=("${@:3}")
if ((${#sections[@]} == 0)); then
    sections=(build lookup nearest insert single after aged constraint tail hot limit cost bloat)
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
need() { # TABLE...: makes these tables, all with the same signatures
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
need_fresh() { # makes rows that no table has yet
    exists fresh && return
    run -c 'CREATE EXTENSION IF NOT EXISTS minhash_lsh' -c 'CREATE TABLE staged (id bigint, body text)'
    "$make_texts" "$fresh" 1060 3 | run -c 'COPY staged FROM STDIN'
    run -c 'CREATE TABLE fresh AS SELECT id, minhash(body) AS sig FROM staged' \
        -c 'ALTER TABLE fresh ADD PRIMARY KEY (id)' -c 'DROP TABLE staged' -c 'VACUUM ANALYZE fresh'
}

building() { # WORKERS [TABLE]: seconds of the session's own CPU time, and by the clock
    local table=${2:-lsh}
    run -c CHECKPOINT # keep pages that earlier builds dirtied from being written during this one
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
    # Other processes on this machine are not counted, but the time that workers wait for each other does not show.
    figure 'the same by CPU time of the session' "$(awk '{ print $1 / $5 }' "$work/building" | middle)" times
    figure 'lsh, 23 x 5' "$(per_document lsh_sig)" bytes '<= 300'
    figure 'GIN, 13 x 7' "$(per_document gin_sig)" bytes
    run -c "$large" -c 'CREATE INDEX narrow ON by_lsh USING lsh (sig) WITH (bands = 13, rows = 7)'
    figure 'lsh, 13 x 7' "$(per_document narrow)" bytes '<= 260'
    run -c 'DROP INDEX narrow'
}

# look_up ROUNDS, then SQL and LABEL of each statement: prints their latencies next to those of SELECT 1, and stores
# them for p50.
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
p50() { # STATEMENT: its median latency on one core; SELECT 1 is statement 0
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
    # Comparing all rows takes long, so the run that is timed also produces the true answer.
    truth=$(time_of "$by_table" "CREATE TABLE truth AS $query")
    found=$(for ((turn = 0; turn < turns; turn++)); do
        time_of "$by_index" "CREATE TABLE found_$turn AS $query"
    done | middle)
    figure "$3: seq scan and sort" "$truth" ms
    figure "$3: lsh" "$found" ms
    figure "$3: seq scan and sort / lsh" "$(ratio "$truth" "$found")" times '>= 10'
    # Among rows at the same distance, any may be returned.
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

write_rows() { # TABLE WRITERS: rows a second, and bytes of WAL a row
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

single_rows() { # HOW, to be printed
    local writers
    for writers in 1 4 8 16; do
        echo "Single rows, each a transaction, writers on this machine: $writers, $1"
        : >"$work/single"
        for ((turn = 0; turn < 5; turn++)); do
            echo "$(write_rows bare "$writers") $(write_rows single "$writers")" >>"$work/single"
        done
        figure 'no index' "$(cut -d ' ' -f 1 "$work/single" | middle)" rows/s
        figure 'lsh' "$(cut -d ' ' -f 3 "$work/single" | middle)" rows/s
        figure 'lsh / no index' "$(awk '{ print $3 / $1 }' "$work/single" | middle)" times '>= 0.8'
    done
    figure 'WAL without index' "$(cut -d ' ' -f 2 "$work/single" | middle)" bytes
    figure 'WAL with lsh' "$(cut -d ' ' -f 4 "$work/single" | middle)" bytes
}

set_durability() { # on or off
    run -c "ALTER SYSTEM SET fsync = $1" -c "ALTER SYSTEM SET synchronous_commit = $1" \
        -c "ALTER SYSTEM SET full_page_writes = $1" -c 'SELECT FROM pg_reload_conf()' -c CHECKPOINT
}

measure_single() {
    need_index lsh single
    need bare
    need_fresh
    run -c 'CREATE SEQUENCE next_row MINVALUE 0' -c 'VACUUM by_bare'
    set_durability on
    single_rows 'with fsync and synchronous_commit, as by default'
    set_durability off
    single_rows 'without'
    run -c 'DROP TABLE by_single'
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

# The server's time for a query in milliseconds, planned each time.
each() { # SETTINGS QUERY TIMES
    exists_function || run -c "CREATE FUNCTION each_ms(query text, times int) RETURNS float8 LANGUAGE plpgsql AS \$\$
        DECLARE
            start timestamptz;
        BEGIN
            EXECUTE query;
            start := clock_timestamp();
            FOR i IN 1 .. times LOOP
                EXECUTE query;
            END LOOP;
            RETURN 1000 * extract(epoch FROM clock_timestamp() - start) / times;
        END \$\$"
    run -c "$1" -c "SELECT round(each_ms(\$query\$$2\$query\$, $3)::numeric, 3)"
}
# The first signature of an order, as a constant, so that the search for it is not measured.
first_by() { echo "'$(run -c "SELECT sig FROM signed ORDER BY $1 LIMIT 1")'::minhash_signature"; }
exists_function() { [[ $(run -c "SELECT to_regproc('each_ms') IS NOT NULL") == t ]]; }

measure_tail() {
    need_index lsh tail
    need_fresh
    local rows=$((documents < 262144 ? documents : 262144))
    echo "Single insertions, $rows, with statement_timeout = 200 ms, by the client's clock:"
    run -c 'CREATE SEQUENCE tail_row MINVALUE 0'
    echo "INSERT INTO by_tail SELECT $documents + 100000000 + n, sig FROM nextval('tail_row') n,
          LATERAL (SELECT sig FROM fresh WHERE id = 1 + n % $fresh) s;" | tr '\n' ' ' >"$work/tail.sql"
    (cd "$work" && PGOPTIONS='-c statement_timeout=200ms' "$("${PG_CONFIG:-pg_config}" --bindir)/pgbench" -n \
        -M prepared -c 1 -t "$rows" -f tail.sql -l --log-prefix=tail --failures-detailed) >"$work/pgbench" 2>&1
    # The time is the third field, in us, and may be 0; if a statement failed, the field is a word.
    awk '$3 ~ /^[0-9]+$/ { print $3 }' "$work"/tail.[0-9]* | sort -n >"$work/times"
    grep -E 'ERROR|aborted' "$work/pgbench" || true # pgbench ends with the first error
    figure 'rows that failed, or came after that' "$((rows - $(wc -l <"$work/times")))" '' '<= 0'
    figure 'p50' "$(middle <"$work/times")" us
    figure 'p99.99' "$(awk '{ t[NR] = $1 } END { print t[int(NR * 0.9999)] / 1000 }' "$work/times")" ms '<= 5'
    figure 'the longest' "$(tail -1 "$work/times" | awk '{ print $1 / 1000 }')" ms '<= 20'
    figure 'runs' "$(run -c "SELECT runs FROM lsh_check('tail_sig')")" ''
    run -c 'DROP TABLE by_tail'
}

measure_hot() {
    need lsh
    local half=$((documents / 2)) same
    same=$(first_by id)
    echo "$half signatures, of which one in five is the same:"
    run -c "$large" -c "CREATE TABLE by_hot AS SELECT id, CASE WHEN id % 5 = 0 THEN $same ELSE sig END AS sig
        FROM signed LIMIT $half" -c 'CREATE INDEX hot_sig ON by_hot USING lsh (sig)' -c 'VACUUM ANALYZE by_hot'
    figure 'WHERE sig % q LIMIT 1' "$(each 'SET enable_seqscan = off' \
        "SELECT id FROM by_hot WHERE sig % $same LIMIT 1" 50)" ms '<= 1'
    figure 'WHERE sig % q LIMIT 1000' "$(each 'SET enable_seqscan = off; SET enable_bitmapscan = off' \
        "SELECT id FROM by_hot WHERE sig % $same LIMIT 1000" 20)" ms
    figure 'ORDER BY sig <%> q LIMIT 10' "$(each 'SET enable_seqscan = off' \
        "SELECT id FROM by_hot ORDER BY sig <%> $same LIMIT 10" 20)" ms '<= 10'
    run -c 'DROP TABLE by_hot'
}

measure_limit() {
    need_index lsh
    local one query limit=$((documents / 10)) all some
    one=$(first_by 'hashint8(id)')
    query="SELECT sig <%> $one AS d FROM by_lsh ORDER BY sig <%> $one LIMIT 10"
    echo "The ten nearest where nothing is near, with ordered_scan_limit = $limit and without:"
    all=$(each 'SET enable_seqscan = off; SET minhash_lsh.ordered_scan_limit = -1' "$query" 5)
    some=$(each "SET enable_seqscan = off; SET minhash_lsh.ordered_scan_limit = $limit" "$query" 5)
    figure 'without' "$all" ms
    figure 'with' "$some" ms
    figure 'with / without' "$(ratio "$some" "$all")" times '<= 1'
    figure 'rows with it' "$(run -c "SET enable_seqscan = off; SET minhash_lsh.ordered_scan_limit = $limit" \
        -c "SELECT count(*) FROM ($query) s")" ''
    figure 'recall with it' "$(run -c "SET enable_seqscan = off; SET minhash_lsh.ordered_scan_limit = -1" \
        -c "CREATE TEMP TABLE truth AS $query" -c "SET minhash_lsh.ordered_scan_limit = $limit" \
        -c "SELECT count(*) / 10.0 FROM ($query) s WHERE d <= (SELECT max(d) FROM truth)")" ''
}

measure_cost() {
    need_index lsh
    # Everything is in memory, where PostgreSQL's manual recommends to price all pages alike. The time is that of the
    # plan alone, for 20 signatures, each the least of three.
    echo 'Estimated cost over milliseconds, which should be the same everywhere:'
    run -c "CREATE FUNCTION cost_and_time(threshold float8, OUT cost float8, OUT ms float8) LANGUAGE plpgsql
            SET enable_seqscan = off SET random_page_cost = 1 AS \$\$
        DECLARE
            explained json;
            one minhash_signature;
            least_ms float8;
        BEGIN
            ms := 0;
            FOR one IN SELECT sig FROM by_lsh ORDER BY hashint8(id) LIMIT 20 LOOP
                least_ms := 'Infinity';
                FOR i IN 1 .. 3 LOOP
                    EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT json)
                        SELECT id FROM by_lsh WHERE minhash_similar(sig, %L, %s)', one, threshold) INTO explained;
                    least_ms := least(least_ms, (explained -> 0 ->> 'Execution Time')::float8);
                END LOOP;
                ms := ms + least_ms / 20;
                cost := explained -> 0 -> 'Plan' ->> 'Total Cost';
            END LOOP;
        END \$\$"
    local threshold cost time
    : >"$work/costs"
    for threshold in 0.8 0.6 0.5 0.45 0.35 0.2; do
        read -r cost time < <(run -c "SELECT cost || ' ' || round(ms::numeric, 3) FROM cost_and_time($threshold)")
        figure "at $threshold: cost $cost, $time ms" "$(ratio "$cost" "$time")" ''
        ratio "$cost" "$time" >>"$work/costs"
        echo >>"$work/costs"
    done
    local usual
    usual=$(middle <"$work/costs")
    figure 'farthest from the median' "$(awk -v usual="$usual" '
        { times = $1 > usual ? $1 / usual : usual / $1; if (times > most) most = times }
        END { printf "%.2f", most }' "$work/costs")" times '<= 3'
}

measure_bloat() {
    need lsh
    local rows=$((documents / 10))
    echo "Ten turns of a fifth of $rows rows updated, and VACUUM:"
    run -c "CREATE TABLE by_bloat AS SELECT row_number() OVER () AS id, sig
            FROM (SELECT sig FROM signed LIMIT $rows) s" \
        -c 'CREATE INDEX bloat_sig ON by_bloat USING lsh (sig)'
    local before turn
    before=$(run -c "SELECT pg_relation_size('bloat_sig')")
    for ((turn = 0; turn < 10; turn++)); do
        run -c "UPDATE by_bloat SET sig = sig WHERE id % 5 = $turn % 5" -c 'VACUUM (INDEX_CLEANUP ON) by_bloat'
    done
    figure 'size over that of a new index' \
        "$(ratio "$(run -c "SELECT pg_relation_size('bloat_sig')")" "$before")" times '<= 2.5'
    run -c 'DROP TABLE by_bloat'
}

# The peak private memory, in megabytes, of the session that builds an index, sampled ten times a second.
memory_of_build() { # TABLE
    local pid most=0 now
    run -c "$large" -c 'SET max_parallel_maintenance_workers = 0' -c "DROP INDEX IF EXISTS $1_sig" \
        -c "CREATE INDEX $1_sig ON by_$1 USING lsh (sig)" &
    while kill -0 $! 2>/dev/null; do
        pid=$(run -c "SELECT max(pid) FROM pg_stat_progress_create_index")
        now=$(sed -n 's/^RssAnon: *\([0-9]*\) kB/\1/p' "/proc/${pid:-0}/status" 2>/dev/null || true)
        most=$((${now:-0} > most ? ${now:-0} : most))
        sleep 0.1
    done
    wait $!
    echo $((most / 1024))
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
    figure 'runs' "$(run -c "$large" -c 'CREATE INDEX large_sig ON by_large USING lsh (sig)' \
        -c "SELECT runs FROM lsh_check('large_sig')")" ''
    local small ten
    small=$(for ((turn = 0; turn < turns; turn++)); do building 0; done | middle)
    ten=$(for ((turn = 0; turn < 2; turn++)); do building 0 large; done | tail -1) # the first build touches new memory
    figure 'building ten times as many, by the clock' "$(ratio "${ten#* }" "${small#* }")" times '<= 11'
    figure 'the same by CPU time' "$(ratio "${ten% *}" "${small% *}")" times '<= 11'
    figure 'building ten times as many' "${ten#* }" s
    look_up 5 'SELECT id FROM by_lsh WHERE sig % minhash($1)' "by lsh, $documents" \
        'SELECT id FROM by_large WHERE sig % minhash($1)' "by lsh, ten times as many"
    figure 'lookup, ten times as many' "$(ratio "$(p50 2)" "$(p50 1)")" times '<= 1.5'
    figure 'memory of building' "$(memory_of_build large)" MB
    run -c 'DROP INDEX large_sig' -c 'SET max_parallel_maintenance_workers = 2' \
        -c 'CREATE INDEX large_sig ON by_large USING lsh (sig)'
    figure 'runs, with 64 MB and two workers' "$(run -c "SELECT runs FROM lsh_check('large_sig')")" '' '<= 8'
    figure 'size' "$(run -c "SELECT pg_relation_size('large_sig') / 1000000")" MB
    local one="(SELECT sig FROM signed ORDER BY hashint8(id) LIMIT 1)"
    figure 'nearest ten, nothing near' "$(each 'SET enable_seqscan = off' \
        "SELECT id FROM by_large ORDER BY sig <%> $one LIMIT 10" 3)" ms
    need_fresh
    run -c "ALTER TABLE by_large SET (autovacuum_enabled = off)"
    figure "inserting $fresh rows" \
        "$(time_of '' "INSERT INTO by_large SELECT id + 20 * $documents::bigint, sig FROM fresh")" ms
    figure 'VACUUM after that' "$(time_of '' 'VACUUM by_large')" ms
    run -c 'DELETE FROM by_large WHERE id % 4 = 0'
    figure 'VACUUM after a quarter was deleted' "$(time_of '' 'VACUUM (INDEX_CLEANUP ON) by_large')" ms
    figure 'runs' "$(run -c "SELECT runs FROM lsh_check('large_sig')")" '' '<= 8'
    figure 'lsh_check()' "$(time_of '' "SELECT lsh_check('large_sig')")" ms
}

for section in "${sections[@]}"; do
    echo
    "measure_$section"
    echo "($section: $SECONDS s)"
    SECONDS=0
done
