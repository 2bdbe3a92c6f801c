#!/usr/bin/env bash
# No file may name a path on somebody's machine, and every reminder must name its issue.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

# The patterns are written so that they do not match themselves.
search() {
    test/tools/project_files.sh | xargs -d '\n' grep -nIE -e "$1" -- || true
}
found=$(search '(^|[^A-Za-z0-9_.~-])/(home|work|Users)/')
if [[ -n $found ]]; then
    printf 'paths of one machine:\n%s\n' "$found"
    status=1
fi
found=$(search '\<(TO[D]O|FI[X]ME|XX[X])\>' | grep -vE '#[0-9]+' || true)
if [[ -n $found ]]; then
    printf 'reminders without an issue number (#123):\n%s\n' "$found"
    status=1
fi
exit $status
