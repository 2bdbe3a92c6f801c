#!/usr/bin/env bash
# What it costs to look single texts up, and to keep what they are looked up by:
#
#   lookup_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# On a throw-away server with everything in memory, `latency` (beside MAKE_TEXTS) measures look-ups from the
# client's side; then come pg_trgm on 100,000 of the texts, sizes, insertion and building. Each figure is the
# median of interleaved runs, each ratio of one run; the spread is that of the runs. Bounds are in brackets.
# shellcheck disable=SC2016  # SQL's parameters
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
latency=$(dirname "$make_texts")/latency
documents=${2:-1000000}

if [[ ${3:-} != --on-server ]]; then
    export SERVER_OPTS="-c shared_buffers=8GB -c max_wal_size=32GB -c jit=off -c autovacuum=off"
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" "$make_texts" "$documents" --on-server
fi

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"

large='SET maintenance_work_mem = 1000000; SET work_mem = 1000000'
few=$((documents < 100000 ? documents : 100000))

size() { run -c "SELECT pg_relation_size('$1')"; }
per_document() { awk -v bytes="$1" -v documents="$documents" 'BEGIN { printf "%.0f", bytes / documents }'; }

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE EXTENSION pg_trgm' \
    -c 'CREATE TABLE docs (id bigint, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED)'
"$make_texts" "$documents" 1060 | run -c 'COPY docs (id, body) FROM STDIN'
run -c "$large" -c 'ALTER TABLE docs ADD PRIMARY KEY (id)' -c 'CREATE TABLE ours AS SELECT id, sig FROM docs' \
    -c 'ALTER TABLE ours ADD PRIMARY KEY (id)' \
    -c 'CREATE TABLE plain AS SELECT id, lsh_band_keys(sig, 13, 7) AS keys FROM docs' \
    -c 'ALTER TABLE plain ADD PRIMARY KEY (id)' \
    -c 'VACUUM ANALYZE docs' -c 'VACUUM ANALYZE ours' -c 'VACUUM ANALYZE plain'
run -c "SELECT 'texts: ' || count(*) || ', with signatures ' || pg_size_pretty(pg_table_size('docs')) FROM docs"

echo
echo "Bytes per text and seconds to build:"
gin() { # LABEL SETTINGS OPTIONS [BOUND]
    local took
    took=$(time_of "DROP INDEX IF EXISTS ours_sig; $2" "CREATE INDEX ours_sig ON ours USING gin (sig $3)")
    figure "GIN $1" "$(per_document "$(size ours_sig)")" "bytes ($(awk "BEGIN { printf \"%.1f\", $took / 1000 }") s)" \
        "${4:-}"
}
gin 'with maintenance_work_mem by default' '' '' '<= 650'
gin 'with 1 GB' "$large" ''
gin '10 x 6, with 1 GB' "$large" 'gin_minhash_ops (bands = 10, rows = 6)'
gin '9 x 6, with 1 GB' "$large" 'gin_minhash_ops (bands = 9, rows = 6)'
gin '8 x 5, with 1 GB' "$large" 'gin_minhash_ops (bands = 8, rows = 5)'
band_table() { # LABEL ARGUMENTS [BOUND]
    run -c "$large" -c "SELECT lsh_create_band_table('ours'$2)" >/dev/null
    heap=$(size ours_bands)
    key=$(run -c "SELECT pg_indexes_size('ours_bands')")
    figure "band table $1, heap and primary key" "$(per_document $((heap + key)))" \
        "bytes ($(per_document "$heap") + $(per_document "$key"))" "${3:-}"
    run -c "SELECT lsh_drop_band_table('ours')" >/dev/null
}
band_table '13 x 7' '' '<= 1000'
band_table '10 x 6' ', bands => 10, rows => 6'
band_table '9 x 6' ', bands => 9, rows => 6'
band_table '8 x 5' ', bands => 8, rows => 5'

echo
echo "Building, with 1 GB of maintenance_work_mem:"
runs=3
compare 'GIN / GIN of the same keys as bigint[]' "$large; DROP INDEX IF EXISTS ours_sig" \
    'CREATE INDEX ours_sig ON ours USING gin (sig)' "$large; DROP INDEX IF EXISTS plain_keys" \
    'CREATE INDEX plain_keys ON plain USING gin (keys)'
compare 'GIN on minhash(body) / the same and signing' "$large; DROP INDEX IF EXISTS docs_expression" \
    'CREATE INDEX docs_expression ON docs USING gin (minhash(body))' "$large; DROP INDEX IF EXISTS plain_keys" \
    'SELECT count(minhash(body)) FROM docs; CREATE INDEX plain_keys ON plain USING gin (keys)'
run -c 'DROP INDEX docs_expression'
compare 'band table / INSERT of the same rows and CREATE INDEX' \
    "$large; DO 'BEGIN PERFORM lsh_drop_band_table(source) FROM lsh_band_tables; END'" \
    "SELECT lsh_create_band_table('docs')" \
    "$large; DROP TABLE IF EXISTS rows; CREATE TABLE rows (key bigint NOT NULL, id bigint NOT NULL)" \
    'INSERT INTO rows SELECT key, id FROM docs, lsh_bands(sig, 13, 7);
     CREATE UNIQUE INDEX ON rows (key, id)' '<= 1.5'
run -c 'DROP TABLE rows'

# Tables for insertion have an index of all texts; what is inserted is new each time.
batches=20
runs=5
fresh=$((batches * 1000 * runs * 2)) # compared twice
echo
echo "Insertion with the index kept, batches of 1,000 ($batches, with pg_trgm 4) and what is pending at the end:"
run -c 'CREATE TABLE fresh (id bigint PRIMARY KEY, body text, sig minhash_signature, keys bigint[])' \
    -c 'CREATE TABLE staged (id bigint, body text)'
