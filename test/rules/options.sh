#!/bin/sh
# README.md and the manual page hold what `hotpin env` says.  options.sh HOTPIN ROOT
set -u
hotpin=$1 root=$2
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# Between the line that holds $2 and the next that ends as $3 says.
between() {
	FROM=$2 TO=$3 awk '$0 == ENVIRON["TO"] { show = 0 }
		show
		$0 == ENVIRON["FROM"] { show = 1 }' "$1"
}

# An environment that sets options must not show.
HOTPIN_PIN=0 HOTPIN_STAGE=here "$hotpin" env --markdown >"$folder/markdown" || exit 1
HOTPIN_PIN=0 HOTPIN_STAGE=here "$hotpin" env --man >"$folder/man" || exit 1
[ -s "$folder/markdown" ] && [ -s "$folder/man" ] || exit 1

between "$root/README.md" '<!-- hotpin env --markdown -->' '<!-- end -->' |
	diff - "$folder/markdown" || {
	echo "README.md is out of step with \`hotpin env --markdown\`"
	failed=1
}
between "$root/tools/hotpin.1" '.\" hotpin env --man' '.\" end' |
	diff - "$folder/man" || {
	echo "tools/hotpin.1 is out of step with \`hotpin env --man\`"
	failed=1
}
exit $failed
