#!/usr/bin/env bash
# Builds the extension with sanitizers, separately from the ordinary build, and runs tests with it.
#
#   sanitized.sh                          regress, isolation, and a minute of random calls
#   sanitized.sh ARG...                   make installcheck with these arguments, e.g. REGRESS=bands
#   sanitized.sh calls [SECONDS [SEED]]   random calls of everything that the extension has (test/fuzz/calls.py)
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
    status=0
    if [[ ${1:-} != calls ]]; then
        "$0/with_server.sh" make -s installcheck "$@" || status=1
    fi
    if (($# == 0)) || [[ $1 == calls ]]; then
        if "$0/with_server.sh" /usr/bin/python3 test/fuzz/calls.py "${@:2}"; then
            echo "test calls ... ok"
        else
            echo "test calls ... FAILED"
            status=1
        fi
    fi
    exit $status' "$here" "$@"
