#!/usr/bin/env bash
# By hand: runs the recipe of doc/distributed/more-than-one-server.md on Citus, with a coordinator and three workers on this
# machine, and compares the result with one server.
#
#   citus.sh SOURCE
#
# SOURCE is a source tree of Citus for this PostgreSQL; 13.2.2 is for 15 to 17. A copy of it is built, and installed
# with the extension into a PostgreSQL that is removed afterwards. On Debian this needs libkrb5-dev, liblz4-dev,
# libpam0g-dev, libreadline-dev, libssl-dev, libxslt1-dev, libzstd-dev and flex.
#
# Environment: PG_CONFIG      pg_config of the PostgreSQL to use
#              MINHASH_TEXTS  how many texts; if set, citus_cost.pl runs instead of citus.pl, and prints costs.
#                             As root, it runs in its own network, so that only its own bytes are counted.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(realpath "${1:?usage: $0 SOURCE}")
if [[ ${2:-} != --on-copy ]]; then
    # The copy of PostgreSQL has no libpq, so Citus is built with the original one.
    CPPFLAGS=-I$("${PG_CONFIG:-pg_config}" --includedir)
    LDFLAGS=-L$("${PG_CONFIG:-pg_config}" --libdir)
    export CPPFLAGS LDFLAGS
    exec "$here/../tools/private_postgres.sh" "${BASH_SOURCE[0]}" "$source" --on-copy
fi

export PG_CONFIG
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -R "$source/." "$build"
touch "$build/configure" # newer than its sources, so that it is not made again
# Later minor versions of PostgreSQL 15 have a function of this name themselves.
if grep -q have_createdb_privilege "$("$PG_CONFIG" --includedir-server)/commands/dbcommands.h"; then
    sed -i 's/^have_createdb_privilege(void)/citus_&/; s/#define have_createdb_privilege()/#define citus_have_createdb_privilege()/' \
        "$build/src/include/pg_version_compat.h"
fi
(
    cd "$build"
    ./configure --quiet --without-libcurl PG_CONFIG="$PG_CONFIG"
    make -s -j2 with_llvm=no
    make -s install with_llvm=no
) >"$build/log" 2>&1 || { tail -n 20 "$build/log" >&2 && exit 1; }
make -s -C "$here/../.." install

run=()
test=citus.pl
[[ -z ${MINHASH_TEXTS:-} ]] || test=citus_cost.pl
if [[ -n ${MINHASH_TEXTS:-} ]] && unshare -n true 2>/dev/null; then
    # shellcheck disable=SC2016  # of the inner shell
    run=(unshare -n sh -c 'ip link set lo up && exec "$@"' sh)
fi
"${run[@]}" "$here/../tools/tap.sh" "test/distributed/$test"
