/*
 * dlopen.c - a library is opened that will not find our free().
 *
 * With RTLD_DEEPBIND it looks into what it needs itself, libc, before it looks into us, and in
 * another namespace there is a libc of its own.  It must not be given memory of ours to free.
 */
#define _GNU_SOURCE
#include "engine/state.h"
#include "engine/visibility.h"
#include "shim/driver/dlsym.h"
#include "shim/libc/libc.h"

#include <dlfcn.h>

/* What dlopen_entry.S goes on to; NULL until somebody has looked. */
void *_Atomic shim_dlopen_next, *_Atomic shim_dlmopen_next;

/* Both are called by dlopen_entry.S only. */
void *shim_dlopen_find(bool into_namespace);
void shim_dlopen_deep(const void *caller, bool into_namespace);

void *shim_dlopen_find(bool into_namespace)
{
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return NULL;
	void *_Atomic *next = into_namespace ? &shim_dlmopen_next : &shim_dlopen_next;
	void *found = shim_dlsym_next(RTLD_NEXT, into_namespace ? "dlmopen" : "dlopen");
	atomic_store_explicit(next, found, memory_order_relaxed);
	return found;
}

void shim_dlopen_deep(const void *caller, bool into_namespace)
{
	/* The driver opens parts of itself, and gives them memory of its own. */
	if (shim_is_nvidias(caller))
		return;
	visibility_raise(REAL_SEEN_PAST_US);
	shim_libc_shut(into_namespace ? "a library is opened in another namespace"
				      : "a library is opened with RTLD_DEEPBIND");
}
