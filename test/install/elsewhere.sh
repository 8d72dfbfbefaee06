#!/bin/bash
# Checks that the tree of `meson dist` builds, passes the quick suites, and works installed in
# unusual places.
#
# elsewhere.sh [--no-tests]
#
# It takes the last commit.  Run it manually; it takes minutes.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git clone -q . "$folder/clone"
meson setup "$folder/build" "$folder/clone" -Dtests=disabled >"$folder/log"
meson dist -C "$folder/build" --no-tests --formats gztar >"$folder/log" 2>&1 || {
	cat "$folder/log"
	exit 1
}
tar -x -C "$folder" -f "$folder"/build/meson-dist/hotpin-*.tar.gz
cd "$folder"/hotpin-*

tests=enabled
[ "${1-}" != --no-tests ] || tests=disabled
meson setup "$folder/out" --prefix /opt/hotpin --libdir lib64 -Dtests=$tests >"$folder/log"
ninja -C "$folder/out" >"$folder/log" || {
	tail "$folder/log"
	exit 1
}
version=$(meson introspect --projectinfo "$folder/out" | sed 's/.*"version": "\([^"]*\)".*/\1/')
test/install/install.sh "$folder/out" /opt/hotpin lib64 "$version"
echo "installs in another prefix"
[ $tests = disabled ] || meson test -C "$folder/out" --no-rebuild --suite unit --suite rules | grep -E '^(Ok|Fail|Timeout|Skipped):'

# The commands that doc/getting-started.md tells users to type.
sed -n '/^<!-- test.install.elsewhere.sh -->$/,/^<!-- end -->$/s/^    //p' doc/getting-started.md >"$folder/commands"
# shellcheck disable=SC2016 # expanded in the program
printf '#!/bin/sh\necho "$LD_PRELOAD"\n' >app
chmod +x app
HOME=$folder/home bash -eu "$folder/commands" >"$folder/log" 2>&1 || {
	tail "$folder/log"
	exit 1
}
grep -q "$folder/home/.local/.*libhotpin.so" "$folder/log"
[ -z "$(find "$folder/home" ! -type d)" ]
echo "installs for a user, and uninstalls"

# The tool is three folders deep, and the library in a folder that the loader does not search.
meson configure "$folder/out" -Dbindir=libexec/deep/bin -Dlibdir=far/away/lib -Dtests=disabled
ninja -C "$folder/out" >"$folder/log"
DESTDIR=$folder/root meson install -C "$folder/out" --quiet >"$folder/log"
"$folder/root/opt/hotpin/libexec/deep/bin/hotpin" run cat /proc/self/maps |
	grep -q " $folder/root/opt/hotpin/far/away/lib/libhotpin.so"
echo "installs in odd folders"
