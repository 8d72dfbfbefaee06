#!/bin/bash
# Checks which CUDA Toolkit tools/scripts/toolkit.sh takes.
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
	[[ $said = *"$wanted"* ]] && return
	echo "'$2' ${3:-}: '$said' lacks '$wanted'"
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
check "missing/include/cuda.h is missing (CUDA_PATH) exit status 1" "CUDA_PATH=missing CUDA_HOME=first"
check "old (CUDA_HOME) has CUDA 11.8, and hotpin needs 12.0 or later exit status 1" "CUDA_HOME=old"
exit $failed
