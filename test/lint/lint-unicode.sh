#!/usr/bin/env bash
# unicode_tables.inc must be exactly what unicode_tables.pl generates from Unicode 15.0.0, without later edits.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
data=/usr/share/unicode

if ! head -n 1 "$data/CaseFolding.txt" 2>/dev/null | grep -q 'CaseFolding-15\.0\.0'; then
    echo "skipped: no Unicode 15.0.0 in $data (Debian 12: package unicode-data)"
    exit 0
fi
if ! perl src/core/unicode_tables.pl "$data" | cmp - src/core/unicode_tables.inc; then
    echo "src/core/unicode_tables.inc is not what src/core/unicode_tables.pl makes"
    exit 1
fi
