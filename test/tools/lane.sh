#!/usr/bin/env bash
# Runs one lane of CI: what a user of another Debian release does, with the release's PostgreSQL. In a fresh chroot it
# builds without a warning, shows the demonstration (the two count as one test), and runs the rings that need a server.
#
#   lane.sh SUITE          for instance trixie; experimental has future releases of PostgreSQL
#
# Needs root and debootstrap. Exits with status 77 if a chroot is impossible here, or if the archive does not have its
# packages. test/check.sh says what it appends to the file COUNTS.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
suite=$1
if [[ ${2:-} == --inside ]]; then
    make demo 2>&1 | tee demo.log
    if ((PIPESTATUS[0] == 0)) && ! grep -E '\.(cpp|h|inc):[0-9:]+ warning:' demo.log; then
        echo 'passed 1' >>"$COUNTS"
        status=0
    else
        printf 'failed 1\nFAILED demo\n' >>"$COUNTS"
        status=1
    fi
    # A new major version may have from the start what minor releases of the others have got.
    if [[ $suite != experimental ]] && ! test/lint/lint-minors.sh; then
        printf 'failed 1\nFAILED lint: minors\n' >>"$COUNTS"
        status=1
    fi
    rings=(regress isolation)
    # Only the lane with the newest PostgreSQL runs the longest ring. For Debian 12's PostgreSQL, that is a ring outside
    # of lanes.
    [[ $suite != experimental ]] || rings+=(tap)
    test/check.sh "${rings[@]}" || status=1
    exit "$status"
fi

# shellcheck source=test/tools/chroot.sh
source test/tools/chroot.sh
make_chroot "$suite"
packages=(make g++ libxxhash-dev libipc-run-perl python3-psycopg python3-psycopg2 python3-sqlalchemy)
installed=(make)
if [[ $suite == experimental ]]; then
    # The newest version there has to be requested by name; the tests use what is installed.
    version=$(inside apt-cache pkgnames postgresql-server-dev- | sed -n 's/.*-dev-\([0-9]*\)$/\1/p' | sort -n | tail -n 1)
    for package in "postgresql-$version" "postgresql-client-$version" libpq-dev libpq5 "postgresql-server-dev-$version"; do
        installed+=("$package/experimental")
    done
else
    packages+=(postgresql postgresql-server-dev-all)
fi
fetch "${packages[@]}" "${installed[@]}"
inside apt-get install -y --no-install-recommends "${installed[@]}" >&3 2>&1 || no_chroot 'packages cannot be installed'
inside env CHECK_JOBS="${CHECK_JOBS:-}" COUNTS=/counts /minhash_lsh/test/tools/lane.sh "$suite" --inside
status=$?
cat "$chroot/counts" >>"${COUNTS:-/dev/null}"
exit "$status"
