#!/usr/bin/env bash
# Measures what it costs to find all near-duplicates at once, and how many are found:
#
#   bulk_bench.sh MAKE_PAIRS [DOCUMENTS [grow]]
#
# Runs on a throw-away server with everything in memory. The texts contain planted near-duplicates whose exact
# similarities are known. With `grow`, it also runs on ten times as many signatures.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_pairs=$(realpath "$1")
documents=${2:-1000000}
grow=${3:-}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=8GB -c max_wal_size=32GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0" "$@"

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
larger='SET maintenance_work_mem = 1900000; SET work_mem = 1000000' # room for signatures and texts
# A session's first look at shared buffers costs it page faults, which would distort the ratios to a scan.
see_sigs='SELECT min(_minhash_hash(sig)) FROM sigs'
see_texts='SELECT sum(hashtext(body)) FROM texts'
few=$((documents < 100000 ? documents : 100000))

# ratio_of A B: prints A / B with two decimals.
ratio_of() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE TABLE texts (id bigint, body text)' \
    -c 'CREATE TABLE truth (left_id bigint, right_id bigint, jaccard float8)'
"$make_pairs" "$documents" 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
run -c 'COPY truth FROM STDIN' <"$work/truth"
run -c "$large" -c 'CREATE TABLE sigs AS SELECT id, minhash(body) AS sig FROM texts' \
    -c 'ALTER TABLE sigs ADD PRIMARY KEY (id)' -c 'VACUUM ANALYZE'
run -c "SELECT format('texts: %s, %s; planted pairs: %s of 0.5 and more, %s of 0.8 and more',
        (SELECT count(*) FROM texts), pg_size_pretty(pg_table_size('texts')), count(*),
        count(*) FILTER (WHERE jaccard >= 0.8)) FROM truth"

warm=yes
pairs="SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM sigs')"
sign='SELECT count(minhash(body)) FROM texts'

echo
echo "With 1 GB of maintenance_work_mem:"
compare 'lsh_pairs of signatures / reading all signatures' "$large; $see_sigs" "$pairs" "$large; $see_sigs" "$see_sigs" '<= 4'
figure 'the same (bound for 1,000,000)' "$(ratio_of "$median" 1000)" s '<= 3'
compare 'with 64 MB instead / with 1 GB' "$see_sigs" "$pairs" "$large; $see_sigs" "$pairs"
compare 'lsh_pairs of texts, estimate / count(minhash(body))' "$large; $see_texts" \
    "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM texts', verify => 'estimate')" "$large; $see_texts" "$sign" '<= 1.6'
exact="SELECT count(*) FROM lsh_pairs('SELECT id, body FROM texts')"
compare 'lsh_pairs of texts, exact, 1.9 GB / count(minhash(body))' "$larger; $see_texts" "$exact" \
    "$larger; $see_texts" "$sign" '<= 4'
figure 'its peak of memory' "$(peak_of "$larger" "$see_texts" "$exact")" MB '<= 2000'

# The CPU time, in ms, that two calls cost all processes of the server. The postmaster knows the time of processes that
# have ended.
cpu_of() {
    local postmaster before
    postmaster=$(head -n 1 "$PGHOST/data/postmaster.pid")
    ticks() { awk '{ print $16 + $17 }' "/proc/$postmaster/stat"; }
    before=$(ticks)
    run -c "$1" -c "$2" -c "$2" >/dev/null
    sleep 1
    awk "BEGIN { print ($(ticks) - $before) * 1000 / $(getconf CLK_TCK) }"
}
alone='SET max_parallel_maintenance_workers = 0'
one_more='SET max_parallel_maintenance_workers = 1'
compare 'exact, without workers / with one' "$larger; $alone; $see_texts" "$exact" "$larger; $one_more; $see_texts" \
    "$exact" '>= 1.7'
for ((turn = 0; turn < runs; turn++)); do
    cpu_of "$larger; $alone; $see_texts" "$exact" >>"$work/alone"
    cpu_of "$larger; $one_more; $see_texts" "$exact" >>"$work/with_one"
done
figure 'CPU time with one worker / without' \
    "$(ratio_of "$(middle <"$work/with_one")" "$(middle <"$work/alone")")" '' '<= 1.2'
# Prints the share of a call's CPU time that one process must do alone, and how much faster the call can be on many
# cores (Amdahl's law).
run -c "$larger; $one_more; $see_texts" -c 'SET client_min_messages = debug1' -c "$exact" 2>&1 |
    sed -nE 's/.* ([0-9.]+) s of CPU time, ([0-9.]+) s of it in steps that ([0-9]+) workers.*/\1 \2 \3/p' | awk '{
        serial = ($1 - $2) / ($1 - $2 + $2 * ($3 + 1))
        printf "serial share %.1f%%; to expect at 8, 16, 32 cores:", 100 * serial
        for (cores = 8; cores <= 32; cores *= 2)
            printf " %.1f", 1 / (serial + (1 - serial) / cores)
        print " times as fast"
    }'
