/*
 * map.c - one reserved address range, from which blocks of fixed classes are taken from below.
 *
 * A block has its addresses for ever: blocks are neither joined nor cut, so a table entry is
 * written once and a reader needs no lock.  Free blocks cost addresses only, because their pages go
 * back; the range is many times as large as the memory.  A vector that grows by realloc() passes
 * through two or three blocks, the last of up to four times its final size, or of 32 MiB.
 *
 * Blocks of 2 MiB or more have their own part of the range, so that one pointer for 2 MiB leads to
 * a block.  The tables have room for the whole range and are touched only where blocks are; core
 * dumps skip them.
 *
 * The range starts without access and outside of core dumps, and is opened from below in steps.  A
 * dump would walk all of an open TiB.
 */
#include "heap/map.h"
#include "base/arena.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "heap/huge_pages.h"
#include "heap/limits.h"
#include "heap/pages.h"

#include <assert.h>

/* Eight classes from a power of two to the next, so a block wastes at most an eighth. */
#define CLASS_LEAST_SHIFT 15

#define RESERVE_LEAST     ((size_t)64 << 30)
#define RESERVE_USUAL     ((size_t)1 << 40)
#define RAM_TIMES         16
#define OPEN_STEP         ((size_t)32 << 20)

/* Blocks below 2 MiB have this part of the range. */
#define SMALL_PART        4

/* No user address is near this base, so a half-set range owns nothing. */
_Atomic uintptr_t heap_base HEAP_OFTEN_READ = (uintptr_t)1 << 63;
_Atomic uintptr_t heap_bytes HEAP_OFTEN_READ;

/* A part of the range.  Constant, except `next` and `opened`. */
struct part {
	unsigned shift; /* of the unit in which its table counts */
	uintptr_t start, end;
	struct block *_Atomic *table;
	_Atomic uintptr_t next; /* no block lies above; changed under the lock heap */
	uintptr_t opened;       /* accessible up to here; under the lock heap */
};

static struct part small = { .shift = 12 }, large = { .shift = 21 };

/* Under the lock heap. */
static size_t bytes_most; /* RAM and swap: larger blocks are for the kernel to refuse */

static _Atomic enum { UNTRIED, READY, OFF, CLOSED } condition; /* read by any thread */

unsigned map_class(size_t bytes)
{
	if (bytes <= (size_t)1 << CLASS_LEAST_SHIFT)
		return 0;

	unsigned shift = 60u - (unsigned)__builtin_clzl(bytes - 1);
	return (shift - CLASS_LEAST_SHIFT + 3) * 8 + (unsigned)((bytes - 1) >> shift) - 7;
}

size_t map_class_bytes(unsigned size_class)
{
	return (size_t)(8 + size_class % 8) << (CLASS_LEAST_SHIFT - 3 + size_class / 8);
}

static struct part *part_of_class(unsigned size_class)
{
	return map_class_bytes(size_class) < HP_HUGE_PAGE_BYTES ? &small : &large;
}

size_t map_alignment(unsigned size_class)
{
	return (size_t)1 << part_of_class(size_class)->shift;
}

static uintptr_t rounded(uintptr_t value, size_t unit)
{
	return (value + unit - 1) & -(uintptr_t)unit;
}

/* Returns the addresses that a block of the class has, in whole units. */
static size_t part_bytes(const struct part *part, unsigned size_class)
{
	return rounded(map_class_bytes(size_class), (size_t)1 << part->shift);
}

/* Returns the bytes of a table for [start, end). */
static size_t table_bytes(const struct part *part, uintptr_t end)
{
	return rounded(((end - part->start) >> part->shift) * sizeof(*part->table), HP_PAGE_BYTES);
}

/* Returns the bytes of its table. */
static size_t part_start(struct part *part, uintptr_t start, uintptr_t end)
{
	part->start = part->opened = start;
	part->next = start;
	part->end = end;
	return table_bytes(part, end);
}

