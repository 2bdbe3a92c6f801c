#!/usr/bin/env bash
# The core and the engine do not depend on PostgreSQL, and some things may appear in one place only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

# only_in 'what' 'Perl regular expression' folder 'file ...': prints the lines that match, in all files below the folder
# except those listed. Comments do not count.
only_in() {
    local what=$1 pattern=$2 folder=$3 allowed=" $4 " file found
    while read -r file; do
        [[ $allowed != *" $file "* ]] || continue
        found=$(sed 's@//.*@@' "$file" | grep -nP -e "$pattern") || continue
        printf '%s\n' "$what:"
        printf '%s\n' "$found" | sed "s@^@$file:@"
        status=1
    done < <(find "$folder" \( -name '*.cpp' -o -name '*.h' -o -name '*.inc' \) | sort)
}

only_in 'src/core includes its own files and the standard library only' \
    '^\s*#\s*include\s*+(?!"core/|<[a-z_]+>)' src/core \
    'src/core/hash.h src/core/simd/vector.h'
only_in 'src/bulk includes its own files, those of src/core and the standard library only' \
    '^\s*#\s*include\s*+(?!"bulk/|"core/|<[a-z_]+>)' src/bulk ''
only_in 'only src/core/hash.h includes xxhash.h' 'include.*xxhash' src src/core/hash.h
only_in 'only src/pg/glue.h includes postgres.h' 'include.*\bpostgres\.h' src src/pg/glue.h
only_in 'PostgreSQL versions differ in src/pg/compat alone' \
    'PG_VERSION_NUM|PG_MAJORVERSION' src 'src/pg/compat.h src/pg/compat.cpp'
only_in 'nothing needs to catch an error, as memory contexts clean up; one file throws it again with less context' \
    '\bPG_(TRY|CATCH|FINALLY)\b' src src/pg/internal_call.cpp
only_in 'nothing acts with the rights of another user' \
    '\b(Set(UserIdAndSecContext|UserIdAndContext|SessionAuthorization\w*|CurrentRoleId)|SwitchToUntrustedUser|'\
'BackgroundWorkerInitializeConnection\w*)\b|SECURITY DEFINER' src src/pg/owned_relation.cpp
exit $status
