/*
 * Where a command's output goes: stdout, or a file that is there whole or not at all.
 */
#ifndef HP_TOOLS_TARGET_H
#define HP_TOOLS_TARGET_H

#include <stdio.h>

struct target {
	FILE *to;
	const char *path;   /* NULL: stdout */
	char written[4096]; /* the file's name until it is whole */
};

/* path NULL or "-": stdout.  Says on stderr what is wrong; returns 0 or a negative errno. */
int target_open(struct target *target, const char *path);

/* Gives the file its name, in place of an older one.  Returns as target_open(). */
int target_close(struct target *target);

#endif
