#!/bin/sh
# Checks that doc/options.md agrees with `hotpin env` and base/counters.def.
#
# option_tables.sh HOTPIN ROOT          compares
# option_tables.sh HOTPIN ROOT --write  updates the page
set -u
hotpin=$1 page=$2/doc/options.md counters=$2/src/base/counters.def mode=${3-}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2016 # these are backquotes of Markdown
"$hotpin" env --json | python3 -c '
import json, sys
print("| option | default | accepts | what it does |\n|---|---|---|---|")
for row in json.load(sys.stdin)["options"]:
    cells = (f"`{text}`" if text else "" for text in (row["name"], row["default"]))
    print("|", *(text + " |" for text in cells), *(row[key].replace("|", r"\|") + " |" for key in ("accepts", "help")))
' >"$folder/options" || exit 1
{
	printf '| counter | what it counts |\n|---|---|\n'
	# shellcheck disable=SC2016 # these, too
	sed -n 's/^COUNTER(\([a-z_0-9]*\), *"\(.*\)")$/| `\1` | \2 |/p' "$counters"
} >"$folder/counters"
[ -s "$folder/options" ] && [ "$(wc -l <"$folder/counters")" -gt 2 ] || exit 1

TABLES=$folder/ awk '
	$0 == "<!-- end -->" { inside = 0 }
	!inside
	/^<!-- (options|counters) -->$/ {
		inside = 1
		found++
		while ((getline line <(ENVIRON["TABLES"] $2)) > 0)
			print line
	}
	END { exit found != 2 }' "$page" >"$folder/page" || {
	echo "$page has no line '<!-- options -->' or '<!-- counters -->'"
	exit 1
}
cmp -s "$page" "$folder/page" && exit 0
[ "$mode" = --write ] && exec cp "$folder/page" "$page"
diff "$page" "$folder/page"
echo "test/rules/option_tables.sh HOTPIN ROOT --write mends it"
exit 1
