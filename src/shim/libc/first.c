/*
 * first.c - the allocation functions before the next definitions are known, and how these are
 * found.
 *
 * Called before every constructor and from inside dlsym(): until then requests are served from a
 * small static area that is never given back.
 */
#define _GNU_SOURCE
#include "real/libc.h"
#include "real/versions.h"
#include "shim/driver/dlsym.h"
#include "shim/libc/allocation.h"
#include "shim/libc/front.h"
#include "shim/libc/libc.h"
#include "shim/load/load.h"

#include <dlfcn.h>
#include <errno.h>

char shim_early[SHIM_EARLY_BYTES] __attribute__((aligned(16)));
static _Atomic size_t early_used;

static void free_not_early(void *address)
{
	if (!shim_is_early(address) && (real_libc.free != NULL || shim_libc_find()))
		real_libc.free(address);
}

static void *early_alloc(size_t bytes)
{
	size_t room = (bytes + 31) & ~(size_t)15; /* 16 bytes before each hold its size */
	size_t at = atomic_fetch_add(&early_used, room);

	if (room < bytes || at + room > sizeof(shim_early)) {
		errno = ENOMEM;
		return NULL;
	}
	atomic_store(&shim_malloc.free_next, free_not_early);
	*(size_t *)(shim_early + at) = bytes;
	return shim_early + at + 16;
}

void *shim_malloc_first(size_t bytes)
{
	return shim_libc_find() ? real_libc.malloc(bytes) : early_alloc(bytes);
}

void *shim_calloc_first(size_t count, size_t each)
{
	/* Static memory is zero from birth. */
	return shim_libc_find() ? real_libc.calloc(count, each) : early_alloc(count * each);
}

void shim_free_first(void *address)
{
	free_not_early(address);
}

/*
 * What a program would be bound to behind us.  dlsym() passes over what has old versions of its
 * functions only, as libc_malloc_debug.so does; dlvsym() over what has no versions, as all others.
 */
static void *find_next(const char *name, const char *version)
{
	void *found = shim_dlsym_next(RTLD_NEXT, name);
	void *versioned = dlvsym(RTLD_NEXT, name, version);

	if (versioned == NULL || versioned == found || !shim_front_is_libcs(found))
		return found;
	return versioned;
}

/*
 * dlsym() may itself allocate (for its error text), in this thread: it then finds `finding` set and
 * is served early.
 */
bool shim_libc_find(void)
{
	static __thread bool finding __attribute__((tls_model("initial-exec")));

	if (finding || (shim_dlsym_next == NULL && shim_dlsym_find() == NULL))
		return false;
	finding = true;
#define LIBC(name, version)                                     \
	if (real_libc.name == NULL)                             \
		real_libc.name = (__typeof__(name) *)find_next( \
			#name, real_version_since(REAL_MACHINE, "GLIBC_" #version));
#include "real/libc.def"
	finding = false;

	void (*first)(void *) = shim_free_first;
	atomic_store(&shim_malloc.malloc_next, real_libc.malloc);
	atomic_store(&shim_malloc.calloc_next, real_libc.calloc);
	atomic_compare_exchange_strong(&shim_malloc.free_next, &first, real_libc.free);
	shim_watch_forks();
	return true;
}
