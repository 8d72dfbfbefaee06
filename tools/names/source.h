/*
 * Source files, found where they were compiled or in folders that the user names, and their paths.
 */
#ifndef HP_TOOLS_NAMES_SOURCE_H
#define HP_TOOLS_NAMES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
	char path[4096]; /* where it was found */
	char *text;      /* lines end with '\n' */
	size_t bytes;
	int64_t modified; /* seconds since 1970 */
};

/* A source that a profile names, and the reasons to believe that it is one. */
struct source_claim {
	const char *compiled; /* its path when it was compiled or ran */
	bool is_verified;     /* the line table of a verified build names it */
	/* As recorded when Python ran it; UNKNOWN: not recorded. */
	int64_t bytes, modified_ns;
};

/* The places where the user asks for sources. */
struct source_where {
	const char **folders; /* of source_add_folder(); the caller frees them */
	size_t folder_count;
};

/* Adds a folder of --source.  Says on stderr if there is no such folder. */
void source_add_folder(struct source_where *where, const char *folder);

/*
 * Reads a source for the user, who may pass it on, although a stranger may have made the profile.
 * Looks for it in the folder that contains the longest end of its path; then, if the claim is
 * proven, at its path, which must be below the current folder.  Hidden files and files that only
 * their owner may read are left out, unless the user owns them and names their folder.  Returns
 * NULL, or why the source is not shown, which does not tell whether there is a file elsewhere.
 */
const char *source_open(const struct source_claim *claim, const struct source_where *where,
			struct source *ret);
void source_close(struct source *source);

/* Returns the text of the next line, which is not zero-terminated.  False at the end. */
bool source_next_line(const struct source *source, size_t *at, const char **ret, size_t *ret_bytes);

/* Returns a path without "." and "..". */
const char *paths_normal(const char *path);

#endif
