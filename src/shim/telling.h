/*
 * What becomes known of a copy that has ended?
 */
#ifndef HP_SHIM_TELLING_H
#define HP_SHIM_TELLING_H

#include "shim/copy.h"

/* `moved`: without an error, and not empty.  Else it is only counted. */
void shim_copy_tell(const struct shim_copy *copy, bool moved);

#endif
