/*
 * Paths of source files, as compilers write them.
 */
#ifndef HP_TOOLS_PATHS_H
#define HP_TOOLS_PATHS_H

#include <stddef.h>

/* Takes "." and ".." out of a path, in place; there is room for one more character. */
void paths_normalize(char *path);

/* How many of the last parts of two paths are the same. */
size_t paths_common_parts(const char *a, const char *b);

#endif
