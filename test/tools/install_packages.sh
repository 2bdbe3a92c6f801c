#!/usr/bin/env bash
# Installs the named Debian packages, except those that are already installed.
#
#   install_packages.sh PACKAGE...
#   install_packages.sh --update      fetches the lists of packages, and installs nothing
#
# Does nothing (and needs no privilege and no network) if all are installed. A PostgreSQL server that is already here is
# never changed, because its clusters would be restarted: headers may be of a later minor release than the server, since
# the library that is built with them runs on both.
set -euo pipefail

if (($# == 0)); then
    echo "usage: $0 PACKAGE... | --update" >&2
    exit 2
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    # Other systems name their packages differently, so nothing can be checked
    # here; a missing tool shows itself in the steps that follow.
    echo "not a Debian system; make sure the equivalents of these are installed: $*" >&2
    exit 0
fi

# The wanted half of the state ("install ok") is left out on purpose: a package
# that is on hold is installed all the same.
missing=()
if [[ $1 != --update ]]; then
    for package in "$@"; do
        if ! dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed; then
            missing+=("$package")
        fi
    done
    if ((${#missing[@]} == 0)); then
        exit 0
    fi
fi

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "neither root nor sudo is there to install packages: ${missing[*]:-their lists}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Otherwise apt upgrades all installed packages that are built from the same source as a wanted one.
alone=(-o APT::Get::Upgrade-By-Source-Package=false)

# The output of apt-get is shown only if something goes wrong.
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -y "${alone[@]}" -o DPkg::Lock::Timeout=120 "$@" </dev/null >>"$log" 2>&1
}

clusters() {
    local path
    for path in /etc/postgresql/*/* /var/lib/postgresql/*/*; do
        if [[ -e $path ]]; then
            echo "$path"
        fi
    done
}

# A failed update is not final: the lists already here may be good enough.
apt update || echo "apt-get update failed, going on with the package lists at hand" >&2
if ((${#missing[@]} == 0)); then
    exit 0
fi

changed=$(LC_ALL=C apt-get -s "${alone[@]}" install --no-install-recommends "${missing[@]}" 2>/dev/null </dev/null |
    sed -nE -e 's/^Inst (postgresql-[0-9]+) \[([^]]*)\] \(([^ ]*).*/    \1 \2 -> \3/p' \
        -e 's/^Remv (postgresql-[0-9]+) .*/    \1 -> removed/p') || true
if [[ -n $changed ]]; then
    echo "nothing is installed, as these servers would be changed and their clusters restarted:
$changed
Install the packages yourself, or name another PostgreSQL by PG_CONFIG=/path/to/pg_config: ${missing[*]}" >&2
    exit 1
fi
echo "installing packages: ${missing[*]}" >&2
before=$(clusters)

status=0
apt install --no-install-recommends "${missing[@]}" || status=$?

# Installing the server package makes Debian create and start a cluster "main"
# that nobody asked for. Taking that one away again is simpler and safer than
# preventing it: switching it off needs a changed system configuration
# (createcluster.conf, policy-rc.d), which an interrupted run would leave
# behind. Only a cluster that appeared just now is dropped, never an older one,
# nor one that took over an older data directory.
for conf in /etc/postgresql/*/main; do
    version=$(basename "$(dirname "$conf")")
    if [[ -e $conf/postgresql.conf ]] &&
        ! grep -qxF -e "$conf" -e "/var/lib/postgresql/$version/main" <<<"$before"; then
        "${as_root[@]}" pg_dropcluster --stop "$version" main >>"$log" 2>&1 ||
            echo "could not remove the new PostgreSQL cluster $version/main" >&2
    fi
done

if ((status != 0)); then
    cat "$log" >&2
    echo "could not install: ${missing[*]}
To build for a PostgreSQL that these packages do not belong to, name it by PG_CONFIG=/path/to/pg_config." >&2
    exit 1
fi
