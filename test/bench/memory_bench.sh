#!/usr/bin/env bash
# Runs lsh_pairs() where memory is short: on titles at a low threshold, whose candidates are many, with 64 MB and with
# 1 GB of maintenance_work_mem, and on long texts that are compressed in the table.
#
#   test/bench/memory_bench.sh
#   unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec test/bench/memory_bench.sh'
#
# The second line runs the script with a /dev/shm of 64 MB, as containers have it by default. The script starts a
# throw-away server. It prints medians of RUNS (3) interleaved runs.
set -euo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=2GB -c max_wal_size=8GB -c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0"
runs=${RUNS:-3}

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE UNLOGGED TABLE titles (id bigint, body text)' \
    -c 'CREATE UNLOGGED TABLE long (id bigint, body text)'
perl "$here/zipf_texts.pl" 300000 50 | run -c 'COPY titles FROM STDIN'
perl "$here/zipf_texts.pl" 20000 8500 | run -c 'COPY long FROM STDIN'
run -c 'VACUUM ANALYZE'
run -c "SELECT format('%s of shared memory free; titles: %s of %s characters; long texts: %s of %s characters in %s bytes',
        '$(df -h --output=avail /dev/shm | tail -n 1 | tr -d ' ')', (SELECT count(*) FROM titles),
        (SELECT avg(length(body))::int FROM titles), (SELECT count(*) FROM long),
        (SELECT avg(length(body))::int FROM long), (SELECT avg(pg_column_size(body))::int FROM long))"

warm=yes
alone='max_parallel_maintenance_workers = 0'
one_more='max_parallel_maintenance_workers = 1'
little="SET maintenance_work_mem = '64MB'"
much="SET maintenance_work_mem = '1GB'"
titles="SELECT count(*) FROM lsh_pairs('SELECT id, body FROM titles', threshold => 0.5, shingle_size => 3)"
long="SELECT count(*) FROM lsh_pairs('SELECT id, body FROM long')"

compare 'titles at 0.5, 64 MB / 1 GB' "$little; SET $alone" "$titles" "$much; SET $alone" "$titles" '<= 1.5'
weighted="SELECT count(*) FROM lsh_pairs('SELECT id, body FROM titles', threshold => 0.5, shingle_size => 3,
    weight => 'idf')"
compare "titles at 0.5 with weight => 'idf', 64 MB / 1 GB" "$little; SET $alone" "$weighted" "$much; SET $alone" \
    "$weighted" '<= 1.5'
compare 'titles, 64 MB, without workers / with one' "$little; SET $alone" "$titles" "$little; SET $one_more" "$titles" '>= 1.4'
compare 'titles, 1 GB, without workers / with one' "$much; SET $alone" "$titles" "$much; SET $one_more" "$titles"
compare 'long texts, 1 GB, without workers / with one' "$much; SET $alone" "$long" "$much; SET $one_more" "$long" '>= 1.8'

figure 'long texts, 1 GB: peak of private memory' \
    "$(peak_of "$much; SET $alone" 'SELECT sum(hashtext(body)) FROM long' "$long")" MB
