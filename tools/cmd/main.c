/*
 * main.c - the command line: `hotpin COMMAND`, with one source file for each command.
 *
 * The table of commands also holds their help.  A mistyped name is answered with the nearest
 * command.
 */
#include "cmd/commands.h"
#include "profile/texts.h"
#include "system/messages.h"
#include "tables/tables.h"
#include "base/parse.h"
#include "base/units.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The place of the list of tables in a help text. */
#define TABLES "\a"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *takes, *does, *help, *example;
} commands[] = {
	{ "run", hotpin_run, "[OPTION...] [--] PROGRAM [ARGUMENT...]",
	  "run a program with faster copies",
	  "Preloads libhotpin.so into PROGRAM, which keeps its terminal, signals and exit\n"
	  "status.\n"
	  "  --profile[=summary|trace]  wait for the program; print where the time went;\n"
	  "                             trace also keeps a timeline, in the file of -o\n"
	  "  -o, --out FILE             write the profile as JSON to FILE; %p %h %t %r in\n"
	  "                             its name: process, host, time, rank\n"
	  "  --observe[=buffers]        profile the program as it runs without hotpin;\n"
	  "                             buffers: also tell its malloc() buffers apart\n"
	  "  --capture RANGE            profile a part of the run:\n"
	  "                             all           the whole run (the default)\n"
	  "                             nvtx:NAME     inside NVTX ranges of that name\n"
	  "                             profiler-api  from cuProfilerStart to\n"
	  "                                           cuProfilerStop\n"
	  "  --stage LABEL              label this porting stage in the profile; `hotpin\n"
	  "                             compare` compares stages with different labels\n"
	  "  --library FILE             preload FILE instead of the installed library\n"
	  "\n"
	  "--observe, --capture and --stage imply --profile if there is no -o.\n",
	  "hotpin run --profile ./app input.dat" },
	{ "bench", hotpin_bench, "[OPTION...] [--] PROGRAM [ARGUMENT...]",
	  "measure how much faster a program is with hotpin",
	  "Runs PROGRAM plain, with `hotpin run` and with `hotpin run --observe -o`, in\n"
	  "turns after one warm-up run.  Prints all wall times, and compares the runs with\n"
	  "hotpin to the plain ones; neither has a profile.  The observed runs have one,\n"
	  "and show what it costs.  PROGRAM gets no standard input; its output is\n"
	  "discarded.\n"
	  "  -n, --turns TURNS  run each kind TURNS times: 5 (the default) or more\n"
	  "  --stage LABEL      label this porting stage in the profiles\n"
	  "  -o, --out PREFIX   write PREFIX-observed-1.json, PREFIX-observed-2.json, ..\n"
	  "                     (default: the program's name)\n"
	  "  --library FILE     preload FILE instead of the installed library\n",
	  "hotpin bench ./app input.dat" },
	{ "report", hotpin_report, "[OPTION...] FILE...", "show where the time of a run went",
	  "FILE is a profile of `hotpin run -o FILE`.  Prints where the time went, and the\n"
	  "three changes that save most, on 24 lines at most.  Several files are the ranks\n"
	  "of one run.  Lines are as wide as the terminal, or as COLUMNS says.\n"
	  "  --why         say how to make each change, and on what assumption\n"
	  "  -a, --all     show every table, every row and whole names\n"
	  "  --force       add up files even if they are not ranks of one run\n"
	  "  --csv TABLE   write one table of each FILE as CSV, in nanoseconds and bytes:\n" TABLES
	  "  --folded      write samples of host code as folded stacks, for flamegraph.pl\n"
	  "  -o, --out CSV\n"
	  "                write CSV or folded stacks to a file, not to standard output\n",
	  "hotpin report run.json" },
	{ "compare", hotpin_compare, "[OPTION...] FILE FILE...",
	  "show what each porting stage gained or lost",
	  "FILEs are profiles of `hotpin run -o FILE --stage LABEL`, the oldest stage\n"
	  "first.  Files with the same label are repeats of a stage, or the ranks of a run.\n"
	  "Repeats set the noise level.  A file without a label is a stage of its own.  If\n"
	  "a stage has one run, the verdict is UNCLEAR, unless times differ by a factor of\n"
	  "three.\n"
	  "  --noise PERCENT  show differences up to PERCENT as unchanged\n"
	  "  --force          compare anyway, despite incompatible runs\n",
	  "hotpin compare stage1.json stage2.json" },
	{ "annotate", hotpin_annotate, "[--source DIR]... FILE",
	  "show source lines with the time that they took",
	  "FILE is a profile of `hotpin run -o FILE`.  Shows the lines that took most time,\n"
	  "of the five sources that took most, with their copies, the bytes and time of\n"
	  "these, and the time of host code.\n"
	  "  -s, --source DIR  also look for sources below DIR\n"
	  "\n"
	  "The profile has lines if the program was compiled with -g.\n",
	  "hotpin annotate --source ~/solver run.json" },
	{ "html", hotpin_html, "[OPTION...] FILE...", "write profiles as a page for a browser",
	  "Writes the report of each FILE, with sources, as one page.  The page needs no\n"
	  "network.  A browser without JavaScript shows it, but cannot sort its tables.\n"
	  "  -o, --out PAGE    write PAGE instead of standard output\n"
	  "  -s, --source DIR  also look for sources below DIR\n",
	  "hotpin html -o run.html run.json" },
	{ "trace", hotpin_trace, "[OPTION...] FILE...", "write a timeline for Perfetto",
	  "FILE is a profile of `hotpin run --profile=trace -o FILE`.  The timeline is in\n"
	  "Chrome's trace format, for ui.perfetto.dev or chrome://tracing, which work\n"
	  "offline.  Several files, like the ranks of a run, share one clock.\n"
	  "  -o, --out TRACE  write TRACE instead of standard output\n",
	  "hotpin trace -o run.trace.json run.json" },
	{ "resolve", hotpin_resolve, "FILE...", "store names and suggestions in a profile",
	  "FILE is a profile of `hotpin run -o FILE`.  Looks up the functions and lines of\n"
	  "its addresses on this machine, as `hotpin report` does, and stores them and the\n"
	  "suggestions in FILE.  A report on a machine that lacks the program then has the\n"
	  "same names.  Prints which addresses have no name, and why.\n",
	  "hotpin run -o run.json ./app && hotpin resolve run.json" },
	{ "env", hotpin_env, "[--json]", "show each option (an environment variable) and its value",
	  "  --json  print values in force, defaults and help as JSON\n",
	  "HOTPIN_PIN=0 hotpin env" },
	{ "doctor", hotpin_doctor, "[PROGRAM]", "check what works here, and say what to do",
	  "Checks the driver, CUPTI, memory and other tools, and PROGRAM if it is named.\n",
	  "hotpin doctor ./app" },
};

