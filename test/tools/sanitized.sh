#!/usr/bin/env bash
# Builds the extension with sanitizers, separately from the ordinary build, and runs tests with it.
#
#   sanitized.sh [ARG...]    arguments of make installcheck, e.g. REGRESS=bands
#
# The address sanitizer watches the stack, globals and memory from malloc; the chunks that palloc returns are parts of
# larger blocks, so it does not tell them apart. The undefined behaviour sanitizer watches everything. Assertions are
# on: assert(), and Assert() in the extension's own code. Each finding ends the server at once, so that a test fails,
# and the server's log says what was wrong.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/test/tools build=build/sanitized
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS -DUSE_ASSERT_CHECKING'

"$here/copy_project.sh" "$build"
cd "$build"
make -s -j"$(nproc)" all SANITIZE="$sanitize"

# The server itself is not sanitized, so LD_PRELOAD loads the address sanitizer into it. Memory that a server never
# frees is not reported as a leak. Variables stay on the real stack, whose depth PostgreSQL measures.
preloaded=$(mktemp -d)
trap 'rm -rf "$preloaded"' EXIT
chmod 0755 "$preloaded"
g++ -shared -fPIC -o "$preloaded/sanitizers.so" test/tools/sanitizers.cpp
export SERVER_ENV="
    LD_PRELOAD=$(g++ -print-file-name=libasan.so):$preloaded/sanitizers.so
    ASAN_OPTIONS=abort_on_error=1:detect_leaks=0:detect_stack_use_after_return=0"
# shellcheck disable=SC2016  # expanded by the inner shell
"$here/private_postgres.sh" bash -euc '
    make -s install >/dev/null
    "$0/with_server.sh" make -s installcheck "$@"' "$here" "$@"
