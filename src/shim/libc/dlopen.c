/*
 * dlopen.c - stops the heap when a library is opened that will not find hotpin's free().
 *
 * A library opened with RTLD_DEEPBIND looks names up in its own dependencies first, and so finds
 * libc's free().  A library in another namespace has a libc of its own.  If the program gives such
 * a library a block of the heap to free, the process aborts.
 */
#define _GNU_SOURCE
#include "engine/visibility.h"
#include "real/dlsym.h"
#include "shim/driver/callers.h"
#include "shim/libc/large.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* The function that dlopen_entry.S continues to; NULL until shim_dlopen_find(). */
void *_Atomic shim_dlopen_next, *_Atomic shim_dlmopen_next;

/* dlopen_entry.S calls these two. */
void *shim_dlopen_find(bool into_namespace);
void shim_dlopen_deep(const void *caller, bool into_namespace);

void *shim_dlopen_find(bool into_namespace)
{
	if (!real_dlsym_find())
		return NULL;
	void *_Atomic *next = into_namespace ? &shim_dlmopen_next : &shim_dlopen_next;
	void *found = real_dlsym(RTLD_NEXT, into_namespace ? "dlmopen" : "dlopen");
	atomic_store_explicit(next, found, memory_order_relaxed);
	return found;
}

void shim_dlopen_deep(const void *caller, bool into_namespace)
{
	/* The driver opens parts of itself, and gives them only memory of its own. */
	if (callers_look(caller).is_nvidias)
		return;
	visibility_raise(REAL_SEEN_UNTRACKED);
	shim_large_stop(into_namespace ? "a library was opened in another namespace"
				       : "a library was opened with RTLD_DEEPBIND");
}
