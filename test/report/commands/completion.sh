#!/bin/bash
# Checks that every command and flag that `hotpin --help` names is completed.  completion.sh HOTPIN
# COMPLETION
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
hotpin=$1
# shellcheck disable=SC1090 # it is made when hotpin is built
. "$2"
failed=0

offered() { # WORDS...: what is offered for the last
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_hotpin
	printf '%s\n' "${COMPREPLY[@]}"
}

commands=$("$hotpin" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
[ -n "$commands" ] || failed=1
for command in $commands; do
	offered hotpin "" | grep -qx -- "$command" || {
		echo "not offered: $command"
		failed=1
	}
	# Without flags of other commands, which the prose mentions.
	flags=$("$hotpin" "$command" --help | grep -E '^(usage:|  -)' |
		grep -oE -- '[ |[]--[a-z]+' | tr -d ' [|')
	for flag in $flags; do
		offered hotpin "$command" - | grep -qx -- "$flag" || {
			echo "not offered: $command $flag"
			failed=1
		}
	done
done
offered hotpin report --csv "" | diff - <("$hotpin" report --csv none /dev/null 2>&1 | sed -n 's/^  //p') || {
	echo "< tables that the help names, > tables that there are"
	failed=1
}
if [ "$(offered hotpin rep)" != report ] || ! offered hotpin report --csv s | grep -qx sites; then
	echo "a beginning is not completed"
	failed=1
fi
# bash splits words at "=".
if [ "$(offered hotpin run --profile = t)" != trace ]; then
	echo "a value behind = is not completed"
	failed=1
fi
if ! offered hotpin run --observe tru | grep -qx true ||
	! offered hotpin doctor tru | grep -qx true; then
	echo "a program of PATH is not completed"
	failed=1
fi
if offered hotpin run --stage "a b" ./app -x - | grep -q . ||
	offered hotpin run -- true - | grep -q .; then
	echo "the program is offered flags of hotpin"
	failed=1
fi
if ! offered hotpin run -o x.json --stage y - | grep -qx -- --observe; then
	echo "flags are not completed behind one with a value"
	failed=1
fi
[ "$(offered hotpin help comp)" = compare ] || failed=1
exit $failed
