#!/bin/sh
# Checks that zsh completes every command and flag that `hotpin --help` names.  zsh.sh HOTPIN
# COMPLETION
set -u
export LC_ALL=C # order, ranges of letters, messages of the shell
command -v zsh >/dev/null || { echo "zsh is not installed" && exit 77; }
hotpin=$1 failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp "$2" "$folder/_hotpin"

# Completion works only in zsh's line editor, so text is typed to a zsh in a terminal of its own.
# There compadd, which every completion calls, also writes its arguments to a file.
cat >"$folder/rc" <<'ZSH'
fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a added
	# With these options, matches are queried, not added.
	if [[ -z ${(M)@[1,(i)-]:#-[OAD]} ]]; then
		builtin compadd -A added "$@"
		print -rl -- $added >>$FOLDER/added
	fi
	builtin compadd "$@"
}
answer() {
	_main_complete
	compstate[insert]= compstate[list]=
	print >>$FOLDER/answered
}
zle -C answer list-choices answer
bindkey '^T' answer
bindkey '^U' kill-whole-line
print >>$FOLDER/ready
ZSH
cat >"$folder/ask" <<'ZSH'
zmodload zsh/zpty zsh/zselect
await() {
	repeat 3000; do
		[[ -s $FOLDER/$1 ]] && { : >$FOLDER/$1; return }
		# The terminal's output must be read, or it stops.
		zpty -rt inner shown
		zselect -t 1
	done
	print "zsh does not answer"
	exit 1
}
zpty inner zsh -f -i
zpty -w inner "source $FOLDER/rc"
await ready
while IFS= read -r line; do
	: >$FOLDER/added
	zpty -wn inner $'\025'"$line"$'\024'
	await answered
	print -r -- "${(j: :)${(uf)$(<$FOLDER/added)}}"
done
ZSH

# One line of standard input for each expected answer.
{
	commands=$("$hotpin" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
	for command in $commands; do
		echo "$command:hotpin "
		# Without flags of other commands, which the prose mentions.
		"$hotpin" "$command" --help | grep -E '^(usage:|  -)' |
			grep -oE -- '[ |[]--[a-z]+' | tr -d ' [|' | sed "s/\$/:hotpin $command --/"
	done
	echo "report:hotpin rep"
	echo "sites:hotpin report --csv s"
	echo "trace:hotpin run --profile="
	echo "--stage:hotpin run -o x --"
} | sort -u >"$folder/expected"
cut -d: -f2- "$folder/expected" | sort -u >"$folder/questions"
FOLDER=$folder zsh -f "$folder/ask" <"$folder/questions" >"$folder/answers" || {
	cat "$folder/answers"
	exit 1
}
while IFS=: read -r word question; do
	at=$(grep -nxF -- "$question" "$folder/questions" | cut -d: -f1)
	sed -n "${at}p" "$folder/answers" | tr ' ' '\n' | grep -qx -- "$word" || {
		echo "not offered after '$question': $word"
		failed=1
	}
done <"$folder/expected"
[ "$(wc -l <"$folder/expected")" -gt 20 ] || failed=1
[ $failed = 0 ] || cat "$folder/answers"
exit $failed
