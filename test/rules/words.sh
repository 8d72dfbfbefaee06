#!/bin/sh
# Checks for calls that parts of the library must not make, and for forms that we do not use.
# needed.sh has the calls that no part makes.  words.sh ROOT
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
root=$1
rules=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$root" || exit 1
failed=0

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# Copies code without comments, with the same names, to $folder.  C++ files of the tests have the
# form of C.
find src tools test -name '*.[chS]' -o -name '*.cu' -o -name '*.def' >"$folder/files"
"$rules/code_only.py" "$folder" <"$folder/files" || {
	echo "^ comments are /* */"
	failed=1
}
cd "$folder" || exit 1

# forbid WHY NAMES FIND-ARGUMENTS...: no call of NAMES (separated by |) in the files of src
forbid() {
	why=$1 names=$2
	shift 2
	if find src -name '*.[ch]' "$@" -exec \
		grep -HE "(^|[^A-Za-z0-9_.>])($names)[[:space:]]*\(" {} +; then
		echo "^ $why"
		failed=1
	fi
}

below_shim='! -path src/shim/* ! -path src/real/*'
set -f
# shellcheck disable=SC2086
{
	forbid "the host's heap is not ours to use" \
		'malloc|calloc|realloc|reallocarray|free|memalign|aligned_alloc|posix_memalign|valloc|strdup|strndup|asprintf|vasprintf|getline|opendir' \
		$below_shim
	# Functions of CUPTI and of the unwinder, and data of CPython, are found through handles of
	# our own.
	forbid "look-ups go through real/" 'dlsym|dlvsym' $below_shim ! -path src/trace/collect/cupti.c ! -path src/trace/places/frames.c ! -path src/trace/python/interpreter.c
	forbid "a guest does not end its host" '_exit|_Exit' $below_shim
	forbid "these return to us; use base/kernel.h" \
		'mmap|mmap64|munmap|mremap|mprotect|pkey_mprotect|madvise|posix_madvise|mlockall|setrlimit|prlimit' \
		$below_shim
}
# shim/load/exit.c ends a process in which only hotpin's threads are left, as libc does.
forbid "a guest does not end its host" 'exit' ! -path src/shim/load/exit.c
# Variables of other tools and of launchers are not options of hotpin.
forbid "the environment is read once, by base/options.c" 'getenv' \
	! -path src/base/cupti_find.c ! -path src/base/rank.c ! -path 'src/trace/*'
forbid "the runtime API has the program's last error" 'cuda[A-Z][A-Za-z0-9_]*'
forbid "not bounded" 'strcpy|strcat|sprintf|gets|alloca'
forbid "tests replace the clock: sleeps and waits with a deadline go through base/clock.h" \
	'sleep|usleep|nanosleep|clock_nanosleep|sem_timedwait|sem_clockwait|pthread_cond_timedwait|pthread_cond_clockwait' \
	! -path src/base/clock.c
forbid "tests choose the number of cores" 'sched_getaffinity|get_nprocs' \
	! -path src/stage/workers.c ! -path src/trace/out/process.c
if grep -rnwE 'CLOCK_MONOTONIC(_COARSE|_RAW)?|SYS_(futex|nanosleep|clock_nanosleep)' src |
	grep -vE '^src/base/clock\.[ch]:'; then
	echo "^ tests replace the clock: use base/clock.h"
	failed=1
fi
if grep -rE --include='*.[ch]' --include='*.cu' 'typedef (struct|union|enum)[^;(]*\{|typedef (struct|union) [a-z_]+ [a-z_]+;' .; then
	echo "^ a struct keeps its name: no typedef"
	failed=1
fi
[ -s src/base/log.c ] || {
	echo "nothing was looked at"
	failed=1
}
set +f
cd "$root" || exit 1
# Another user can change what a name means.
if grep -rnE --include='*.[ch]' 'O_CREAT|O_TMPFILE|\b(creat|mkstemp|mkostemp|rename|renameat)\(|fopen\(.*"(w|a|r\+)' src tools |
	grep -v '^src/base/save\.c:'; then
	echo "^ files are written by base/save.h"
	failed=1
fi
if grep -rnE --include='*.[ch]' '"([A-Z_]+=)?/tmp/(hotpin|test)' test; then
	echo "^ two runs would share it: a test's files are in check_path()"
	failed=1
fi
exit $failed
