#!/bin/bash
# Checks that the library compiles with the headers of other toolkits, from CUDA 12.0 on.  Run
# manually:
#
#	CC=clang test/install/headers.sh /usr/local/cuda-12.4 /usr/local/cuda-13.0 ...
#
# Only include/cuda.h of a toolkit is needed.
set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0

check() { # toolkit
	local file version status=0

	version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$1/include/cuda.h")
	for file in src/*/*.c; do
		${CC:-cc} -fsyntax-only -std=gnu11 -DHOTPIN_VERSION='"0"' \
			-Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wundef -Wvla \
			-Wno-missing-field-initializers -Isrc -isystem "$1/include" "$file" || status=1
	done
	if [ $status = 0 ]; then
		echo "CUDA_VERSION $version: compiles"
	else
		echo "CUDA_VERSION $version: FAILS"
	fi
	return $status
}

[ $# -gt 0 ] || set -- "${CUDA_PATH:-/usr/local/cuda}"
for toolkit; do
	check "$toolkit" || failed=1
done
exit $failed
