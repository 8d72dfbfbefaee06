/*
 * The file that has the line tables of a program or library.
 */
#ifndef HP_TOOLS_DEBUG_FILE_H
#define HP_TOOLS_DEBUG_FILE_H

#include "named.h"

/*
 * Finds a file with line tables from which no link leads to other files: the program's own file, or
 * a debug file with the same build ID.  False: there is none.  The caller closes ret->fd.
 */
bool debug_file_find(const struct named *program, struct named *ret);

#endif
