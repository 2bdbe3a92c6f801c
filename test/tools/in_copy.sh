#!/usr/bin/env bash
# Runs a script of the project in a copy of the project, for a checkout that cannot be written to. The copy is removed
# afterwards.
#
#   in_copy.sh SCRIPT [ARG...]    SCRIPT is relative to the project
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

copy=$(mktemp -d /tmp/minhash_lsh.XXXXXX)
trap 'rm -rf "$copy"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 0755 "$copy"
echo "this folder cannot be written to: working in a copy of it" >&2
test/tools/copy_project.sh "$copy"
"$copy/$1" "${@:2}"
