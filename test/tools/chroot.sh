# To be sourced: a fresh chroot of a Debian release, which is gone when the calling script ends.
#
#   make_chroot SUITE PACKAGE...   with the checkout in /minhash_lsh and the packages fetched, but
#                                  not installed: an archive that lacks one is no failed test
#   inside COMMAND...              runs it in the chroot, as the first process of a namespace
#
# Needs root and debootstrap. Ends the script with status 77 if there can be no such chroot here.
# Mounts and processes are in namespaces of their own, so they are gone with the script, however
# it ends. Sets chroot, the directory.
chroot=$(mktemp -d /var/tmp/chroot.XXXXXX)
trap 'rm -rf --one-file-system "$chroot" "$chroot.log"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

no_chroot() {
    echo "no chroot of $1: $2"
    tail -n 20 "$chroot.log"
    exit 77
}

inside() {
    # shellcheck disable=SC2016  # expanded there
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs tmpfs "$1/dev/shm"
        exec chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
    ' bash "$chroot" "$@" </dev/null
}

make_chroot() {
    local suite=$1 mirror script
    shift
    exec 3>"$chroot.log"
    # The archive that this machine uses. A release that debootstrap does not know is made as sid is.
    # shellcheck disable=SC2016  # apt's own variables
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
        sed -n 's/^Debian Debian //p' | head -n 1)
    [[ -n $mirror ]] || no_chroot "$suite" 'apt knows no Debian archive'
    script=/usr/share/debootstrap/scripts/$suite
    [[ -e $script ]] || script=${script%/*}/sid
    debootstrap --variant=minbase "$suite" "$chroot" "$mirror" "$script" >&3 2>&1 ||
        no_chroot "$suite" 'debootstrap failed'

    # Testing's lists may be older than they promise.
    echo "deb $mirror $suite main" >"$chroot/etc/apt/sources.list"
    echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/90lane"
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d"
    chmod +x "$chroot/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$chroot/etc/"
    echo force-unsafe-io >"$chroot/etc/dpkg/dpkg.cfg.d/lane"
    inside apt-get update >&3 2>&1 || no_chroot "$suite" 'apt-get update failed'
    inside apt-get install -y --no-install-recommends --download-only "$@" >&3 2>&1 ||
        no_chroot "$suite" 'packages are missing'

    # A server's user enters, too.
    chmod 755 "$chroot"
    mkdir "$chroot/minhash_lsh"
    test/tools/project_files.sh | tar -c -T - | tar -x -C "$chroot/minhash_lsh" --no-same-owner
}
