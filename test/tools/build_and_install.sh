#!/usr/bin/env bash
# From a fresh machine to an installed extension: installs the Debian packages that the build needs
# and those named, builds, and installs the extension, with sudo where that is needed.
#
#   build_and_install.sh [PACKAGE...]
#
# Environment: PG_CONFIG  pg_config of the PostgreSQL to use; without it, and without one in the
#                         PATH, Debian 12's PostgreSQL 15 is installed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
pg_config=${PG_CONFIG:-pg_config}

# A PostgreSQL that can build and run extensions is taken as it is. Debian's pg_config exists
# without one too, and then names the version to be completed.
packages=(g++ make libxxhash-dev)
version=$("$pg_config" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p') || true
if [[ -z $version ]] || [[ ! -e $("$pg_config" --pgxs) ]] ||
    [[ ! -x $("$pg_config" --bindir)/initdb ]]; then
    if [[ -n ${PG_CONFIG:-} && -z $version ]]; then
        echo "$0: PG_CONFIG=$PG_CONFIG does not answer" >&2
        exit 1
    fi
    packages+=("postgresql-${version:-15}" "postgresql-server-dev-${version:-15}")
fi
test/tools/install_packages.sh "${packages[@]}" "$@"

# Built as who calls, so that nothing in the checkout belongs to root.
make -s -j"$(nproc)" all PG_CONFIG="$pg_config"
as_root=()
if ((EUID != 0)) && [[ ! -w $("$pg_config" --pkglibdir) ]]; then
    as_root=(sudo)
fi
"${as_root[@]}" make -s install PG_CONFIG="$pg_config"
