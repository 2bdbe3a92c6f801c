#!/usr/bin/env bash
# Checks the built library: it must need nothing but libc, and export nothing but its SQL functions. PostgreSQL loads
# libraries with RTLD_GLOBAL, so any other exported symbol could replace, or be replaced by, one of the same name in
# another extension.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
library=minhash_lsh.so

# wrong 'what' "lines": prints both if there are any lines.
wrong() {
    [[ -n $2 ]] || return 0
    printf '%s:\n%s\n' "$1" "$2"
    status=1
}

# The names in nm's output, without versions.
names() {
    awk '{ print $NF }' | sed 's/@.*//' | sort -u
}

objects=$(find src -name '*.o' | sort)
core=$(grep -E '^src/(core|bulk)/' <<<"$objects" || true)
if [[ ! -e $library || -z $core ]]; then
    echo "$library is not built: run make"
    exit 1
fi

# __cxa_finalize belongs to libc and is in every shared library.
wrong "$library needs the C++ runtime" "$(nm -D --undefined-only "$library" | names |
    grep -E '^(_Z|__cxa_|_Unwind|__gxx|__glibcxx)' | grep -vx __cxa_finalize)"
wrong "$library needs libraries" "$(readelf -d "$library" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux.*)\.so')"
# shellcheck disable=SC2086  # a list of files
wrong 'the core or the engine allocates memory' "$(nm -u $core | names |
    grep -xE '(m|c|re)alloc|free|aligned_alloc|posix_memalign|_Zn[wa].*|_Zd[la].*')"

# The symbols that the install script names, and those that PostgreSQL needs to load it.
wanted=$(
    # shellcheck disable=SC2016,SC2046  # Perl's variables; a list of files
    perl -0777 -ne '
        s/^\s*--.*$//mg;
        while (/CREATE\s+FUNCTION\s+(\w+)\s*\((.*?);/gs) {
            my ($name, $rest) = ($1, $2);
            next unless $rest =~ /LANGUAGE\s+C\b/;
            my ($symbol) = $rest =~ /AS\s+\x27MODULE_PATHNAME\x27\s*,\s*\x27(\w+)\x27/;
            print $symbol // $name, "\n";
        }
    ' src/sql/[0-9]*.sql $(find src/sql/upgrade -name '*.sql' 2>/dev/null) |
        sed 'p; s/^/pg_finfo_/' | sort -u
)
exported=$(nm -D --defined-only "$library" | names)
wrong "$library exports what is no SQL function" "$(
    comm -13 <(printf '%s\n' "$wanted") <(printf '%s\n' "$exported") |
        grep -vxE 'Pg_magic_func|_PG_init|minhash_lsh_(bulk|build)_worker' | c++filt)"
wrong "SQL functions that $library does not export" "$(
    comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$exported"))"

# Objects built for special instructions must share no inline function with the others: the linker keeps one copy for
# all of them, which might be one that this processor cannot run.
while read -r object; do
    [[ -n $object ]] || continue
    wrong "$object shares inline functions" "$(nm -C "$object" | grep -E '^[0-9a-f]* [Ww] ')"
done < <(grep -E '/kernels[^/]*\.o$' <<<"$core")
exit $status
