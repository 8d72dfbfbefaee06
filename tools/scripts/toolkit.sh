#!/bin/sh
# toolkit.sh - prints the folder of the CUDA Toolkit to build with, and why that one was taken.
#
#	tools/scripts/toolkit.sh [FOLDER]
#
# It takes FOLDER, or the first of these that has include/cuda.h of CUDA 12.0 or later: CUDA_PATH,
# CUDA_HOME, the folder of nvcc on PATH, /usr/local/cuda, the newest /usr/local/cuda-*, and /usr, where
# Debian and Ubuntu install theirs.  A folder that was named must have it: nothing else is taken.
# The first line is the folder, the second its CUDA_VERSION, the third where the folder came from.
# Without one the exit status is 1, and standard error says what was found.

version_in() { # folder
	sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$1/include/cuda.h" 2>/dev/null
}

try() { # folder, where it came from
	version=$(version_in "$1")
	[ -n "$version" ] || return
	if [ "$version" -lt 12000 ]; then
		old="$1 ($2) has CUDA $((version / 1000)).$((version % 1000 / 10)), and hotpin needs 12.0 or later"
		return
	fi
	printf '%s\n%s\n%s\n' "$1" "$version" "$2"
	exit 0
}

fail() {
	echo "$1" >&2
	exit 1
}

named() { # folder, where it came from
	try "$1" "$2"
	fail "${old:-$1/include/cuda.h is missing ($2)}; name another folder, or none"
}

[ -z "${1:-}" ] || named "$1" "as asked"
[ -z "${CUDA_PATH:-}" ] || named "$CUDA_PATH" CUDA_PATH
[ -z "${CUDA_HOME:-}" ] || named "$CUDA_HOME" CUDA_HOME
nvcc=$(command -v nvcc) && {
	try "$(dirname "$(dirname "$nvcc")")" "nvcc on PATH"
	# A link from /usr/local/bin, say.
	try "$(dirname "$(dirname "$(readlink -f "$nvcc")")")" "nvcc on PATH"
}
try /usr/local/cuda /usr/local
for folder in $(printf '%s\n' /usr/local/cuda-* | sort -rV); do
	try "$folder" "the newest in /usr/local"
done
try /usr "the distribution's"
fail "${old:-there is no CUDA Toolkit in /usr/local, in /usr, or where an nvcc on PATH is}"
