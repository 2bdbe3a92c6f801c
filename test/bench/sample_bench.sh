#!/usr/bin/env bash
# Measures how often the true values lie within the intervals of lsh_sample(), for nine kinds of texts (among them the
# manual pages of this machine), with an index and without, and a hundred seeds. Then compares its CPU time with that of
# lsh_pairs(), with an index and without, also for texts of one template, and the seconds and megabytes that it predicts
# with those that lsh_pairs() takes.
#
#   [SEEDS=100] [ROWS=20000] [ONLY_INTERVALS=yes] sample_bench.sh MAKE_TEXTS [DOCUMENTS]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
make_texts=$(realpath "${1:?usage: $0 MAKE_TEXTS [DOCUMENTS]}")
documents=${2:-200000}
seeds=${SEEDS:-100}
rows=${ROWS:-20000}
# shellcheck source=test/bench/measure.sh
. "$here/measure.sh"
on_server "-c shared_buffers=1GB -c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0 \
    -c max_parallel_maintenance_workers=0 -c maintenance_work_mem=1GB" "$@"

run <<'SQL'
CREATE EXTENSION minhash_lsh;
-- A text of some words, which differs from the common text of its family in one word.
CREATE FUNCTION family_text(family bigint, member bigint, words int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(left(md5(concat(family, '-', w, CASE WHEN w = 1 + member % words THEN '-' || member END)), 6),
        ' ')
    FROM generate_series(1, words) AS w
$$;
CREATE TABLE kinds (kind text, family text, words text DEFAULT '20', pairs bigint, near float8);
INSERT INTO kinds (kind, family) VALUES ('all alone', 'i * 1000'),
    ('half in pairs', 'CASE WHEN i % 4 < 2 THEN i / 4 ELSE i * 1000 END'),
    ('a fifth in twenties', 'CASE WHEN i % 100 < 20 THEN i / 100 ELSE i * 1000 END'),
    ('a twentieth and pairs', 'CASE WHEN 20 * i <= $1 THEN 0 WHEN i % 10 < 2 THEN i / 10 ELSE i * 1000 END'),
    ('of all sizes', 'floor($1 ^ (i::float8 / $1))::int + CASE WHEN i % 3 = 0 THEN i * 30000 ELSE 0 END');
INSERT INTO kinds (kind, family, words) VALUES ('long pages', '5 * i / $1', '200'), ('templates', '20 * i / $1', '40'),
    ('of mixed lengths', 'CASE WHEN i % 3 = 0 THEN i * 1000 ELSE i / 40 END', '(5 + 20 * (i / 40 % 30))::int'),
    ('manual pages', NULL, NULL);
CREATE TABLE outcomes AS SELECT ''::text AS kind, ''::text AS way, s.*
FROM lsh_sample('SELECT 1, ''a''') AS s LIMIT 0;
-- Of more than 64 MB of texts, lsh_sample() looks anchors up in an index; so the planner is made to believe that there
-- are so many. (Without an index it compares them with a part of so many: of 20,000 manual pages here.)
CREATE PROCEDURE try_kinds(seeds int, rows int) LANGUAGE plpgsql AS $$
DECLARE
    k kinds;
    query text := 'SELECT id, body FROM texts';
BEGIN
    FOR k IN SELECT * FROM kinds LOOP
        IF k.family IS NULL THEN
            CREATE TABLE texts AS SELECT * FROM pages ORDER BY md5(id::text) LIMIT rows;
        ELSE
            EXECUTE format('CREATE TABLE texts AS SELECT i AS id, family_text(%s, i, %s) AS body
                FROM generate_series(1::bigint, $1) AS i', k.family, k.words) USING rows;
        END IF;
        ALTER TABLE texts ADD PRIMARY KEY (id);
        ANALYZE texts;
        UPDATE kinds SET pairs = (SELECT count(*) FROM lsh_pairs(query, threshold => 0.7, recall => 0.9999)),
            near = (SELECT count(*) FROM lsh_clusters(query, threshold => 0.7, recall => 0.9999))
                / (SELECT count(*)::float8 FROM texts)
        WHERE kind = k.kind;
        INSERT INTO outcomes SELECT k.kind, 'without', s.*
        FROM generate_series(1, seeds) AS seed, lsh_sample(query, threshold => 0.7, seed => seed) AS s;
        CREATE INDEX ON texts USING lsh (minhash(body));
        UPDATE pg_class SET reltuples = 1e9 WHERE oid = 'texts'::regclass;
        INSERT INTO outcomes SELECT k.kind, 'with', s.*
        FROM generate_series(1, seeds) AS seed, lsh_sample(query, threshold => 0.7, seed => seed) AS s;
        DROP TABLE texts;
    END LOOP;
END $$;
SQL
perl "$here/man_texts.pl" pages | run -c 'CREATE TABLE pages (id bigint, body text)' -c 'COPY pages FROM STDIN'
run -c "CALL try_kinds($seeds, $rows)"
echo "kind | index | pairs | of $seeds intervals with them | median low | high | near share | of $seeds" \
    '| median low | high'
run -F ' | ' -c "SELECT kind, way, k.pairs, count(*) FILTER (WHERE k.pairs BETWEEN pairs_low AND pairs_high),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY pairs_low), percentile_disc(0.5) WITHIN GROUP (ORDER BY pairs_high),
    round(near::numeric, 3), count(*) FILTER (WHERE near BETWEEN near_share_low AND near_share_high),
    round((percentile_disc(0.5) WITHIN GROUP (ORDER BY near_share_low))::numeric, 3),
    round((percentile_disc(0.5) WITHIN GROUP (ORDER BY near_share_high))::numeric, 3)
    FROM kinds AS k JOIN outcomes AS o USING (kind) GROUP BY kind, k.pairs, near, way ORDER BY k.pairs, kind, way"
[[ ${ONLY_INTERVALS:-} != yes ]] || exit 0

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
figure '  lsh_pairs()' "$(awk "BEGIN { printf \"%.2f\", $sample / $pairs }")" times '<= 0.2'
run -c 'CREATE INDEX docs_minhash ON docs USING lsh (minhash(body))' -c 'ALTER TABLE docs ADD PRIMARY KEY (id)' \
    -c 'VACUUM ANALYZE docs'
sample=$(cpu_of "SELECT * FROM lsh_sample('SELECT id, body FROM docs')")
figure 'lsh_sample() by an index' "$sample" s
figure '  lsh_pairs()' "$(awk "BEGIN { printf \"%.2f\", $sample / $pairs }")" times '<= 0.05'

# Texts of one template, so that every row is near every other one. (The pairs of 100,000 rows are too many to be found;
# they take 1,111 times as long as those of 3,000.)
run -c "CREATE TABLE templates AS SELECT i AS id, family_text(0, i, 40) AS body
    FROM generate_series(1::bigint, 100000) AS i" -c 'VACUUM ANALYZE templates'
pairs=$(cpu_of "SELECT count(*) FROM lsh_pairs('SELECT id, body FROM templates WHERE id <= 3000')")
figure 'lsh_pairs() of 3,000 rows of a template' "$pairs" s
for rows in 3000 100000; do
    sample=$(cpu_of "SELECT * FROM lsh_sample('SELECT id, body FROM templates WHERE id <= $rows')")
    figure "lsh_sample() of $rows of them" "$sample" s
    figure '  lsh_pairs() of 3,000' "$(awk "BEGIN { printf \"%.2f\", $sample / $pairs }")" times '<= 1'
done
sample=$(cpu_of "SELECT * FROM lsh_sample('SELECT id, ''one text'' FROM templates')")
figure 'lsh_sample() of 100,000 equal rows' "$sample" s

# What lsh_sample() predicts for 200,000 texts of each kind, and what lsh_pairs() takes: CPU seconds, and the peak
# growth of its process's memory.
peak="SELECT substring(pg_read_file(format('/proc/%s/status', pg_backend_pid())) FROM 'VmHWM:\s*(\d+)')::float8 / 1024"
echo 'kind | pairs | expected | seconds | expected | MB | expected'
run -F '|' -c "SELECT kind, replace(family, '\$1', '200000'), words FROM kinds WHERE pairs < 1e6 ORDER BY pairs" >"$work/kinds"
while IFS='|' read -r kind family words; do
    run -c 'DROP TABLE IF EXISTS many' -c "CREATE TABLE many AS SELECT i AS id, family_text($family, i, $words) AS body
        FROM generate_series(1::bigint, 200000) AS i" -c 'VACUUM ANALYZE many' \
        -c "CREATE TABLE expected AS SELECT * FROM lsh_sample('SELECT id, body FROM many', threshold => 0.7)"
    run -F ' | ' -c 'CREATE TEMP TABLE before AS SELECT 0.0::float8 AS peak, 0.0::float8 AS cpu, sum(length(body))
        FROM many' \
        -c "UPDATE before SET peak = ($peak), cpu = ($cpu)" \
        -c "CREATE TEMP TABLE found AS SELECT count(*) FROM lsh_pairs('SELECT id, body FROM many', threshold => 0.7)" \
        -c "SELECT '$kind', f.count, e.pairs, round((($cpu) - b.cpu)::numeric, 2), round(e.seconds::numeric, 2),
            round((($peak) - b.peak)::numeric), round(e.memory / 1e6) FROM before b, found f, expected e"
    run -c 'DROP TABLE expected'
done <"$work/kinds"
