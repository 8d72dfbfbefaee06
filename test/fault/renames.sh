#!/bin/sh
# Prints a #define for each libc function that MAP exports.  renames.sh MAP
sed 's,/\*.*\*/,,; /^ \*/d; /^\/\*/d; s/[;:[:space:]]\{1,\}/\n/g' "$1" | sort -u |
	grep -E '^[a-zA-Z_][a-zA-Z_0-9]*$' | grep -vxE 'global|local|InitializeInjectionNvtx2?' |
	sed 's/.*/#define & whole_&/'
