#!/bin/sh
# Checks that every room has tests of its own, in a suite room-NAME, and that no two tests have one
# name.  rooms.sh ROOT BUILD
set -u
export LC_ALL=C # order of names
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

cd "$1" || exit 1
meson introspect --tests "$2" >"$folder/tests" || exit 1
{
	find src -mindepth 1 -maxdepth 1 -type d | sed 's,src/,,'
	printf '%s\n' doc packaging standin tools
} | sort >"$folder/wanted"
grep -o '[":]room-[a-z]*' "$folder/tests" | sed 's/.*room-//' | sort -u >"$folder/rooms"
diff "$folder/wanted" "$folder/rooms" || {
	echo "^ rooms without tests (<), or tests of rooms that do not exist (>)"
	failed=1
}
grep -o '"name": "[^"]*"' "$folder/tests" | sort | uniq -d | grep . && {
	echo "^ names of two tests"
	failed=1
}
exit $failed
