#!/bin/sh
# Checks that every room has tests of its own: a suite room-NAME.  rooms.sh ROOT BUILD
set -u
export LC_ALL=C # order of names
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

cd "$1" || exit 1
{
	find src -mindepth 1 -maxdepth 1 -type d | sed 's,src/,,'
	printf '%s\n' doc packaging standin tools
} | sort >"$folder/wanted"
meson introspect --tests "$2" | grep -o '[":]room-[a-z]*' | sed 's/.*room-//' | sort -u >"$folder/rooms"
diff "$folder/wanted" "$folder/rooms" || {
	echo "^ rooms without tests (<), or tests of rooms that do not exist (>)"
	exit 1
}
