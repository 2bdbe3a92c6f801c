#!/usr/bin/env bash
# Measures what signatures cost inside SQL, on a throw-away server with everything in memory:
#
#   sql_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# Prints the ratio of count(minhash(body)) to sum(hashtext(body)) on the same table, in time: for each instruction set,
# with parallel workers, and on texts compressed out of line.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
documents=${2:-1000000}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
# A table larger than a quarter of the shared buffers never stays in them.
on_server "-c shared_buffers=6GB -c max_wal_size=8GB -c jit=off -c autovacuum=off" "$@"

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE texts (id bigint, body text)'
"$make_texts" "$documents" 1060 | run -c 'COPY texts FROM STDIN'
run -c 'CREATE TABLE long_texts (id bigint, body text)'
"$make_texts" "$((documents / 20))" 12000 2 | run -c 'COPY long_texts FROM STDIN'
run -c 'VACUUM ANALYZE texts' -c 'VACUUM ANALYZE long_texts'
run -c "SELECT 'texts: ' || count(*) || ', ' || pg_size_pretty(pg_table_size('texts')) FROM texts"
run -c "SELECT 'long texts: ' || count(*) || ', stored ' ||
        round(avg(pg_column_size(body))) || ' of ' || round(avg(octet_length(body))) || ' bytes'
        FROM long_texts"

serial='SET max_parallel_workers_per_gather = 0'
parallel='SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0'
sets='baseline sse42 avx2 avx512 neon'
sign='SELECT count(minhash(body)) FROM texts'
hash='SELECT sum(hashtext(body)) FROM texts'
time_of "$serial" "$hash" >/dev/null # warms up

echo
for set in $sets; do
    use="$serial; SET minhash_lsh.instruction_set = '$set'"
    if run -c "LOAD 'minhash_lsh'" -c "$use" >/dev/null 2>&1; then
        compare "count(minhash), $set / sum(hashtext)" "LOAD 'minhash_lsh'; $use" "$sign" "$serial" "$hash"
    fi
done
compare 'count(minhash), no worker / two workers' "$serial" "$sign" "$parallel" "$sign"
compare 'the same, words / sum(hashtext)' "$serial" \
    "SELECT count(minhash(body, unit => 'word')) FROM texts" "$serial" "$hash"
changed="overlay(body placing 'other words' from 500 for 20)"
pairs="FROM texts WHERE id <= 100000"
jaccard="SELECT sum(shingle_jaccard(body, $changed)) $pairs"
compare 'shingle_jaccard / minhash of both texts' "$serial" "$jaccard" \
    "$serial" "SELECT count(minhash(body)), count(minhash($changed)) $pairs" '<= 4'
compare 'differences of pairs / shingle_jaccard' "$serial" \
    "SELECT count((SELECT count(*) FROM shingle_difference(body, $changed))) $pairs" "$serial" "$jaccard" '<= 3'
compare 'their headlines / shingle_jaccard' "$serial" \
    "SELECT sum(length(shingle_headline(body, $changed))) $pairs" "$serial" "$jaccard" '<= 3'
compare 'compressed out of line / sum(hashtext)' "$serial" \
    'SELECT count(minhash(body)) FROM long_texts' "$serial" 'SELECT sum(hashtext(body)) FROM long_texts'
