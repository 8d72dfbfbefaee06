/*
 * The output of a command: stdout, or a file that is written completely or not at all.
 */
#ifndef HP_TOOLS_SYSTEM_OUTPUT_H
#define HP_TOOLS_SYSTEM_OUTPUT_H

#include "base/save.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
	FILE *to;
	const char *path; /* NULL: stdout */
	struct hp_save save;
	mode_t mode; /* of the new file; 0, also after output_open(): as for any new file */
};

/*
 * Opens the output; `path` NULL or "-": stdout.  It must not be one of the `count` input files.  If
 * `follow`, the file that a symbolic link names is replaced, and else the link.  Returns 0, or a
 * negative errno after a message.  Only one output may be open: a signal that ends the tool removes
 * its temporary file.
 */
int output_open(struct output *output, const char *path, char *const *files, size_t count,
		bool follow);

/*
 * Discards the output and leaves an existing file unchanged, because the input could not be read.
 */
void output_drop(struct output *output);

/* Renames the file to its name, replacing an older one.  Returns as output_open(). */
int output_close(struct output *output);

#endif
