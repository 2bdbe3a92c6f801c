#!/usr/bin/env bash
# Looks up one text of each pair of near-duplicates with an lsh index, with pgvector's HNSW on bits of signatures, and
# with pg_trgm's GiST.
#
#   lookup_peers_bench.sh MAKE_PAIRS [DOCUMENTS [PGVECTOR]]
#
# PGVECTOR is a checkout of that extension, which is built with its defaults, except -march=native; without it, only the
# others are measured. Prints the CPU seconds of the build, the size of the index, the number of pairs whose other row
# was found, and the CPU microseconds of a lookup in PL/pgSQL whose signature is already computed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_pairs=$(realpath "$1")
documents=${2:-20000}
pgvector=${3:+$(realpath "$3")}

# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=2GB -c max_wal_size=8GB -c jit=off -c autovacuum=off -c maintenance_work_mem=1GB \
    -c max_parallel_maintenance_workers=0 -c max_parallel_workers_per_gather=0" "$make_pairs" "$documents" "$pgvector"
if [[ -n $pgvector ]]; then
    make -s -C "$pgvector" OPTFLAGS='' PG_CONFIG="${PG_CONFIG:-pg_config}" all install >"$work/log" 2>&1 ||
        { tail "$work/log" && exit 1; }
    run -c 'CREATE EXTENSION vector'
fi

run -c 'CREATE EXTENSION minhash_lsh' -c 'CREATE EXTENSION pg_trgm' \
    -c 'CREATE TABLE texts (id bigint PRIMARY KEY, body text, sig minhash_signature)' \
    -c 'CREATE TABLE truth (left_id bigint, right_id bigint, jaccard float8)'
"$make_pairs" "$documents" 1060 "$work/truth" | run -c 'COPY texts (id, body) FROM STDIN'
run -c 'COPY truth FROM STDIN' <"$work/truth"
run -c 'DELETE FROM truth WHERE jaccard < 0.8' -c 'UPDATE texts SET sig = minhash(body)' -c 'VACUUM ANALYZE'

# measure LABEL INDEX TYPE VALUE LOOKUP [PAIRS]: CREATE INDEX looked_up ON texts is completed by INDEX; LOOKUP returns
# ids for the value v; VALUE is an expression over the row of one side.
measure() {
    run -c "CREATE FUNCTION near(v $3) RETURNS SETOF bigint LANGUAGE plpgsql AS
            \$\$BEGIN RETURN QUERY $5; END\$\$" -c 'SET enable_seqscan = off' \
        -c "$cpu" -c "CREATE INDEX looked_up ON texts $2" -c "$cpu" \
        -c "CREATE TEMP TABLE asked AS SELECT right_id, $4 AS v FROM truth JOIN texts t ON id = left_id
            LIMIT ${6:-ALL}" \
        -c "$cpu" -c 'SELECT count(*) FILTER (WHERE right_id IN (SELECT near(v))), count(*) FROM asked' -c "$cpu" \
        -c "SELECT pg_size_pretty(pg_relation_size('looked_up'))" -c 'DROP INDEX looked_up' |
        awk -F '|' -v label="$1" '{ line[NR] = $0; found = NR == 4 ? $1 : found; asked = NR == 4 ? $2 : asked }
            END { printf "%-44s built in %.2f s, %s, found %d of %d, %.0f us a lookup\n", label,
                line[2] - line[1], line[6], found, asked, (line[5] - line[3]) * 1e6 / asked }'
    run -c "DROP FUNCTION near($3)"
}
measure 'lsh, from 0.7 on' 'USING lsh (sig)' minhash_signature t.sig \
    'SELECT id FROM texts WHERE minhash_similar(sig, v, 0.7)'
measure 'lsh, the 6 nearest' 'USING lsh (sig)' minhash_signature t.sig 'SELECT id FROM texts ORDER BY sig <%> v LIMIT 6'
if [[ -n $pgvector ]]; then
    bits='minhash_compress(sig, 1)::bit(128)'
    measure 'pgvector, HNSW, 128 bits, the 6 nearest' "USING hnsw (($bits) bit_hamming_ops)" 'bit(128)' "$bits" \
        "SELECT id FROM texts ORDER BY ($bits) <~> v LIMIT 6"
fi
measure 'pg_trgm, GiST, siglen 1024, 40 pairs' 'USING gist (body gist_trgm_ops (siglen = 1024))' text t.body \
    'SELECT id FROM texts ORDER BY body <-> v LIMIT 6' 40
