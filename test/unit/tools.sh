#!/bin/bash
# Tests `hotpin` with valid and invalid requests: exit statuses, messages, the environment of the
# program.
#
# tools.sh HOTPIN LIBRARY BROKEN-DRIVER STATIC-PROGRAM SANITIZED-PROGRAM
# Single quotes: the inner shell expands.
# shellcheck disable=SC2016
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
hotpin=$(realpath "$1") library=$(realpath "$2") driver=$(realpath "$3") static=$(realpath "$4")
sanitized=$(realpath "$5")
count=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"; [ -n "${ended-}" ] || echo "Bail out! The script left before its end."' EXIT
unset "${!HOTPIN@}" LD_PRELOAD LD_LIBRARY_PATH

# expect NAME STATUS PATTERN command...: the output must match PATTERN (grep -E), "" means no output
expect() {
	local name=$1 status=$2 pattern=$3 got said
	shift 3
	said=$("$@" 2>&1 </dev/null)
	got=$?
	count=$((count + 1))
	if [ $got = "$status" ] && { [ -n "$pattern" ] && grep -qE -- "$pattern" <<<"$said" ||
		[ -z "$pattern$said" ]; }; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "# status $got, expected $status; expected /$pattern/, said:"
		echo "#   ${said//$'\n'/$'\n#   '}"
	fi
}

run() {
	"$hotpin" run --library "$library" "$@"
}

# Prints the value of a variable that the program gets.
sees() { # VARIABLE flags...
	local variable=$1
	shift
	run "$@" -- bash -c "echo \"[\${$variable-unset}]\""
}

expect "no command" 2 '^usage:' "$hotpin"
expect "help" 0 '^usage:' "$hotpin" --help
expect "help of a command" 0 '--stage LABEL' "$hotpin" run --help
# Exit statuses are in one table, of which each command shows its part.
statuses=$("$hotpin" help | sed -n '/^Exit status:/,/^$/s/^  *\([0-9][0-9]*\)  .*/\1/p')
expect "statuses of all commands" 0 '^0 1 2 3 4 125 126 127$' echo "${statuses//$'\n'/ }"
expect "those of run" 0 '^2 125 126 127 other$' bash -c \
	'"$1" run --help | sed -n "/^Exit status:/,/^\$/s/^ *\([0-9o][^ ]*\)  .*/\1/p" | paste -sd " "' - "$hotpin"
for command in $("$hotpin" help | sed -n 's/^  \([a-z]\+\) .*/\1/p'); do
	expect "$command: an unknown option" 2 "^usage: hotpin $command" "$hotpin" "$command" --bad
	expect "$command: an example" 0 "^Example: .*hotpin $command" "$hotpin" "$command" --help
	expect "$command: lines of a terminal" 1 '' bash -c '{ "$1" "$2" --help; "$1" "$2" --bad 2>&1; } |
		grep "^.\{81\}"' - "$hotpin" "$command"
done
expect "version" 0 '^hotpin [0-9]+\.[0-9]+\.[0-9]+$' "$hotpin" --version
expect "version in short" 0 '^hotpin [0-9]' "$hotpin" -V
expect "help of help" 0 '^usage: hotpin COMMAND' "$hotpin" help help
expect "a profile to standard output" 2 'name a file' run -o - true
expect "a timeline to no file" 0 'the timeline needs a file' run --profile=trace true
expect "more threads than there can be" 0 'up to 32' env HOTPIN_THREADS=100000 "$hotpin" env
expect "unknown command" 2 'did you mean run' "$hotpin" rnu
expect "a program without run" 2 'hotpin run /bin/true' "$hotpin" /bin/true
expect "bad profile" 2 'expected summary or trace' "$hotpin" run --profile=banana true
expect "no profile by a flag" 2 'expected summary or trace' "$hotpin" run --profile=off true
expect "no program" 2 'no program' "$hotpin" run --profile
expect "a program that an option took" 2 'no program to run: /bin/true is the argument of --stage' \
	"$hotpin" run --stage /bin/true
expect "an option without a command" 2 'a command comes first' "$hotpin" --profile true
expect "a mistyped --version" 2 'did you mean --version\?' "$hotpin" --verison
expect "a mistyped --help" 2 'did you mean --help\?' "$hotpin" --hlep
expect "too many arguments" 2 '^usage: hotpin env' "$hotpin" env x
expect "nothing to compare" 2 'no profiles to compare' "$hotpin" compare
expect "nothing to compare it with" 2 'only one profile' "$hotpin" compare x
expect "nothing to bench" 2 "no program to run" "$hotpin" bench
for command in report annotate html trace resolve; do
	expect "$command of nothing" 2 'no profile to read' "$hotpin" $command
