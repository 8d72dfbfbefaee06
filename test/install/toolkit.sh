#!/bin/bash
# Checks which CUDA Toolkit tools/scripts/toolkit.sh takes, and what is said if there is none.
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

toolkit() { # folder, CUDA_VERSION
	mkdir -p "$folder/$1/include" "$folder/$1/bin"
	echo "#define CUDA_VERSION $2" >"$folder/$1/include/cuda.h"
	install -m 755 /dev/null "$folder/$1/bin/nvcc"
}

check() { # words of its output, assignments of environment variables; the script's argument
	local wanted=$1 given said status

	read -ra given <<<"$2"
	said=$(env -u CUDA_PATH -u CUDA_HOME "${given[@]}" tools/scripts/toolkit.sh "${3:-}" 2>&1)
	status=$?
	said="$(tr '\n' ' ' <<<"$said")exit status $status"
	has "$2 ${3:-}" "$said" "$wanted"
}

has() { # name, text, words that it must have
	[[ $2 = *"$3"* ]] && return
	echo "$1: '$2' lacks '$3'"
	failed=1
}

toolkit old 11080
toolkit first 12000
toolkit second 13010
mkdir -p "$folder/links"
ln -s "$folder/second/bin/nvcc" "$folder/links/nvcc"
cd "$folder" || exit 1
mkdir -p tools
ln -s "$OLDPWD/tools/scripts" tools/scripts

check "first 12000 CUDA_PATH" "CUDA_PATH=first CUDA_HOME=second"
check "second 13010 CUDA_HOME" "CUDA_HOME=second PATH=first/bin:$PATH"
check "first 12000 nvcc on PATH" "PATH=first/bin:$PATH"
check "second 13010 nvcc on PATH" "PATH=links:$PATH"
check "second 13010 as asked" "CUDA_PATH=first" second
check "missing/include/cuda.h is missing (CUDA_PATH); name another folder, or none exit status 1" "CUDA_PATH=missing CUDA_HOME=first"
check "old (CUDA_HOME) has CUDA 11.8, and hotpin needs 12.0 or later; name another folder, or none exit status 1" "CUDA_HOME=old"
has "meson setup" "$(meson setup -Dcuda="$folder/old" "$folder/build" "$OLDPWD" 2>&1)" \
	"old (as asked) has CUDA 11.8, and hotpin needs 12.0 or later"
# A distribution without apt, and without a version.
has "a distribution without apt" \
	"$(PATH='' "$BASH" -uc '. tools/scripts/setup.sh; .() { ID=arch; }; offer_toolkit' 2>&1)" \
	"toolkit, which needs no GPU: https:"
exit $failed
