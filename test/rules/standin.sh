#!/bin/sh
# Checks that the stand-in stands alone: it includes and names nothing of the library that is tested
# on it, and its header lists each variable that it reads.  standin.sh ROOT
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
cd "$1/test/standin" || exit 1
failed=0

# Its own tests also use the harness.
for file in *.[ch] *.def; do
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\(.*\)".*/\1/p' "$file" | while read -r header; do
		case $file:$header in
		*/*) echo "$file includes $header" ;;
		selftest*:check.h) ;;
		*:entry.def) ;; # entries.py makes it
		*) [ -f "$header" ] || echo "$file includes $header" ;;
		esac
	done
done | grep . && {
	echo "^ of other folders it includes only the toolkit's headers"
	failed=1
}
if grep -rniE 'hotpin|\bhp_' --exclude='*.md' .; then
	echo "^ it does not know what is tested on it; that is for README.md"
	failed=1
fi

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
find . -name '*.c' ! -name 'selftest*' -exec grep -ohE '(getenv|number)\("STANDIN_[A-Z_]+"' {} + |
	sed 's/.*("//; s/"//' | sort -u >"$folder/read"
sed -nE 's/^ \*   (STANDIN_[A-Z_]+)=.*/\1/p' standin.h | sort -u >"$folder/listed"
[ -s "$folder/read" ] || exit 1
diff "$folder/read" "$folder/listed" || {
	echo "^ variables that standin.h does not list (<), or that nothing reads (>)"
	failed=1
}
exit $failed