/*
 * The exit statuses of all commands, as in hotpin(1).  `of` names the commands that use a status.
 * The statuses of `run` are those of env(1) and timeout(1).
 */
#define ALL       "all"
#define ALL_BUT   "all but run"
#define ANY_OTHER (-1)
static const struct {
	int status;
	const char *of, *means;
} exits[] = {
	{ 0, ALL_BUT, "success" },
	{ 0, "bench compare", "and the verdict is FASTER, SAME or UNCLEAR" },
	{ EXIT_FAILURE, ALL_BUT, "a file cannot be read or written, or lacks the requested data" },
	{ EXIT_FAILURE, "doctor", "or hotpin cannot work here" },
	{ EXIT_USAGE, ALL, "wrong usage" },
	{ EXIT_SLOWER, "bench compare", "the verdict is SLOWER" },
	{ EXIT_APART, "bench compare", "a program failed, or the runs are not comparable" },
	{ EXIT_APART, "report", "the files are not ranks of one run" },
	{ EXIT_OURSELVES, "run", "hotpin failed, and the program was not started" },
	{ EXIT_CANNOT_RUN, "run", "the program cannot be executed" },
	{ EXIT_NOT_FOUND, "run", "there is no such program" },
	{ ANY_OTHER, "run", "the status of the program" },
};

