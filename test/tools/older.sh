#!/usr/bin/env bash
# Tries README's first command where PostgreSQL is installed already, in chroots: `make demo` must work, and must leave
# servers and clusters as they are.
#
#   older.sh          in Debian 12, a server of an older minor release than the archive's newest, with a cluster that
#                     runs, and with one that is stopped; the library that is built with the newest headers runs on it.
#                     In Debian 13, two major versions, each with a cluster that runs
#   older.sh SUITE    only the cases of this release
#
# Needs root and debootstrap. Exits with status 77 if a chroot is impossible here. test/check.sh says what it appends to
# the file COUNTS.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# What must stay as it is: servers, clusters, and the process of each that runs.
state() {
    dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' 'postgresql-[0-9]*' 2>/dev/null | grep ' installed$'
    pg_lsclusters -h | awk '{ print $1, $2, $4 }'
    head -qn 1 /var/lib/postgresql/*/*/postmaster.pid 2>/dev/null || true
}

failed=0
# case_of 'NAME' CLUSTERS: runs the demonstration and compares the state before and after it. CLUSTERS is how many run.
case_of() {
    local before after=
    before=$(state)
    if [[ $(grep -c ' online$' <<<"$before") == "$2" ]] && make demo >demo.log 2>&1 && after=$(state) &&
        [[ $before == "$after" ]]; then
        echo "ok $1: $(grep -m 1 '^building for' demo.log)"
        echo 'passed 1' >>"$COUNTS"
    else
        tail -n 20 demo.log
        printf 'before:\n%s\nafter:\n%s\n' "$before" "${after:-$(state)}"
        printf 'failed 1\nFAILED %s\n' "$1" | tee -a "$COUNTS"
        failed=1
    fi
}

# Starts a cluster of a version. (Debian makes one for the first version only.) It listens on no port, since outside of
# the chroot another may listen there.
start() {
    [[ -e /etc/postgresql/$1/main ]] || pg_createcluster "$1" main >/dev/null
    pg_conftool "$1" main set listen_addresses ''
    pg_ctlcluster "$1" main start
}

version_of() {
    dpkg-query -W -f '${Version}' "$1"
}

case ${1:-}-${2:-} in
bookworm---inside)
    start 15
    case_of 'an older minor release, its cluster running' 1
    # Right after a point release of Debian, the two archives have the same version.
    [[ $(version_of postgresql-15) != "$(version_of postgresql-server-dev-15)" ]] ||
        echo 'but the archive has no later minor release'
    # The next case starts without headers.
    apt-get purge -y 'postgresql-server-dev-*' libxxhash-dev >/dev/null 2>&1
    pg_ctlcluster 15 main stop
    case_of 'an older minor release, its cluster stopped' 0
    ;;
trixie---inside)
    start 15
    start 17
    case_of 'two major versions' 2
    ;;
-)
    skipped=0
    for suite in bookworm trixie; do
        "${BASH_SOURCE[0]}" "$suite"
        case $? in
        0) ;;
        77) skipped=1 ;;
        *) failed=1 ;;
        esac
    done
    ((failed == 0)) || exit 1
    exit $((skipped == 0 ? 0 : 77))
    ;;
*)
    # shellcheck source=test/tools/chroot.sh
    source test/tools/chroot.sh
    make_chroot "$1"
    if [[ $1 == bookworm ]]; then
        # Later archives of this release have newer minor releases.
        inside apt-get install -y --no-install-recommends make postgresql-15 >&3 2>&1 || no_chroot 'no server'
        security=$(test/tools/debian_archive.sh Debian-Security) || no_chroot 'apt knows no archive of security updates'
        echo "deb $security $1-security main" >>"$chroot/etc/apt/sources.list"
    else
        echo "deb $(test/tools/debian_archive.sh) bookworm main" >>"$chroot/etc/apt/sources.list"
        printf 'Package: *\nPin: release n=bookworm\nPin-Priority: 100\n' >"$chroot/etc/apt/preferences.d/bookworm"
        inside apt-get update >&3 2>&1 || no_chroot 'apt-get update failed'
        inside apt-get install -y --no-install-recommends make postgresql-15 postgresql-17 >&3 2>&1 ||
            no_chroot 'no servers'
    fi
    inside apt-get update >&3 2>&1 || no_chroot 'apt-get update failed'
    fetch g++ libxxhash-dev "postgresql-server-dev-$([[ $1 == bookworm ]] && echo 15 || echo 17)"
    inside env COUNTS=/counts /minhash_lsh/test/tools/older.sh "$1" --inside
    status=$?
    cat "$chroot/counts" >>"${COUNTS:-/dev/null}"
    exit "$status"
    ;;
esac
exit "$failed"
