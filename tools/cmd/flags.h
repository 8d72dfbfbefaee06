/*
 * Reads the options of a command line, as a table describes them.
 */
#ifndef HP_TOOLS_CMD_FLAGS_H
#define HP_TOOLS_CMD_FLAGS_H

#include <stdbool.h>

/* An option takes a value if it has `text`; if it has both, the value may be left out. */
struct flag {
	const char *name;  /* the long option; NULL ends the table */
	char letter;       /* 0: it has no short form */
	const char **text; /* gets the value */
	bool *given;       /* becomes true */
};

#define FLAGS_MOST 8

/*
 * Reads the options up to argv[optind].  `program`: the words after the first operand are not
 * options of this command.  Returns -1, or the exit status after --help or a wrong option.
 */
int flags_read(int argc, char **argv, const struct flag *flags, bool program);

#endif
