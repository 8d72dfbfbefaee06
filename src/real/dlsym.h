/*
 * The two functions behind hotpin's own dlsym(): libc's, and the next library's.
 */
#ifndef HP_REAL_DLSYM_H
#define HP_REAL_DLSYM_H

#include "real/real.h"

#include <stdbool.h>

/* libc's, for look-ups of hotpin's own; NULL until real_dlsym_find() has succeeded. */
extern real_dlsym_fn real_dlsym;

/*
 * The function that answers the program without hotpin: another preloaded library's that replaces
 * dlsym(), too, or libc's.  Set before real_dlsym.
 */
extern real_dlsym_fn real_dlsym_next;

/* Finds both.  False: not found, or this thread is finding it.  Any thread, any time. */
bool real_dlsym_find(void);

#endif
