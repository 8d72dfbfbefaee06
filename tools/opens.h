/*
 * Does a program open libraries in a way that hides the driver, and our free(), from them?
 */
#ifndef HP_TOOLS_OPENS_H
#define HP_TOOLS_OPENS_H

#include <stdbool.h>

/* Bits of what opens_look() answers. */
enum opens {
	OPENS_DEEP = 1,      /* calls dlopen() with RTLD_DEEPBIND */
	OPENS_NAMESPACE = 2, /* binds dlmopen(), in more places than its own cudart does */
};

/*
 * Looks into the code of the x86-64 program at `path`; any file is safe to ask about.  With
 * `own_cudart` it carries a static cudart, of which one call of dlmopen() is.  What is
 * computed at run time, or done by the libraries that it needs, is not seen: 0 says nothing.
 */
int opens_look(const char *path, bool own_cudart);

#endif
