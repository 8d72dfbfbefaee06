/*
 * Messages on stderr, and exit statuses.
 */
#ifndef HP_TOOLS_SYSTEM_MESSAGES_H
#define HP_TOOLS_SYSTEM_MESSAGES_H

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

/* Writes "hotpin: text\n" to stderr, with the text as units_escape() makes it. */
void hotpin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
