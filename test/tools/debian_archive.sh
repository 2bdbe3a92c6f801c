#!/usr/bin/env bash
# Prints the address of the Debian archive that this machine installs packages from; fails if apt knows none.
#
#   debian_archive.sh [LABEL]    LABEL is Debian, the default, or Debian-Security
set -euo pipefail
# shellcheck disable=SC2016  # apt's own variables
apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n "s/^Debian ${1:-Debian} //p" | head -n 1 | grep .
