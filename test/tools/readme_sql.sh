#!/usr/bin/env bash
# Print the ```sql blocks of README.md, with an empty line between them: sql/readme.sql, by which
# pg_regress runs what users are told to type.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

awk '
    inside && /^```$/       { inside = 0; next }
    !inside && /^```sql$/   { inside = 1; if (blocks++) print ""; next }
    inside                  { print }
    END {
        if (inside) { print "README.md: the last ```sql block has no end" > "/dev/stderr"; exit 1 }
        if (!blocks) { print "README.md has no ```sql block" > "/dev/stderr"; exit 1 }
    }
' README.md
