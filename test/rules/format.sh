#!/bin/sh
# Checks the form of C files with clang-format 14.  format.sh ROOT
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
cd "$1" || exit 1

judge=
for name in clang-format-14 clang-format; do
	$name --version 2>/dev/null | grep -q 'version 14\.' && judge=$name && break
done
[ -n "$judge" ] || { echo "clang-format 14 is not installed" && exit 77; }
files=$(find src include tools test -name '*.[ch]' 2>/dev/null)
# shellcheck disable=SC2086
if grep -nE '^[[:space:]]*\*[A-Za-z]+ .* [a-z]+ ' $files | grep -v '[;={]'; then
	echo "^ the judge has run a line of a comment into the next: its lines are too long"
	exit 1
fi
# shellcheck disable=SC2086
$judge --dry-run -Werror $files
