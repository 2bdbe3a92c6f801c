#!/usr/bin/env bash
# Measures what it costs to maintain GIN indexes and band tables for lookups: their sizes, the time to build them, and
# insertions, which are also compared with pg_trgm on 100,000 of the texts:
#
#   upkeep_bench.sh MAKE_TEXTS [DOCUMENTS]
#
# Runs on a throw-away server with everything in memory. lookup_bench.sh measures lookups.
# shellcheck disable=SC2016  # what gin_clean_pending_list() is given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "$1")
documents=${2:-1000000}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=8GB -c max_wal_size=32GB -c jit=off -c autovacuum=off" "$@"

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
    run -c 'DROP TABLE ours_bands'
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
    "$large; DROP TABLE IF EXISTS docs_bands" \
    "SELECT lsh_create_band_table('docs')" \
    "$large; DROP TABLE IF EXISTS rows; CREATE TABLE rows (key bigint NOT NULL, id bigint NOT NULL)" \
    'INSERT INTO rows SELECT key, id FROM docs, lsh_bands(sig, 13, 7);
     CREATE UNIQUE INDEX ON rows (key, id)' '<= 1.5'
run -c 'DROP TABLE rows'

# The tables for insertion have an index of all texts; each insertion inserts new texts.
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

# insertion TABLE COLUMNS VALUES [INDEX]: prints the statement, which continues where the last one ended.
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

echo
echo "Changes of 10,000 rows, and of 1,000 one by one, with a band table and without:"
# Rows exchange signatures, so that each run changes every row.
updating() { echo "UPDATE $1 t SET sig = s.sig FROM $1 s WHERE t.id <= 10000 AND s.id = 10001 - t.id"; }
inserting() { echo "INSERT INTO $1 SELECT id, sig FROM docs WHERE id <= 10000 ON CONFLICT DO NOTHING"; }
singly() { # TABLE
    echo "DO \$\$ DECLARE other minhash_signature; BEGIN FOR i IN 1 .. 1000 LOOP
        SELECT sig INTO other FROM $1 WHERE id = 2000 + (random() * 8000)::int; UPDATE $1 SET sig = other WHERE id = i;
        DELETE FROM $1 WHERE id = i; INSERT INTO $1 VALUES (i, other); END LOOP; END \$\$"
}
compare 'UPDATE, band table / no index' '' "$(updating banded)" '' "$(updating bare)"
compare 'DELETE, band table / no index' "$(inserting banded)" 'DELETE FROM banded WHERE id <= 10000' \
    "$(inserting bare)" 'DELETE FROM bare WHERE id <= 10000'
compare 'UPDATE, DELETE, INSERT of single rows, the same' "$(inserting banded)" "$(singly banded)" \
    "$(inserting bare)" "$(singly bare)"

run -c "CREATE TABLE trgm_gin AS SELECT id, body FROM docs WHERE id <= $few" \
    -c 'CREATE TABLE small (id bigint, body text, sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED)' \
    -c "INSERT INTO small SELECT id, body FROM docs WHERE id <= $few" \
    -c "$large" -c 'CREATE INDEX small_sig ON small USING gin (sig)' \
    -c 'CREATE INDEX trgm_gin_body ON trgm_gin USING gin (body gin_trgm_ops)' \
    -c 'VACUUM ANALYZE trgm_gin' -c 'VACUUM ANALYZE small'
batches=4
into_trgm=$(insertion trgm_gin 'id, body' 'id, body' trgm_gin_body)
into_small=$(insertion small 'id, body' 'id, body' small_sig)
compare "pg_trgm's GIN / texts, signed, with GIN (both on $few)" '' "$into_trgm" '' "$into_small" '>= 3'
