#compdef hotpin
# Completes hotpin's commands and flags in zsh; installed as _hotpin in a folder that zsh searches.

_hotpin_commands() {
	local -a commands=(
		'run:run a program with faster copies'
		'bench:measure how much faster a program is with hotpin'
		'report:say where the time of a run went'
		'compare:say what each porting stage gained or lost'
		'annotate:show source lines with the time that they took'
		'html:write profiles as a page for a browser'
		'trace:write a timeline for a viewer'
		'csv:write figures for a spreadsheet'
		'resolve:store names and advice in a profile'
		'env:show every option of the environment'
		'doctor:say what will work here, what will not, and why'
		'help:what a command takes'
	)
	_describe -t commands 'command' commands
}

_hotpin() {
	local curcontext=$curcontext state line
	local -a help=('(- *)--help[what it takes]') out=('(-o --out)'{-o,--out}'[write it there]:file:_files')

	_arguments -C '(- *)--help[what there is]' '(- *)--version[which one this is]' \
		'1:command:_hotpin_commands' '*::argument:->command'
	[[ $state = command ]] || return
	curcontext=${curcontext%:*:*}:hotpin-$words[1]:
	case $words[1] in
	run)
		_arguments -S $help $out \
			'--profile=-[print where the time went]::form:(summary trace)' \
			'--observe=-[only look on, for a "before"]::what:(buffers)' \
			'--capture=[profile a part of the run]:range:(all nvtx\: profiler-api)' \
			'--stage[name this porting stage]:label:' \
			'--library[preload this library]:file:_files' \
			'1:program:_command_names -e' '*::argument:_normal'
		;;
	bench)
		_arguments -S $help $out '(-n --turns)'{-n,--turns}'[so many runs of each]:number:' \
			'--stage[name this porting stage]:label:' \
			'--library[preload this library]:file:_files' \
			'1:program:_command_names -e' '*::argument:_normal'
		;;
	report)
		_arguments $help '(-a --all)'{-a,--all}'[every row]' \
			'--color[color what gets better or worse]:when:(auto always never)' \
			'--force[add up files that are not ranks of one run]' '*:profile:_files'
		;;
	compare)
		_arguments $help \
			'--color[color what gets better or worse]:when:(auto always never)' \
			'--noise[differences up to this are none]:percent:' \
			'--force[compare what is not comparable]' '(--json)--markdown[as a table]' \
			'(--markdown)--json[for programs]' '*:profile:_files'
		;;
	annotate)
		_arguments $help '*'{-s,--source}'[look for sources there too]:folder:_files -/' \
			'1:profile:_files' '2:source:_files'
		;;
	html)
		_arguments $help $out '*'{-s,--source}'[look for sources there too]:folder:_files -/' \
			'*:profile:_files'
		;;
	trace) _arguments $help $out '*:profile:_files' ;;
	csv)
		_arguments $help $out \
			'(-t --table)--folded[host samples as folded stacks]' \
			'(-t --table --folded)'{-t,--table}'[which table]:table:(summary copies sizes kernels launches calls gaps sites buffers repeats bounds python functions ranges durations tracks events advice counters options)' \
			'*:profile:_files'
		;;
	resolve) _arguments $help '*:profile:_files' ;;
	env) _arguments $help '(- *)'--{json,markdown,man}'[in this form]' ;;
	doctor) _arguments $help '1:program:_command_names -e' ;;
	help) _hotpin_commands ;;
	esac
}

_hotpin "$@"
