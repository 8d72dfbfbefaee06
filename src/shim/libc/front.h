/*
 * Do the program's calls of an allocation function come to us, or to somebody in front?
 */
#ifndef HP_SHIM_LIBC_FRONT_H
#define HP_SHIM_LIBC_FRONT_H

#include <stdbool.h>

/*
 * Is the `name`, one of glibc's first functions, that programs and libraries bind to the one that
 * we export?  Looks through the loader's lists; may allocate.  False where nobody can say.
 */
bool shim_front_is_ours(const char *name);

/* Is `address` in libc itself? */
bool shim_front_is_libcs(const void *address);

#endif
