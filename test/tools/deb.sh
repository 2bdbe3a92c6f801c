#!/usr/bin/env bash
# Makes Debian packages as a build daemon does. In a fresh chroot of a release, it builds the source and the binary
# package for the release's PostgreSQL, checks them with lintian, installs them, and runs debian/tests as autopkgtest
# does.
#
#   deb.sh [SUITE]         default: this machine's release
#
# Needs root and debootstrap. The packages are in build/deb/SUITE once they are built and clean, even if their tests
# fail. Exits with status 77 if a chroot is impossible here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
if [[ ${2:-} == --test ]]; then
    # The tests have their own network, because their cluster listens on port 5432, which may be in use outside.
    autopkgtest --no-built-binaries ../*.deb ./ -- null
    exit
fi
if [[ ${2:-} == --build ]]; then
    apt-get install -y --no-install-recommends build-essential fakeroot lintian autopkgtest iproute2 \
        postgresql-server-dev-all postgresql-common >/dev/null
    useradd --create-home builder
    chown -R builder: /minhash_lsh
    as_builder() { su builder -c "$*"; }
    version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
    tar -c --exclude=./debian --transform "s,^\.,minhash-lsh-$version," . |
        xz -T2 >"../minhash-lsh_$version.orig.tar.xz"
    as_builder pg_buildext updatecontrol
    apt-get build-dep -y --no-install-recommends ./ >/dev/null
    chmod 777 ..
    as_builder dpkg-buildpackage -us -uc || {
        cat build/*/regression.diffs
        exit 1
    }
    # The person who uploads the package adds an address, and the number of the bug that it closes. An older release
    # knows older standards and fewer fields.
    unknown=bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs
    unknown+=,newer-standards-version,unknown-field
    as_builder lintian --fail-on error,warning --suppress-tags "$unknown" ../minhash-lsh_"$version"-*.changes
    echo 'lintian: clean'
    apt-get install -y --no-install-recommends ../*.deb >/dev/null
    exit
fi

# shellcheck source=test/tools/chroot.sh
source test/tools/chroot.sh
make_chroot "$suite"
fetch build-essential fakeroot debhelper lintian autopkgtest iproute2 libxxhash-dev postgresql-all \
    postgresql-server-dev-all
inside /minhash_lsh/test/tools/deb.sh "$suite" --build
mkdir -p "build/deb/$suite"
cp "$chroot"/*minhash-lsh* "build/deb/$suite/"
ls "build/deb/$suite"
namespaces+=(--net)
inside /minhash_lsh/test/tools/deb.sh "$suite" --test
