#!/usr/bin/env bash
# The demonstration: finds near-duplicates among real text files, with the
# statements of README.md itself, on a throw-away server.
#
#   [DIR=folder] demo.sh
#
# Takes the files below DIR, or, without DIR, the licence and copyright files of
# the packages installed on this machine.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readme=$here/../../README.md
show_rows=10      # of the README's query
show_pairs=20     # with file names

# Some shells leave the ~ of `make demo DIR=~/texts` as it is.
dir=${DIR:-}
dir=${dir/#\~\//$HOME/}

if [[ ${1:-} != --on-server ]]; then
    # Known without a server, so said without starting one.
    if [[ -n $dir && ! -d $dir ]]; then
        echo "not a folder: $dir" >&2
        exit 1
    fi
    exec "$here/../tools/with_server.sh" "${BASH_SOURCE[0]}" --on-server
fi

# The ```sql block after the line <!-- demo: NAME --> of the README.
readme_block() {
    local block
    block=$(awk -v mark="<!-- demo: $1 -->" '
        { sub(/[ \t\r]+$/, "") }
        $0 == mark              { wanted = 1; next }
        wanted && /^```sql$/    { inside = 1; next }
        inside && /^```$/       { exit }
        inside                  { print }
    ' "$readme")
    if [[ -z $block ]]; then
        echo "README.md has no SQL block \"demo: $1\"" >&2
        return 1
    fi
    printf '%s\n' "$block"
}

# psql in a state no ~/.psqlrc has changed, that stops at the first error.
run_psql() {
    PGCLIENTENCODING=UTF8 PSQL_PAGER='' psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# Makes a psql script of the README's job: each statement (it ends with a ; at
# the end of a line) is surrounded by what takes its time, and of a query's
# result only the first rows are shown.
timed() {
    awk -v show="$show_rows" '
        function run(    step, text) {
            text = toupper(code)
            step = "signatures"
            if (text ~ /^[ \t\n]*(SELECT|WITH)/) step = "pairs"
            else if (text ~ /BANDS/) step = "bands"
            print "SELECT clock_timestamp() AS start \\gset"
            # Two lines of heading, and one more to see whether there are more.
            if (step == "pairs") print "\\o |sed -n 1," show + 2 "p"
            printf "%s", statement
            print "\\set rows :ROW_COUNT"
            print "\\o"
            print "INSERT INTO demo_steps(step, seconds, rows) VALUES (\047" step "\047,"
            print "    extract(epoch FROM clock_timestamp() - :\047start\047), :rows);"
            if (step == "pairs")
                print "\\echo (:rows rows in all, the first " show " at most are shown)"
            statement = code = ""
        }
        {
            statement = statement $0 "\n"
            sub(/[ \t]*--.*$/, "")    # a comment is run, but not looked at
            if ($0 != "") code = code $0 "\n"
            if (/;[ \t]*$/) run()
        }
        END { if (code != "") run() }
    '
}

setup=$(readme_block setup)
job=$(readme_block job)

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

printf '\nNow the statements of README.md:\n\n%s\n\n' "$job"
timed <<<"$job" | run_psql -P footer=off

run_psql -v show="$show_pairs" -P footer=off <<'SQL'
-- All of its own statements below are about the tables the README has made.
CREATE TEMP TABLE demo_candidates AS
SELECT DISTINCT a.id AS a, b.id AS b
FROM article_bands a JOIN article_bands b ON a.key = b.key AND a.id < b.id;

-- Exact copies are the least interesting near-duplicates: they come last. The
-- exact similarity, the slow one, is computed for the most promising pairs only.
CREATE TEMP TABLE demo_shown AS
WITH best AS MATERIALIZED (
    SELECT a.id AS a, b.id AS b, a.body = b.body AS same, a.body AS a_body, b.body AS b_body,
           minhash_similarity(a.sig, b.sig) AS estimated
    FROM demo_candidates c JOIN articles a ON a.id = c.a JOIN articles b ON b.id = c.b
    ORDER BY same, estimated DESC, a.id, b.id
    LIMIT 5 * :show
)
SELECT a, b, same, estimated, shingle_jaccard(a_body, b_body) AS exact
FROM best;

\echo
\echo The :show most similar pairs by name (files that are exact copies last):
SELECT fa.name AS file, fb.name AS near_duplicate,
       round(s.estimated::numeric, 3) AS estimated, round(s.exact::numeric, 3) AS exact
FROM demo_shown s JOIN demo_files fa ON fa.id = s.a JOIN demo_files fb ON fb.id = s.b
ORDER BY s.same, s.exact DESC, s.estimated DESC, s.a, s.b
LIMIT :show;

SELECT sum(cardinality(shingles(body))) AS shingles FROM articles \gset

\echo Summary:
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' '
SELECT rpad(what, 22), lpad(value, 14) FROM (
    SELECT 1 AS n, 'documents' AS what, to_char(count(*), 'FM999,999,999,999') AS value
    FROM articles
    UNION ALL SELECT 2, 'shingles', to_char(:shingles, 'FM999,999,999,999')
    UNION ALL SELECT 3, 'candidate pairs', to_char(count(*), 'FM999,999,999,999')
    FROM demo_candidates
    UNION ALL SELECT 4, 'near-duplicate pairs', to_char(rows, 'FM999,999,999,990')
    FROM demo_steps WHERE n = (SELECT max(n) FROM demo_steps WHERE step = 'pairs')
    UNION ALL SELECT 4 + min(n), 'seconds: ' || step, to_char(sum(seconds), 'FM999990.00')
    FROM demo_steps GROUP BY step
) AS summary ORDER BY n;
SQL