"$make_texts" "$fresh" 1060 3 | run -c 'COPY staged FROM STDIN'
run -c "INSERT INTO fresh SELECT id + $documents, body, minhash(body), lsh_band_keys(minhash(body), 13, 7) FROM staged" \
    -c 'DROP TABLE staged' -c 'VACUUM ANALYZE fresh' \
    -c 'CREATE TABLE bare AS SELECT id, sig FROM docs' -c 'ALTER TABLE bare ADD PRIMARY KEY (id)' \
    -c 'CREATE TABLE banded AS SELECT id, sig FROM docs' -c 'ALTER TABLE banded ADD PRIMARY KEY (id)' \
    -c "$large" -c "SELECT lsh_create_band_table('banded')" >/dev/null

# insertion TABLE COLUMNS VALUES [INDEX]: the statement, which goes on where the last one ended.
insertion() {
    run -c "CREATE SEQUENCE turn_$1 MINVALUE 0" >/dev/null
    cat <<SQL
DO \$\$
DECLARE
    first bigint := $documents + nextval('turn_$1') * $batches * 1000;
BEGIN
    FOR batch IN 0 .. $batches - 1 LOOP
        INSERT INTO $1 ($2) SELECT $3 FROM fresh
            WHERE id > first + batch * 1000 AND id <= first + (batch + 1) * 1000;
        COMMIT;
    END LOOP;
    ${4:+PERFORM gin_clean_pending_list('$4');}
END
\$\$
SQL
}
into_ours=$(insertion ours 'id, sig' 'id, sig' ours_sig)
into_plain=$(insertion plain 'id, keys' 'id, keys' plain_keys)
into_bare=$(insertion bare 'id, sig' 'id, sig')
into_banded=$(insertion banded 'id, sig' 'id, sig')
compare 'GIN of bigint[] keys / GIN of signatures' '' "$into_plain" '' "$into_ours" '>= 0.5'
compare 'band table by triggers / no index' '' "$into_banded" '' "$into_bare"
compare 'GIN of signatures / no index' '' "$into_ours" '' "$into_bare"

run -c "CREATE TABLE trgm_gin AS SELECT id, body FROM docs WHERE id <= $few" \
    -c "CREATE TABLE trgm_gist AS SELECT id, body FROM docs WHERE id <= $few" \
    -c "CREATE TABLE trgm_gist_1024 AS SELECT id, body FROM docs WHERE id <= $few" \
    -c 'CREATE TABLE small (id bigint, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED)' \
    -c "INSERT INTO small SELECT id, body FROM docs WHERE id <= $few" \
    -c "$large" -c 'CREATE INDEX small_sig ON small USING gin (sig)' \
    -c 'CREATE INDEX trgm_gin_body ON trgm_gin USING gin (body gin_trgm_ops)' \
    -c 'CREATE INDEX ON trgm_gist USING gist (body gist_trgm_ops)' \
    -c 'CREATE INDEX ON trgm_gist_1024 USING gist (body gist_trgm_ops (siglen = 1024))' \
    -c 'VACUUM ANALYZE trgm_gin' -c 'VACUUM ANALYZE trgm_gist' -c 'VACUUM ANALYZE trgm_gist_1024' \
    -c 'VACUUM ANALYZE small'
batches=4
into_trgm=$(insertion trgm_gin 'id, body' 'id, body' trgm_gin_body)
into_small=$(insertion small 'id, body' 'id, body' small_sig)
compare "pg_trgm's GIN / texts, signed, with GIN (both on $few)" '' "$into_trgm" '' "$into_small" '>= 3'
run -c 'DROP TABLE ours, plain, bare, banded CASCADE' -c 'VACUUM trgm_gin' -c 'VACUUM small'

echo
echo "Looking a text up, with signing it, us; on one core or with client and server on two:"
run -c "$large" -c 'CREATE INDEX docs_sig ON docs USING gin (sig)' -c 'VACUUM ANALYZE docs_bands'
rounds=9
calls=$((documents < 20000 ? documents / 10 : 2000))
labels=('SELECT 1 with the same parameter' 'signing it' 'by GIN' 'by the band table, in SQL'
    'by the band table, lsh_near_duplicates')
latencies "$rounds" "$calls" "SELECT body FROM docs ORDER BY hashint8(id) LIMIT $((rounds * calls * 2))" \
    'SELECT 1' 'SELECT minhash_num_hashes(minhash($1))' 'SELECT id FROM docs WHERE sig % minhash($1)' \
    'WITH given AS MATERIALIZED (SELECT minhash($1) AS sig)
     SELECT d.id, minhash_similarity(d.sig, given.sig) FROM given,
            LATERAL (SELECT DISTINCT id FROM lsh_bands(given.sig, bands => 13, rows => 7)
                     JOIN docs_bands USING (key)) candidates JOIN docs d USING (id)
     WHERE minhash_similarity(d.sig, given.sig) >= 0.8' \
    "SELECT id FROM lsh_near_duplicates('docs', minhash(\$1))" >"$work/latencies"
while read -r place statement p50 p99 over_first over_p50 least most; do
    bounds=('' '')
    ((statement < 2)) || bounds=('<= 4' '<= 4')
    printf '%-3s %-40s p50 %6.1f  p99 %6.1f  p50 / first %5.2f%s  p99 / p50 %5.2f%s  (p50 %s to %s)\n' \
        "$place" "${labels[statement]}" "$p50" "$p99" "$over_first" "$(verdict "$over_first" "${bounds[0]}")" \
        "$over_p50" "$(verdict "$over_p50" "${bounds[1]}")" "$least" "$most"
done <"$work/latencies"

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
