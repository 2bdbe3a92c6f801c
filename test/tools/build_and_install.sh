#!/usr/bin/env bash
# Builds the extension as the calling user, so that nothing in the checkout belongs to root, and installs it, with sudo
# if that is needed.
#
# Environment: PG_CONFIG  full path of the pg_config of the PostgreSQL to build for
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

make -s -j"$(nproc)" all PG_CONFIG="$PG_CONFIG"
as_root=()
if ((EUID != 0)) && [[ ! -w $("$PG_CONFIG" --pkglibdir) ]]; then
    as_root=(sudo)
fi
"${as_root[@]}" make -s install PG_CONFIG="$PG_CONFIG"
