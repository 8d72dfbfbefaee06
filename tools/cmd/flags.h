/*
 * Reads the options and files of a command line.
 */
#ifndef HP_TOOLS_CMD_FLAGS_H
#define HP_TOOLS_CMD_FLAGS_H

#include "names/source.h"
#include "profile/profile.h"
#include "system/output.h"

#include <stdbool.h>

/* An option takes a value if it has `text`; if it has both, the value may be left out. */
struct flag {
	const char *name;             /* the long option; NULL ends the table */
	char letter;                  /* 0: it has no short form */
	const char **text;            /* gets the value */
	bool *given;                  /* becomes true */
	struct source_where *folders; /* instead of text: gets each value */
};

#define FLAGS_MOST       8
#define FLAGS_NO_PROFILE "no profile to read; name a file of `hotpin run -o FILE`"

/* What follows the options: files, a program with options of its own, profiles. */
enum flags_operands { FLAGS_FILES, FLAGS_PROGRAM, FLAGS_PROFILES };

/*
 * Reads the options up to argv[optind].  Returns -1, or the exit status after --help, a wrong
 * option, or if there are no profiles.
 */
int flags_read(int argc, char **argv, const struct flag *flags, enum flags_operands operands);

/*
 * Opens the output, stdout if `path` is NULL, and then the profiles, and calls `write`, which
 * returns an exit status.  Returns that status, or EXIT_FAILURE; without success no file is
 * written.
 */
int flags_write(const char *path, char **files, size_t count,
		int (*write)(struct output *output, struct profile *profiles, size_t count,
			     void *arg),
		void *arg);

#endif
