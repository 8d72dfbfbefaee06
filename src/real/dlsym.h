/*
 * dlsym() behind hotpin's own.
 */
#ifndef HP_REAL_DLSYM_H
#define HP_REAL_DLSYM_H

#include "real/real.h"

#include <stdbool.h>

/* NULL until real_dlsym_find() has succeeded. */
extern real_dlsym_fn real_dlsym;

/* Finds real_dlsym.  False: not found, or this thread is finding it.  Any thread, any time. */
bool real_dlsym_find(void);

#endif
