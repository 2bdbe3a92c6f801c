#!/usr/bin/env bash
# lsh_sample(): how often what is true lies within its intervals, of five kinds of texts and a hundred seeds, and what it
# costs beside lsh_pairs(), in CPU time of the session.
#
#   sample_bench.sh MAKE_TEXTS [DOCUMENTS]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "${1:?usage: $0 MAKE_TEXTS [DOCUMENTS]}")
documents=${2:-200000}
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=1GB -c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0 \
    -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1GB" "$@"

run <<'SQL'
CREATE EXTENSION minhash_lsh;
-- Twenty words, of which a family has all in common but one of each text.
CREATE FUNCTION family_text(family bigint, member bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(left(md5(concat(family, '-', w, CASE WHEN w = 1 + member % 20 THEN '-' || member END)), 6), ' ')
    FROM generate_series(1, 20) AS w
$$;
CREATE TABLE kinds (kind text, family text, pairs bigint, near float8);
INSERT INTO kinds (kind, family) VALUES ('all alone', 'i * 1000'),
    ('half in pairs', 'CASE WHEN i % 4 < 2 THEN i / 4 ELSE i * 1000 END'),
    ('a fifth in twenties', 'CASE WHEN i % 100 < 20 THEN i / 100 ELSE i * 1000 END'),
    ('a thousand and pairs', 'CASE WHEN i <= 1000 THEN 0 WHEN i % 10 < 2 THEN i / 10 ELSE i * 1000 END'),
    ('of all sizes', 'floor(20000 ^ (i / 20000.0))::int + CASE WHEN i % 3 = 0 THEN i * 30000 ELSE 0 END');
CREATE TABLE outcomes AS SELECT ''::text AS kind, s.* FROM lsh_sample('SELECT 1, ''a''') AS s LIMIT 0;
CREATE PROCEDURE try_kinds() LANGUAGE plpgsql AS $$
DECLARE
    k kinds;
    query text := 'SELECT id, body FROM texts';
BEGIN
    FOR k IN SELECT * FROM kinds LOOP
        EXECUTE format('CREATE TEMP TABLE texts AS SELECT i AS id, family_text(%s, i) AS body
            FROM generate_series(1::bigint, 20000) AS i', k.family);
        UPDATE kinds SET pairs = (SELECT count(*) FROM lsh_pairs(query, threshold => 0.7, recall => 0.9999)),
            near = (SELECT count(*) / 20000.0 FROM lsh_clusters(query, threshold => 0.7, recall => 0.9999))
        WHERE kind = k.kind;
        INSERT INTO outcomes SELECT k.kind, s.*
        FROM generate_series(1, 100) AS seed, lsh_sample(query, threshold => 0.7, seed => seed) AS s;
        DROP TABLE texts;
    END LOOP;
END $$;
CALL try_kinds();
SQL
echo 'kind | pairs | of 100 intervals with them | median low | high | near share | of 100 | median low | high'
run -F ' | ' -c "SELECT kind, k.pairs, count(*) FILTER (WHERE k.pairs BETWEEN pairs_low AND pairs_high),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY pairs_low), percentile_disc(0.5) WITHIN GROUP (ORDER BY pairs_high),
    round(near::numeric, 3), count(*) FILTER (WHERE near BETWEEN near_share_low AND near_share_high),
    round((percentile_disc(0.5) WITHIN GROUP (ORDER BY near_share_low))::numeric, 3),
    round((percentile_disc(0.5) WITHIN GROUP (ORDER BY near_share_high))::numeric, 3)
    FROM kinds AS k JOIN outcomes AS o USING (kind) GROUP BY kind, k.pairs, near ORDER BY k.pairs"

run -c 'CREATE TABLE docs (id bigint, body text)'
"$make_texts" "$documents" 1060 | run -c 'COPY docs FROM STDIN' -c 'VACUUM ANALYZE docs'
cpu_of() {
    run -c 'CREATE TEMP TABLE before (seconds float8)' -c "INSERT INTO before $cpu" -c "$1" \
        -c "SELECT 'cpu', round((($cpu) - (SELECT seconds FROM before))::numeric, 2)" | sed -n 's/^cpu|//p'
}
pairs=$(cpu_of "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM docs')")
figure "lsh_pairs() of $documents texts" "$pairs" s
figure 'count(*) of them' "$(cpu_of 'SELECT count(*) FROM docs')" s
sample=$(cpu_of "SELECT * FROM lsh_sample('SELECT id, body FROM docs')")
figure 'lsh_sample()' "$sample" s
figure '  lsh_pairs()' "$(awk "BEGIN { printf \"%.2f\", $sample / $pairs }")" times '<= 0.05'
run -x -c "SELECT * FROM lsh_sample('SELECT id, body FROM docs')"
