/*
 * heap_check.c - a walk over all blocks by what src/heap and src/pin say of them.
 */
#include "heap_check.h"
#include "base/clock.h"
#include "base/lock.h"
#include "heap/expiry.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/pin_state.h"
#include "heap/reclaim.h"
#include "heap/slots.h"
#include "heap/span.h"
#include "pin/pin.h"

/* A thread inside free() may wait so long for a CPU. */
#define STRAY_NS ((uint64_t)20000000000)

/* Bytes by kind of block. */
struct sums {
	size_t all, cached, in_slots;
	bool stray; /* a parked block has no slot, which happens only inside free() */
};

static bool is_mapped(const struct block *block)
{
	/* Only the ends of free or unmapped space are in the map. */
	bool hollow = block->state == BLOCK_SPACE || block->state == BLOCK_GONE;
	size_t step = hollow && block->room > MAP_UNIT ? block->room - MAP_UNIT : MAP_UNIT;

	for (uintptr_t at = block->base; at < block->base + block->room; at += step)
		if (map_at(at) != block)
			return false;
	return true;
}

static int walk(struct sums *ret)
{
	bool space_before = false;

	for (struct block *at = span_first(); at != NULL; at = span_next(at)) {
		/* Read once: malloc() and free() change it meanwhile. */
		int state = at->state;
		bool is_space = state == BLOCK_SPACE;

		if (at->base != heap_base + ret->all || at->room == 0 || at->room % MAP_UNIT != 0)
			return __LINE__;
		if (state == BLOCK_UNUSED || (is_space && space_before) || !is_mapped(at))
			return __LINE__;
		if (at->has_slot && state != BLOCK_PARKED && state != BLOCK_LIVE &&
		    state != BLOCK_LEAVING)
			return __LINE__;
		ret->all += at->room;
		ret->cached += state == BLOCK_CACHED ? at->room : 0;
		ret->in_slots += at->has_slot ? at->room : 0;
		ret->stray = ret->stray || (state == BLOCK_PARKED && !at->has_slot);
		space_before = is_space;
	}
	if (ret->all != 0 && ret->all != heap_bytes)
		return __LINE__;
	return ret->cached == expiry_bytes() && ret->in_slots == slots_bytes() ? 0 : __LINE__;
}

int heap_check(void)
{
	uint64_t begun = hp_now_ns();

	while (hp_now_ns() - begun < STRAY_NS) {
		struct sums sums = { 0 };

		hp_lock(HP_LOCK_heap);
		int failed = walk(&sums);
		hp_unlock(HP_LOCK_heap);
		if (failed != 0 || !sums.stray)
			return failed;
		hp_sleep_ns(100000);
	}
	return __LINE__;
}

static void add_pinned(struct block *block, void *arg)
{
	if (block_pin(block) == BLOCK_PINNED)
		*(size_t *)arg += block->room;
}

int pin_check(void)
{
	size_t sum = 0;

	hp_lock(HP_LOCK_pin);
	heap_each(add_pinned, &sum);
	size_t now = pin_bytes();
	hp_unlock(HP_LOCK_pin);
	/* What the driver would not unpin is counted, too. */
	return sum <= now ? 0 : __LINE__;
}

void heap_set_level(enum pressure_level level)
{
	uint64_t ram = limits_ram();
	/* The next byte less is short. */
	uint64_t some = ram / 10 < (uint64_t)4 << 30 ? ram / 10 : (uint64_t)4 << 30;
	struct pressure_facts facts = {
		.ram = ram,
		.available = level == PRESSURE_NONE   ? ram
			     : level == PRESSURE_SOME ? some - 1
						      : 0,
		.cgroup_limit = UINT64_MAX,
		.cgroup_left = UINT64_MAX,
	};

	heap_set_memory(&facts);
}
