/*
 * malloc.c - malloc(), calloc(), realloc(), free() and their other names.
 *
 * The heap serves large blocks; the next allocator serves all others.  A small request costs one
 * compare and a jump, without a stack frame: the rest of each function is in a function of its own.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "engine/housekeeper.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/first.h"
#include "shim/libc/large.h"

#include <errno.h>
#include <string.h>

#define apart __attribute__((noinline))

static apart void *malloc_large(size_t bytes, const void *caller)
{
	void *block = shim_large_alloc(bytes, 0, false, caller);

	return block != NULL ? block : NEXT(malloc)(bytes);
}

HP_EXPORT void *malloc(size_t bytes)
{
	if (unlikely(bytes >= shim_malloc_least()))
		return malloc_large(bytes, CALLER());
	return NEXT(malloc)(bytes);
}

/*
 * An address that every glibc refuses (seen with 2.31 to 2.42): it checks the alignment before it
 * reads the header in front of the block, prints "invalid pointer" and aborts.  At the real address
 * it would take bytes of hotpin's neighboring block for a header, and might unmap what they say.
 */
static char invalid_area[64] __attribute__((aligned(16)));
#define INVALID_POINTER ((void *)(invalid_area + 24))

/* For an address in the heap at which no block starts: returns what the next allocator gets. */
static void *address_for_next(const char *function, void *address)
{
	if (!heap_holds(address))
		return address;
	hp_error("%s(%p): not the start of an allocated block; was it freed twice? This bug is in "
		 "the program, with or without hotpin",
		 function, address);
	return INVALID_POINTER;
}

/* Frees a block in the heap's range.  Returns what the next allocator must free. */
static apart void *free_ours(void *address)
{
	size_t bytes = heap_usable(address);

	if (heap_free(address) != 0)
		return address_for_next("free", address);
	shim_large_freed(bytes);
	housekeeper_note_kept();
	return NULL;
}

HP_EXPORT void free(void *address)
{
	if (unlikely(heap_owns(address)))
		address = free_ours(address);
	NEXT(free)(address);
}

/* Other names of free().  Wrappers in front of free() continue with the first. */
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
	void *block = shim_large_alloc(count * each, 0, true, caller);

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

/* Pinned free blocks go back to the kernel later, when the device is idle. */
HP_EXPORT int malloc_trim(size_t pad)
{
	bool ours = heap_trim(pad);

	if (unlikely(real_libc.malloc_trim == NULL) && !shim_libc_find())
		return ours;
	return real_libc.malloc_trim(pad) != 0 || ours;
}

/* Blocks of the heap are reported like those that glibc maps one by one. */
HP_EXPORT struct mallinfo2 mallinfo2(void)
{
	struct mallinfo2 info = { 0 };
	size_t blocks, bytes = heap_live(&blocks);

	if (real_libc.mallinfo2 != NULL || (shim_libc_find() && real_libc.mallinfo2 != NULL))
		info = real_libc.mallinfo2();
	info.hblks += blocks;
	info.hblkhd += bytes;
	return info;
}

/* Large sums wrap around, as in glibc. */
HP_EXPORT struct mallinfo mallinfo(void)
{
	struct mallinfo info = { 0 };
	size_t blocks, bytes = heap_live(&blocks);

	if (real_libc.mallinfo != NULL || (shim_libc_find() && real_libc.mallinfo != NULL))
		info = real_libc.mallinfo();
	info.hblks += (int)blocks;
	info.hblkhd = (int)((unsigned)info.hblkhd + (unsigned)bytes);
	return info;
}

/* Moves the contents to a new block and frees `old`. */
static void *move(void *old, size_t old_bytes, size_t bytes, const void *caller)
{
	void *block = malloc_large(bytes, caller);

	if (block == NULL)
		return NULL;
	memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
	free(old);
	return block;
}

/* Reallocates a block of `room` bytes.  If the heap is off, the block moves out of it. */
static void *realloc_ours(void *address, size_t room, size_t bytes, const void *caller)
{
	bool may_stay = shim_malloc_least() < SHIM_MALLOC_CLOSED;
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

/*
 * Serves a realloc() of a block of the heap or an early one, or to a large size.  *next is the next
 * allocator's function; NULL: not known yet.
 */
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
		address = address_for_next("realloc", address);
	if (bytes >= shim_malloc_least()) {
		/* The next allocator must know how large the old block is. */
		room = usable(address);
		void *block = room != 0 ? shim_large_alloc(bytes, 0, false, caller) : NULL;

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
