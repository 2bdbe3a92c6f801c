#!/usr/bin/env bash
# Includes run down: which part of the code may include which. No include runs back up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

# A room of the glue may use the core, the door (the files of src/pg itself) and the rooms named here.
declare -A may=(
    [core]='core'
    [bulk]='core bulk'
    [pg]='core pg'
    [pg/signature]='core pg pg/signature'
    [pg/lsh]='core pg pg/signature pg/lsh'
    [pg/bulk]='core bulk pg pg/signature pg/lsh pg/bulk'
    [pg/band_table]='core pg pg/signature pg/lsh pg/band_table'
    [pg/index]='core pg pg/signature pg/lsh pg/index'
    [all]='core bulk pg pg/signature pg/lsh pg/bulk pg/band_table pg/index'
)

# The part that a path below src/ belongs to. module.cpp, where the library starts, may include all.
part_of() {
    case $1 in
    pg/module.cpp) echo all ;;
    pg/*/*) echo "${1%/*}" ;;
    *) echo "${1%%/*}" ;;
    esac
}

while IFS=: read -r file included; do
    from=$(part_of "${file#src/}")
    to=$(part_of "$included")
    if [[ " ${may[$from]-} " != *" $to "* ]]; then
        echo "$file includes $included, but $from may include only: ${may[$from]:-nothing (name it here)}"
        status=1
    fi
done < <(grep -rPo '^\s*#\s*include\s*"\K(core|bulk|pg)/[^"]+' src --include='*.cpp' --include='*.h')
exit $status
