#!/bin/sh
# Checks that the library needs only libc and the loader, old symbols, and no writable code.
#
# needed.sh LIBRARY
set -u
library=$1
failed=0

complain() {
	echo "$*"
	failed=1
}

dynamic=$(readelf -dW "$library") || exit 1
for name in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	case $name in
	libc.so.6 | ld-linux*) ;;
	*) complain "needs $name, which must then be there for every /bin/true" ;;
	esac
done
echo "$dynamic" | grep -q '(NEEDED).*libc.so.6' || complain "does not name libc at all"
! echo "$dynamic" | grep -E 'TEXTREL|RPATH|RUNPATH' || complain "text relocations or a run path"
echo "$dynamic" | grep -q 'NODELETE' || complain "dlclose() could unload it: -z nodelete is missing"
# Next to an auditing library (LD_AUDIT) the loader has some 1,600 bytes left, for all libraries.
tls=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
[ "$((tls))" -le 1280 ] || complain "has $((tls)) bytes of thread-local variables: trace/thread_memory.h has more"
readelf -lW "$library" | grep 'GNU_STACK' | grep -q 'RWE' &&
	complain "asks for an executable stack: a .S file lacks .note.GNU-stack"

# glibc 2.34 merged libdl and libpthread; newer symbols exclude distributions.
symbols=$(nm -D "$library")
newest=$(echo "$symbols" | sed -n 's/.*@GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -n 1)
[ -n "$newest" ] || complain "no versioned symbol of glibc"
[ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -n 1)" = 2.34 ] ||
	complain "needs glibc $newest"

# Functions that must not be used, even by a macro or an inline function: they end the host, use its
# streams and its heap, change its environment, or run once, while libcuda re-enters us from cuInit.
# Newer libcs have new names for those of the last lines, which older systems would lack.
undefined=$(echo "$symbols" | awk '$1 == "U" || $1 == "w" { sub(/@.*/, "", $2); print $2 }')
for name in abort quick_exit err errx printf vprintf puts putchar fprintf vfprintf fwrite fputs fputc \
	fopen fdopen perror syslog stdout stderr stdin __printf_chk __vprintf_chk __fprintf_chk \
	__vfprintf_chk __syslog_chk malloc free calloc realloc setenv putenv unsetenv clearenv \
	pthread_once call_once \
	strtol strtoul strtoll strtoull atoi atol sscanf __isoc99_sscanf; do
	! echo "$undefined" | grep -qx "$name" || complain "uses $name"
done
! echo "$undefined" | grep -E '^(cu[A-Z]|cuda[A-Z]|cupti)' || complain "is linked to CUDA"
echo "glibc $newest or newer"
exit $failed
