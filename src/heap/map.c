/*
 * map.c - a table of two levels: a pointer for 2 MiB, and a pointer for each unit where blocks
 * share these 2 MiB.
 *
 * With units alone, allocating 1 GiB would write half a MiB.  A pointer of the upper level stands
 * for all units below it.  The pointer is removed only after these units are up to date, so a
 * reader without a lock finds the block in either level.
 *
 * The tables have room for the whole range and are touched only where blocks are; core dumps skip
 * them.
 */
#include "heap/map.h"
#include "base/kernel.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

#define CHUNK     ((size_t)2 << 20)
#define PER_CHUNK (CHUNK / MAP_UNIT)

/* No user address is near this base, so a half-set range owns nothing. */
_Atomic uintptr_t heap_base HEAP_OFTEN_READ = (uintptr_t)1 << 63;
_Atomic uintptr_t heap_bytes HEAP_OFTEN_READ;

/* Written once, before heap_bytes, which readers acquire. */
static uintptr_t start;
static struct block *_Atomic *chunks, *_Atomic *units;

/* In the upper level: no unit below has a block, regardless of what the lower level says. */
static struct block nothing;

static size_t table_bytes(size_t count)
{
	return (count * sizeof(struct block *) + HP_PAGE_BYTES - 1) & -HP_PAGE_BYTES;
}

static void *table(size_t bytes)
{
	void *got = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	if (got == MAP_FAILED)
		return NULL;
	hp_advise(got, bytes, MADV_DONTDUMP);
	return got;
}

bool map_start(uintptr_t base, size_t bytes)
{
	void *upper = table(table_bytes(bytes / CHUNK)),
	     *lower = table(table_bytes(bytes / MAP_UNIT));

	if (upper == NULL || lower == NULL) {
		if (upper != NULL)
			hp_unmap(upper, table_bytes(bytes / CHUNK));
		if (lower != NULL)
			hp_unmap(lower, table_bytes(bytes / MAP_UNIT));
		return false;
	}
	chunks = upper;
	units = lower;
	start = base;
	atomic_store_explicit(&heap_base, base, memory_order_release);
	atomic_store_explicit(&heap_bytes, bytes, memory_order_release);
	return true;
}

static void cut_table(void *entries, size_t count, size_t kept)
{
	size_t from = table_bytes(kept), to = table_bytes(count);

	if (from < to)
		hp_unmap((char *)entries + from, to - from);
}

void map_cut(size_t bytes)
{
	size_t before = heap_bytes;
	int saved = errno;

	assert(hp_lock_held(HP_LOCK_heap));
	atomic_store_explicit(&heap_bytes, bytes, memory_order_release);
	cut_table((void *)chunks, before / CHUNK, (bytes + CHUNK - 1) / CHUNK);
	cut_table((void *)units, before / MAP_UNIT, bytes / MAP_UNIT);
	errno = saved;
}

static void fill(struct block *_Atomic *from, size_t count, struct block *block)
{
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&from[i], block, memory_order_release);
}

/* Copies a pointer of the upper level to its units, and removes it. */
static void open_chunk(size_t chunk)
{
	struct block *whole = atomic_load_explicit(&chunks[chunk], memory_order_relaxed);

	if (whole == NULL)
		return;
	fill(units + chunk * PER_CHUNK, PER_CHUNK, whole != &nothing ? whole : NULL);
	atomic_store_explicit(&chunks[chunk], NULL, memory_order_release);
}

void map_set(uintptr_t from, uintptr_t to, struct block *block)
{
	struct block *whole = block != NULL ? block : &nothing;

	assert(hp_lock_held(HP_LOCK_heap));
	for (uintptr_t at = from - start, end = to - start; at < end;) {
		size_t chunk = at / CHUNK;
		uintptr_t stop = (chunk + 1) * CHUNK;

		if (at % CHUNK == 0 && stop <= end) {
			atomic_store_explicit(&chunks[chunk], whole, memory_order_release);
		} else {
			stop = stop < end ? stop : end;
			open_chunk(chunk);
			fill(units + at / MAP_UNIT, (stop - at) / MAP_UNIT, block);
		}
		at = stop;
	}
}

struct block *map_at(uintptr_t address)
{
	uintptr_t bytes = atomic_load_explicit(&heap_bytes, memory_order_acquire);

	if (bytes == 0 || address - start >= bytes)
		return NULL;

	uintptr_t at = address - start;
	struct block *block = atomic_load_explicit(&chunks[at / CHUNK], memory_order_acquire);
	if (block == NULL)
		return atomic_load_explicit(&units[at / MAP_UNIT], memory_order_acquire);
	return block != &nothing ? block : NULL;
}

struct block *range_find(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return (uintptr_t)address - block->base < block->room ? block : NULL;
}

struct block *range_starting_at(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return atomic_load_explicit(&block->start, memory_order_relaxed) == (uintptr_t)address
		       ? block
		       : NULL;
}

bool range_covers(const struct block *block, const void *address, size_t bytes)
{
	size_t offset = (uintptr_t)address - block->base;

	return offset <= block->room && bytes <= block->room - offset;
}
