#!/usr/bin/env bash
# Runs tests with a PostgreSQL that checks its assertions, which also enables the extension's own.
#
#   asserted.sh [ARG...]    arguments of make installcheck, e.g. REGRESS=bands
#
# Debian's packages are built without assertions. This script builds the same major version from the archive's source
# package, without what the tests do not use, in a directory that is removed afterwards. Lists of packages are fetched
# into a place of their own, so the machine's lists do not change. Exits with status 77 if the archive has no such
# source.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL whose major version to build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=$PWD/test/tools
major=$("${PG_CONFIG:-pg_config}" --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')

dir=$(mktemp -d /tmp/asserted.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$dir"

# Runs commands one after the other, and shows the output of one only if it fails.
quietly() {
    "$@" >"$dir/log" 2>&1 </dev/null || {
        tail -n 30 "$dir/log"
        return 1
    }
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb-src [signed-by=$keyring] $("$tools/debian_archive.sh") $release main" >"$dir/sources.list"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/source"
apt=(apt-get -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache")
quietly "${apt[@]}" update
cd "$dir/source"
if ! quietly "${apt[@]}" source --download-only "postgresql-$major"; then
    echo "no source of PostgreSQL $major in Debian's $release"
    exit 77
fi

tar -x --strip-components=1 -f postgresql-*.orig.tar.*
quietly ./configure --prefix="$dir/postgresql" --enable-cassert --without-readline --without-zlib --with-icu \
    CFLAGS=-O1
quietly make -j"$(nproc)" -C src all
quietly make -C src install
quietly make -C config install
cd "$tools/../.."

export PG_CONFIG=$dir/postgresql/bin/pg_config
"$tools/copy_project.sh" build/asserted
cd build/asserted
make -s -j"$(nproc)" all
make -s install >/dev/null
# shellcheck disable=SC2016  # expanded by the inner shell
"$tools/with_server.sh" bash -euc '
    [[ $(psql -XAtc "SHOW debug_assertions") == on ]]
    make -s installcheck "$@"' bash "$@"
