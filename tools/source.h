/*
 * Source files, found where they were compiled or in folders that the user names.
 */
#ifndef HP_TOOLS_SOURCE_H
#define HP_TOOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
	char path[4096]; /* where it was found */
	char *text;      /* ends with a zero byte; lines end with '\n' */
	size_t bytes;
	int64_t modified; /* seconds since 1970 */
};

/*
 * Reads the source that was compiled at `compiled`: from the folder that contains the longest end
 * of that path, else from the path itself, else from `given` (may be NULL).  Any file is safe to
 * read.  Returns 0, or the negative errno of `compiled` itself.
 */
int source_open(const char *compiled, const char *const *folders, size_t folder_count,
		const char *given, struct source *ret);
void source_close(struct source *source);

/* Returns the text of the next line, which is not zero-terminated.  False at the end. */
bool source_next_line(const struct source *source, size_t *at, const char **ret, size_t *ret_bytes);

#endif
