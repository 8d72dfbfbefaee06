#!/bin/bash
# steady.sh - runs the tests under hard conditions: throttled, busy, with few cores, with little
# memory.
#
#	test/steady.sh [-n N] [ROW...]                              all rows, or the named ones
#	test/steady.sh [-n N] --build FOLDER [ROW...] [-- ARG...]   with arguments for `meson test`
#	test/steady.sh --list                                       the rows and what each does
#
# A row runs tools/check; what `half` runs is compiled before.  -n runs each row N times in
# succession.  --build runs the suites of an existing build without compiling, also of a build from
# another machine in the same folder.
#
# Each run prints its result and its seconds, and keeps its log in build/steady/.  The script ends
# with a table of the rows and "N passed, N failed"; the exit status is 0 only if tests passed and
# none failed.  Busy loops and cgroups end with the script, also on Ctrl-C.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit 1

# ROW:SLOWNESS:WORDS.  SLOWNESS multiplies every time limit.
rows=(
	"plain:1:the machine as it is"
	"half:16:half a core (cgroup, systemd-run, or stopping and continuing processes)"
	"busy:8:8 busy loops next to the tests"
	"one:6:pinned to one core"
	"two:3:pinned to two cores"
	"four:2:pinned to four cores"
	"perturb:2:MALLOC_PERTURB_ set for every test: new and freed memory holds no zeros"
	"memory:3:4 GiB of memory (cgroup, systemd-run, or locking the rest)"
	"again:1:five times in a row, or as -n says"
)
memory_bytes=$((4 << 30))
logs=build/steady

say() {
	echo "steady: $*"
}

usage() {
	sed -n '2,/^set -u/s/^# \{0,1\}//p' "$here/steady.sh"
}

