#!/usr/bin/env bash
# Measures what it costs to look up single texts with a GIN index, with a band table, and with pg_trgm, and to compare
# documents exactly with one of them:
#
#   lookup_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# Runs on a throw-away server with everything in memory. The program `latency` (beside MAKE_TEXTS) measures lookups on
# the client; pg_trgm has 100,000 of the texts. upkeep_bench.sh measures what it costs to maintain the indexes and
# tables.
# shellcheck disable=SC2016  # SQL's parameters
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
latency=$(dirname "$make_texts")/latency
documents=${2:-1000000}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=8GB -c max_wal_size=32GB -c jit=off -c autovacuum=off" "$@"

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
few=$((documents < 100000 ? documents : 100000))

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE EXTENSION pg_trgm' \
    -c 'CREATE TABLE docs (id bigint, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED)'
"$make_texts" "$documents" 1060 | run -c 'COPY docs (id, body) FROM STDIN'
run -c "$large" -c 'ALTER TABLE docs ADD PRIMARY KEY (id)' -c 'CREATE INDEX docs_sig ON docs USING gin (sig)' \
    -c "SELECT lsh_create_band_table('docs')" -c 'VACUUM ANALYZE docs' -c 'VACUUM ANALYZE docs_bands' >/dev/null
run -c "SELECT 'texts: ' || count(*) || ', with signatures ' || pg_size_pretty(pg_table_size('docs')) FROM docs"

echo
echo "Looking a text up, with signing it, us; on one core or with client and server on two:"
rounds=9
calls=$((documents < 20000 ? documents / 10 : 2000))
labels=('SELECT 1 with the same parameter' 'signing it' 'by GIN' 'by the band table')
latencies "$rounds" "$calls" "SELECT body FROM docs ORDER BY hashint8(id) LIMIT $((rounds * calls * 2))" \
    'SELECT 1' 'SELECT minhash($1) IS NULL' 'SELECT id FROM docs WHERE sig % minhash($1)' \
    'WITH given AS MATERIALIZED (SELECT minhash($1) AS sig)
     SELECT d.id, minhash_similarity(d.sig, given.sig) FROM given,
            LATERAL (SELECT DISTINCT id FROM lsh_bands(given.sig, bands => 13, rows => 7)
                     JOIN docs_bands USING (key)) candidates JOIN docs d USING (id)
     WHERE minhash_similarity(d.sig, given.sig) >= 0.8' >"$work/latencies"
while read -r place statement p50 p99 over_first over_p50 least most; do
    bounds=('' '')
    ((statement < 2)) || bounds=('<= 4' '<= 4')
    printf '%-3s %-40s p50 %6.1f  p99 %6.1f  p50 / first %5.2f%s  p99 / p50 %5.2f%s  (p50 %s to %s)\n' \
        "$place" "${labels[statement]}" "$p50" "$p99" "$over_first" "$(verdict "$over_first" "${bounds[0]}")" \
        "$over_p50" "$(verdict "$over_p50" "${bounds[1]}")" "$least" "$most"
done <"$work/latencies"

echo
echo "Exact comparisons of 2,000 documents of 6,000 characters with one of them:"
run -c 'CREATE TABLE long_docs (id bigint, body text)'
"$make_texts" 2000 6000 2 | run -c 'COPY long_docs FROM STDIN'
run -c 'VACUUM ANALYZE long_docs'
given=$(run -c 'SELECT quote_literal(body) FROM long_docs WHERE id = 7')
serial='SET max_parallel_workers_per_gather = 0'
for function in shingle_jaccard shingle_containment; do
    compare "$function() with a constant / a subquery" \
        "$serial" "SELECT sum($function(body, $given)) FROM long_docs" \
        "$serial" "SELECT sum($function(body, (SELECT $given))) FROM long_docs"
done

run -c 'CREATE TABLE small (id bigint, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED)' \
    -c "INSERT INTO small SELECT id, body FROM docs WHERE id <= $few" \
    -c "$large" -c 'CREATE INDEX ON small USING gin (sig)' -c 'VACUUM ANALYZE small'
for table in trgm_gin trgm_gist trgm_gist_1024; do
    case $table in
        trgm_gin) method='gin (body gin_trgm_ops)' ;;
        trgm_gist) method='gist (body gist_trgm_ops)' ;;
        trgm_gist_1024) method='gist (body gist_trgm_ops (siglen = 1024))' ;;
    esac
    run -c "CREATE TABLE $table AS SELECT id, body FROM small" -c "$large" -c "CREATE INDEX ON $table USING $method" \
        -c "VACUUM ANALYZE $table"
done
echo
echo "The same against pg_trgm, on $few texts (threshold 0.8 of its trigrams), us:"
PGOPTIONS='-c pg_trgm.similarity_threshold=0.8 -c enable_seqscan=off' latencies 3 1000 \
    "SELECT body FROM small WHERE id <= $few ORDER BY hashint8(id) LIMIT 10000" \
    'SELECT id FROM small WHERE sig % minhash($1)' 'SELECT id FROM trgm_gin WHERE body % $1' \
    'SELECT id FROM trgm_gist WHERE body % $1' 'SELECT id FROM trgm_gist_1024 WHERE body % $1' >"$work/latencies"
labels=('ours, by GIN' "pg_trgm's GIN" "pg_trgm's GiST" "pg_trgm's GiST with siglen = 1024")
while read -r place statement p50 _ over_first _ least most; do
    bound=
    ((statement < 1)) || bound='>= 1000'
    printf '%-3s %-40s p50 %9.1f  over ours %8.0f%s  (p50 %s to %s)\n' \
        "$place" "${labels[statement]}" "$p50" "$over_first" "$(verdict "$over_first" "$bound")" "$least" "$most"
done <"$work/latencies"
