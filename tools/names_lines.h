/*
 * Source lines and inlined functions, as addr2line answers.
 */
#ifndef HP_TOOLS_NAMES_LINES_H
#define HP_TOOLS_NAMES_LINES_H

#include "profile.h"

#include <stdio.h>

#define NAMES_LINES_TIMES 2 /* addr2line is asked for each address so many times */

/*
 * Returns a copy of a name that a file on this machine has, or a path, in the memory of the owner.
 * NULL: such texts take too much memory.
 */
const char *names_copy(struct profile *owner, const char *text);

/*
 * Reads the answers of "addr2line -a -f -i" for the frames, in their order, up to the end of the
 * file.  Fills in lines and inlined functions, and the function if it is NULL.  Of the answers for
 * one frame, the last one stays.  The texts are the owner's.
 */
void names_lines_read(struct profile *owner, FILE *answers, struct profile_frame *const *frames,
		      size_t count);

#endif
