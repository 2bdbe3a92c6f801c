# Source this file to get a fresh chroot of a Debian release, which is removed when the calling script ends.
#
#   make_chroot SUITE      with the checkout in /minhash_lsh; experimental means sid, with that archive added
#   fetch PACKAGE...       downloads packages without installing them: a package missing in the archive fails no test
#   inside COMMAND...      runs it in the chroot, as the first process of a namespace; with --net among $namespaces,
#                          no other process listens there, and no other host answers
#
# Needs root and debootstrap. Ends the script with status 77 if a chroot is impossible here. Mounts and processes have
# their own namespaces, so they are gone with the script, however it ends. Sets $chroot to the directory.
chroot=$(mktemp -d /var/tmp/chroot.XXXXXX)
trap 'rm -rf --one-file-system "$chroot" "$chroot.log"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

no_chroot() {
    echo "no chroot of $suite: $1"
    tail -n 20 "$chroot.log"
    exit 77
}

namespaces=(--mount --pid)
inside() {
    # shellcheck disable=SC2016  # expanded there
    unshare "${namespaces[@]}" --fork --kill-child bash -c '
        set -e
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs tmpfs "$1/dev/shm"
        [[ ! -x "$1/sbin/ip" ]] || chroot "$1" /sbin/ip link set lo up
        exec chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
    ' bash "$chroot" "$@" </dev/null
}

make_chroot() {
    local release=$1 mirror script
    suite=$1
    exec 3>"$chroot.log"
    mirror=$(test/tools/debian_archive.sh) || no_chroot 'apt knows no Debian archive'
    # experimental is not a complete release. A release that debootstrap does not know is made in the same way as sid.
    [[ $suite != experimental ]] || release=sid
    script=/usr/share/debootstrap/scripts/$release
    [[ -e $script ]] || script=${script%/*}/sid
    debootstrap --variant=minbase "$release" "$chroot" "$mirror" "$script" >&3 2>&1 ||
        no_chroot 'debootstrap failed'

    # The package lists of testing may be older than their own limit allows.
    printf "deb $mirror %s main\n" "$release" "$suite" | sort -u >"$chroot/etc/apt/sources.list"
    echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/90lane"
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d"
    chmod +x "$chroot/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$chroot/etc/"
    echo force-unsafe-io >"$chroot/etc/dpkg/dpkg.cfg.d/lane"
    inside apt-get update >&3 2>&1 || no_chroot 'apt-get update failed'

    # The server's user must be able to enter, too.
    chmod 755 "$chroot"
    test/tools/copy_project.sh "$chroot/minhash_lsh"
}

fetch() {
    inside apt-get install -y --no-install-recommends --download-only "$@" >&3 2>&1 ||
        no_chroot 'packages are missing'
}
