#!/usr/bin/env bash
# Runs a command with its own PostgreSQL: what the command installs is visible to no other process, and is removed
# afterwards.
#
#   private_postgres.sh COMMAND [ARG...]
#
# COMMAND finds this PostgreSQL through PG_CONFIG. PostgreSQL finds its files relative to its programs, so the programs
# are copied and everything else is linked.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to copy
set -euo pipefail

if (($# == 0)); then
    echo "usage: $0 COMMAND [ARG...]" >&2
    exit 2
fi

# The programs beside the server: Debian's /usr/bin/pg_config is not one of them.
bindir=$("${PG_CONFIG:-pg_config}" --bindir)
directory() {
    "$bindir/pg_config" "--$1"
}

dir=$(mktemp -d /tmp/postgres.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 0755 "$dir"

mkdir -p "$dir$bindir"
cp -L "$bindir"/* "$dir$bindir"
for name in pkglibdir sharedir includedir-server; do
    from=$(directory "$name")
    mkdir -p "$dir$from"
    cp -RsT "$from" "$dir$from"
done

PG_CONFIG=$dir$bindir/pg_config "$@"
