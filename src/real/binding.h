/*
 * The definition that the program's calls of an allocation function reach, and the file that an
 * address is in.
 */
#ifndef HP_REAL_BINDING_H
#define HP_REAL_BINDING_H

#include <stdbool.h>

/*
 * True if programs and libraries bind `name`, a function of glibc's first release, to hotpin's
 * definition.  Walks the loader's lists and may allocate.  False if that cannot be determined.
 */
bool binding_is_ours(const char *name);

/* True if `address` is inside this library. */
bool real_is_ours(const void *address);

/* True if both addresses are inside one file.  Looks at no symbol, as dladdr() does. */
bool binding_in_one_file(const void *one, const void *other);

/* True if `address` is inside libc itself. */
bool binding_is_libcs(const void *address);

#endif