done
expect "annotate of two" 2 'one profile at a time' "$hotpin" annotate x y
expect "doctor of two" 2 'more than one program' "$hotpin" doctor true true
expect "what env does not take" 2 'x is not an option' "$hotpin" env x
expect "full disk" 1 'cannot write' bash -c '"$1" env >/dev/full' - "$hotpin"

expect "status is the program's" 7 '' run bash -c 'exit 7'
expect "signal is the program's" 137 Killed bash -c '"$1" run --library "$2" bash -c "kill -9 \$\$"; exit $?' - "$hotpin" "$library"
expect "arguments are the program's" 0 '^--profile -o x$' run echo --profile -o x
expect "process number is the program's" 0 '^1$' bash -c \
	'(echo $BASHPID; exec "$1" run --library "$2" bash -c "echo \$\$") | uniq | wc -l' - "$hotpin" "$library"
expect "preloaded" 0 "^\[$library\]\$" sees LD_PRELOAD
LD_PRELOAD=libm.so.6 expect "first of several" 0 "^\[$library:libm.so.6\]\$" sees LD_PRELOAD
LD_PRELOAD="/opt/old/libhotpin.so.0.1.0 libm.so.6:libhotpin.so" expect "instead of another hotpin" 0 \
	"^\[$library:libm.so.6\]\$" sees LD_PRELOAD
NVTX_INJECTION64_PATH=/opt/old/libhotpin.so expect "ranges are not another hotpin's" 0 "^\[$library\]\$" \
	sees NVTX_INJECTION64_PATH --profile
NVTX_INJECTION64_PATH=/opt/x.so expect "but they are another tool's" 0 '^\[/opt/x.so\]$' \
	sees NVTX_INJECTION64_PATH --profile
expect "not profiled unasked" 0 '^\[unset\]$' sees HOTPIN_PROFILE
expect "profile" 0 '^\[summary\]$' sees HOTPIN_PROFILE --profile
expect "profile=trace" 0 '^\[trace\]$' sees HOTPIN_PROFILE --profile=trace -o "$folder/x.json"
expect "stage" 0 '^\[3: spmv\]$' sees HOTPIN_STAGE --stage '3: spmv'
expect "stage asks for a summary" 0 '^\[summary\]$' sees HOTPIN_PROFILE --stage x
HOTPIN_PROFILE=off expect "unless it is refused" 0 '^\[off\]$' sees HOTPIN_PROFILE --stage x
HOTPIN_PROFILE=off expect "but a flag wins" 0 '^\[trace\]$' sees HOTPIN_PROFILE --profile=trace -o "$folder/x.json"
expect "capture" 0 '^\[nvtx:a step\]$' sees HOTPIN_CAPTURE --capture='nvtx:a step'
expect "capture asks for a summary" 0 '^\[summary\]$' sees HOTPIN_PROFILE --capture=profiler-api
expect "capture and out" 0 '^\[unset\]$' sees HOTPIN_PROFILE --capture=profiler-api -o "$folder/x.json"
expect "capture of nothing" 2 'expected all, nvtx:NAME or profiler-api' run --capture=nvtx: true
expect "observe keeps the heap where buffers are told apart" 0 '^\[256K\]$' sees HOTPIN_HEAP_MIN --observe=buffers
expect "and nothing else" 2 'expected buffers' run --observe=all true
expect "observe" 0 '^\[0\]$' sees HOTPIN_PIN --observe
expect "observe: no ring" 0 '^\[0\]$' sees HOTPIN_RING --observe
expect "observe: no copy comes early" 0 '^\[0\]$' sees HOTPIN_ASYNC --observe
expect "observe: no heap" 0 '^\[0\]$' sees HOTPIN_HEAP_MIN --observe
HOTPIN_HEAP_MIN=1M expect "observe: unless it is wanted" 0 '^\[1M\]$' sees HOTPIN_HEAP_MIN --observe
HOTPIN_PIN=1 expect "observe: but nothing is pinned" 0 '^\[0\]$' sees HOTPIN_PIN --observe
expect "observe asks for a summary" 0 '^\[summary\]$' sees HOTPIN_PROFILE --observe
expect "observe and out" 0 '^\[unset\]$' sees HOTPIN_PROFILE --observe -o x
expect "out is JSON alone" 0 '^\[unset\]$' sees HOTPIN_PROFILE -o x --stage x
expect "out and a table" 0 '^\[summary\]$' sees HOTPIN_PROFILE -o x --profile
expect "out is absolute" 0 "^\[$PWD/p%p.json\]\$" sees HOTPIN_OUT -o p%p.json
mkdir "$folder/100%p"
cd "$folder/100%p" || exit 1
expect "percent of the folder is no mark" 0 "^\[$folder/100%%p/x\]\$" sees HOTPIN_OUT -o x
cd / || exit 1
expect "out into no folder" 125 '-o /proc/none/x: cannot be written \(No such file.*existing folder' run -o /proc/none/x bash -c 'exit 5'
expect "out is a folder" 125 'is a directory' run -o "$folder/" bash -c 'exit 5'
expect "out is a folder, without a slash" 125 'is a directory' run -o "$folder" bash -c 'exit 5'
expect "out below a file" 125 'cannot be written \(Not a directory' run -o "$hotpin/x" true
expect "a device, in a folder that forbids files" 0 '^\[/dev/null\]$' sees HOTPIN_OUT -o /dev/null
for file in /dev/stdout /proc/self/fd/1 /dev/fd/1 "$folder/app.txt"; do
	expect "out is standard output: ${file##*/}" 125 \
		"-o $file: standard output is the program's, so bash was not started; name a file" \
		bash -c '"$0" run --library "$1" -o "$2" bash -c "exit 5" >"$3"' "$hotpin" "$library" "$file" "$folder/app.txt"
