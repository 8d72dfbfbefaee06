#!/bin/sh
# build.sh FOLDER: builds the four stages of the example port; NVCC and ARCH (sm_90) may be set.
set -eu
here=$(dirname "$0") to=$1
flags="-O2 -g -lineinfo -arch=${ARCH:-sm_90} -fmad=false -Xcompiler -ffp-contract=off"

mkdir -p "$to"
${CC:-cc} -O2 -g -ffp-contract=off -o "$to/stage1_cpu" "$here/stage1_cpu.c"
for stage in stage2_one_kernel stage3_all_kernels stage4_resident; do
	# shellcheck disable=SC2086
	"${NVCC:-nvcc}" $flags -o "$to/$stage" "$here/$stage.cu"
done
