#!/bin/sh
# Checks that doc/options.md and libhotpin(7) agree with `hotpin env` and counters.def, and that the
# page of each command describes the options of its help.
#
# option_tables.sh HOTPIN ROOT          compares
# option_tables.sh HOTPIN ROOT --write  updates the pages
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
hotpin=$1 root=$2 mode=${3-}
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# holds PAGE FROM TO LIST: PAGE must contain LIST between the line FROM and the next line TO.
holds() {
	FROM=$2 TO=$3 LIST=$4 awk '
		$0 == ENVIRON["TO"] { inside = 0 }
		!inside
		$0 == ENVIRON["FROM"] {
			inside = found = 1
			while ((getline line <ENVIRON["LIST"]) > 0)
				print line
		}
		END { exit !found }' "$root/$1" >"$folder/page" || {
		echo "$1 has no line '$2'"
		failed=1
		return
	}
	cmp -s "$root/$1" "$folder/page" && return
	if [ "$mode" = --write ]; then
		cat "$folder/page" >"$root/$1"
	else
		diff "$root/$1" "$folder/page"
		echo "$1 is out of step with: $2; test/rules/option_tables.sh HOTPIN ROOT --write mends it"
		failed=1
	fi
}

# The output must not depend on options in the environment.
HOTPIN_PIN=0 HOTPIN_STAGE=here "$hotpin" env --markdown >"$folder/markdown" || exit 1
HOTPIN_PIN=0 HOTPIN_STAGE=here "$hotpin" env --man >"$folder/man" || exit 1
sed -n 's/^COUNTER(\([a-z0-9_]*\), *"\(.*\)")$/.TP\n.B \1\n\2/p' \
	"$root/src/base/counters.def" >"$folder/counters"
for list in markdown man counters; do
	[ -s "$folder/$list" ] || exit 1
done

holds doc/options.md '<!-- hotpin env --markdown -->' '<!-- end -->' "$folder/markdown"
holds tools/libhotpin.7 '.\" hotpin env --man' '.\" end' "$folder/man"
holds tools/libhotpin.7 '.\" src/base/counters.def' '.\" end' "$folder/counters"

# hotpin(1) describes commands without a page of their own, and also the parts of a run.
for command in $("$hotpin" --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
	page=$root/tools/hotpin-$command.1
	[ -f "$page" ] || page=$root/tools/hotpin.1
	grep -qE "hotpin( |\\\\-)$command" "$page" || {
		echo "$page does not describe $command"
		failed=1
	}
	for option in $("$hotpin" "$command" --help | grep -oE -e '--[a-z]+' | sort -u); do
		name=$(echo "$option" | sed 's/-/\\\\-/g')
		grep -q -e "$name" "$page" && continue
		grep -q "^\.I part" "$page" && grep -q -e "$name" "$root/tools/hotpin.1" && continue
		echo "$page does not describe $option"
		failed=1
	done
	echo "$command" >>"$folder/commands"
done
[ "$(wc -l <"$folder/commands")" -gt 5 ] || failed=1
exit $failed
