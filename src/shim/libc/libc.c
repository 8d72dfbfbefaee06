/*
 * libc.c - malloc(), calloc(), realloc(), free(): large blocks from our heap, everything else
 * straight on.
 *
 * What is small passes through without a frame of its own: a compare and a jump.  The rest of each
 * function is therefore in another one.
 */
#define _GNU_SOURCE
#include "shim/libc/libc.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/log.h"
#include "engine/housekeeper.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "heap/resize.h"
#include "heap/site.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/allocation.h"
#include "shim/libc/front.h"
#include "shim/libc/lesson.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

#define apart __attribute__((noinline))

struct shim_malloc shim_malloc HEAP_OFTEN_READ __attribute__((aligned(HP_PAGE_BYTES))) = {
	.heap_min = SIZE_MAX,
	.malloc_next = shim_malloc_first,
	.calloc_next = shim_calloc_first,
	.free_next = shim_free_first,
};

/* Nothing is ours any more, whatever shim_start() says. */
static _Atomic bool shut;

/*
 * Do our blocks come back to us?  A program, or a library in front of us, with an allocator of its
 * own would be given them by what it does not define itself: posix_memalign() here, free() there.
 * With one behind us the program may know which, and use functions that only that one has on what
 * it got from malloc(): jemalloc's sdallocx(), tc_free(), mi_free().
 */
static bool come_back(void)
{
	static const char *const names[] = { "free", "realloc", "malloc_usable_size" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!shim_front_is_ours(names[i]))
			return false;
	return shim_libc_find() && shim_front_is_libcs((const void *)real_libc.malloc) &&
	       shim_front_is_libcs((const void *)real_libc.free);
}

void shim_libc_use_heap(size_t bytes_min)
{
	if (bytes_min == 0)
		return;
	if (!come_back()) {
		hp_info("another malloc() serves the program: its buffers are staged, not pinned");
		return;
	}
	atomic_store(&shim_malloc.heap_min, bytes_min);
	if (atomic_load(&shut))
		atomic_store(&shim_malloc.heap_min, SIZE_MAX);
}

void shim_libc_use_heap_from(size_t bytes_min)
{
	size_t before = shim_malloc_least();

	/* Whoever shuts meanwhile has the last word. */
	while (before != SIZE_MAX &&
	       !atomic_compare_exchange_weak(&shim_malloc.heap_min, &before, bytes_min))
		continue;
}

void shim_libc_shut(const char *why)
{
	atomic_store(&shut, true);
	if (atomic_exchange(&shim_malloc.heap_min, SIZE_MAX) == SIZE_MAX)
		return;
	hp_count(heap_shut);
	hp_info("%s: no more buffers are pinned, as it could free them past us", why);
}

void shim_libc_close_heap(void)
{
	int saved = errno;

	heap_close();
	lesson_end();
	errno = saved;
}

void *shim_large(size_t bytes, size_t alignment, bool zeroed, const void *caller)
{
	if (bytes < shim_malloc_least())
		return NULL;
	uint32_t site = site_of(caller, __builtin_frame_address(0));

	trace_allocated(site, caller, __builtin_frame_address(0));
	void *block = heap_alloc(bytes, alignment, zeroed, site);
	if (unlikely(lesson_is_wanted() && block != NULL))
		lesson_prepare();
	return block;
}

static apart void *malloc_large(size_t bytes, const void *caller)
{
	void *block = shim_large(bytes, 0, false, caller);

	return block != NULL ? block : NEXT(malloc)(bytes);
}

HP_EXPORT void *malloc(size_t bytes)
{
	if (unlikely(bytes >= shim_malloc_least()))
		return malloc_large(bytes, CALLER());
	return NEXT(malloc)(bytes);
}

/*
 * Every glibc, as far as from 2.31 to 2.42, looks whether what it is given is aligned before it
 * believes what stands in front of it; it then says "invalid pointer" and aborts.  Given the real
 * address it would take a neighbour's bytes for its own header, and may unmap what they say.
 */
static char nobodys[64] __attribute__((aligned(16)));
#define MISALIGNED ((void *)(nobodys + 24))

/*
 * What the next allocator is to see of an address in the heap's range that is not the start of a
 * block in use.
 */
static void *stranger(const char *function, void *address)
{
	if (!heap_holds(address))
		return address;
	hp_error("%s(%p): not the start of a block in use: freed twice?  a fault of the program's, "
		 "without hotpin too",
		 function, address);
	return MISALIGNED;
}

/* Gives back what lies in the heap's range.  Returns what the next is to free. */
static apart void *free_ours(void *address)
{
	if (heap_free(address) != 0)
		return stranger("free", address);
	housekeeper_note_free();
	if (unlikely(lesson_is_due()))
		lesson_teach();
	return NULL;
}

HP_EXPORT void free(void *address)
{
	if (unlikely(heap_owns(address)))
		address = free_ours(address);
	NEXT(free)(address);
}

