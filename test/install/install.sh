#!/bin/bash
# Checks that the files of `meson install` work where they are installed, and that `uninstall`
# removes all of them.  install.sh BUILD PREFIX LIBDIR VERSION
set -u
export LC_ALL=C # messages of readelf
build=$1 prefix=$2 libdir=$3 version=$4
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
unset "${!HOTPIN@}" LD_PRELOAD LD_LIBRARY_PATH DESTDIR
root=$folder/root
lib=$root$prefix/$libdir

wrong() {
	echo "$*"
	failed=1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$root" >"$folder/log" 2>&1 || {
	cat "$folder/log"
	exit 1
}
(cd "$root$prefix" && find . ! -type d | sort) >"$folder/there"
{
	cat <<END
./bin/hotpin
./$libdir/libhotpin.so
./$libdir/libhotpin.so.0
./$libdir/libhotpin.so.$version
./$libdir/pkgconfig/hotpin.pc
./share/bash-completion/completions/hotpin
./share/hotpin/profile.schema.json
./share/man/man1/hotpin.1
END
	"$build/tools/hotpin" help | sed -n 's,^  \([a-z]\+\) .*,./share/man/man1/hotpin-\1.1,p'
} | sort >"$folder/wanted"
grep -v '^\./share/doc/' "$folder/there" | diff "$folder/wanted" - ||
	wrong "< should be installed, > should not"
sources=$(dirname "$0")/../..
manual=$root$prefix/share/doc/hotpin
{
	echo README.md
	(cd "$sources" && find doc ! -type d ! -name measured.json)
} | sort >"$folder/wanted"
(cd "$manual" && find . ! -type d) | sed 's,^\./,,' | sort | diff "$folder/wanted" - ||
	wrong "< should be in the manual, > should not"
python3 "$sources/test/rules/links.py" --installed "$manual" || wrong "links of the installed manual"
readelf -d "$lib/libhotpin.so" | grep -q 'soname: \[libhotpin\.so\.0\]' || wrong "not libhotpin.so.0"
readelf -d "$lib/libhotpin.so" "$root$prefix/bin/hotpin" | grep -E 'R(UN)?PATH' &&
	wrong "bound to the folder that it was built in"

# Preloaded by the tool, by name from the loader's path, and twice under different names.
maps() {
	"$@" cat /proc/self/maps | sed -n 's/.* //; /libhotpin/p' | sort -u
}
has() { # NAME LIST: one file, the installed one
	[ "$2" = "$(realpath "$lib/libhotpin.so")" ] || wrong "$1: the program has '$2'"
}
has "hotpin run" "$(maps "$root$prefix/bin/hotpin" run)"
has "by name" "$(maps env LD_LIBRARY_PATH="$lib" LD_PRELOAD=libhotpin.so)"
has "by two names" "$(maps env LD_LIBRARY_PATH="$lib" LD_PRELOAD="libhotpin.so $lib/libhotpin.so.0")"
# shellcheck disable=SC2016 # expanded in the program
list=$("$root$prefix/bin/hotpin" run sh -c 'echo "$LD_PRELOAD"')
[ "${list##*/}" = libhotpin.so ] || wrong "an upgrade would take away $list"
# Moved, and called by a link from elsewhere.
mv "$root" "$folder/moved"
ln -s "$folder/moved$prefix/bin/hotpin" "$folder/hotpin"
lib=$folder/moved$prefix/$libdir
has "moved" "$(maps "$folder/hotpin" run)"
mv "$folder/moved" "$root"
lib=$root$prefix/$libdir

if command -v pkg-config >/dev/null; then
	for variable in preload schema; do
		file=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --variable=$variable hotpin)
		[ -f "$root$file" ] || wrong "pkg-config names $file for $variable"
	done
	[ "$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --modversion hotpin)" = "$version" ] ||
		wrong "pkg-config names another version"
else
	echo "skipped: pkg-config is not installed"
fi
if command -v man >/dev/null; then
	for page in "$root$prefix"/share/man/man*/*; do
		LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null |
			grep . && wrong "$page"
		grep -q "\"hotpin $version\"" "$page" || wrong "$page: another version"
	done
else
	echo "skipped: the form of manual pages: man is not installed"
fi

(cd "$build" && meson --internal uninstall) >"$folder/log" 2>&1
find "$root" ! -type d 2>/dev/null | grep . && wrong "left after uninstall"
exit $failed
