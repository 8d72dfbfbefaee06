#!/bin/sh
# Checks that doc/options.md agrees with `hotpin env`.
#
# option_tables.sh HOTPIN ROOT          compares
# option_tables.sh HOTPIN ROOT --write  updates the page
set -u
hotpin=$1 page=$2/doc/options.md mode=${3-}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# The output must not depend on options in the environment.
HOTPIN_PIN=0 HOTPIN_STAGE=here "$hotpin" env --markdown >"$folder/table" || exit 1
[ -s "$folder/table" ] || exit 1

TABLE=$folder/table awk '
	$0 == "<!-- end -->" { inside = 0 }
	!inside
	$0 == "<!-- hotpin env --markdown -->" {
		inside = found = 1
		while ((getline line <ENVIRON["TABLE"]) > 0)
			print line
	}
	END { exit !found }' "$page" >"$folder/page" || {
	echo "$page has no line '<!-- hotpin env --markdown -->'"
	exit 1
}
cmp -s "$page" "$folder/page" && exit 0
[ "$mode" = --write ] && exec cp "$folder/page" "$page"
diff "$page" "$folder/page"
echo "test/rules/option_tables.sh HOTPIN ROOT --write mends it"
exit 1