static const struct command *command_named(const char *name)
{
	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

static bool has_exit(const char *name, const char *of)
{
	size_t length = strlen(name);
	const char *at = strstr(of, name);

	if (strcmp(of, ALL) == 0)
		return true;
	if (strcmp(of, ALL_BUT) == 0)
		return strcmp(name, "run") != 0;
	return at != NULL && (at[length] == ' ' || at[length] == '\0');
}

/* Prints the statuses of one command, or those of all commands if `name` is NULL. */
static void print_exits(FILE *to, const char *name)
{
	int before = ANY_OTHER;

	fputs("\nExit status:\n", to);
	for (size_t i = 0; i < HP_LEN(exits); i++) {
		char number[16] = "other";

		if (name != NULL && !has_exit(name, exits[i].of))
			continue;
		if (exits[i].status != ANY_OTHER)
			snprintf(number, sizeof(number), "%d", exits[i].status);
		fprintf(to, "%5s  ",
			exits[i].status != before || before == ANY_OTHER ? number : "");
		before = exits[i].status;
		if (name == NULL)
			fprintf(to, "%-13s  ", exits[i].of);
		fprintf(to, "%s\n", exits[i].means);
	}
}

int hotpin_help(const char *name)
{
	const struct command *command = command_named(name);
	size_t before = strcspn(command->help, TABLES);

	printf("usage: hotpin %s %s\n\n%.*s", command->name, command->takes, (int)before,
	       command->help);
	if (command->help[before] != '\0') {
		for (const struct table *const *table = tables; *table != NULL; table++)
			if ((*table)->name != NULL)
				printf("%20s%-9s  %s\n", "", (*table)->name, (*table)->about);
		fputs(command->help + before + 1, stdout);
	}
	print_exits(stdout, name);
	printf("\nExample: %s\n", command->example);
	return 0;
}

int hotpin_misused(const char *name, const char *format, ...)
{
	const struct command *command = command_named(name);
	va_list args;

	va_start(args, format);
	hotpin_say("%s", text_of(format, args));
	va_end(args);
	fprintf(stderr, "usage: hotpin %s %s\n`hotpin %s --help` explains it.\n", command->name,
		command->takes, command->name);
	return EXIT_USAGE;
}

static void overview(FILE *to)
{
	fputs("usage: hotpin COMMAND ...\n\n", to);
	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		fprintf(to, "  %-8s  %s\n", command->name, command->does);
	print_exits(to, NULL);
	fputs("\n`hotpin COMMAND --help` explains a command, `hotpin env` each option.\n"
	      "\nExample: hotpin run --profile ./app\n",
	      to);
}

/* Returns the number of single-letter edits between two names; reads 63 letters of each. */
static unsigned edit_distance(const char *a, const char *b)
{
	size_t rows = strnlen(a, 63), columns = strnlen(b, 63);
	unsigned row[64];

	for (size_t j = 0; j <= columns; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= rows; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= columns; j++) {
			unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
			unsigned insert = row[j - 1] + 1, remove = row[j] + 1;

			diagonal = row[j];
			row[j] = replace < insert ? replace : insert;
			if (remove < row[j])
				row[j] = remove;
		}
	}
	return row[columns];
}

static int unknown(const char *name)
{
	const struct command *nearest = commands;

	for (const struct command *command = commands; command < commands + HP_LEN(commands);
	     command++)
		if (edit_distance(name, command->name) < edit_distance(name, nearest->name))
			nearest = command;
	if (edit_distance(name, "--version") <= 2)
		hotpin_say("there is no %s; did you mean --version?", name);
	else if (edit_distance(name, "--help") <= 2)
		hotpin_say("there is no %s; did you mean --help?", name);
	else if (name[0] == '-')
		hotpin_say("%s is an option, but a command comes first, as in `hotpin run "
			   "--profile ./app`; `hotpin help` lists the commands",
			   name);
	else if (strchr(name, '/') != NULL && access(name, X_OK) == 0)
		hotpin_say("%s is not a command; to run it: hotpin run %s", name, name);
	else if (edit_distance(name, nearest->name) <= 2)
		hotpin_say("%s is not a command; did you mean %s?", name, nearest->name);
	else
		hotpin_say("%s is not a command; `hotpin help` lists the commands", name);
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
 * Fills standard descriptors that the caller closed, so that no file of ours takes their numbers.
 * The wrong access mode makes reads from stdin and writes to stdout and stderr fail, as before.
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

	opterr = 0;
	/* `run` passes its own descriptors on to the program, so they stay as they are. */
	if (command->run != hotpin_run)
		keep_standard_numbers();
	return flushed(command->run(argc - 1, argv + 1));
}