compare 'lsh_clusters / lsh_pairs' "$large; $see_sigs" "SELECT count(*) FROM lsh_clusters('SELECT id, sig FROM sigs')" \
    "$large; $see_sigs" "$pairs" '<= 1.3'

echo
echo "Clusters of $((documents * 10)) random pairs of $documents ids:"
run -c "CREATE TABLE edges AS SELECT id AS left_id, id + (random() * 3)::bigint AS right_id
        FROM generate_series(1, $documents) AS id, generate_series(1, 10)" -c 'VACUUM ANALYZE edges'
see_edges='SELECT count(*), sum(left_id), sum(right_id) FROM edges'
compare 'lsh_components / reading and adding up the ids' "$large; $see_edges" \
    "SELECT count(*) FROM lsh_components('SELECT left_id, right_id FROM edges')" "$large; $see_edges" "$see_edges" '<= 3'
run -c 'DROP TABLE edges'

echo
echo "One text in a hundred is the same ($((documents / 100))):"
run -c "CREATE TABLE same AS SELECT id, CASE WHEN id % 100 = 0 THEN (SELECT sig FROM sigs WHERE id = 100) ELSE sig END
        FROM sigs" -c 'VACUUM ANALYZE same'
compare 'lsh_clusters with them / without' "$large; ${see_sigs/sigs/same}" \
    "SELECT count(*) FROM lsh_clusters('SELECT id, sig FROM same')" \
    "$large; $see_sigs" "SELECT count(*) FROM lsh_clusters('SELECT id, sig FROM sigs')" '<= 1.5'
runs=3
compare 'lsh_pairs with them / without' "$large; ${see_sigs/sigs/same}" \
    "SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM same')" "$large; $see_sigs" "$pairs"
more=$(run -c "SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM same')" -c "$pairs" | paste -sd-)
figure 'ns for each pair more' "$(ratio_of "($median - $second) * 1e6" "($more)")" "ns ($((more)) pairs)"
run -c 'DROP TABLE same'

echo
echo "What is found (1 is all of it):"
run -c "$large" -c "CREATE TABLE estimated AS SELECT * FROM lsh_pairs('SELECT id, sig FROM sigs')" \
    -c "CREATE TABLE exact AS SELECT * FROM lsh_pairs('SELECT id, body FROM texts')" \
    -c 'CREATE TABLE known AS SELECT truth.*, minhash_similarity(a.sig, b.sig) AS estimate
        FROM truth JOIN sigs a ON a.id = left_id JOIN sigs b ON b.id = right_id' -c 'ANALYZE'
share() { # LABEL PART [BOUND]: PART is computed over found and known pairs, joined by pair
    figure "$1" "$(run -c "SELECT round($2, 4) FROM found FULL JOIN known USING (left_id, right_id)")" '' "${3:-}"
}
of() { echo "count(*) FILTER (WHERE $1)::numeric / nullif(count(*) FILTER (WHERE $2), 0)"; }
use() { run -c 'DROP VIEW IF EXISTS found' -c "CREATE VIEW found AS SELECT * FROM $1"; }
use exact
share 'exact: recall' "$(of 'jaccard >= 0.8 AND similarity >= 0.8' 'jaccard >= 0.8')" '>= 0.99'
share 'exact: precision, with the very similarity' "$(of 'similarity = jaccard AND jaccard >= 0.8' 'similarity >= 0')" \
    '>= 1'
use estimated
share 'estimate: recall by exact Jaccard' "$(of 'jaccard >= 0.8 AND similarity >= 0' 'jaccard >= 0.8')"
share 'estimate: precision by exact Jaccard' "$(of 'jaccard >= 0.8 AND similarity >= 0' 'similarity >= 0')"
share 'estimate: found that have 0.75 and more' "$(of 'jaccard >= 0.75 AND similarity >= 0' 'similarity >= 0')"
share 'estimate: recall by estimate' "$(of 'estimate >= 0.8 AND similarity >= 0' 'estimate >= 0.8')"
share 'estimate: precision by estimate' "$(of 'similarity = estimate AND estimate >= 0.8' 'similarity >= 0')" '>= 1'
run -c 'DROP VIEW found' -c 'DROP TABLE estimated, exact, known'

echo
echo "Against a band table's self-join with its verification:"
run -c "$large" -c "SELECT lsh_create_band_table('sigs')" -c 'VACUUM ANALYZE sigs' -c 'VACUUM ANALYZE sigs_bands' >/dev/null
join="SELECT count(*) FROM (SELECT DISTINCT x.id AS left_id, y.id AS right_id
          FROM sigs_bands x JOIN sigs_bands y ON x.key = y.key AND x.id < y.id) candidates
      JOIN sigs a ON a.id = left_id JOIN sigs b ON b.id = right_id WHERE minhash_similarity(a.sig, b.sig) >= 0.8"
