/*
 * Folded stacks of host samples, for flamegraph.pl and speedscope.
 */
#ifndef HP_TOOLS_SHOW_FOLDED_H
#define HP_TOOLS_SHOW_FOLDED_H

#include "profile/profile.h"

#include <stdio.h>

/*
 * Writes "root;caller;leaf 42" for each call chain, by name; 42 samples.  If there are several
 * profiles, the root is the name of the file.  Says on stderr which profiles have no samples.
 * False if none has samples.
 */
bool folded_write(FILE *to, struct profile *profiles, size_t count);

#endif
