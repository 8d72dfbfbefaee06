#!/bin/sh
# Runs the four stages of the example port under hotpin, and shows the time of each.
#
#	run.sh HOTPIN [FOLDER-OF-THE-PROGRAMS [FOLDER-FOR-THE-PROFILES]]
#
# Build them with build.sh.  All stages run with --observe, which does not change them; the second
# one also runs with hotpin's copies.  They run in turns, once to warm up and then three times, which
# shows the noise.
set -eu
hotpin=$1 programs=${2:-.} out=${3:-.}

stage() { # file label program [flag]
	file=$1 label=$2 program=$3
	shift 3
	"$hotpin" run "$@" -o "$out/$file-$turn.json" --stage "$label" \
		"$programs/$program" >"$out/$file.txt"
}

# With the heap, the profile distinguishes buffers.
export HOTPIN_HEAP_MIN=256K
for turn in 0 1 2 3; do
	stage stage1 "1: cpu" stage1_cpu --observe
	stage stage2 "2: one kernel" stage2_one_kernel --observe
	stage stage2_hotpin "2: with hotpin" stage2_one_kernel
	stage stage3 "3: all kernels" stage3_all_kernels --observe
	stage stage4 "4: resident" stage4_resident --observe
done
rm "$out"/stage*-0.json
for file in stage2 stage2_hotpin stage3 stage4; do
	cmp "$out/stage1.txt" "$out/$file.txt"
done
tail -n 1 "$out/stage1.txt"
# The profiles are also read where these programs are missing.
"$hotpin" resolve "$out"/stage*-?.json >"$out/resolved.txt"
# 3: slower, which is no failure of this script.
"$hotpin" compare "$out"/stage[1234]-?.json || [ $? = 3 ]
"$hotpin" compare "$out"/stage2-?.json "$out"/stage2_hotpin-?.json || [ $? = 3 ]
