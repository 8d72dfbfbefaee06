#!/bin/bash
# Tests what `hotpin doctor` reports on prepared machines and programs.
#
# doctor.sh HOTPIN LIBRARY IDLE-LIBRARY BROKEN-DRIVER DEVICE-PROGRAM
# Single quotes: the inner shell expands.
# shellcheck disable=SC2016
set -u
hotpin=$(realpath "$1") real=$(realpath "$2") library=$(realpath "$3") driver=$(realpath "$4")
device=$(realpath "$5")
count=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"; [ -n "${ended-}" ] || echo "Bail out! The script left before its end."' EXIT
unset "${!HOTPIN@}" LD_PRELOAD
export LD_LIBRARY_PATH=${driver%/*}
mkdir "$folder/bin" "$folder/lib"
cp "$hotpin" "$folder/bin/"
cp "$library" "$folder/lib/libhotpin.so"

doctor() {
	"$folder/bin/hotpin" doctor "$@"
}

# finds NAME PATTERN command...: a line of the output must match PATTERN (grep -E); with
# "! PATTERN", no line may match.
finds() {
	local name=$1 pattern=${2#! } wanted=0 said found
	[ "$pattern" = "$2" ] || wanted=1
	shift 2
	said=$("$@" 2>&1 </dev/null)
	grep -qE -- "$pattern" <<<"$said"
	found=$?
	count=$((count + 1))
	if [ $found = $wanted ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "# /$pattern/: grep says $found, expected $wanted, of:"
		echo "#   ${said//$'\n'/$'\n#   '}"
	fi
}

# A machine made of files: `there PATH TEXT` as often as needed, then `finds`.
there() {
	mkdir -p "$folder/root/${1%/*}"
	echo "$2" >"$folder/root/$1"
}
forget() {
	rm -rf "$folder/root"
	mkdir "$folder/root"
}
export _HOTPIN_ROOT=$folder/root
forget

# Invalid options are findings of their own: the library loads nevertheless, and hotpin works.
cp "$real" "$folder/lib/libhotpin.so"
bad() { # NAME=VALUE PATTERN
	local ok='^ok +library .*loads into programs$'
	finds "$1: the library loads" "$ok" env "$1" "$folder/bin/hotpin" doctor
	finds "$1: what is wrong" "^limits +options +$2" env "$1" "$folder/bin/hotpin" doctor
	finds "$1: works all the same" '! ^hotpin cannot' env "$1" "$folder/bin/hotpin" doctor
	finds "$1: said once" '! ^hotpin\[' env "$1" "$folder/bin/hotpin" doctor
}
bad HOTPIN=yes "HOTPIN: cannot read 'yes' \(expected 0\|1\), keeping '1'"
bad HOTPIN_LOG=banana "HOTPIN_LOG: cannot read 'banana'"
bad "HOTPIN_STAGE=$(printf '%0600d' 1)" "HOTPIN_STAGE: cannot read '0+'"
bad HOTPIN_PINN=0 "HOTPIN_PINN is not an option and does nothing; .hotpin env. lists them"
bad HOTPIN_OUT=/proc/none/x "HOTPIN_OUT=/proc/none/x cannot be written \(No such file"
# Good options that take something away.
hampers() { # NAME=VALUE WHAT
	finds "$1" "^limits +options +$1 is set, so $2.*; unset it" env "$1" "$folder/bin/hotpin" doctor
}
hampers HOTPIN_PIN=0 "no buffer is pinned"
hampers HOTPIN_HEAP_MIN=0 "no buffer is pinned"
hampers HOTPIN_HEAP_MIN=1G "no smaller buffer is pinned"
hampers HOTPIN_PIN_BUDGET=0 "nothing is pinned"
hampers HOTPIN_PIN_BUDGET=1M "few buffers are pinned"
hampers HOTPIN_RING=0 "large copies"
hampers HOTPIN_THREADS=0 "large copies"
hampers HOTPIN_ASYNC=0 "synchronous uploads wait"
hampers HOTPIN_ROUTE=pass "copies do not take"
hampers HOTPIN_SAMPLE=off "profiles do not say"
hampers HOTPIN_CUPTI=off "profiles have no device times"
HOTPIN_HEAP_MIN=64K HOTPIN_PIN_BUDGET=64G HOTPIN_THREADS=4 finds "harmless options" '! options' doctor
HOTPIN_CUPTI=off finds "CUPTI is not looked for" '! ^[a-z]+ +cupti' doctor
for level in error info debug; do
	HOTPIN_LOG=$level finds "HOTPIN_LOG=$level" '! options' doctor
	HOTPIN_LOG=$level HOTPIN_PIN=maybe finds "HOTPIN_LOG=$level hides nothing" \
		'^limits +options +HOTPIN_PIN: cannot' doctor
done
# A program may be started with an entry without "=", which no shell can create.
with_bare_entry() {
	timeout $((20 * ${TEST_SLOWNESS:-1})) python3 -c '
import ctypes, sys
words = [word.encode() for word in sys.argv[1:]]
entries = [b"HOTPIN_BARE", b"PATH=/usr/bin:/bin", b"HOTPIN_PIN=maybe"]
def array(items):
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)
ctypes.CDLL(None).execve(words[0], array(words), array(entries))' "$folder/bin/hotpin" doctor
}
finds "an entry without a value" '^limits +options +HOTPIN_PIN: cannot' with_bare_entry
HOTPIN_LOG_FILE=$folder/log HOTPIN_OUT=$folder/out HOTPIN_PROFILE=trace finds "good files" '! options' doctor
finds "and none is made" '^bin,lib,root,$' bash -c 'ls "$1" | tr "\n" ,' - "$folder"

# A library that the loader refuses.
sed 's/libc\.so\.6/libq.so.6/' "$real" >"$folder/lib/libhotpin.so"
finds "a library that lacks another" '^no +library .*does not load into programs: .*libq\.so\.6' doctor
HOTPIN_PIN=maybe finds "a library that lacks another, and an option" '^limits +options +HOTPIN_PIN' doctor
cp "$library" "$folder/lib/libhotpin.so"

thp=/sys/kernel/mm/transparent_hugepage/enabled
there $thp "always madvise [never]"
finds "no 2 MiB pages" '^limits +huge pages +.*are off.*enough' doctor
there $thp "always [madvise] never"
finds "2 MiB pages" '! huge pages' doctor
there /proc/sys/vm/overcommit_memory 2
finds "rationed addresses" '^limits +overcommit .*no buffer is pinned; set it' doctor
there /proc/meminfo "MemTotal: 16777216 kB
MemAvailable: 8388608 kB"
there /proc/self/cgroup "0::/job"
there /sys/fs/cgroup/job/memory.max 1073741824
finds "enough memory" '! ^limits +memory' doctor
there /sys/fs/cgroup/job/memory.current 1048576000
finds "a limit of pinned memory is near" '^limits +memory +1024 MiB .* 24 MiB available: pinned .* killed' doctor
there /proc/self/cgroup "1:name=systemd:/job
0::/job"
finds "next to a group of version 1" '^limits +memory +1024 MiB ' doctor
there /sys/fs/cgroup/job/memory.stat "inactive_file 524288000"
finds "the cache of files is free" '! ^limits +memory' doctor
forget
there /proc/sys/kernel/osrelease 5.15.167.4-microsoft-standard-WSL2
finds "WSL" '^limits +wsl .*stay pageable.*no device times' doctor
there /proc/sys/kernel/osrelease 6.1.0-18-amd64
finds "no WSL" '! wsl' doctor
finds "a new kernel" '! kernel' doctor
there /proc/sys/kernel/osrelease 5.8.18
finds "an old kernel" '^limits +kernel +Linux 5\.8\.18: .*no buffer is pinned' doctor
there /proc/sys/kernel/osrelease 5.9.0
BROKEN=mig finds "MIG" '^limits +device +0 is a MIG slice.*no device times' doctor
finds "no MIG" '! MIG' doctor
forget
cp "$library" "$folder/libjemalloc.so.2"
cp "$library" "$folder/libasan.so.8"
LD_PRELOAD=$folder/libjemalloc.so.2 finds "a malloc that is preloaded" \
	'^limits +preloaded +jemalloc .*not pinned; remove it' doctor
LD_PRELOAD=$folder/libasan.so.8 finds "a sanitizer that is preloaded" '^no +preloaded .*must be loaded first' doctor
LD_PRELOAD=libm.so.6 finds "a library that does not matter" '! preloaded' doctor
finds "few files" '^limits +limits +only 20 files .*raise it' \
	bash -c 'ulimit -n 20 && exec "$1" doctor' - "$folder/bin/hotpin"
finds "data" '^limits +limits +data \(ulimit -d\)' \
	bash -c 'ulimit -d 4000000 && exec "$1" doctor' - "$folder/bin/hotpin"

there /proc/driver/nvidia/version "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Thu"
finds "the module's version" '^ok +driver .*module 580\.159\.04' doctor
if "$folder/bin/hotpin" doctor | grep -q '^ok *cupti'; then
	there /proc/driver/nvidia/params "RmProfilingAdminOnly: 1"
	finds "CUPTI for administrators" '^limits +cupti +NVreg.*no device times; set that' doctor
	there /proc/driver/nvidia/params "RmProfilingAdminOnly: 0"
	finds "CUPTI for all" '! NVreg' doctor
fi
unset _HOTPIN_ROOT

BROKEN=nodevice finds "a program of the device" '! ^A program that' doctor "$device"

cd "$folder" || exit 1
touch here
finds "no such program" '^no +program +there is no nothing-of-that-name; check its name$' doctor nothing-of-that-name
finds "a file of this folder" '^no +program +here is not in PATH; did you mean \./here\?$' doctor here
head -c 200 /bin/true >"cut"
chmod +x cut
finds "a damaged program" '^limits +program +\./cut: parts of the file are missing' doctor ./cut
finds "the loader of a damaged program" '! loader' doctor ./cut
finds "a device" '^no +program +/dev/null: not an executable file' doctor /dev/null
finds "a library" '! chmod' doctor /lib/x86_64-linux-gnu/libm.so.6
BROKEN=nodevice finds "a program of the CPU" '^A program that uses no device.*profiles it' \
	doctor true
echo "1..$count"
ended=yes
