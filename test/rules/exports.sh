#!/bin/sh
# Checks that the library exports exactly the names that the .def lists state.
#
# exports.sh LIBRARY ROOT
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
library=$1 root=$2
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# Exports outside of the lists: the hooks of the loader, other names of free(), and functions that
# NVTX calls.
others='InitializeInjectionNvtx InitializeInjectionNvtx2 dlsym dlopen dlmopen cfree free_sized free_aligned_sized'

# A row is a name, or a pair of names if its kind ends with the suffix of the second.
{
	sed -n 's/^\(DRIVER\|WRAPPED\|EXPOSES\)[_A-Z]*(\([A-Za-z0-9_]*\),.*/\2/p' "$root/src/real/driver.def"
	sed -n 's/^[_A-Z]*_PTSZ(\([A-Za-z0-9_]*\),.*/\1_ptsz/p; s/^[_A-Z]*_PTDS(\([A-Za-z0-9_]*\),.*/\1_ptds/p' \
		"$root/src/real/driver.def"
} >"$folder/driver"
sed -n 's/^\(LIBC\|KERNEL\)(\([A-Za-z0-9_]*\)[,)].*/\2/p' "$root/src/real/libc.def" >"$folder/libc"
if [ ! -s "$folder/driver" ] || [ ! -s "$folder/libc" ]; then
	echo "no names found in driver.def or libc.def"
	exit 1
fi

# shellcheck disable=SC2086
{
	cat "$folder/driver" "$folder/libc"
	printf '%s\n' $others
} | sort >"$folder/wanted"
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$folder/there"
if ! diff "$folder/wanted" "$folder/there" >"$folder/difference"; then
	sed -n 's/^</not exported:/p; s/^>/exported, but in no list:/p' "$folder/difference"
	failed=1
fi

# Names in the version script are those of libc.def and the others.
sed 's/global://; s/local://; s,/\*.*\*/,,; /^ \*/d; /^\/\*/d' "$root/src/libhotpin.map" | tr ';' '\n' | tr -d ' \t{}' |
	grep -E '^[A-Za-z0-9_]+$' | sort >"$folder/map"
# shellcheck disable=SC2086
{
	cat "$folder/libc"
	printf '%s\n' $others
} | sort | diff - "$folder/map" || {
	echo "libhotpin.map and libc.def differ (<: missing in the map)"
	failed=1
}
echo "$(wc -l <"$folder/there") names exported"
exit $failed
