/*
 * first.c - serves allocations before the next allocator is known, and finds that allocator.
 *
 * malloc() is called before every constructor and from inside dlsym().
 */
#define _GNU_SOURCE
#include "shim/libc/first.h"
#include "base/kernel.h"
#include "heap/map.h"
#include "real/libc.h"
#include "shim/load/fork.h"

#include <errno.h>

char shim_early[SHIM_EARLY_BYTES] __attribute__((aligned(16)));
static _Atomic size_t early_used;

static void free_unless_early(void *address)
{
	if (!shim_is_early(address) && (real_libc.free != NULL || shim_libc_find()))
		real_libc.free(address);
}

static void *early_alloc(size_t bytes)
{
	size_t room = (bytes + 31) & ~(size_t)15; /* the size is stored 16 bytes before the block */
	size_t at = atomic_fetch_add(&early_used, room);

	if (room < bytes || at + room > sizeof(shim_early)) {
		errno = ENOMEM;
		return NULL;
	}
	atomic_store(&shim_malloc.free_next, free_unless_early);
	*(size_t *)(shim_early + at) = bytes;
	return shim_early + at + 16;
}

static void *first_malloc(size_t bytes)
{
	return shim_libc_find() ? real_libc.malloc(bytes) : early_alloc(bytes);
}

static void *first_calloc(size_t count, size_t each)
{
	/* The static area is zero and is never reused. */
	return shim_libc_find() ? real_libc.calloc(count, each) : early_alloc(count * each);
}

static void first_free(void *address)
{
	free_unless_early(address);
}

struct shim_malloc shim_malloc HEAP_OFTEN_READ __attribute__((aligned(HP_PAGE_BYTES))) = {
	.heap_min = SHIM_MALLOC_OFF,
	.malloc_next = first_malloc,
	.calloc_next = first_calloc,
	.free_next = first_free,
};

bool shim_libc_find(void)
{
	void (*first)(void *) = first_free;

	if (!real_libc_find())
		return false;
	atomic_store(&shim_malloc.malloc_next, real_libc.malloc);
	atomic_store(&shim_malloc.calloc_next, real_libc.calloc);
	/* Once an early block exists, free() must recognize it for good. */
	atomic_compare_exchange_strong(&shim_malloc.free_next, &first, real_libc.free);
	shim_watch_forks();
	return true;
}
