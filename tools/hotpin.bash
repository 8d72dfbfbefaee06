# Completion of hotpin's commands and flags for bash; installed where bash-completion looks.
# shellcheck shell=bash

_hotpin() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags=
	COMPREPLY=()

	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "run report compare html trace csv env doctor help \
			--help --version" -- "$word")
		return
	fi
	case ${COMP_WORDS[1]}:$before in
	*:-o | *:--out | *:--library) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
	csv:-t | csv:--table)
		mapfile -t COMPREPLY < <(compgen -W "summary transfers sizes kernels sites buffers stages \
			counters calls events" -- "$word")
		return
		;;
	esac
	case ${COMP_WORDS[1]} in
	run) flags="--profile --profile=summary --profile=trace --observe --stage --out --library --help" ;;
	report) flags="--all --force --help" ;;
	compare) flags="--noise --force --markdown --json --help" ;;
	html | trace) flags="--out --help" ;;
	csv) flags="--table --out --help" ;;
	env) flags="--json --markdown --man --help" ;;
	doctor) flags="--help" ;;
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	esac
}
complete -o filenames -F _hotpin hotpin