done
for file in /dev/stderr /proc/self/fd/2; do
	expect "out is standard error: ${file##*/}" 125 "-o $file: standard error is the program's" \
		bash -c '"$0" run --library "$1" -o "$2" bash -c "exit 5" 2>&1 >/dev/null' "$hotpin" "$library" "$file"
done
HOTPIN_OUT=/dev/stdout expect "HOTPIN_OUT is standard output" 125 \
	'HOTPIN_OUT /dev/stdout: standard output' run bash -c 'exit 5'
expect "out is a standard output that drops everything" 5 '' \
	bash -c '"$0" run --library "$1" -o /dev/stdout bash -c "exit 5" >/dev/null' "$hotpin" "$library"
expect "out is another stream" 5 '' \
	bash -c '"$0" run --library "$1" -o /dev/fd/3 bash -c "exit 5" 3>&1 >/dev/null 2>/dev/null' "$hotpin" "$library"
expect "out is a standard output that is closed" 125 '/dev/stdout: cannot be written' \
	bash -c '"$0" run --library "$1" -o /dev/stdout bash -c "exit 5" >&-' "$hotpin" "$library"
expect "out is too long" 125 'longer than' run -o "$folder/$(printf "./%0.s" {1..300})x" bash -c 'exit 5'
expect "out has too long a name" 125 'File name too long' run -o "$(printf '%0256d' 1)" bash -c 'exit 5'
expect "out is empty" 125 'name is empty.* name a file' run -o '' bash -c 'exit 5'
HOTPIN_OUT=/proc/none/x expect "HOTPIN_OUT into no folder" 125 'HOTPIN_OUT /proc/none/x: cannot be written' \
	run bash -c 'exit 5'
HOTPIN_OUT=/proc/none/x expect "a flag wins over HOTPIN_OUT" 0 "^\[$folder/x\]\$" sees HOTPIN_OUT -o "$folder/x"
HOTPIN=0 HOTPIN_OUT=/proc/none/x expect "HOTPIN_OUT is not looked at where it does nothing" 0 '' \
	bash -c '"$0" run --library "$1" true 2>/dev/null' "$hotpin" "$library"
expect "a folder that is known later" 0 "^\[/proc/none/%r/x\]\$" sees HOTPIN_OUT -o /proc/none/%r/x
expect "marks in a name" 125 'No such file' run -o /proc/none/%r.json true
expect "marks that are none" 125 'No such file' run -o /proc/none/%%r/x.json true

