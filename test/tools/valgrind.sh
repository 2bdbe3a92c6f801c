#!/usr/bin/env bash
# Runs tests with a server under valgrind's memcheck, which reports reads of memory that was never written, that was
# freed, or that is beyond what was requested. By hand: it takes 20 to 50 times as long.
#
#   valgrind.sh [ARG...]    arguments of make installcheck, e.g. REGRESS=bands ISOLATION=
#
# It sees most with a PostgreSQL compiled with -DUSE_VALGRIND, which tells valgrind what palloc returns and pfree takes
# back. With any other, it sees only accesses beyond whole blocks of memory. The script fails if an error has a function
# of the extension on its stack, or is a read of memory that the extension allocated and had not written. Errors of
# PostgreSQL alone are only counted. (Stacks name functions and source files if the extension was built with debugging
# information, otherwise only its library.)
#
# Environment: PG_CONFIG     pg_config of the PostgreSQL to use, where the extension is installed
#              SUPPRESSIONS  a file for valgrind: src/tools/valgrind.supp of PostgreSQL's source
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bindir=$("${PG_CONFIG:-pg_config}" --bindir)

dir=$(mktemp -d /tmp/valgrind.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$dir/logs"
chmod 0755 "$dir"
chmod 0777 "$dir/logs"
options="--quiet --error-limit=no --track-origins=yes --num-callers=40 --log-file=$dir/logs/%p"
if [[ -n ${SUPPRESSIONS:-} ]]; then
    cp "$SUPPRESSIONS" "$dir/suppressions"
    options+=" --suppressions=$dir/suppressions"
fi
printf '#!/bin/sh\nexec valgrind %s "%s/postgres" "$@"\n' "$options" "$bindir" >"$dir/postgres"
chmod 0755 "$dir/postgres"

status=0
SERVER_PROGRAM=$dir/postgres test/tools/with_server.sh make -s installcheck "$@" || status=$?
perl -0777 -ne '
    for (split /^==\d+== \n/m) {
        next unless /\S/;
        $errors++;
        if (/minhash|lsh_/) { $ours++; print "$_\n" }
    }
    END { printf "valgrind: %d errors with functions of minhash_lsh on the stack, %d others\n", $ours, $errors - $ours; exit !!$ours }
' "$dir"/logs/* || status=1
exit "$status"
