#!/usr/bin/env bash
# Build the extension with sanitizers, beside the ordinary build, and run tests with it.
#
#   sanitized.sh [ARG...]    arguments of make installcheck, e.g. REGRESS=bands
#
# The address sanitizer sees the stack, globals and memory of malloc; what palloc gives out lies
# within larger blocks. The undefined behaviour sanitizer sees all. Assertions are on: assert(), and
# Assert() in the extension's own code. Each ends the server at once, so that a test fails, and says
# in the server's log what was wrong.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/test/tools build=build/sanitized
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS -DUSE_ASSERT_CHECKING'

"$here/copy_project.sh" "$build"
cd "$build"
make -s -j"$(nproc)" all SANITIZE="$sanitize"

# The server itself is not sanitized, so the address sanitizer comes into it by LD_PRELOAD. What a
# server never frees is no leak; stacks stay where PostgreSQL measures them.
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
