#!/usr/bin/env bash
# Prints the ```sql blocks of a page as a test, so that pg_regress runs what users are told to type: README.md becomes
# sql/readme.sql, and doc/look-up.md becomes sql/doc_look_up.sql. Tests use the schema page instead of public.
#
#   page_sql.sh README.md
#   page_sql.sh --all        # writes the test of each page; then look at expected/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

print_sql() {
    awk '
        inside && /^```$/       { inside = 0; next }
        !inside && match($0, /^<!-- first: .* -->$/) {
            # The file whose functions the page uses.
            printf "%s\\getenv abs_srcdir PG_ABS_SRCDIR\n\\set file :abs_srcdir \047/%s\047\n", head "\n", $3
            print "\\set ECHO none\n\\i :file\n\\set ECHO all"
            blocks++
        }
        !inside && /^```sql$/   { inside = 1; print blocks++ ? "" : head; next }
        inside                  { gsub(/public\./, "page."); gsub(/SCHEMA public/, "SCHEMA page"); print }
        END {
            if (inside) { print FILENAME ": the last ```sql block has no end" > "/dev/stderr"; exit 1 }
            if (blocks) print foot
        }
    ' head="-- The SQL of $1, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;
" foot="
SET client_min_messages = warning;
DROP SCHEMA page CASCADE;" "$1"
}

# sql/doc_look_up.sql for doc/look-up.md
test_of() {
    local name=${1%.md}
    name=${name//[\/-]/_}
    echo "sql/${name,,}.sql"
}

if [[ $1 == --name ]]; then
    test_of "$2"
elif [[ $1 == --all ]]; then
    # tap/610 runs the SQL of this page, on several servers.
    for page in README.md doc/*.md; do
        if [[ $page != doc/distributed/more-than-one-server.md ]] && grep -q '^```sql$' "$page"; then
            print_sql "$page" >"$(test_of "$page")"
        fi
    done
else
    print_sql "$1"
fi
