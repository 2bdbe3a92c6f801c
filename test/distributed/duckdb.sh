#!/usr/bin/env bash
# By hand: reads the export of doc/distributed/more-than-one-server.md with DuckDB, and compares the pairs that DuckDB finds there
# with those of lsh_pairs().
#
#   duckdb.sh DIRECTORY
#
# DIRECTORY is where `npm install @duckdb/node-api` was run.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use, where the extension is installed
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
modules=$(realpath "${1:?usage: $0 DIRECTORY}")
if [[ ${2:-} != --on-server ]]; then
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" "$modules" --on-server
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The block of SQL that follows a mark.
block() { sed -n "/^<!-- $1 -->/,/^\`\`\`$/p" "$here/../../doc/distributed/more-than-one-server.md" | sed '1,2d; $d'; }

run() { psql -XqAt -v ON_ERROR_STOP=1 "$@"; }

# Every tenth text is the one before it with a different end.
run <<'SQL'
CREATE EXTENSION minhash_lsh;
CREATE TABLE docs (id bigint PRIMARY KEY, sig minhash_signature);
INSERT INTO docs
SELECT id, minhash(left(string_agg(md5(id - CASE WHEN id % 10 = 0 THEN 3 ELSE 0 END || ' ' || part), ' '), 600) ||
                   CASE WHEN id % 10 = 0 THEN repeat(md5(id::text), id::int % 4) ELSE '' END)
FROM generate_series(1, 5000) AS id, generate_series(1, 20) AS part GROUP BY id;
SQL
block 'export keys' | run >"$work/keys.csv"
block 'export slots' | run >"$work/slots.csv"
cat >"$work/run.js" <<'JS'
const { DuckDBInstance } = require('@duckdb/node-api');
const { readFileSync } = require('fs');
(async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    await connection.run(readFileSync('duckdb.sql', 'utf8'));
    await connection.run("COPY pairs TO 'pairs.csv' (HEADER false)");
})();
JS
block DuckDB >"$work/duckdb.sql"
(cd "$work" && NODE_PATH=$modules/node_modules node run.js)
run -c 'CREATE TABLE found (left_id bigint, right_id bigint, similarity numeric)' \
    -c "\copy found FROM '$work/pairs.csv' (FORMAT csv)" -c 'UPDATE found SET similarity = round(similarity, 9)' \
    -c "CREATE TABLE wanted AS SELECT left_id, right_id, round(similarity::numeric, 9) AS similarity FROM lsh_pairs('SELECT id, minhash_compress(sig, 16) FROM docs', bands => 13, rows => 7)" \
    -c "SELECT format('%s pairs, %s missing, %s extra', count(*), (SELECT count(*) FROM (TABLE wanted EXCEPT TABLE found) x),
        (SELECT count(*) FROM (TABLE found EXCEPT TABLE wanted) x)) FROM wanted"
