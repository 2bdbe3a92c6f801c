#!/usr/bin/env bash
# Measures how often the true recall of a table lies within the interval that lsh_evaluate() gives. It takes 200,000
# texts whose near-duplicates are known, and SEEDS (100) seeds, each with other anchors and other signatures. The true
# recall is the share of all planted pairs that the seed's bands find.
#
#   test/bench/evaluate_bench.sh MAKE_PAIRS [TEXTS [ANCHORS]]
#
# MAKE_PAIRS is the program of make_pairs.cpp. Starts a throw-away server.
set -euo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
make_pairs=$(realpath "${1:?usage: $0 MAKE_PAIRS [TEXTS [ANCHORS]]}")
texts=${2:-200000}
anchors=${3:-2000}
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=1GB -c max_wal_size=8GB -c jit=off -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1GB" "$@"

run -c 'CREATE EXTENSION minhash_lsh' \
    -c 'CREATE UNLOGGED TABLE texts (id bigint PRIMARY KEY, body text)' \
    -c 'CREATE UNLOGGED TABLE truth (left_id bigint, right_id bigint, jaccard float8)' \
    -c 'CREATE TABLE settings AS SELECT * FROM unnest(ARRAY[10, 12, 13], ARRAY[12, 9, 7]) AS s (bands, rows)' \
    -c 'CREATE TABLE results (seed bigint, bands int, rows int, true_pairs bigint, recall float8, low float8, high float8,
            truth float8)'
"$make_pairs" "$texts" 1060 "$work/truth" | run -c 'COPY texts FROM STDIN'
run -c 'COPY truth FROM STDIN' <"$work/truth"
run -c 'DELETE FROM truth WHERE jaccard < 0.8' -c 'VACUUM ANALYZE'
for ((seed = 1; seed <= ${SEEDS:-100}; seed++)); do
    run -c "INSERT INTO results
        WITH planted AS (SELECT left_id FROM truth UNION SELECT right_id FROM truth),
            signed AS MATERIALIZED (SELECT id, minhash(body, seed => $seed) AS sig FROM texts JOIN planted ON id = left_id),
            known AS (SELECT bands, rows, avg((lsh_band_keys(a.sig, bands, rows) && lsh_band_keys(b.sig, bands, rows))::int)
                          AS recall
                      FROM truth JOIN signed a ON a.id = left_id JOIN signed b ON b.id = right_id, settings GROUP BY 1, 2)
        SELECT $seed, bands, rows, e.true_pairs, e.recall, e.recall_low, e.recall_high, known.recall
        FROM lsh_evaluate('SELECT id, body FROM texts', anchors => $anchors, bands => '{10,12,13}', rows => '{12,9,7}', seed => $seed) e
            JOIN known USING (bands, rows)"
done
run -c "SELECT format('%sx%s: true recall %s, in %s of %s intervals; they have %s true pairs and a width of %s', bands, rows,
            round(avg(truth)::numeric, 4), count(*) FILTER (WHERE truth BETWEEN low AND high), count(*),
            round(avg(true_pairs)), round(avg(high - low)::numeric, 4))
        FROM results GROUP BY bands, rows ORDER BY bands"
