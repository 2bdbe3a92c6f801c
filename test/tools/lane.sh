#!/usr/bin/env bash
# One lane of CI: what a user of another Debian release does, for its PostgreSQL. In a fresh chroot
# this builds without a warning, shows the demonstration (the two count as one test), and runs the
# rings that need a server.
#
#   lane.sh SUITE          for instance trixie
#
# Needs root and debootstrap. Ends with `N passed, N failed`; with status 77 if there can be no such
# chroot here, or the archive does not have its packages. Mounts and processes are in namespaces of
# their own, so they are gone when it ends, however it ends; and then the chroot is.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
suite=$1
if [[ ${2:-} == --inside ]]; then
    make demo 2>&1 | tee demo.log
    if ((PIPESTATUS[0] == 0)) && ! grep -E '\.(cpp|h|inc):[0-9:]+ warning:' demo.log; then
        demo='1 passed, 0 failed' status=0
    else
        demo='0 passed, 1 failed' status=1
    fi
    test/check.sh regress isolation tap || status=1
    echo
    echo "$demo"
    exit "$status"
fi

root=$(mktemp -d /var/tmp/lane.XXXXXX)
trap 'rm -rf --one-file-system "$root" "$root.log"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

skipped() {
    echo "no chroot of $suite: $1"
    tail -n 20 "$root.log"
    exit 77
}

# inside COMMAND...: runs it in the chroot, as the first process of a namespace.
inside() {
    # shellcheck disable=SC2016  # expanded there
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs tmpfs "$1/dev/shm"
        exec chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
    ' bash "$root" "$@" </dev/null
}

# The archive that this machine uses. A release that debootstrap does not know is made as sid is.
exec 3>"$root.log"
# shellcheck disable=SC2016  # apt's own variables
mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
    sed -n 's/^Debian Debian //p' | head -n 1)
[[ -n $mirror ]] || skipped 'apt knows no Debian archive'
script=/usr/share/debootstrap/scripts/$suite
[[ -e $script ]] || script=${script%/*}/sid
debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script" >&3 2>&1 || skipped 'debootstrap failed'

# Testing's lists may be older than they promise. Packages are fetched here, as an archive that lacks
# one is no failed test; they are installed by what is tested.
echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90lane"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$root/etc/"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/lane"
inside apt-get update >&3 2>&1 || skipped 'apt-get update failed'
inside apt-get install -y --no-install-recommends make >&3 2>&1 || skipped 'apt-get install make failed'
inside apt-get install -y --no-install-recommends --download-only g++ libxxhash-dev postgresql \
    postgresql-server-dev-all libipc-run-perl >&3 2>&1 || skipped 'packages are missing'

# The server's user enters, too.
chmod 755 "$root"
mkdir "$root/minhash_lsh"
test/tools/project_files.sh | tar -c -T - | tar -x -C "$root/minhash_lsh" --no-same-owner
inside /minhash_lsh/test/tools/lane.sh "$suite" --inside
