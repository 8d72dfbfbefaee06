#!/bin/bash
# Runs programs that do not use CUDA with the library and without it.  Their output, exit status and
# the files that they write must be the same, byte for byte.
#
#	PRELOAD_SO=$PWD/build/src/libhotpin.so test/preload/everyday.sh [NAME...]
#
# In a second round HOTPIN_HEAP_MIN is low, so that the heap also serves the blocks of small
# programs.  A NAME is a part of a result's name, and selects these results only.
set -u

names=("$@")

work=$(mktemp -d)
trap 'rm -rf "$work"; [ -n "${ended-}" ] || echo "Bail out! The script left before its end."' EXIT
cd "$work" || exit 1
count=0
failed=0

result() { # ok|not ok, name
	count=$((count + 1))
	[ "$1" = ok ] || failed=1
	echo "$1 $count - $2"
}

# Runs the rest of the line in folder $1, with $2 in LD_PRELOAD; keeps output, errors and status.
in_folder() {
	local folder=$1 library=$2
	shift 2
	rm -rf "$folder"
	mkdir "$folder"
	(cd "$folder" && exec timeout "$((180 * ${TEST_SLOWNESS:-1}))" env LD_PRELOAD="$library" "$@" \
		>"../$folder.out" 2>"../$folder.errors")
	echo $? >"$folder.status"
}

wanted() { # name
	local name

	[ ${#names[@]} -gt 0 ] || return 0
	for name in "${names[@]}"; do
		[[ $1 != *"$name"* ]] || return 0
	done
	return 1
}

# same NAME PROGRAM ARGUMENT...: skipped if the program is missing.
same() {
	local name=$1 round
	shift
	wanted "$name" || return 0
	if ! command -v "$1" >/dev/null; then
		result ok "$name # SKIP no $1"
		return
	fi
	in_folder plain "" "$@"
	for round in 256K 1K; do
		HOTPIN_HEAP_MIN=$round in_folder ours "$PRELOAD_SO" "$@"
		if cmp plain.out ours.out && cmp plain.errors ours.errors &&
			cmp plain.status ours.status && diff -r plain ours >diff.out; then
			result ok "$name, blocks from $round"
		else
			head -5 plain.errors ours.errors diff.out | sed 's/^/# /'
			result "not ok" "$name, blocks from $round"
		fi
	done
}

cat >prime.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	enum { most = 3000000 };
	char *sieve = calloc(most, 1);
	int count = 0;
	for (int i = 2; i < most; i++) {
		count += !sieve[i];
		for (long n = (long)i * i; n < most && !sieve[i]; n += i)
			sieve[n] = 1;
	}
	printf("%d\n", count);
	free(sieve);
	return 3;
}
END
cat >Makefile <<'END'
all: one.o two.o three.o
	cc -o prime one.o && ./prime >said; echo $$? >>said
%.o:
	cc -O2 -c -o $@ ../prime.c
END
cat >script.py <<'END'
import json, multiprocessing, os, subprocess, sys, threading, zlib
def square(n):
    return sum(bytearray(n * 100000)) + n * n
rows = [{"n": i, "text": "x" * (i % 97)} for i in range(60000)]
print(zlib.crc32(json.dumps(json.loads(json.dumps(rows))).encode()))
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(square, range(12)))
print(subprocess.run(["sh", "-c", "echo child; exit 5"], capture_output=True))
threads = [threading.Thread(target=square, args=(30,)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
big = bytearray()
for i in range(200):
    big += bytes([i]) * 100000
print(zlib.crc32(big), len(sorted(range(300000), key=lambda i: i * 7919 % 300007)))
pid = os.fork()
if pid == 0:
    os._exit(9)
print(os.waitpid(pid, 0)[1])
sys.exit(4)
END
cat >script.js <<'END'
const { execSync } = require('child_process');
const { Worker } = require('worker_threads');
const all = [];
for (let i = 0; i < 200; i++) all.push(Buffer.alloc(500000, i));
console.log(require('crypto').createHash('sha256').update(Buffer.concat(all)).digest('hex'));
console.log(execSync('echo child').toString());
new Worker('require("worker_threads").parentPort.postMessage(new Array(1e6).fill(1).length)',
	{ eval: true }).on('message', (n) => { console.log(n); process.exitCode = 6; });
END
cat >script.sh <<'END'
exec 3>file
for i in {1..2000}; do echo "line $i $((i * i))"; done | tee copy | sort -r | sha256sum >&3
(echo sub; exit 3); echo $?
declare -a a=($(seq 20000)); echo "${#a[@]} ${a[19999]}"
big=$(head -c 3000000 /dev/zero | tr '\0' x); echo "${#big}"
bash -c 'kill -TERM $$'; echo $?
END
cat >script.pl <<'END'
$x = "a" x 5e6; $h{$_} = $x for 1..9; print length(join "", %h), "\n"; exit 7
END
cat >script.git <<'END'
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one && cd one || exit
for i in 1 2 3; do
	seq 200000 >file$i && git add . && git commit -q -m "commit $i"
done
head -c 4000000 /dev/zero >big && git add big && git commit -q -m big
git gc -q && git fsck --full && git log --format='%H %s' && git diff --stat HEAD~2
cd .. && git clone -q one two && git -C two rev-parse HEAD && rm -rf one two
END

seq 300000 | awk '{ print $1 * 7919 % 300007 }' >numbers

same "a compiler" cc -O2 -c -o prime.o ../prime.c
same "a compiler with all its stages" cc -O2 -pipe -flto -o prime ../prime.c
same "make, two jobs" make -s -j2 -f ../Makefile
same "bash" bash ../script.sh
same "git" bash ../script.git
same "python" python3 ../script.py
same "node" node ../script.js
same "sort" sort -n -S 8M --parallel=2 ../numbers
same "tar and gzip" bash -c 'tar cf - -C .. numbers | gzip -n9 | sha256sum'
same "perl" perl ../script.pl
same "a program that fails" ls /no/such/file
same "a program that is not there" sh -c /no/such/program

echo "1..$count"
ended=yes
exit "$failed"
