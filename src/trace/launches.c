/*
 * launches.c - a table of fixed size, by a hash of the way up the stack.
 */
#include "trace/launches.h"
#include "base/arena.h"
#include "base/lock.h"

#include <errno.h>

#define SLOTS (2 * LAUNCHES_MOST)

/* Under the lock trace. */
static struct launch_site *sites;
static uint64_t hashes[LAUNCHES_MOST];
static uint16_t slots[SLOTS]; /* an index and 1; 0: free */
static size_t used;
static uint64_t lost;

int launches_start(void)
{
	sites = hp_arena_alloc(LAUNCHES_MOST * sizeof(*sites));
	return sites != NULL ? 0 : -ENOMEM;
}

/* With the lock.  Where it stands, or where it would. */
static uint16_t *slot_of(uint64_t hash)
{
	for (size_t at = (size_t)(hash >> 40);; at++) {
		uint16_t *slot = &slots[at % SLOTS];

		if (*slot == 0 || hashes[*slot - 1] == hash)
			return slot;
	}
}

/* With the lock.  The number of the place; LAUNCHES_MOST: it is not known yet. */
static uint32_t add(const struct frames_way *way, uint64_t took_ns)
{
	uint16_t slot = *slot_of(way->hash);

	if (slot == 0)
		return LAUNCHES_MOST;
	sites[slot - 1].count++;
	sites[slot - 1].host_ns += took_ns;
	return slot - 1u;
}

uint32_t launches_called(const struct frames_way *way, uint64_t took_ns)
{
	struct launch_site site = { .depth = way->depth, .python_depth = way->python_depth };

	hp_lock(HP_LOCK_trace);
	uint32_t place = add(way, took_ns);
	bool known = place != LAUNCHES_MOST, is_full = used == LAUNCHES_MOST;
	lost += !known && is_full;
	hp_unlock(HP_LOCK_trace);
	if (known || is_full)
		return place;
	for (size_t i = 0; i < way->depth; i++)
		site.frame[i] = modules_find_return(way->address[i]);
	for (size_t i = 0; i < way->python_depth; i++)
		site.python[i] = way->python[i];
	hp_lock(HP_LOCK_trace);
	/* Another thread may have been here. */
	uint16_t *slot = slot_of(way->hash);
	if (*slot == 0 && used < LAUNCHES_MOST) {
		hashes[used] = way->hash;
		sites[used] = site;
		*slot = (uint16_t)++used;
	}
	place = add(way, took_ns);
	lost += place == LAUNCHES_MOST;
	hp_unlock(HP_LOCK_trace);
	return place;
}

size_t launches_count(uint64_t *ret_lost)
{
	hp_lock(HP_LOCK_trace);
	size_t count = used;
	*ret_lost = lost;
	hp_unlock(HP_LOCK_trace);
	return count;
}

void launches_read(size_t index, struct launch_site *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = sites[index];
	hp_unlock(HP_LOCK_trace);
}
