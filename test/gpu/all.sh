#!/bin/bash
# all.sh - runs every test that needs a GPU, on a machine with one: all.sh BUILD [SECONDS [LOGS]]
#
# BUILD is a build folder, SECONDS (1200) the time limit for everything, LOGS (gpu-logs) a folder
# for the output of each part.  Parts run one after the other, so that each has the device for
# itself.  For each, a line shows its name, `ok`, `FAILED` or `skipped`, its seconds, and its last
# line of output.  A failure does not stop the script; the exit status is 1 if there was one.  Time
# that a part leaves is available to later ones.
#
# `launchers` and `truth` are taken from BUILD, or built with nvcc if they are missing; they need
# NVIDIA's own runtime, and a device.  The other parts also run on the stand-in
# (LD_LIBRARY_PATH=BUILD/test/standin).
set -u

build=$(cd "${1:?all.sh BUILD [SECONDS [LOGS]]}" && pwd) || exit 1
shift
seconds=1200
if [[ ${1-} =~ ^[0-9]+$ ]]; then
	seconds=$1
	shift
fi
mkdir -p "${1:-gpu-logs}" && logs=$(cd "${1:-gpu-logs}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
library=$build/src/libhotpin.so
hotpin=$build/tools/hotpin
for variable in "${!HOTPIN@}" "${!STANDIN_@}" LD_PRELOAD PRELOAD_SO; do
	unset "$variable"
done
# Tests that run many times use short kernels.
export DEFER_WORK_US=300

SECONDS=0
failed=()
limit=0

# share N: gives the next part at most N hundredths of the remaining time; few parts need as much.
share() {
	limit=$(((seconds - SECONDS) * $1 / 100))
	[ "$limit" -ge 1 ] || limit=1
}

tell() { # name, verdict, seconds, words
	printf '%-13s %-8s %4d s  %s\n' "$1" "$2" "$3" "$4"
}

# part NAME COMMAND...: runs the command within the limit, with its output in a log.
part() {
	local name=$1 log=$logs/$1.log begun=$SECONDS status last
	shift

	timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
	status=$?
	last=$(grep -v '^ *$' "$log" | tail -n 1 | cut -c 1-200)
	case $status in
	0) tell "$name" ok $((SECONDS - begun)) "$last" ;;
	77) tell "$name" skipped $((SECONDS - begun)) "$last" ;;
	124 | 137)
		tell "$name" FAILED $((SECONDS - begun)) "not over in $limit s: $last"
		failed+=("$name")
		;;
	*)
		tell "$name" FAILED $((SECONDS - begun)) "status $status: $last"
		failed+=("$name")
		;;
	esac
}

# program NAME FLAGS...: prints the path of a program for nvcc, built if needed; empty if
# impossible.
program() {
	local name=$1
	shift

	if [ -x "$build/$name" ]; then
		echo "$build/$name"
	elif grep -q 'on the stand-in' "$logs/conform.log" || ! command -v nvcc >/dev/null; then
		return
	elif timeout "$limit" nvcc "$@" -arch=native -o "$logs/$name" "test/gpu/$name.cu" \
		>"$logs/$name.nvcc" 2>&1; then
		echo "$logs/$name"
	fi
}

# with_program NAME COMMAND...: runs COMMAND with the path of NAME.
with_program() {
	local name=$1
	shift

	if grep -q 'on the stand-in' "$logs/conform.log"; then
		tell "$name" skipped 0 "this is the stand-in"
	elif [ -z "$program" ]; then
		tell "$name" skipped 0 "neither $build/$name nor an nvcc that makes it"
	else
		part "$name" "$@" "$program"
	fi
}

share 10
part conform "$build/test/conform/conform" --check
share 10
part preload_rows env LD_PRELOAD="$library" "$build/test/preload/preload_rows"
share 10
program=$(program launchers)
with_program launchers python3 test/gpu/launchers.py "$hotpin"
share 15
program=$(program truth -O2 -g)
with_program truth python3 test/gpu/truth.py \
	-s test/report/schema.py "$build/tools/profile.schema.json" "$hotpin"
share 30
part hazards python3 test/gpu/hazards.py "$library" "$build/test/hazards/hazards"
share 30
part defer python3 test/gpu/hazards.py "$library" "$build/test/hazards/defer"
share 40
part held python3 test/gpu/hazards.py "$library" "$build/test/hazards/held"
share 10
# These two begin nothing after their own limit, and then report their progress.
share 40
part walk python3 test/walk/walk.py "$build/test/walk/walk" "$library" --count=2000 --batch=100 \
	--no-eager --no-shrink --jobs=1 --seconds=$((limit / 5 + 1)) --budget=$((limit / 2))
share 100
part repeat python3 test/gpu/hazards.py -b $((limit / 3)) -r 2 "$library" \
	"$build/test/hazards/defer" 2

if [ ${#failed[@]} -gt 0 ]; then
	echo "FAILED: ${failed[*]}; $SECONDS s, see $logs"
	exit 1
fi
echo "ok; $SECONDS s"
