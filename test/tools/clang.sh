#!/usr/bin/env bash
# Builds the extension with clang, separately from the ordinary build, and runs tests with it.
#
#   clang.sh [ARG...]    arguments of make installcheck; by default some tests of each kind
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/test/tools build=build/clang
(($# > 0)) || set -- REGRESS='install golden bands shingles gin lsh_index pairs clusters containment' ISOLATION=

# These warnings come from the server's own headers and flags, which are made for gcc.
cxx='clang++ -Wno-ignored-attributes -Wno-unknown-warning-option'

"$here/copy_project.sh" "$build"
cd "$build"
make -s -j"$(nproc)" all CXX="$cxx"
# shellcheck disable=SC2016  # expanded by the inner shell
"$here/private_postgres.sh" bash -euc '
    make -s install CXX="$1" >/dev/null
    "$0/with_server.sh" make -s installcheck CXX="$1" "${@:2}"' "$here" "$cxx" "$@"
