/*
 * hotpin.c - the command line: `hotpin COMMAND`, one file a command.
 *
 * A command is a line of the table below; help and the nearest name for a typing mistake follow.
 */
#include "hotpin.h"
#include "base/parse.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What each command says of period.h's options. */
#define PART_HELP                                                                  \
	"PART of a run, of a profile of --profile=trace:\n"                        \
	"  --from T, --to T  times since the program began: 1.5, 200ms\n"          \
	"  --range NAME      every time that the program was in this NVTX range\n" \
	"  --steady          without start-up and warm-up: from the second turn of its loop on\n"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *takes, *does, *help;
} commands[] = {
	{ "run", hotpin_run,
	  "[--profile[=summary|trace]] [--observe[=buffers]] [--stage LABEL] [-o FILE] [--library FILE] "
	  "[--] PROGRAM [ARGUMENT...]",
	  "run a program with faster copies",
	  "  --profile[=summary|trace]  print where the time went when the program ends\n"
	  "  -o, --out FILE             write that as JSON; %p %h %t %r in FILE stand for process,\n"
	  "                             host, time and rank\n"
	  "  --observe[=buffers]        only look on: the profile is that of the program without\n"
	  "                             hotpin, for a \"before\"; buffers: tell those of malloc apart\n"
	  "  --stage LABEL              name this porting stage, or this way to run it, in the\n"
	  "                             profile: hotpin compare holds labels against each other\n"
	  "  --library FILE             preload this library instead of the installed one\n"
	  "\n"
	  "Without -o, --observe and --stage ask for --profile.\n"
	  "The exit status is the program's; 125: hotpin failed, or FILE cannot be written, 126: the\n"
	  "program cannot be run, 127: there is no such program.\n" },
	{ "bench", hotpin_bench,
	  "[-n TURNS] [--stage LABEL] [-o PREFIX] [--library FILE] [--] PROGRAM [ARGUMENT...]",
	  "say what hotpin gains a program, and why",
	  "Runs PROGRAM plain, observed (as --observe does) and with hotpin, in turns after one run to\n"
	  "warm up.  Prints the wall times of each, then what hotpin compare says of the profiles.\n"
	  "  -n, --turns TURNS  so many runs of each (5)\n"
	  "  --stage LABEL      name this porting stage in the profiles\n"
	  "  -o, --out PREFIX   write PREFIX-observed-1.json, PREFIX-hotpin-1.json, ..; without it\n"
	  "                     PREFIX is the program's name\n"
	  "  --library FILE     preload this library instead of the installed one\n"
	  "\n"
	  "PROGRAM reads nothing from standard input, and what it prints is dropped.\n"
	  "Exit status 0: hotpin is no slower than observed; 3: it is slower; 4: they were not\n"
	  "compared, for one because PROGRAM failed.\n" },
	{ "watch", hotpin_watch, "FILE", "show the report of a program while it runs",
	  "FILE is what `hotpin run -o FILE` writes; it may not be there yet.  hotpin writes it at\n"
	  "once, then at growing intervals; HOTPIN_DUMP=timer:1 adds FILE-1, FILE-2, .. each second.\n"
	  "The youngest is shown, on a terminal in place of the one before.  Ends with the program.\n"
	  "\n"
	  "Exit status 0: the program ended; 1: it was killed, or a file cannot be read.\n"
	  "Example: HOTPIN_DUMP=timer:1 hotpin run -o run.json ./app & hotpin watch run.json\n" },
	{ "report", hotpin_report, "[--all] [--color WHEN] [--force] [--json] [PART] FILE...",
	  "say where the time of a run went",
	  "FILE is what `hotpin run -o FILE` wrote.  Several are the ranks of one run, which are shown\n"
	  "side by side and added up.\n"
	  "  -a, --all     every row, whole names, sizes, bounds, counters and options\n"
	  "  --color WHEN  color what gets better or worse: auto, always or never\n"
	  "  --force       add up files that are not ranks of one run too\n"
	  "  --json        for programs: each FILE by itself, null for what is not known\n" PART_HELP
	  "\n"
	  "Exit status 0: done; 1: a file cannot be read; 4: the files are not of one run.\n" },
	{ "compare", hotpin_compare,
	  "[--noise PERCENT] [--color WHEN] [--force] [--markdown | --json] FILE FILE...",
	  "say what each porting stage gained or lost",
	  "FILEs are profiles of `hotpin run -o FILE --stage LABEL`, the oldest stage first.  Those of\n"
	  "one label are repeats of a stage, which tell how large the noise is, or its ranks; one\n"
	  "without a label is a stage of its own.\n"
	  "  --noise PERCENT  differences up to this are none (2)\n"
	  "  --color WHEN     color what got better or worse: auto, always or never\n"
	  "  --force          compare what is not comparable\n"
	  "  --markdown       for a pull request: the verdict, a table, the rest folded\n"
	  "  --json           for programs: whole numbers, null for what is not known\n"
	  "\n"
	  "Exit status 0: the last stage is no slower than the one before; 3: it is slower;\n"
	  "1: a file cannot be read; 4: they are not comparable, for one because a program failed.\n" },
	{ "annotate", hotpin_annotate, "[--source DIR]... PROFILE [FILE]",
	  "show source lines with the time that they took",
	  "Next to each line: copies that it made, their bytes and time, and samples of host code.\n"
	  "Without FILE: the files that took most time, 5 at most, cut to the lines that matter.\n"
	  "  -s, --source DIR  look for sources in DIR too, by the longest end of their path\n"
	  "\n"
	  "Lines are known where the program was compiled with -g, and addr2line is installed.\n"
	  "Exit status 0: done; 1: the profile or FILE cannot be read, or no line is known.\n"
	  "Example: hotpin annotate --source ~/solver run.json solve.cu | less\n" },
	{ "html", hotpin_html, "[-o PAGE] [--source DIR]... [PART] FILE...",
	  "write profiles as a page for a browser",
	  "One file that needs nothing else, not even the network; without scripts, the timeline is a\n"
	  "picture, and tables cannot be sorted.\n"
	  "  -o, --out PAGE    write it there, not to standard output\n"
	  "  -s, --source DIR  look for sources in DIR too, by the longest end of their path\n" PART_HELP
	  "\n"
	  "Example: hotpin html -o run.html run.json\n" },
	{ "trace", hotpin_trace, "[-o TRACE] [PART] FILE...", "write a timeline for a viewer",
	  "FILE is a profile of `hotpin run --profile=trace -o FILE`.  The timeline is JSON in Chrome's\n"
	  "format, for ui.perfetto.dev or chrome://tracing, which work offline.  Several files, as of the\n"
	  "ranks of a run, are put on one clock.\n"
	  "  -o, --out TRACE  write it there, not to standard output\n" PART_HELP },
	{ "csv", hotpin_csv, "[--table TABLE | --folded] [-o CSV] [PART] FILE...",
	  "write figures for a spreadsheet",
	  "  -t, --table TABLE  summary (a row for each FILE), transfers, sizes, kernels, sites,\n"
	  "                     buffers, stages, counters, calls; of a timeline: durations (each\n"
	  "                     kernel, copy and call), tracks (by stream, device, thread) or events\n"
	  "  --folded           not a table: host samples as folded stacks, frame;frame;leaf count\n"
	  "  -o, --out CSV      write it there, not to standard output\n" PART_HELP "\n"
	  "Example: hotpin csv --folded run.json | flamegraph.pl >run.svg\n" },
	{ "env", hotpin_env, "[--json|--markdown|--man]", "show every option of the environment",
	  "  --json      values in force, defaults and help as JSON\n"
	  "  --markdown  defaults and help as the table of README.md\n"
	  "  --man       defaults and help as in hotpin(1)\n" },
	{ "doctor", hotpin_doctor, "[PROGRAM]", "say what will work here, what will not, and why",
	  "Looks at the driver, CUPTI, memory and other tools, and at PROGRAM where one is named.\n"
	  "Exit status 0: hotpin can work; 1: it cannot.\n" },
};