list() {
	local row name rest

	for row in "${rows[@]}"; do
		name=${row%%:*} rest=${row#*:}
		printf '%-10s%s\n' "$name" "${rest#*:}"
	done
}

row_of() { # name: its line, or failure
	local row

	for row in "${rows[@]}"; do
		[ "${row%%:*}" != "$1" ] || { echo "$row" && return 0; }
	done
	return 1
}

# ---- what makes the machine hard ----

helpers=() groups=() child=

stop_helpers() {
	local group tries

	[ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null
	child=
	[ ${#helpers[@]} -eq 0 ] || kill "${helpers[@]}" 2>/dev/null
	[ ${#helpers[@]} -eq 0 ] || wait "${helpers[@]}" 2>/dev/null
	helpers=()
	for group in "${groups[@]}"; do
		# Only the processes of this row: nothing else is ever moved there.
		for tries in 1 2 3 4 5 6 7 8 9 10; do
			rmdir "$group" 2>/dev/null && break
			# shellcheck disable=SC2046
			kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null
			sleep 0.$((tries > 3 ? 9 : tries))
		done
	done
	groups=()
}
trap stop_helpers EXIT
trap 'stop_helpers; exit 130' INT
trap 'stop_helpers; exit 143' TERM HUP

# new_group CONTROLLER V1-FILE V2-FILE V1-VALUE V2-VALUE: sets $group to a new cgroup with that limit.
new_group() {
	local controller=$1 mount own top

	# Version 1: a group below our own one.
	mount=$(awk -v c="$controller" '$3 == "cgroup" && $4 ~ "(^|,)" c "(,|$)" { print $2; exit }' /proc/mounts)
	if [ -n "$mount" ]; then
		own=$(awk -F: -v c="$controller" '$2 ~ "(^|,)" c "(,|$)" { print $3; exit }' /proc/self/cgroup)
		for top in "$mount$own" "$mount"; do
			group=${top%/}/hotpin-steady-$$
			mkdir "$group" 2>/dev/null || continue
			groups+=("$group")
			echo "$4" 2>/dev/null >"$group/$2" && return 0
		done
	fi
	# Version 2: next to our own group, which cannot have limited children because it has
	# processes.
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -n "$mount" ]; then
		own=$(sed -n 's/^0:://p' /proc/self/cgroup)
		for top in "$mount${own%/*}" "$mount"; do
			group=${top%/}/hotpin-steady-$$
			mkdir "$group" 2>/dev/null || continue
			groups+=("$group")
			echo "$5" 2>/dev/null >"$group/$3" && return 0
		done
	fi
	return 1
}

can_scope() {
	systemd-run --quiet --scope true 2>/dev/null
}

first_cpus() { # count: that many of the allowed ones, or failure
	local count=$1 part cpu cpus=()

	for part in $(awk '/^Cpus_allowed_list:/ { gsub(",", " ", $2); print $2 }' /proc/self/status |
		tr ',' ' '); do
		for ((cpu = ${part%-*}; cpu <= ${part#*-}; cpu++)); do
			[ ${#cpus[@]} -ge "$count" ] || cpus+=("$cpu")
		done
	done
	[ ${#cpus[@]} -eq "$count" ] || return 1
	(IFS=, && echo "${cpus[*]}")
}

# harden ROW: sets $group, or $before, the words before the command; and $how.  Failure: skips the
# row.
harden() {
	local i cpus

	group='' before=() how=''
	case $1 in
	half)
		if new_group cpu cpu.cfs_quota_us cpu.max 50000 "50000 100000"; then
			how="a cgroup with half a core"
		elif can_scope; then
			group='' before=(systemd-run --quiet --scope -p CPUQuota=50%)
			how="a scope of systemd with half a core"
		else
			group='' before=("$here/throttle.py" 0.5 taskset -c "$(first_cpus 1)")
			how="no cgroup can be made: one core, stopped half of the time"
		fi
		;;
	busy)
		# setsid gives each loop an autogroup of its own, as meson does for each test.  The
		# kernel divides the CPU among autogroups first.
		for ((i = 0; i < 8; i++)); do
			setsid sh -c 'while :; do :; done' &
			helpers+=($!)
		done
		;;
	one | two | four)
		declare -A numbers=([one]=1 [two]=2 [four]=4)
		i=${numbers[$1]}
		cpus=$(first_cpus "$i") || {
			how="the machine has fewer than $i cores"
			return 1
		}
		before=(taskset -c "$cpus")
		;;
	perturb)
		# meson sets the variable for each test, so the wrapper overrides it.
		export TEST_WRAPPER="env MALLOC_PERTURB_=165"
		;;
	memory)
		if [ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -lt $((memory_bytes >> 10)) ]; then
			how="as it is: less than 4 GiB are free"
		elif new_group memory memory.limit_in_bytes memory.max $memory_bytes $memory_bytes; then
			how="a cgroup of 4 GiB"
		elif can_scope; then
			group='' before=(systemd-run --quiet --scope -p "MemoryMax=$memory_bytes")
			how="a scope of systemd with 4 GiB"
		else
			# Not `ulimit -v` or `-d`: with those limits the library pins nothing.
			group=''
			lock_the_rest || return 1
		fi
		;;
	esac
}

# Locks all free memory except 4 GiB, in a process of its own.
lock_the_rest() {
	local ready=$logs/locked

	rm -f "$ready"
	python3 - "$memory_bytes" "$ready" <<'PYTHON' &
import ctypes
import mmap
import signal
import sys
with open("/proc/meminfo", encoding="ascii") as info:
    free = {line.split(":")[0]: int(line.split()[1]) << 10 for line in info}["MemAvailable"]
bytes_ = free - int(sys.argv[1])
held = mmap.mmap(-1, bytes_)
at = ctypes.addressof(ctypes.c_char.from_buffer(held))
if ctypes.CDLL(None, use_errno=True).mlock(ctypes.c_void_p(at), ctypes.c_size_t(bytes_)) != 0:
    sys.exit("steady: no permission to lock memory")
open(sys.argv[2], "w", encoding="ascii").close()
signal.pause()
PYTHON
	helpers+=($!)
	while [ ! -f "$ready" ]; do
		if ! kill -0 "${helpers[-1]}" 2>/dev/null; then
			how="no cgroup can be made, and memory cannot be locked"
			return 1
		fi
		sleep 0.2
	done
	how="no cgroup can be made: all memory but 4 GiB is locked"
}

# ---- what is run ----

suites() { # folder, slowness, meson's arguments...: the tests of a build as it is
	local folder=$1 slowness=$2 arguments=() status
	shift 2

	[ -z "${TEST_WRAPPER:-}" ] || arguments=(--wrapper "$TEST_WRAPPER")
	rm -f "$folder"/meson-logs/testlog*.json
	# As many at once as the row's memory and cores allow.
	MESON_TESTTHREADS=$(bash -c '. tools/scripts/setup.sh && test_processes') \
		TEST_SLOWNESS=$((2 * slowness)) meson test -C "$folder" --no-rebuild \
		--timeout-multiplier $((4 * slowness)) "${arguments[@]}" "$@"
	status=$?
	# If meson was killed, the tests in its log may all have passed.
	python3 -B test/results.py "$folder"/meson-logs/testlog*.json && return $status
}

tests() { # row, slowness, meson's arguments...
	if [ -n "$build" ]; then
		suites "$build" "${@:2}"
	else
		TEST_SLOWNESS=$2 tools/check
	fi
}

# run ROW NUMBER: runs it, prints a line and adds it to the table.
run() {
	local row=$1 slowness=$3 log=$logs/$1-$2.log begun=$SECONDS last status

	(
		trap - EXIT INT TERM HUP
		# The inner shell expands its arguments.
		# shellcheck disable=SC2016
		[ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs" || exit 1
		export -f tests suites
		export build
		exec setsid "${before[@]}" bash -c 'tests "$@"' steady "$row" "$slowness" "${arguments[@]}"
	) >"$log" 2>&1 </dev/null &
	child=$!
	wait "$child"
	status=$?
	child=
	last=$(tail -n 1 "$log")
	[[ $last = *" passed, "* ]] || last="did not end (status $status)"
	if [ $status = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		grep '^== ' "$log"
	fi
	table+=("$(printf '%-10s %-6s %6d s   %s' "$row" "$([ $status = 0 ] && echo ok || echo FAILED)" \
		$((SECONDS - begun)) "$last")")
	say "${table[-1]}${how:+ ($how)}; log: $log"
}

build='' times='' chosen=() arguments=()
while [ $# -gt 0 ]; do
	case $1 in
	-n)
		times=${2:-}
		[[ $times =~ ^[1-9][0-9]*$ ]] || { usage && exit 2; }
		shift
		;;
	--build)
		build=${2:-}
		[ -f "$build/build.ninja" ] || { say "$build is no build folder" && exit 2; }
		shift
		;;
	--)
		[ -n "$build" ] || { usage && exit 2; }
		arguments=("${@:2}")
		break
		;;
	--list) list && exit ;;
	--help) usage && exit ;;
	*)
		row_of "$1" >/dev/null || { say "there is no row $1; --list names them" && exit 2; }
		chosen+=("$1")
		;;
	esac
	shift
done
if [ ${#chosen[@]} -eq 0 ]; then
	for row in "${rows[@]}"; do
		chosen+=("${row%%:*}")
	done
fi

mkdir -p "$logs" || exit 1
table=() passed=0 failed=0 skipped=0
if [ -z "$build" ] && [[ " ${chosen[*]} " = *" half "* ]] && ! tools/check --build-only debug asan; then
	say "the build failed"
	exit 1
fi
for name in "${chosen[@]}"; do
	row=$(row_of "$name") slowness=${row#*:}
	slowness=${slowness%%:*}
	count=${times:-$([ "$name" = again ] && echo 5 || echo 1)}
	unset TEST_WRAPPER
	if harden "$name"; then
		for ((number = 1; number <= count; number++)); do
			run "$name" "$number" "$slowness"
		done
	else
		skipped=$((skipped + 1))
		table+=("$(printf '%-10s %-6s            %s' "$name" skipped "$how")")
		say "${table[-1]}"
	fi
	stop_helpers
done
echo
printf '%s\n' "${table[@]}"
echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
[ $failed = 0 ] && [ $passed -gt 0 ]
