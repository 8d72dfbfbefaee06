#!/bin/sh
# Checks that each room (folder of src or tools) includes only headers it may use.  includes.sh ROOT
set -u
root=$1
cd "$root" || exit 1
files=$(find src tools -name '*.[chS]' -o -name '*.def' | LC_ALL=C sort)
headers=$(find src tools -name '*.h')
[ -n "$files" ] || {
	echo "no files found"
	exit 1
}

# One awk for all files, as one for each takes 20 times as long. File names have no blanks.
# shellcheck disable=SC2086
exec awk -v headers="$headers" '
BEGIN {
	# The other rooms whose headers each room may include.
	allowed["base"] = "base"
	allowed["real"] = "base"
	allowed["heap"] = "base real"
	allowed["pin"] = "base real heap"
	allowed["stage"] = "base real heap pin"
	allowed["trace"] = "base"
	allowed["engine"] = "base real heap pin stage trace"
	allowed["shim"] = "base real heap pin stage trace engine"
	# The same for the folders of tools.
	allowed["system"] = "base"
	allowed["launch"] = "base system"
	allowed["profile"] = "base system"
	allowed["names"] = "base system profile"
	allowed["analyze"] = "base system profile names"
	allowed["tables"] = "base system profile names analyze"
	allowed["compare"] = "base system profile names analyze tables"
	allowed["show"] = "base system profile names analyze tables compare"
	allowed["cmd"] = "base system profile names analyze tables compare show launch"
	count = split(headers, names, "\n")
	for (i = 1; i <= count; i++)
		exists[names[i]] = 1
}

function complain(text) {
	print text
	failed = 1
}

function check_arrow(at, header,	parts) {
	# driver.def is only a list, and needs no other header.
	if (FILENAME ~ /^tools\// && header == "real/driver.def")
		return
	if (header ~ /^\.\.\//) {
		complain(at ": " header ": name the room instead")
	} else if (split(header, parts, "/") == 1) {
		complain(at ": " header ": name the room too")
	} else if (index(" " room " " allowed[room] " ", " " parts[1] " ") == 0) {
		complain(at ": " room " may not use " parts[1] " (" header ")")
	}
}

# A .c file proves that its own header needs nothing before it.
function check_own_header_first(header,	own) {
	own = FILENAME
	if (sub(/\.c$/, ".h", own) == 0 || !(own in exists))
		return
	if (substr("/" own, length(own) + 1 - length(header)) != "/" header)
		complain(FILENAME ": its first include is " header ", not its own header")
}

FNR == 1 {
	first = ""
	room = FILENAME
	sub(/^(src|tools)\//, "", room)
	if (sub(/\/.*/, "", room) == 0)
		complain(FILENAME " is in no room")
	if (!(room in allowed))
		complain(FILENAME ": this rule does not know the room " room)
}

/^[ \t]*#[ \t]*include/ {
	header = $0
	sub(/[^"<]*["<]/, "", header)
	sub(/[">].*/, "", header)
	if ($0 ~ /^[ \t]*#[ \t]*include[ \t]*"/)
		check_arrow(FILENAME ":" FNR, header)
	if (first == "")
		check_own_header_first(first = header)
	if (header ~ /uthash/ && FILENAME != "src/base/table.h")
		complain(FILENAME ":" FNR ": only base/table.h includes uthash.h")
}

END { exit failed }
' $files