void hotpin_say(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("hotpin: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static const struct command *command_named(const char *name)
{
	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

int hotpin_help(const char *name)
{
	const struct command *command = command_named(name);

	printf("usage: hotpin %s %s\n\n%s", command->name, command->takes, command->help);
	return 0;
}

int hotpin_misused(const char *name)
{
	const struct command *command = command_named(name);

	fprintf(stderr, "usage: hotpin %s %s\n", command->name, command->takes);
	return EXIT_USAGE;
}

static void overview(FILE *to)
{
	fputs("usage: hotpin COMMAND ...\n\n", to);
	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		fprintf(to, "  %-8s %s\n", command->name, command->does);
	fputs("\nExit status 0: done; 1: a file cannot be read or written, or hotpin cannot work here;\n"
	      "2: wrong usage; 3: slower; 4: files are not comparable, or not of one run.  That of `run`\n"
	      "is the program's, or 125 to 127.\n"
	      "\n`hotpin COMMAND --help` says what a command takes; hotpin(1) has the rest.\n",
	      to);
}

static int unknown(const char *name)
{
	const struct command *nearest = commands;

	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		if (hp_edit_distance(name, command->name) < hp_edit_distance(name, nearest->name))
			nearest = command;
	if (name[0] == '-')
		hotpin_say("%s is not an option", name);
	else if (strchr(name, '/') != NULL && access(name, X_OK) == 0)
		hotpin_say("%s is not a command; to run it: hotpin run %s", name, name);
	else if (hp_edit_distance(name, nearest->name) <= 2)
		hotpin_say("%s is not a command; did you mean %s?", name, nearest->name);
	else
		hotpin_say("%s is not a command", name);
	overview(stderr);
	return EXIT_USAGE;
}

/* A table that did not reach the disk must not look like success. */
static int flushed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	hotpin_say("cannot write: %m");
	return status == 0 || status == EXIT_SLOWER ? EXIT_FAILURE : status;
}

/*
 * What was closed stays something that fails when it is used, but no file or pipe of ours takes its
 * number.
 */
static void keep_standard_numbers(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("hotpin %s\n", HOTPIN_VERSION);
		return flushed(0);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && (argc == 2 || strcmp(argv[2], "help") == 0))) {
		overview(stdout);
		return flushed(0);
	}

	bool help = strcmp(argv[1], "help") == 0;
	const struct command *command = command_named(argv[1 + help]);
	if (command == NULL)
		return unknown(argv[1 + help]);
	if (help || (argc > 2 && strcmp(argv[2], "--help") == 0))
		return flushed(hotpin_help(command->name));

	/* What getopt puts before its messages. */
	char title[32];
	snprintf(title, sizeof(title), "hotpin %s", command->name);
	argv[1] = title;
	/* The program of `run` gets what we were given. */
	if (command->run != hotpin_run)
		keep_standard_numbers();
	return flushed(command->run(argc - 1, argv + 1));
}
