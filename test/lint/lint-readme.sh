#!/usr/bin/env bash
# sql/readme.sql is the SQL of README.md, so that pg_regress runs every line users are shown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for file in README.md sql/readme.sql; do
    if [[ ! -e $file ]]; then
        echo "$file is missing"
        exit 1
    fi
done
if ! test/tools/readme_sql.sh |
    diff --label README.md --label sql/readme.sql -u - sql/readme.sql; then
    echo "to cure: test/tools/readme_sql.sh > sql/readme.sql (and look at expected/readme.out)"
    exit 1
fi
