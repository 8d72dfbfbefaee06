/*
 * The commands of `hotpin`: entry points, help and usage.
 */
#ifndef HP_TOOLS_CMD_COMMANDS_H
#define HP_TOOLS_CMD_COMMANDS_H

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
int hotpin_resolve(int argc, char **argv);

/* Prints the first screen of the report of a profile. */
struct profile;
void report_first(struct profile *profile);

/* Prints the help of `command` to stdout; returns 0. */
int hotpin_help(const char *command);

/* Prints the text and the usage line of `command` to stderr; returns EXIT_USAGE. */
int hotpin_misused(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
