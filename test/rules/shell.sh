#!/bin/sh
# Checks all scripts with shellcheck.  shell.sh ROOT
set -u
cd "$1" || exit 1
command -v shellcheck >/dev/null || { echo "shellcheck is not installed" && exit 77; }
# shellcheck disable=SC2046
shellcheck -x $(grep -rlE '^#!/bin/(ba)?sh' tools test .ci)