static bool start_with(size_t bytes)
{
	char *range = pages_reserve(bytes, PROT_NONE);

	if (range == NULL)
		return false;
	hp_advise(range, bytes, MADV_DONTDUMP);
	if (huge_everywhere)
		hp_advise(range, bytes, MADV_NOHUGEPAGE);

	uintptr_t base = (uintptr_t)range, between = base + bytes / SMALL_PART;
	size_t first = part_start(&small, base, between);
	size_t both = first + part_start(&large, between, base + bytes);
	char *tables = hp_map(NULL, both, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	if (tables == MAP_FAILED) {
		hp_unmap(range, bytes);
		return false;
	}
	hp_advise(tables, both, MADV_DONTDUMP);
	small.table = (void *)tables;
	large.table = (void *)(tables + first);
	atomic_store_explicit(&heap_base, base, memory_order_release);
	atomic_store_explicit(&heap_bytes, bytes, memory_order_release);
	return true;
}

bool map_start(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (condition != UNTRIED)
		return condition == READY;
	condition = OFF;
	bytes_most = limits_ram(true);
	if (limits_ration_space())
		return false;

	huge_everywhere = huge_everywhere || limits_huge_everywhere("");
	size_t bytes = RESERVE_USUAL;
	while (bytes < RAM_TIMES * limits_ram(false))
		bytes *= 2;
	while (bytes >= RESERVE_LEAST && !start_with(bytes))
		bytes /= 2;
	if (bytes >= RESERVE_LEAST)
		condition = READY;
	return condition == READY;
}

bool map_could_hold(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes <= bytes_most;
}

bool map_is_roomy(void)
{
	return large.next - large.start < (large.end - large.start) / 2;
}

/* Makes everything below `end` accessible, and part of core dumps. */
static bool open_up_to(struct part *part, uintptr_t end)
{
	if (end <= part->opened)
		return true;

	uintptr_t to = rounded(end, OPEN_STEP) < part->end ? rounded(end, OPEN_STEP) : part->end;
	void *from = (void *)part->opened;
	if (hp_protect(from, to - part->opened, PROT_READ | PROT_WRITE) != 0)
		return false;
	hp_advise(from, to - part->opened, MADV_DODUMP);
	part->opened = to;
	return true;
}

struct block *map_create(unsigned size_class)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct part *part = part_of_class(size_class);
	uintptr_t base = part->next;
	size_t bytes = part_bytes(part, size_class);

	if (part->end - base < bytes || !open_up_to(part, base + bytes))
		return NULL;

	/* It is never freed and never becomes anything else. */
	struct block *block = hp_arena_alloc(sizeof(*block));
	if (block == NULL)
		return NULL;
	block->base = base;
	block->bytes = bytes;
	block->size_class = size_class;
	atomic_store_explicit(&block->start, base, memory_order_relaxed);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_relaxed);
	for (uintptr_t at = base; at < base + bytes; at += (uintptr_t)1 << part->shift)
		atomic_store_explicit(&part->table[(at - part->start) >> part->shift], block,
				      memory_order_release);
	atomic_store_explicit(&part->next, base + bytes, memory_order_release);
	return block;
}

/* Returns the addresses above all blocks, and their table, to the kernel. */
static void part_close(struct part *part)
{
	size_t kept = table_bytes(part, part->next), all = table_bytes(part, part->end);

	if (part->next < part->end)
		hp_unmap((void *)part->next, part->end - part->next);
	if (kept < all)
		hp_unmap((char *)(void *)part->table + kept, all - kept);
}

void map_close(void)
{
	assert(hp_lock_held(HP_LOCK_heap));

	if (atomic_exchange(&condition, CLOSED) != READY)
		return;
	uintptr_t end = large.next != large.start ? large.next : small.next;
	atomic_store_explicit(&heap_bytes, end - small.start, memory_order_release);
	part_close(&small);
	part_close(&large);
}

bool map_is_closed(void)
{
	return atomic_load_explicit(&condition, memory_order_relaxed) == CLOSED;
}

static struct block *part_at(struct part *part, uintptr_t address)
{
	if (address >= atomic_load_explicit(&part->next, memory_order_acquire))
		return NULL;
	return atomic_load_explicit(&part->table[(address - part->start) >> part->shift],
				    memory_order_acquire);
}

struct block *map_at(uintptr_t address)
{
	uintptr_t bytes = atomic_load_explicit(&heap_bytes, memory_order_acquire);

	if (address - atomic_load_explicit(&heap_base, memory_order_relaxed) >= bytes)
		return NULL;
	return part_at(address < large.start ? &small : &large, address);
}

/* Returns the block in use whose addresses contain `address`, or NULL. */
static struct block *live_at(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	return block != NULL && atomic_load_explicit(&block->state, memory_order_acquire) ==
					BLOCK_LIVE
		       ? block
		       : NULL;
}

struct block *range_find(const void *address)
{
	struct block *block = live_at(address);

	return block != NULL && (uintptr_t)address - block->base < block->room ? block : NULL;
}

struct block *range_starting_at(const void *address)
{
	struct block *block = live_at(address);

	return block != NULL && block->start == (uintptr_t)address ? block : NULL;
}

bool range_covers(const struct block *block, const void *address, size_t bytes)
{
	size_t offset = (uintptr_t)address - block->base;

	return offset <= block->room && bytes <= block->room - offset;
}

/* Returns the block with the first address in [from, end), in any state. */
static struct block *first_in(uintptr_t from, uintptr_t end)
{
	if (atomic_load_explicit(&heap_bytes, memory_order_acquire) == 0)
		return NULL;

	for (struct part *part = &small; from < end; part = &large) {
		uintptr_t at = from < part->start ? part->start : from;
		struct block *block = at < end ? part_at(part, at) : NULL;

		if (block != NULL || part == &large)
			return block;
	}
	return NULL;
}

static uintptr_t end_of(const struct block *block)
{
	return block->base + part_bytes(part_of_class(block->size_class), block->size_class);
}

struct block *map_next(const struct block *after)
{
	return first_in(after != NULL ? end_of(after) : 0, UINTPTR_MAX);
}

struct block *range_next(const struct block *after, const void *address, size_t bytes)
{
	uintptr_t from = (uintptr_t)address;
	uintptr_t end = bytes < UINTPTR_MAX - from ? from + bytes : UINTPTR_MAX;
	struct block *block = first_in(after != NULL ? end_of(after) : from, end);

	while (block != NULL &&
	       (atomic_load_explicit(&block->state, memory_order_acquire) < BLOCK_LIVE ||
		from >= block->base + block->room))
		block = first_in(end_of(block), end);
	return block;
}
