#!/usr/bin/env bash
# Measures what it costs to find texts within others by lsh_contained(), and how many are found: few sought passages in
# many texts, compared with signing the many; and all texts within each other.
#
#   contained_bench.sh MAKE_TEXTS [TEXTS [ALL]]
#
# MAKE_TEXTS is the program of make_texts.cpp. The passages are of 40 words, one of which is replaced in every third
# passage. ALL is how many texts are compared with each other. Starts a throw-away server.
set -euo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
make_texts=$(realpath "${1:?usage: $0 MAKE_TEXTS [TEXTS [ALL]]}")
texts=${2:-300000}
all=${3:-100000}
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=4GB -c max_wal_size=16GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0" "$@"

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE texts (id bigint, body text)'
"$make_texts" "$texts" 1060 | run -c 'COPY texts FROM STDIN'
run -c 'VACUUM ANALYZE texts' -c "CREATE TABLE sought AS
        SELECT id, CASE WHEN id % 3 = 0 THEN regexp_replace(passage, '\w+\s+(\w+)\s*\$', 'xyzzy \1') ELSE passage END AS passage
        FROM (SELECT DISTINCT ON (id) id, passage FROM texts, lsh_windows(body, words => 40, step => 7)
              WHERE id % greatest($texts / 14000, 1) = 0 ORDER BY id, hashint8(position)) AS cut LIMIT 14000" \
    -c 'VACUUM ANALYZE sought'

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
see='SELECT sum(hashtext(body)) FROM texts'
sign='SELECT count(minhash(body)) FROM texts'
warm=yes
# find LIMIT [ARGUMENTS]: the query that finds so many of the sought passages
find() {
    echo "SELECT count(*) FROM lsh_contained('SELECT id, passage FROM sought ORDER BY id LIMIT $1',
          other_query => 'SELECT id, body FROM texts'${2:-})"
}
echo "Passages of 40 words within $texts texts of 1 KB, over count(minhash(body)):"
for count in 10 1000 14000; do
    compare "$count passages" "$large; $see" "$(find "$count")" "$large; $see" "$sign" '<= 2'
done
compare '14000 passages, words' "$large; $see" "$(find 14000 ", unit => 'word', shingle_size => 8")" "$large; $see" "$sign" '<= 2'
figure 'of 14000 passages, the share found' "$(run -c "SELECT round(count(*)::numeric / (SELECT count(*) FROM sought), 4)
    FROM lsh_contained('SELECT id, passage FROM sought', other_query => 'SELECT id, body FROM texts')
    WHERE contained_id = container_id")" '' '>= 0.99'

echo
echo "All of $all texts within each other:"
run -c "CREATE TABLE part AS SELECT * FROM texts WHERE id <= $all" -c 'VACUUM ANALYZE part'
runs=3
compare 'one process' "$large; $see" "SELECT count(*) FROM lsh_contained('SELECT id, body FROM part')" \
    "$large; $see" "${sign/texts/part}"
