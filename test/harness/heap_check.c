/*
 * heap_check.c - a walk over all blocks by what src/heap and src/pin say of them.
 */
#include "heap_check.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "heap/shards.h"
#include "pin/pin.h"

/* The table knows the first and the last byte, and another block or none what surrounds them. */
static bool is_mapped(const struct block *block)
{
	size_t unit = map_alignment(block->size_class);
	uintptr_t end = (block->base + map_class_bytes(block->size_class) + unit - 1) & -unit;

	return map_at(block->base) == block && map_at(end - 1) == block &&
	       map_at(block->base - 1) != block && map_at(end) != block;
}

/* Other threads park and take blocks meanwhile. */
static int walk(void)
{
	size_t cached = 0;
	for (struct block *at = NULL; (at = map_next(at)) != NULL;) {
		int state = at->state;
		size_t all = at->bytes;

		if (!heap_owns((void *)at->base) || at->base % map_alignment(at->size_class) != 0)
			return __LINE__;
		if (!is_mapped(at) || at->room > all || at->room % 4096 != 0 ||
		    at->start < at->base)
			return __LINE__;
		if (state != BLOCK_CACHED)
			continue;
		if (at->touched > all)
			return __LINE__;
		cached += at->kept_pinned ? 0 : at->touched;
	}
	return cached == cache_unpinned() - shards_allowed() ? 0 : __LINE__;
}

int heap_check(void)
{
	hp_lock(HP_LOCK_heap);
	int failed = walk();
	hp_unlock(HP_LOCK_heap);
	return failed;
}

void heap_stats(size_t *ret_live, size_t *ret_kept)
{
	*ret_live = *ret_kept = 0;
	hp_lock(HP_LOCK_heap);
	for (struct block *at = NULL; (at = map_next(at)) != NULL;) {
		int state = at->state;

		if (state == BLOCK_LIVE)
			*ret_live += at->room;
		if (state == BLOCK_CACHED || state == BLOCK_PARKED)
			*ret_kept += at->touched;
	}
	hp_unlock(HP_LOCK_heap);
}

int pin_check(void)
{
	size_t sum = 0;
	hp_lock(HP_LOCK_pin);
	hp_lock(HP_LOCK_heap);
	for (struct block *at = NULL; (at = map_next(at)) != NULL;)
		if (block_pin(at) == BLOCK_PINNED)
			sum += at->room;
	hp_unlock(HP_LOCK_heap);
	size_t now = pin_bytes();
	hp_unlock(HP_LOCK_pin);
	/* What the driver would not unpin is counted, too. */
	return sum <= now ? 0 : __LINE__;
}

void heap_set_level(enum pressure_level level)
{
	uint64_t ram = limits_ram(false);
	/* The next byte less is short. */
	uint64_t some = ram / 10 < (uint64_t)4 << 30 ? ram / 10 : (uint64_t)4 << 30;
	struct limits facts = {
		.ram = ram,
		.available = level == PRESSURE_NONE   ? ram
			     : level == PRESSURE_SOME ? some - 1
						      : 0,
		.cgroup_limit = UINT64_MAX,
		.cgroup_left = UINT64_MAX,
	};

	heap_set_memory(&facts);
}
