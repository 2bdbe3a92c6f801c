#!/usr/bin/env bash
# Copies the project's own files into a directory, and leaves the objects of an earlier build there.
#
#   copy_project.sh DIRECTORY
set -euo pipefail
mkdir -p "$1"
to=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
find "$to" -type f ! -name '*.[od]' -delete
mapfile -t files < <(test/tools/project_files.sh)
cp -p --no-preserve=ownership --parents "${files[@]}" "$to"
