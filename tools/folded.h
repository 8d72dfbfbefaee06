/*
 * Folded stacks of host samples, for flamegraph.pl and speedscope.
 */
#ifndef HP_TOOLS_FOLDED_H
#define HP_TOOLS_FOLDED_H

#include "profile.h"

#include <stdio.h>

/*
 * Writes "root;caller;leaf 42" for each call chain, by name; 42 samples.  Of several profiles, the
 * root is the name of the file.  Says on stderr which have no samples; false if none has.
 */
bool folded_write(FILE *to, struct profile *profiles, size_t count);

#endif
