#!/bin/sh
# For a program that contains the library: what MAP exports for libc has another name there, which the
# linker gives to the program's calls.  reallocarray() too: glibc's calls realloc() by its exported
# name, a sanitizer's does not.
#
#	renames.sh MAP define       the names for the library, as a header
#	renames.sh MAP wrap         the names for the linker, as options
{
	sed 's,/\*.*\*/,,; /^ \*/d; /^\/\*/d; s/[;:[:space:]]\{1,\}/\n/g' "$1" | sort -u |
		grep -E '^[a-zA-Z_][a-zA-Z_0-9]*$' | grep -vxE 'global|local|InitializeInjectionNvtx2?'
	echo reallocarray
} | case $2 in
define) sed 's/.*/#define & __wrap_&/' ;;
wrap) sed 's/^/-Wl,--wrap=/' ;;
esac