/* Other names of free().  The first is how one that stands in front of free() goes on. */
HP_EXPORT void __libc_free(void *address)
{
	if (heap_owns(address))
		address = free_ours(address);
	if (shim_is_early(address))
		return;
	if (real_libc.__libc_free != NULL || (shim_libc_find() && real_libc.__libc_free != NULL))
		real_libc.__libc_free(address);
}

HP_EXPORT void cfree(void *address)
{
	free(address);
}

HP_EXPORT void free_sized(void *address, size_t bytes)
{
	(void)bytes;
	free(address);
}

HP_EXPORT void free_aligned_sized(void *address, size_t alignment, size_t bytes)
{
	(void)alignment, (void)bytes;
	free(address);
}

static apart void *calloc_large(size_t count, size_t each, const void *caller)
{
	void *block = shim_large(count * each, 0, true, caller);

	return block != NULL ? block : NEXT(calloc)(count, each);
}

static apart void *refuse(void)
{
	errno = ENOMEM;
	return NULL;
}

HP_EXPORT void *calloc(size_t count, size_t each)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(count, each, &bytes)))
		return refuse();
	if (unlikely(bytes >= shim_malloc_least()))
		return calloc_large(count, each, CALLER());
	return NEXT(calloc)(count, each);
}

static size_t usable(void *address)
{
	if (unlikely(heap_owns(address))) {
		size_t bytes = heap_usable(address);

		if (bytes != 0 || heap_holds(address))
			return bytes;
	}
	if (shim_is_early(address))
		return shim_early_size(address);
	if (unlikely(real_libc.malloc_usable_size == NULL) && !shim_libc_find())
		return 0;
	return real_libc.malloc_usable_size(address);
}

HP_EXPORT size_t malloc_usable_size(void *address)
{
	return address != NULL ? usable(address) : 0;
}

/* What is pinned and free goes back later, as always: the device has to be idle for that. */
HP_EXPORT int malloc_trim(size_t pad)
{
	bool ours = heap_trim(pad);

	if (unlikely(real_libc.malloc_trim == NULL) && !shim_libc_find())
		return ours;
	return real_libc.malloc_trim(pad) != 0 || ours;
}

/* The contents move to a block from another allocator; `old` is given back. */
static void *move(void *old, size_t old_bytes, size_t bytes, const void *caller)
{
	void *block = malloc_large(bytes, caller);

	if (block == NULL)
		return NULL;
	memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
	free(old);
	return block;
}

/*
 * For a block of ours in use, of which `room` bytes can be.  Where the heap is off it is better off
 * elsewhere.
 */
static void *realloc_ours(void *address, size_t room, size_t bytes, const void *caller)
{
	bool may_stay = shim_malloc_least() != SIZE_MAX;
	void *moved = NULL;

	if (bytes == 0) { /* glibc frees */
		free(address);
		return NULL;
	}
	if (may_stay && heap_resize(address, bytes))
		return address;
	if (may_stay)
		moved = heap_move(address, bytes);
	if (moved == NULL)
		moved = move(address, room, bytes, caller);
	return moved == NULL && !may_stay && heap_resize(address, bytes) ? address : moved;
}

typedef void *(*realloc_fn)(void *address, size_t bytes);

/* All that the next allocator is not alone with.  Its own function is, or will be, in *next. */
static apart void *realloc_odd(void *address, size_t bytes, const void *caller,
			       const realloc_fn *next)
{
	size_t room = heap_owns(address) ? heap_usable(address) : 0;

	if (address == NULL)
		return malloc_large(bytes, caller);
	if (room != 0)
		return realloc_ours(address, room, bytes, caller);
	if (shim_is_early(address))
		return move(address, shim_early_size(address), bytes, caller);
	if (heap_owns(address))
		address = stranger("realloc", address);
	if (bytes >= shim_malloc_least()) {
		/* Not where nobody can say how much of the old block there is. */
		room = usable(address);
		void *block = room != 0 ? shim_large(bytes, 0, false, caller) : NULL;

		if (block != NULL) {
			memcpy(block, address, room < bytes ? room : bytes);
			free(address);
			return block;
		}
	}
	if (*next == NULL && !shim_libc_find())
		return NULL;
	return (*next)(address, bytes);
}

static bool is_ours(const void *address)
{
	return heap_owns(address) || shim_is_early(address);
}

HP_EXPORT void *realloc(void *address, size_t bytes)
{
	if (unlikely(bytes >= shim_malloc_least() || is_ours(address) || real_libc.realloc == NULL))
		return realloc_odd(address, bytes, CALLER(), &real_libc.realloc);
	return real_libc.realloc(address, bytes);
}

HP_EXPORT void *__libc_realloc(void *address, size_t bytes)
{
	if (is_ours(address) || real_libc.__libc_realloc == NULL)
		return realloc_odd(address, bytes, CALLER(), &real_libc.__libc_realloc);
	return real_libc.__libc_realloc(address, bytes);
}
