# Completes hotpin's commands and flags in bash; installed in the folder of bash-completion.
# shellcheck shell=bash

# Prints the index of the program of `hotpin run` or `bench`, or of its place.  bash splits at "=".
_hotpin_program() {
	local at=2

	while [ "$at" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[at]} in
		--) at=$((at + 1)) && break ;;
		-n | --turns | -o | --out | --stage | --library) [ "${COMP_WORDS[at + 1]}" = = ] || at=$((at + 1)) ;;
		=) at=$((at + 1)) ;;
		-*) ;;
		*) break ;;
		esac
		at=$((at + 1))
	done
	echo "$at"
}

_hotpin() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags='' program=0
	local commands="run bench report compare annotate html trace csv resolve env doctor help"
	COMPREPLY=()

	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
		return
	fi
	if [ "$word" = = ]; then
		word='' before+='='
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}=
	fi
	case ${COMP_WORDS[1]} in
	run | bench)
		flags="--stage --out --library --help"
		if [ "${COMP_WORDS[1]}" = bench ]; then
			flags+=" --turns"
		else
			flags+=" --profile --profile=summary --profile=trace --observe --observe=buffers"
			flags+=" --capture --capture=nvtx: --capture=profiler-api"
		fi
		program=$(_hotpin_program)
		# Words after the program are the program's own.
		[ "$COMP_CWORD" -le "$program" ] || before='' flags=''
		;;
	resolve) flags="--help" ;;
	report) flags="--all --color --force --help" ;;
	compare) flags="--color --noise --force --markdown --json --help" ;;
	annotate) flags="--source --help" ;;
	html) flags="--source --out --help" ;;
	trace) flags="--out --help" ;;
	csv) flags="--table --folded --out --help" ;;
	env) flags="--json --markdown --man --help" ;;
	doctor) flags="--help" program=2 ;;
	esac
	case ${COMP_WORDS[1]}:$before in
	help:*) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word") ;;
	*:--color | *:--color=)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		;;
	run:--profile=) mapfile -t COMPREPLY < <(compgen -W "summary trace" -- "$word") ;;
	*:--stage | *:--stage= | bench:-n | bench:--turns | bench:--turns= | compare:--noise | compare:--noise=) ;;
	annotate:-s | annotate:--source | annotate:--source= | html:-s | html:--source | html:--source=)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		;;
	csv:-t | csv:--table | csv:--table=)
		mapfile -t COMPREPLY < <(compgen -W "summary copies sizes kernels launches calls gaps sites \
			buffers repeats bounds python functions ranges durations tracks events advice counters options" -- "$word")
		;;
	*:-o | *:--out | *:--library | *=) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	*)
		if [[ $word = -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
		elif [ "$COMP_CWORD" = "$program" ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -d -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		;;
	esac
}
complete -o filenames -F _hotpin hotpin
