#!/bin/sh
# Checks that doc/options.md agrees with `hotpin env`.
#
# option_tables.sh HOTPIN ROOT          compares
# option_tables.sh HOTPIN ROOT --write  updates the page
set -u
hotpin=$1 page=$2/doc/options.md mode=${3-}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2016 # these are backquotes of Markdown
"$hotpin" env --json | python3 -c '
import json, sys
print("| option | default | accepts | what it does |\n|---|---|---|---|")
for row in json.load(sys.stdin)["options"]:
    cells = (f"`{text}`" if text else "" for text in (row["name"], row["default"]))
    print("|", *(text + " |" for text in cells), *(row[key].replace("|", r"\|") + " |" for key in ("accepts", "help")))
' >"$folder/table" || exit 1
[ -s "$folder/table" ] || exit 1

TABLE=$folder/table awk '
	$0 == "<!-- end -->" { inside = 0 }
	!inside
	$0 == "<!-- options -->" {
		inside = found = 1
		while ((getline line <ENVIRON["TABLE"]) > 0)
			print line
	}
	END { exit !found }' "$page" >"$folder/page" || {
	echo "$page has no line '<!-- options -->'"
	exit 1
}
cmp -s "$page" "$folder/page" && exit 0
[ "$mode" = --write ] && exec cp "$folder/page" "$page"
diff "$page" "$folder/page"
echo "test/rules/option_tables.sh HOTPIN ROOT --write mends it"
exit 1
