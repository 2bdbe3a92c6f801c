#!/usr/bin/env bash
# Finds the PostgreSQL to build for, and prints its pg_config. On a Debian machine this installs what is missing: the
# server's headers, the build's packages, and the packages named.
#
#   get_postgresql.sh [PACKAGE...]
#
# Uses the first of these that exists: PG_CONFIG; the pg_config in the PATH, if it belongs to no package; the newest
# server that Debian packages have installed, if it is not too old; the server of the distribution.
#
# Environment: PG_CONFIG  pg_config of the PostgreSQL to use
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
oldest=15
packaged=/usr/lib/postgresql      # Debian has a directory for each version here

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

# Whether everything that is needed to build and run an extension is there, including the server.
is_complete() {
    local bindir
    bindir=$("$1" --bindir 2>/dev/null) && [[ -x $bindir/initdb && -x $bindir/postgres &&
        -e $("$1" --pgxs) && -e $("$1" --includedir-server)/postgres.h ]]
}

# The version of the Debian packages to which a pg_config belongs, if any. The pg_config of libpq-dev describes a server
# that may not be installed.
packaged_version() {
    "$1" --bindir 2>/dev/null | sed -n "s@^$packaged/\([0-9]*\)/bin\$@\1@p"
}

newest_packaged_server() {
    local server
    for server in "$packaged"/*/bin/postgres; do
        [[ ! -x $server ]] || basename "${server%/bin/postgres}"
    done | sort -n | tail -n 1
}

distribution_version() {
    LC_ALL=C apt-cache depends postgresql 2>/dev/null |
        sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1
}

# The version of a pg_config, or nothing.
major_version() {
    "$1" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'
}

pg_config=$(command -v "${PG_CONFIG:-pg_config}") || true
if [[ -n ${PG_CONFIG:-} && -z $(major_version "${pg_config:-false}") ]]; then
    fail "PG_CONFIG=$PG_CONFIG does not answer"
fi
# Prints its full path, because root, who installs, has another PATH.
[[ -z $pg_config || $pg_config == /* ]] || pg_config=$PWD/$pg_config

version=
if [[ -n $pg_config && -z $(packaged_version "$pg_config") ]] &&
    { [[ -n ${PG_CONFIG:-} ]] || is_complete "$pg_config"; }; then
    is_complete "$pg_config" || fail "the PostgreSQL of $pg_config has no server, or no headers for extensions"
    version=$(major_version "$pg_config")
elif command -v apt-get >/dev/null; then
    if [[ -n ${PG_CONFIG:-} ]]; then
        version=$(packaged_version "$pg_config")
    else
        version=$(newest_packaged_server)
        if [[ -n $version ]] && ((version < oldest)); then
            version=
        fi
    fi
    if [[ -z $version ]]; then
        version=$(distribution_version)
    fi
    if [[ -z $version ]]; then
        test/tools/install_packages.sh --update
        version=$(distribution_version)
    fi
    [[ -n $version ]] || fail "this distribution has no package 'postgresql'"
    pg_config=$packaged/$version/bin/pg_config
    set -- "postgresql-$version" "postgresql-server-dev-$version" "$@"
else
    fail "no PostgreSQL with headers for extensions: install it, or name one by PG_CONFIG=/path/to/pg_config"
fi

if ((version < oldest)); then
    fail "PostgreSQL $version is too old: minhash_lsh needs $oldest or later." \
        "To build for another one that is here: PG_CONFIG=/path/to/pg_config"
fi
test/tools/install_packages.sh g++ make perl libxxhash-dev "$@" >&2
is_complete "$pg_config" || fail "the PostgreSQL of $pg_config is still incomplete"
echo "building for $("$pg_config" --version) in $("$pg_config" --bindir)" >&2
echo "$pg_config"
