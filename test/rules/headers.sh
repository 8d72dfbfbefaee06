#!/bin/sh
# Checks that every header compiles alone, as C, and has its guard.  headers.sh ROOT CUDA-INCLUDE
set -u
root=$1 cuda=$2
cd "$root" || exit 1
failed=0 count=0

# One compiler is enough: the files that include a header are compiled with both.
compiler=$(command -v gcc || command -v clang) || { echo "there is no compiler" && exit 77; }

for header in $(find src include tools -name '*.h' 2>/dev/null | sort) test/harness/*.h test/standin/standin.h; do
	[ -f "$header" ] || continue
	newer=
	case $header in
	src/*) name=${header#src/} ;;
	include/*) name=${header#include/} ;;
	test/*) name=$header newer=-Itest/newer ;;
	*) name=$header ;;
	esac
	# The build compiles a header alone if its .c file includes it first (includes.py).
	compiled=
	case $header in src/* | tools/*) [ ! -f "${header%.h}.c" ] || compiled=1 ;; esac
	[ -n "$compiled" ] || echo "#include \"$name\"" | $compiler -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra \
		-Wmissing-prototypes -Wstrict-prototypes -Wundef -Wno-unused-function \
		-Wno-unused-variable -Wno-unused-macros -Werror \
		$newer -Isrc -Itools -Iinclude -Itest -I. -isystem "$cuda" -x c - || {
		echo "$header: does not compile alone"
		failed=1
	}
	# HP_ROOM_FILE_H, or STANDIN_FILE_H; the repository's folder is no part of the name.
	guard=HP_$(echo "$name" | sed 's,^test/,,; s,\.h$,_H,' | tr 'a-z/' 'A-Z_')
	case $header in test/standin/*) guard=${guard#HP_} ;; esac
	grep -q "^#ifndef $guard\$" "$header" || {
		echo "$header: its guard is not $guard"
		failed=1
	}
	count=$((count + 1))
done
echo "$count headers, with $compiler"
[ $count -gt 10 ] || exit 1
exit $failed