see_bands='SELECT sum(key) FROM sigs_bands; SET enable_seqscan = off; SELECT count(key) FROM sigs_bands'
see="$large; $see_sigs; $see_bands; RESET enable_seqscan"
compare "the join, as planned / lsh_pairs" "$see" "$join" "$see" "$pairs" '>= 4'
compare "the join, merged over the primary key / lsh_pairs" "$see; SET enable_hashjoin = off; SET enable_seqscan = off" \
    "$join" "$see" "$pairs" '>= 4'

# Plain SQL signs by (a h + b) mod p, where h is five bytes mod p. The textbook's form joins shingles with a table of
# 128 pairs of a and b; the other form has 128 columns. Both are measured on a sample, and the time is multiplied up to
# the number of texts, because signing takes nearly all of it.
echo
warm=
echo "Against plain SQL, from $few texts to pairs (its time is that of a sample, scaled):"
run -c "CREATE TABLE few AS SELECT id, body FROM texts WHERE id <= $few" -c 'VACUUM ANALYZE few' \
    -c 'CREATE TABLE factors AS SELECT k, hashint8(k) & 2147483647::bigint AS a, hashint8(k + 1000) & 2147483647::bigint AS b
        FROM generate_series(0, 127) AS k' -c 'ANALYZE factors'
columns=$(run -c "SELECT string_agg(format('min((h * %s + %s) %% 2147483647)', a, b), ', ' ORDER BY k) FROM factors")
# shingles SAMPLE
shingles() {
    cat <<SQL
SELECT DISTINCT id, ('x' || encode(substr(folded, at, 5), 'hex'))::bit(40)::bigint % 2147483647 AS h
FROM (SELECT id, convert_to(lower(regexp_replace(body, '\s+', ' ', 'g')), 'UTF8') AS folded
      FROM few WHERE id <= $1 OFFSET 0) AS f, generate_series(1, length(folded) - 4) AS at
SQL
}
columns_sql() {
    cat <<SQL
WITH signed AS MATERIALIZED (SELECT id, ARRAY[$columns] AS sig FROM ($(shingles "$1")) AS s GROUP BY id),
banded AS MATERIALIZED (SELECT id, band, sig[band * 7 + 1 : band * 7 + 7] AS key FROM signed, generate_series(0, 12) AS band)
SELECT count(*) FROM (SELECT DISTINCT x.id AS left_id, y.id AS right_id FROM banded x
    JOIN banded y ON x.band = y.band AND x.key = y.key AND x.id < y.id) AS candidates
JOIN signed a ON a.id = left_id JOIN signed b ON b.id = right_id
WHERE (SELECT count(*) FROM unnest(a.sig, b.sig) AS slot (x, y) WHERE x = y) >= 0.8 * 128
SQL
}
textbook_sql() {
    cat <<SQL
WITH signed AS MATERIALIZED (SELECT id, k, min((h * a + b) % 2147483647) AS slot
                             FROM ($(shingles "$1")) AS s CROSS JOIN factors GROUP BY id, k),
banded AS MATERIALIZED (SELECT id, k / 7 AS band, array_agg(slot ORDER BY k) AS key FROM signed WHERE k < 91 GROUP BY id, k / 7)
SELECT count(*) FROM (SELECT left_id, right_id FROM
    (SELECT DISTINCT x.id AS left_id, y.id AS right_id FROM banded x
        JOIN banded y ON x.band = y.band AND x.key = y.key AND x.id < y.id) AS candidates
    JOIN signed a ON a.id = left_id JOIN signed b ON b.id = right_id AND b.k = a.k
    GROUP BY left_id, right_id HAVING count(*) FILTER (WHERE a.slot = b.slot) >= 0.8 * 128) AS pairs
SQL
}
ours="SELECT count(*) FROM lsh_pairs('SELECT id, body FROM few')"
against() { # LABEL SAMPLE QUERY
    compare "$1, $2 texts / lsh_pairs of $few, exact" "$large" "$3" "$large" "$ours"
    figure "$1, scaled" "$(ratio_of "$ratio * $few / $2" 1)" 'times as long' '>= 100'
}
against '128 columns' 1000 "$(columns_sql 1000)"
against 'the textbook' 200 "$(textbook_sql 200)"

if [[ -n $grow ]]; then
    echo
    warm=yes
    echo "Ten times as many signatures (of short texts, every tenth a near-duplicate):"
    for times in 1 10; do
        run -c "CREATE TABLE short_$times AS SELECT id, minhash(concat(md5(of::text), md5(of || 'a'), md5(of || 'b'),
                    CASE WHEN of < id THEN 'x' END)) AS sig
                FROM (SELECT id, CASE WHEN id % 10 = 0 THEN id - 9 ELSE id END AS of
                      FROM generate_series(1::bigint, $documents * $times) AS id) AS texts" \
            -c "VACUUM ANALYZE short_$times"
    done
    compare "$((documents * 10)) / $documents" "$large; ${see_sigs/sigs/short_10}" \
        "SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM short_10')" \
        "$large; ${see_sigs/sigs/short_1}" "SELECT count(*) FROM lsh_pairs('SELECT id, sig FROM short_1')" '<= 12'
fi
