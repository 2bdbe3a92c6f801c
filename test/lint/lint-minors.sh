#!/usr/bin/env bash
# Checks that the built library loads on earlier minor releases of the server, whatever headers it was built with: it
# may not need what later ones have added. Inline functions in the headers of later ones do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
library=minhash_lsh.so list=test/lint/later_symbols.txt

if [[ ! -e $library ]]; then
    echo "$library is not built: run make"
    exit 1
fi
later=$(sed 's/#.*//' "$list" | grep . | sort -u)
needed=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u)
# Without this, a change in nm's output would let everything pass.
if ! grep -qx palloc <<<"$needed"; then
    echo "cannot see what $library needs"
    exit 1
fi
missing=$(comm -12 <(printf '%s\n' "$later") <(printf '%s\n' "$needed"))
if [[ -n $missing ]]; then
    printf '%s needs what earlier minor releases lack (%s):\n%s\n' "$library" "$list" "$missing"
    exit 1
fi