out=$folder/outs
mkdir "$out"
# unchanged NAME STATUS PATTERN command...: like expect; the folder of outputs must not change
unchanged() {
	local before
	before=$(ls -laR --time-style=+ "$out")
	expect "$@"
	[ "$before" = "$(ls -laR --time-style=+ "$out")" ] ||
		echo "not ok - $1: something was left behind or changed"
}
mkfifo "$out/pipe"
unchanged "out is a pipe that nobody reads yet" 0 "^\[$out/pipe\]\$" sees HOTPIN_OUT -o "$out/pipe"
unchanged "out is new" 0 "^\[$out/new%p\]\$" sees HOTPIN_OUT -o "$out/new%p"
unchanged "no such program: nothing is left behind" 127 'no such program' run -o "$out/new" "$folder/nothing"
unchanged "out beyond the limit of the file size" 125 'File too large' \
	bash -c 'ulimit -f 0; exec "$0" run --library "$1" -o "$2/new" true' "$hotpin" "$library" "$out"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$out/socket"
unchanged "out is a socket" 125 'cannot be written' run -o "$out/socket" bash -c 'exit 5'

# Without privileges: as nobody if this is root.
chmod 755 "$folder" "$out"
echo old >"$out/readonly"
chmod 444 "$out/readonly"
mkdir "$out/closed" "$out/sticky"
chmod 555 "$out/closed"
chmod 1777 "$out/sticky"
echo old >"$out/sticky/anothers"
chmod 666 "$out/sticky/anothers"
cp "$hotpin" "$folder/hotpin-for-all"
cp "$library" "$folder/libhotpin-for-all.so"
chmod 755 "$folder"/*-for-all*
without=()
[ "$(id -u)" != 0 ] || without=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${without[@]}" test -x "$folder/hotpin-for-all" 2>/dev/null; then
	small() {
		"${without[@]}" "$folder/hotpin-for-all" run --library "$folder/libhotpin-for-all.so" "$@"
	}
	unchanged "out into a folder without the right to" 125 'closed/x: cannot be written \(Permission denied' \
		small -o "$out/closed/x" bash -c 'exit 5'
	unchanged "out is a file that is read only" 125 'readonly: cannot be written \(Permission denied' \
		small -o "$out/readonly" bash -c 'exit 5'
	if [ "$(id -u)" = 0 ]; then
		unchanged "out is another user's file in a folder like /tmp" 125 'cannot be written' \
			small -o "$out/sticky/anothers" bash -c 'exit 5'
	fi
	unchanged "out into a folder like /tmp" 127 'no such program' small -o "$out/sticky/mine" "$folder/nothing"
else
	echo "# not tried without rights: this is root, and setpriv cannot change that"
fi

# A full file system, a read-only one, and a file that is a mount point.
# shellcheck disable=SC2016
if unshare --mount sh -c 'mount -t tmpfs -o size=4k none "$1" && mount --bind "$1" "$1"' - "$out/closed" 2>/dev/null; then
	mounted() { # SCRIPT: mounts on $1
		unshare --mount sh -c "$1"' && shift && exec "$@"' - "$out/closed" "$hotpin" run --library "$library" "${@:2}"
	}
	full='mount -t tmpfs -o size=8k none "$1" && ! cat /dev/zero 2>/dev/null >"$1/all"'
	expect "out on a full file system" 125 'No space left' mounted "$full" -o "$out/closed/x" bash -c 'exit 5'
	inodes='mount -t tmpfs -o nr_inodes=1 none "$1"'
	expect "out on one without inodes" 125 'No space left' mounted "$inodes" -o "$out/closed/x" bash -c 'exit 5'
	readonly='mount -t tmpfs -o ro none "$1"'
	expect "out on a file system that is read only" 125 'Read-only file system' \
		mounted "$readonly" -o "$out/closed/x" bash -c 'exit 5'
	alone='mount -t tmpfs none "$1" && touch "$1/x" "$1/y" && mount --bind "$1/y" "$1/x"'
	expect "out is a file that is mounted by itself" 125 'busy' mounted "$alone" -o "$out/closed/x" bash -c 'exit 5'
	expect "out on a file system with room" 5 '' \
		mounted 'mount -t tmpfs none "$1"' -o "$out/closed/x" bash -c 'exit 5'
else
	echo "# not tried with other file systems: this user may not mount them"
fi

for launcher in srun mpirun docker; do
	printf '#!/bin/sh\nexit 4\n' >"$folder/$launcher"
	chmod +x "$folder/$launcher"
	expect "$launcher may write elsewhere" 4 'cannot be written here \(No such file.*runs' \
		run -o /proc/none/x "$folder/$launcher" ./app
done
HOTPIN=0 expect "switched off" 0 'HOTPIN=0 is set' run true

expect "no such program" 127 'no such program' run "$folder/nothing"
expect "an empty name" 127 'name is empty' run ""
expect "not in PATH" 127 'no such program' run nothing-of-that-name
mkdir "$folder/here"
cp /bin/true "$folder/here/nothing-of-that-name"
cd "$folder/here" || exit 1
expect "in this folder" 127 'did you mean \./nothing-of-that-name' run nothing-of-that-name
cd / || exit 1
expect "a profile's kind without =" 127 'did you mean --profile=trace' run --profile trace true
expect "a variable behind hotpin" 127 'set variables before hotpin' run HOTPIN_LOG=info true
expect "a folder" 126 'it is a directory; name a program in it' run "$folder"
echo 'data' >"$folder/data"
expect "not executable" 126 'it is not executable; .*chmod' run "$folder/data"
printf '#!/proc/none/interpreter\n' >"$folder/script"
chmod +x "$folder/script" "$folder/data"
expect "no interpreter" 127 'needs /proc/none/interpreter' run "$folder/script"
printf 'exit 9\n' >"$folder/data"
expect "no #! line: a shell runs it" 9 '' run "$folder/data"
expect "statically linked" 3 'statically linked' run "$static"
head -c 18 /bin/true >"$folder/foreign"
printf '\050\000' >>"$folder/foreign"
tail -c +21 /bin/true >>"$folder/foreign"
chmod +x "$folder/foreign"
expect "a sanitizer's runtime" 3 'built with ThreadSanitizer, .*runs without' run "$sanitized"
expect "another machine" 126 'for arm, so it runs without' run "$folder/foreign"

printf '#!/bin/sh\nexit 4\n' >"$folder/sudo"
chmod +x "$folder/sudo"
expect "an environment of its own" 4 'sudo \.\.\. hotpin run PROGRAM' run "$folder/sudo" -u nobody true
cp /bin/false "$folder/privileged"
if [ "$(id -u)" = 0 ] && chown 65534 "$folder/privileged" 2>/dev/null; then
	chmod u+s "$folder/privileged"
	mkdir "$folder/rights"
	cp --preserve=all "$folder/privileged" "$folder/rights/sudo"
	expect "rights of its own" 1 'ignores LD_PRELOAD' run "$folder/privileged"
	expect "what helps with sudo, not why" 1 '^1$' bash -c '"$@" 2>&1 | wc -l; exit 1' - \
		"$hotpin" run --library "$library" "$folder/rights/sudo"
fi
expect "library is not there" 125 'cannot open the library' "$hotpin" run --library /proc/none true
expect "library is none" 125 'not a library' "$hotpin" run --library /bin/true true
expect "library of others" 125 "is not hotpin's library" \
	"$hotpin" run --library /lib/x86_64-linux-gnu/libm.so.6 true
cp "$folder/foreign" "$folder/foreign.so"
expect "library of another machine" 125 'for arm, which' "$hotpin" run --library "$folder/foreign.so" true
cp "$library" "$folder/with blank.so"
expect "library that LD_PRELOAD cannot name" 125 'cannot hold' "$hotpin" run --library "$folder/with blank.so" true
# AddressSanitizer's runtime needs it itself.
if [ "$(id -u)" = 0 ] && ! grep -q __asan_init "$hotpin" &&
	unshare --mount mount -t tmpfs none /proc 2>/dev/null; then
	bare=(unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' -)
	expect "no /proc" 125 'name the library with --library' "${bare[@]}" "$hotpin" run true
	expect "no /proc, a library by name" 0 "^LD_PRELOAD=$library\$" \
		"${bare[@]}" "$hotpin" run --library "$library" env
fi
mkdir "$folder/bin"
cp "$hotpin" "$folder/bin/"
expect "library is missing" 125 'is missing: .* ../lib and .* --library' "$folder/bin/hotpin" run true
mkdir "$folder/lib"
cp "$library" "$folder/lib/libhotpin.so"
expect "library next to an installed hotpin" 0 "^LD_PRELOAD=$folder/lib/libhotpin.so\$" "$folder/bin/hotpin" run env

expect "JSON" 0 '^[0-9]+ ok$' bash -c '"$1" env --json | python3 -c "
import json, sys
rows = json.load(sys.stdin)[\"options\"]
print(len(rows), \"ok\" if all(row[\"value\"] == row[\"default\"] for row in rows) else rows)"' - "$hotpin"
HOTPIN_STAGE=$'a"\\\x01\xff\xc3\xa9\xe2\x80\xae' expect "JSON of anything" 0 '^ok$' bash -c '"$1" env --json | python3 -c "
import json, sys
stage = [row for row in json.load(sys.stdin)[\"options\"] if row[\"name\"] == \"HOTPIN_STAGE\"]
print(\"ok\" if stage[0][\"value\"] == \"a\\\"\\\\\\\\x01\\\\xff\\u00e9\\\\xe2\\\\x80\\\\xae\" else stage)"' - "$hotpin"
HOTPIN_PIN=0 expect "value in force" 0 '^HOTPIN_PIN=0  \(set here\)$' "$hotpin" env
HOTPIN_PIN=x expect "bad value" 0 "cannot read 'x' \(expected 0\|1\), keeping '1'" "$hotpin" env

# `hotpin` finds the idle library next to $folder/bin/hotpin.
export LD_LIBRARY_PATH=${driver%/*}
doctor() {
	"$folder/bin/hotpin" doctor "$@"
}
expect "doctor without an output says so once" 0 '^1$' bash -c \
	'"$1" doctor 2>&1 >&- | grep -c "cannot write"' - "$folder/bin/hotpin"
expect "doctor: all is well" 0 '^ok +device +0 made-up device$' doctor
BROKEN=crash expect "doctor: driver crashes" 1 '^no +driver +crashes when checked: signal 11' doctor
BROKEN="exit" expect "doctor: driver exits" 1 '^no +driver +ends the process' doctor
BROKEN=hang expect "doctor: driver hangs" 1 '^no +driver +hangs when checked' doctor
BROKEN=stub expect "doctor: the toolkit's stub" 1 '^no +driver .*cuInit returns 34: this is the toolkit' doctor
BROKEN=nodevice expect "doctor: no device" 1 '^no +driver .*cuInit returns 100: no device' doctor
BROKEN=none expect "doctor: none" 1 '^no +device +none' doctor
BROKEN=hmm expect "doctor: HMM" 0 '^ok +device .*HMM' doctor
BROKEN=tables expect "doctor: page tables" 0 '^limits +device .*no buffer is pinned' doctor
BROKEN=old expect "doctor: old driver" 0 '^limits +driver +older than CUDA 11\.3' doctor
LD_LIBRARY_PATH=${driver%/*}/bare expect "doctor: a driver that lacks functions" 1 \
	'^no +driver +lacks cu[A-Za-z0-9_]+, so hotpin passes every call through' doctor
HOTPIN=0 expect "doctor: switched off" 1 '^no +options +HOTPIN=0' doctor
NSYS_PROFILING_SESSION_ID=1 expect "doctor: another tool" 0 '^limits +other tools .*NSYS_PROFILING_SESSION_ID.*no device times' doctor
cp "$library" "$folder/libnsys-idle.so"
LD_PRELOAD=$folder/libnsys-idle.so expect "doctor: a tool that is preloaded" 0 "^limits +other tools .*'nsys'" doctor
NSYS_PROFILING_SESSION_ID=1 HOTPIN_CUPTI=force expect "doctor: another tool, overruled" 0 '^hotpin can work here' doctor
expect "doctor: a program" 0 '^ok +program .*dynamically linked' doctor true
expect "doctor: static" 1 '^no +program .*statically linked.*; link libc dynamically' doctor "$static"
expect "doctor: a sanitizer's runtime" 1 '^no +program .*built with ThreadSanitizer' doctor "$sanitized"
expect "doctor: a folder" 1 '^no +program .* is a directory; name a program in it' doctor "$folder"
expect "doctor: a script" 127 '^no +interpreter' bash -c '"$1" doctor "$2" || exit 127' - "$folder/bin/hotpin" "$folder/script"
expect "doctor: another machine" 1 '^no +program .*for arm' doctor "$folder/foreign"
expect "doctor: no program" 1 '^no +program +there is no' doctor "$folder/nothing"
expect "doctor: a library" 1 '^no +program .*a library' doctor "$library"
(ulimit -v 4000000 && expect "doctor: address space" 0 '^limits +limits .*ulimit -v.*no buffer is pinned' doctor)
count=$((count + 1))
rm "$folder/lib/libhotpin.so"
echo garbage >"$folder/lib/libhotpin.so"
expect "doctor: library is garbage" 1 '^no +library' doctor
echo "1..$count"
ended=yes
