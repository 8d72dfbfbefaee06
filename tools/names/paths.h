/*
 * Paths of source files, as compilers write them.
 */
#ifndef HP_TOOLS_NAMES_PATHS_H
#define HP_TOOLS_NAMES_PATHS_H

#include <stddef.h>

/* Removes "." and ".." from a path in place.  The buffer must have room for one more character. */
void paths_normalize(char *path);

/* Returns the number of last parts that two paths have in common. */
size_t paths_common_parts(const char *a, const char *b);

#endif
