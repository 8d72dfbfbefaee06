#!/bin/sh
# Checks that tools/quick names every room, and only existing tests.  rooms.sh ROOT BUILD
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
root=$1 build=$2
cd "$root" || exit 1
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

tools/quick --list >"$folder/list" || exit 1
{
	find src -mindepth 1 -maxdepth 1 -type d | sed 's,src/,,'
	echo tools
	echo packaging
	echo doc
	echo test/standin
} | sort >"$folder/wanted"
sed 's/:.*//' "$folder/list" | sort >"$folder/rooms"
diff "$folder/wanted" "$folder/rooms" || {
	echo "^ rooms that tools/quick does not have (<), or that do not exist (>)"
	failed=1
}
meson introspect --tests "$build" >"$folder/tests.json" || exit 1
python3 -c 'import json, sys
for test in json.load(sys.stdin):
	print(test["name"])' <"$folder/tests.json" | sort -u >"$folder/there"
[ -s "$folder/there" ] || exit 1
sed 's/^[^:]*: //' "$folder/list" | tr ',' '\n' | sed 's/^ //' | sort -u >"$folder/named"
# The toolkit of another machine may lack NVIDIA's runtime.
comm -23 "$folder/named" "$folder/there" | grep -v '^cudart\.' >"$folder/missing"
if [ -s "$folder/missing" ]; then
	echo "tools/quick names tests that do not exist:"
	cat "$folder/missing"
	failed=1
fi
[ "$(wc -l <"$folder/named")" -gt 50 ] || failed=1
exit $failed
