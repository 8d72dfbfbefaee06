/*
 * Where a command's output goes: stdout, or a file that is there whole or not at all.
 */
#ifndef HP_TOOLS_TARGET_H
#define HP_TOOLS_TARGET_H

#include <stddef.h>
#include <stdio.h>

struct target {
	FILE *to;
	const char *path;   /* NULL: stdout */
	char written[4096]; /* the file's name until it is whole */
};

/*
 * path NULL or "-": stdout.  It may be none of the `count` files that are read.  Says on stderr
 * what is wrong; returns 0 or a negative errno.  One at a time: a signal that ends us removes its
 * file.
 */
int target_open(struct target *target, const char *path, char *const *files, size_t count);

/* Leaves things as they were: what should have been written could not be read. */
void target_drop(struct target *target);

/* Gives the file its name, in place of an older one.  Returns as target_open(). */
int target_close(struct target *target);

#endif
