/*
 * Shared by the commands of `hotpin`: entry points, messages and exit statuses.
 */
#ifndef HP_TOOLS_CMD_HOTPIN_H
#define HP_TOOLS_CMD_HOTPIN_H

/*
 * Exit statuses, the same for all commands.  Those of `run` are those of env(1) and timeout(1), so
 * that a script can tell hotpin's failures from the program's.
 */
enum {
	/* EXIT_FAILURE: a file cannot be read or written, or hotpin cannot work here. */
	EXIT_USAGE = 2,
	EXIT_SLOWER = 3, /* the last stage */
	EXIT_APART = 4,  /* the files are not comparable, or not of one run */
	EXIT_OURSELVES = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/* Each carries out one command; argv[0] is its name.  Returns the exit status. */
int hotpin_run(int argc, char **argv);
int hotpin_bench(int argc, char **argv);
int hotpin_env(int argc, char **argv);
int hotpin_doctor(int argc, char **argv);
int hotpin_report(int argc, char **argv);
int hotpin_compare(int argc, char **argv);
int hotpin_annotate(int argc, char **argv);
int hotpin_html(int argc, char **argv);
int hotpin_trace(int argc, char **argv);
int hotpin_csv(int argc, char **argv);
int hotpin_resolve(int argc, char **argv);

/*
 * Returns the whole text, as units_escape() makes it fit for a terminal.  The caller frees it.
 * NULL: no memory.
 */
char *hotpin_clean(const char *text);

/* Writes "hotpin: text\n" to stderr, with the text as by hotpin_clean(). */
void hotpin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the help of `command` to stdout; returns 0. */
int hotpin_help(const char *command);

/* Prints the usage line of `command` to stderr; returns EXIT_USAGE. */
int hotpin_misused(const char *command);

#endif
