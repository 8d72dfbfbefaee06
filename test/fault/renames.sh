#!/bin/sh
# renames.sh MAP IO_DEF - a #define for each libc function that MAP exports, but for those of IO_DEF,
# whose stubs call nobody.
sed 's,/\*.*\*/,,; /^ \*/d; /^\/\*/d; s/[;:[:space:]]\{1,\}/\n/g' "$1" | sort -u |
	grep -E '^[a-zA-Z_][a-zA-Z_0-9]*$' | grep -vxE 'global|local|InitializeInjectionNvtx2?' |
	while read -r name; do
		grep -qE "^(IO|SIGNAL)\\(${name}[,)]" "$2" || echo "#define $name whole_$name"
	done
