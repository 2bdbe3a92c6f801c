#!/usr/bin/env bash
# The demonstration. It finds near-duplicates among real text files with the statements of README.md itself, on a
# throw-away server.
#
#   [DIR=folder] demo.sh
#
# Uses the files below DIR, or, without DIR, the licence and copyright files of the packages installed on this machine.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readme=$here/../../README.md
show_rows=10      # of the README's query
show_clusters=5   # with file names
project=$(realpath "$here/../..")
page=$project/build/pairs.html

# Some shells leave the ~ of `make demo DIR=~/texts` as it is.
dir=${DIR:-}
dir=${dir/#\~\//$HOME/}

if [[ ${1:-} != --on-server ]]; then
    # This can be checked without building anything.
    if [[ -n $dir && ! -d $dir ]]; then
        echo "not a folder: $dir" >&2
        exit 1
    fi
    export DIR=${dir:+$(realpath "$dir")}
    if [[ ! -w $project ]]; then
        PAGE=$(mktemp -d /tmp/minhash_lsh-demo.XXXXXX)/pairs.html exec "$here/../tools/in_copy.sh" test/demo/demo.sh
    fi
    PG_CONFIG=$("$here/../tools/get_postgresql.sh")
    export PG_CONFIG
    echo "Compiling and installing the extension: this takes some minutes the first time ..."
    "$here/../tools/build_and_install.sh"
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" --on-server
fi
page=${PAGE:-$page}

# Prints the ```sql block after the line <!-- demo: NAME --> of a page, by default the README.
readme_block() {
    local block page=${2:-$readme}
    block=$(awk -v mark="<!-- demo: $1 -->" '
        { sub(/[ \t\r]+$/, "") }
        $0 == mark              { wanted = 1; next }
        wanted && /^```sql$/    { inside = 1; next }
        inside && /^```$/       { exit }
        inside                  { print }
    ' "$page")
    if [[ -z $block ]]; then
        echo "$page has no SQL block \"demo: $1\"" >&2
        return 1
    fi
    printf '%s\n' "$block"
}

# Runs psql without any ~/.psqlrc; it stops at the first error.
run_psql() {
    PGCLIENTENCODING=UTF8 PSQL_PAGER='' psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# Makes a psql script of the README's statements. Each statement (which ends with a ; at the end of a line) is
# surrounded by commands that measure its time, and only the first rows of a query's result are shown.
#
#   timed STEP <<<STATEMENTS
timed() {
    awk -v show="$show_rows" -v step="$1" '
        function run(    query) {
            query = toupper(code) ~ /^[ \t\n]*(SELECT|WITH)/
            print "SELECT clock_timestamp() AS start \\gset"
            # There are two lines of heading, and one more row is fetched to see whether there are more.
            if (query) print "\\o |sed -n 1," show + 2 "p"
            printf "%s", statement
            print "\\set rows :ROW_COUNT"
            print "\\o"
            print "INSERT INTO demo_steps(step, seconds, rows) VALUES (\047" step "\047,"
            print "    extract(epoch FROM clock_timestamp() - :\047start\047), :rows);"
            if (query) print "\\echo (:rows rows in all, the first " show " at most are shown)"
            statement = code = ""
        }
        {
            statement = statement $0 "\n"
            sub(/[ \t]*--.*$/, "")    # comments run, too, but are no code
            if ($0 != "") code = code $0 "\n"
            if (/;[ \t]*$/) run()
        }
        END { if (code != "") run() }
    '
}

# Shows the block of a page and runs it: show_and_run NAME TITLE [PAGE]
show_and_run() {
    local block
    block=$(readme_block "$1" ${3:+"$3"}) || return 1
    printf '\n%s\n\n%s\n\n' "$2" "$block"
    timed "$1" <<<"$block" | run_psql -P footer=off
}

setup=$(readme_block setup)

run_psql -o /dev/null <<SQL
SET client_min_messages = warning;
$setup
CREATE TABLE demo_files (id bigint PRIMARY KEY, name text NOT NULL);
CREATE UNLOGGED TABLE demo_staging (id bigint, name text, body text);
CREATE TABLE demo_steps (n serial, step text, seconds numeric, rows bigint);
SQL

echo "Loading ${dir:-the licence and copyright files of the packages on this machine} ..."
start=$(run_psql -At -c 'SELECT clock_timestamp()')
perl "$here/files_to_copy.pl" "$dir" | run_psql -c 'COPY demo_staging FROM STDIN'
run_psql -v start="$start" -At <<'SQL'
INSERT INTO articles (id, body) SELECT id, body FROM demo_staging;
INSERT INTO demo_files SELECT id, name FROM demo_staging;
DROP TABLE demo_staging;
INSERT INTO demo_steps (step, seconds)
VALUES ('load', extract(epoch FROM clock_timestamp() - :'start'));
-- As autovacuum would do a minute later.
ANALYZE articles, demo_files;
SELECT count(*) || ' files, ' || pg_size_pretty(sum(octet_length(body))) || ' of text'
FROM articles;
SQL

show_and_run pairs 'All near-duplicate pairs, verified exactly: one statement of README.md.'
mkdir -p "$(dirname "$page")"
run_psql -v show="$show_clusters" -v page="$page" -v side_by_side="$here/../../doc/examples/side_by_side.sql" \
    -P footer=off <<'SQL'
SELECT to_char(count(*), 'FM999,999,990') AS documents, round(max(seconds), 2) AS seconds,
    to_char(count(*) / greatest(max(seconds), 0.001), 'FM999,999,990') AS per_second,
    pg_size_pretty((sum(octet_length(body)) / greatest(max(seconds), 0.001))::bigint) AS bytes_per_second
FROM articles, demo_steps WHERE step = 'pairs' \gset
-- A rate of a few files would say how long a call takes, not how fast it is.
SELECT count(*) >= 1000 AS many FROM articles \gset
\if :many
\echo :documents documents in :seconds s: :per_second documents or :bytes_per_second per second
\endif

CREATE TABLE demo_pairs AS
SELECT * FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.8);
\echo
SELECT count(*) AS pairs, count(*) FILTER (WHERE similarity = 1) AS copies, count(*) > 0 AS found
FROM demo_pairs \gset
\if :found
\echo :copies of the :pairs pairs have the same shingles. Near-duplicates that differ:
SELECT l.name AS file, r.name AS near_duplicate, round(similarity::numeric, 3) AS similarity
FROM demo_pairs JOIN demo_files l ON l.id = left_id JOIN demo_files r ON r.id = right_id
WHERE similarity < 1 ORDER BY demo_pairs.similarity, left_id, right_id LIMIT 10;
\else
\echo No pair reaches 0.8. For short texts, try threshold => 0.5 and shingle_size => 3.
\endif
\echo
\echo The largest clusters by the names of their files, each by the one that would be kept and two others:
SELECT size, name AS file, CASE WHEN id <> representative THEN round(similarity::numeric, 3) END AS similarity
FROM (SELECT *, row_number() OVER (PARTITION BY cluster_id ORDER BY id <> representative, similarity, id) AS n,
        dense_rank() OVER (ORDER BY size DESC, cluster_id) AS place
    FROM lsh_clusters('SELECT id, body FROM articles', threshold => 0.8, near_representative => true)) members
    JOIN demo_files USING (id)
WHERE place <= :show AND n <= 3 ORDER BY place, n;

CREATE VIEW demo_pairs_by_name AS
SELECT l.name AS left_id, r.name AS right_id, similarity, a.body AS left_body, b.body AS right_body,
    greatest(length(a.body), length(b.body)) AS longer
FROM demo_pairs JOIN demo_files l ON l.id = left_id JOIN demo_files r ON r.id = right_id
     JOIN articles a ON a.id = left_id JOIN articles b ON b.id = right_id
WHERE similarity < 1;
\set source '(SELECT name, body FROM articles JOIN demo_files USING (id)) AS files'
\set id name
\set text body
\set pairs '(SELECT * FROM demo_pairs_by_name ORDER BY longer > 20000, similarity, left_id, right_id LIMIT 20) AS p'
\o :page
\i :side_by_side
\o
SQL

show_and_run lookup 'The near-duplicates of one text, through an index.'
run_psql -P footer=off <<'SQL'
ANALYZE articles;
-- A text of usual size that has near-duplicates.
SELECT id, name, 'This line was added. ' || body AS text
FROM articles JOIN demo_files USING (id)
ORDER BY length(body) BETWEEN 2000 AND 20000 DESC, (SELECT count(*) FROM demo_pairs WHERE id IN (left_id, right_id)) DESC, id LIMIT 1 \gset
\echo :name, with a line before it:
SELECT clock_timestamp() AS start \gset
SELECT name AS near_duplicate, round(minhash_similarity(minhash(body), minhash(:'text'))::numeric, 3) AS estimated
FROM articles JOIN demo_files USING (id)
WHERE minhash_similar(minhash(body), minhash(:'text'), 0.8)
ORDER BY estimated DESC, id LIMIT 5;
SELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000, 1) AS milliseconds \gset
\echo (:milliseconds ms, with all signatures and texts of the candidates)
SQL

show_and_run join 'By a join of band keys (doc/band-tables.md): plain SQL, to combine with any other condition.' \
    "$here/../../doc/band-tables.md"
run_psql -P footer=off <<'SQL'
SELECT sum(cardinality(shingles(body))) AS shingles FROM articles \gset
\echo
\echo Summary:
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' '
SELECT rpad(what, 22), lpad(value, 14) FROM (
    SELECT 1 AS n, 'documents' AS what, to_char(count(*), 'FM999,999,999,999') AS value
    FROM articles
    UNION ALL SELECT 2, 'shingles', to_char(:shingles, 'FM999,999,999,999')
    UNION ALL SELECT 3, 'near-duplicate pairs', to_char(rows, 'FM999,999,999,990')
    FROM demo_steps WHERE step = 'pairs'
    UNION ALL SELECT 4, 'documents per second', to_char((SELECT count(*) FROM articles) / greatest(seconds, 0.001),
        'FM999,999,999,990') FROM demo_steps WHERE step = 'pairs' AND (SELECT count(*) FROM articles) >= 1000
    UNION ALL SELECT 4 + min(n), 'seconds: ' || step, to_char(sum(seconds), 'FM999990.00')
    FROM demo_steps GROUP BY step
) AS summary ORDER BY n;
SQL

run_psql -P footer=off <<'SQL'
\echo
\echo One pair side by side: what one file has and the other has not is in brackets
SELECT round(similarity::numeric, 3) AS similarity,
    left_id AS file, regexp_replace(shingle_headline(left_body, right_body, options), '\s+', ' ', 'g') AS text,
    right_id AS other_file, regexp_replace(shingle_headline(right_body, left_body, options), '\s+', ' ', 'g') AS other_text
FROM (SELECT 'StartSel="[", StopSel="]", MaxWords=14' AS options) o, demo_pairs_by_name
ORDER BY longer > 20000, abs(similarity - 0.9), left_id, right_id LIMIT 1 \gx
SQL
echo "More pairs side by side, for a browser: $page"
cat <<'TEXT'

What to type next:

  make demo DIR=/some/folder            near-duplicates among your own files

or, in a database of your own, as a superuser once and then as anybody, with psql:

  CREATE EXTENSION minhash_lsh;
  SELECT * FROM lsh_pairs('SELECT id, body FROM articles');       -- your table, its id, its text
  CREATE INDEX ON articles USING lsh (minhash(body));
  SELECT id FROM articles WHERE minhash_similar(minhash(body), minhash('a text'), 0.8);

  psql -q -v source=articles -v id=id -v text=body -f doc/examples/report.sql   a report on it

README.md has a page for each job.
TEXT

# Gives a psql prompt on this server, or prints the two lines that open one.
if [[ -t 0 && -t 1 ]]; then
    printf '\nThis server has the tables articles, demo_files and demo_pairs. \\q ends it.\n\n'
    psql || true
else
    printf '\nA server to try it on, with a prompt; \\q ends it:\n\n  %s test/tools/with_server.sh psql\n  %s\n' \
        "PG_CONFIG=${PG_CONFIG:-pg_config}" 'CREATE EXTENSION minhash_lsh;'
fi
