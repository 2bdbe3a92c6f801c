#!/usr/bin/env bash
# Measures what signatures of columns and arrays cost inside SQL, on a throw-away server with everything in memory:
#
#   sets_bench.sh [ROWS]
#
# Compares the time of minhash_elements_agg() over a column with that of max(), in one group and in a million, and the
# time of signing arrays with that of reading them. Also prints the memory that groups take.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rows=${1:-10000000}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=3GB -c max_wal_size=8GB -c jit=off -c autovacuum=off" "$@"

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE numbers (x bigint)' -c 'CREATE TABLE arrays (xs bigint[])'
run -c "INSERT INTO numbers SELECT generate_series(1, $rows)" -c 'VACUUM ANALYZE numbers'
run -c "INSERT INTO arrays SELECT array_agg(x) FROM numbers GROUP BY x / 100" -c 'VACUUM ANALYZE arrays'

serial='SET max_parallel_workers_per_gather = 0'
hashed="$serial; SET work_mem = '2GB'; SET enable_sort = off"
time_of "$serial" 'SELECT max(x) FROM numbers' >/dev/null # warms up

compare 'minhash_elements_agg(x) / max(x)' "$serial" 'SELECT minhash_elements_agg(x) FROM numbers' "$serial" \
    'SELECT max(x) FROM numbers' '<= 2'
compare 'minhash_elements_agg(x % 1000) / max(x % 1000)' "$serial" 'SELECT minhash_elements_agg(x % 1000) FROM numbers' "$serial" \
    'SELECT max(x % 1000) FROM numbers' '<= 2'
compare 'minhash_elements_agg(x::text) / max(x::text COLLATE "C")' "$serial" 'SELECT minhash_elements_agg(x::text) FROM numbers' \
    "$serial" 'SELECT max(x::text COLLATE "C") FROM numbers'
compare 'minhash_elements_agg(x) / max(x), groups of 10' "$hashed" \
    'SELECT count(a) FROM (SELECT minhash_elements_agg(x) AS a FROM numbers GROUP BY x / 10) AS groups' "$hashed" \
    'SELECT count(a) FROM (SELECT max(x) AS a FROM numbers GROUP BY x / 10) AS groups'
compare 'count(minhash_elements(xs)) / sum(cardinality(xs)), 100 each' "$serial" 'SELECT count(minhash_elements(xs)) FROM arrays' \
    "$serial" 'SELECT sum(cardinality(xs)) FROM arrays'
per_member=$(awk -v ms="$median" -v rows="$rows" 'BEGIN { printf "%.1f", ms * 1e6 / rows }')
figure 'signing arrays of 100, for each member' "$per_member" ns

# The private memory, in kilobytes, of a session that holds 100,000 groups.
held() {
    run -c "$hashed; BEGIN; DECLARE c CURSOR FOR SELECT $1 FROM numbers WHERE x < 1000000 GROUP BY x / 10;
            FETCH 1 FROM c; SELECT pg_read_file('/proc/self/smaps_rollup')" |
        sed -n 's/^Anonymous: *\([0-9]*\) kB/\1/p'
}
extra=$(($(held 'minhash_elements_agg(x)') - $(held 'max(x)')))
figure 'memory for each group of 10 beyond that of max(x)' $((extra * 1024 / 100000)) bytes '<= 300'
