#!/usr/bin/env bash
# Checks which part of the code includes which. Includes may only go down the layers, never up. Each file of the glue
# must itself include the PostgreSQL headers that it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

# Each part may include the parts named here. The part [pg] has only the files of src/pg itself, not of its folders.
declare -A may=(
    [core]='core'
    [bulk/memory]='bulk/memory'
    [bulk/buckets]='core bulk/memory bulk/buckets'
    [bulk/tuning]='core bulk/memory bulk/tuning'
    [bulk/sets]='core bulk/memory bulk/buckets bulk/sets'
    [bulk/components]='core bulk/memory bulk/buckets bulk/components'
    [bulk/work]='bulk/memory bulk/work'
    [bulk/rows]='core bulk/memory bulk/work bulk/buckets bulk/tuning bulk/sets bulk/components bulk/rows'
    [bulk/search]='core bulk/memory bulk/buckets bulk/tuning bulk/sets bulk/components bulk/rows bulk/search'
    [bulk/containment]='core bulk/memory bulk/tuning bulk/sets bulk/components bulk/rows bulk/search bulk/containment'
    [bulk/weighted]='core bulk/memory bulk/buckets bulk/tuning bulk/sets bulk/components bulk/rows bulk/search bulk/weighted'
    [bulk/evaluation]='core bulk/memory bulk/buckets bulk/tuning bulk/sets bulk/rows bulk/search bulk/evaluation'
    [pg]='core pg'
    [pg/signature]='core pg pg/signature'
    [pg/similar]='core pg pg/signature pg/bands pg/similar'
    [pg/bands]='core pg pg/signature pg/bands'
    [pg/bulk]='core bulk pg pg/signature pg/bulk'
    [pg/index/format]='core pg pg/signature pg/similar pg/index/format'
    [pg/index]='core pg pg/index/format pg/index'
    [pg/index/write]='core pg pg/signature pg/index/format pg/index pg/index/write'
    [pg/index/read]='core pg pg/signature pg/similar pg/index/format pg/index pg/index/read'
    [pg/index/check]='core pg pg/index/format pg/index pg/index/write pg/index/check'
    [all]='core bulk pg pg/signature pg/similar pg/bands pg/bulk pg/index'
)

# The part that a path below src/ belongs to. module.cpp, where the library starts, may include everything.
part_of() {
    case $1 in
    pg/module.cpp) echo all ;;
    pg/*/* | bulk/*/*) echo "${1%/*}" ;;
    *) echo "${1%%/*}" ;;
    esac
}

while IFS=: read -r file included; do
    from=$(part_of "${file#src/}")
    to=$(part_of "$included")
    if [[ " ${may[$from]-} " != *" $to "* && ! ($to == bulk/* && " ${may[$from]-} " == *' bulk '*) ]]; then
        echo "$file includes $included, but $from may include only: ${may[$from]:-nothing (name it here)}"
        status=1
    fi
done < <(grep -rPo '^\s*#\s*include\s*"\K(core|bulk|pg)/[^"]+' src --include='*.cpp' --include='*.h')

# pg/glue.h gives every file only these headers. If it included more, a file's includes would not show what the file
# uses.
while IFS=: read -r file included; do
    echo "$file includes $included: include it in the files that use it"
    status=1
done < <(grep -HPo '^\s*#\s*include\s*"\K(?!postgres\.h|fmgr\.h|varatt\.h|pg/compat\.h)[^"]+' \
    src/pg/glue.h src/pg/compat.h)

# Names that many files use, and the header that each name needs. A file that uses such a name must include the header,
# or the file's own header must.
uses() {
    local header=$1 pattern=$2 file
    while read -r file; do
        grep -qsF "#include \"$header\"" "$file" "${file%.*}.h" || {
            echo "$file uses $pattern without including $header"
            status=1
        }
    done < <(grep -rlP "^(?:(?!//).)*\b(?:$pattern)" src/pg --include='*.cpp' --include='*.h')
}
uses access/genam.h 'systable_|index_(open|close)\b'
uses access/htup_details.h 'GETSTRUCT\b|heap_(form_tuple|getattr|attisnull)\b'
uses access/relation.h '(try_)?relation_(open|close)\b'
uses access/table.h 'table_(open|close)\b'
uses catalog/pg_type.h '(BOOL|INT2|INT4|INT8|INT8ARRAY|FLOAT8|TEXT|REGCLASS)OID\b'
uses commands/trigger.h 'TriggerData\b|TRIGGER_FIRED_|CALLED_AS_TRIGGER\b'
uses common/hashfn.h 'hash_(any|bytes_extended|combine64)\b'
uses executor/spi.h 'SPI_|SPIPlanPtr\b'
uses funcapi.h 'get_call_result_type\b|BlessTupleDesc\b'
uses lib/stringinfo.h 'StringInfo|(append|init)StringInfo'
uses libpq/pqformat.h 'pq_(?!parse_errornotice|redirect_)'
uses mb/pg_wchar.h 'pg_mb|GetDatabaseEncoding\b|PG_UTF8\b'
uses miscadmin.h 'CHECK_FOR_INTERRUPTS\b|GetUserId|(START|END)_CRIT_SECTION\b|(maintenance_)?work_mem\b'
uses storage/bufmgr.h '(Read|Lock|Release|UnlockRelease|MarkBuffer)Buffer|MarkBufferDirty\b|BUFFER_LOCK_'
uses storage/fd.h 'OpenTemporaryFile\b|File(Read|Write|Close)\b'
uses utils/acl.h 'ACLCHECK_|pg_(class|attribute)_aclcheck\b'
uses utils/array.h 'ArrayType\b|PG_GETARG_ARRAYTYPE_P\b|(de)?construct_array\b|ARR_'
uses utils/builtins.h 'quote_identifier\b|text_to_cstring\b|cstring_to_text|CStringGetTextDatum\b|format_type_be'
uses utils/datum.h 'datum(Copy|GetSize|_image_)'
uses utils/guc.h 'DefineCustom|GUC_|PGC_'
uses utils/lsyscache.h 'get_(rel|att|func|namespace|array)_?\w*(name|id|type|kind|num)\('
uses utils/memutils.h 'AllocSetContextCreate\b|MemoryContext(Reset|Delete|MemAllocated)\b|TopMemoryContext\b'
uses utils/rel.h 'RelationGet(Descr|Relid|RelationName|Namespace)\b|RelationNeedsWAL\b'
uses utils/snapmgr.h 'Get(Latest|Transaction|Active)Snapshot\b|(Unr|R)egisterSnapshot\b'
uses utils/syscache.h 'SearchSysCache|GetSysCache|ReleaseSysCache\b'
uses utils/tuplestore.h 'tuplestore_'
uses utils/typcache.h 'lookup_type_cache\b|TYPECACHE_'
exit $status
