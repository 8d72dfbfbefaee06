#!/bin/sh
# Checks which rooms (folders of src) include headers of which others.  includes.sh ROOT
set -u
root=$1
cd "$root" || exit 1
failed=0

complain() {
	echo "$*"
	failed=1
}

# Prints what a file in the room may include besides its own room.
allowed() {
	case $1 in
	base | tools) echo base hotpin ;;
	real) echo base ;;
	heap) echo base real ;;
	pin) echo base real heap ;;
	stage) echo base real heap pin ;;
	trace) echo base ;;
	engine) echo base real heap pin stage trace ;;
	shim) echo base real heap pin stage trace engine hotpin ;;
	esac
}

check_file() { # file room
	grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1" |
		sed 's/^\([0-9]*\):[^"]*"\([^"]*\)".*/\1 \2/' | while read -r line header; do
		# A list alone: it needs nothing of its room.
		[ "$2 $header" != "tools real/driver.def" ] || continue
		case $header in
		../*) echo "$1:$line: $header: name the room instead" ;;
		*/*)
			room=${header%%/*}
			case " $2 $(allowed "$2") " in
			*" $room "*) ;;
			*) echo "$1:$line: $2 may not use $room ($header)" ;;
			esac
			;;
		*) [ "$2" = tools ] || echo "$1:$line: $header: name the room too" ;;
		esac
	done
}

# Including its own header first, a .c file proves that the header needs nothing before it.
check_own_header_first() { # file
	own=${1%.c}.h
	[ -f "$own" ] || return 0
	first=$(grep -m 1 '^[[:space:]]*#[[:space:]]*include' "$1" | sed 's/[^"<]*["<]\([^">]*\).*/\1/')
	case $own in
	*"/$first") ;;
	*) echo "$1: its first include is $first, not its own header" ;;
	esac
}

count=0
for file in $(find src tools -name '*.[chS]' -o -name '*.def' | sort); do
	case $file in
	tools/*) room=tools ;;
	src/*/*)
		room=${file#src/}
		room=${room%%/*}
		;;
	*) complain "$file is in no room" && continue ;;
	esac
	[ -n "$(allowed "$room")" ] || complain "$file: this rule does not know the room $room"
	found=$(check_file "$file" "$room")
	[ -z "$found" ] || complain "$found"
	case $file in
	*.c)
		found=$(check_own_header_first "$file")
		[ -z "$found" ] || complain "$found"
		;;
	esac
	[ "$file" = src/base/table.h ] || ! grep -n '^#[[:space:]]*include.*uthash' "$file" ||
		complain "$file: only base/table.h includes uthash.h"
	count=$((count + 1))
done
[ $count -gt 0 ] || complain "no files found"
exit $failed
