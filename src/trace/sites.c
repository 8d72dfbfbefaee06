/*
 * sites.c - a table of fixed size, by a hash of the way up the stack.
 */
#include "trace/sites.h"
#include "base/arena.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SLOTS (2 * SITES_MOST)

/* Under the lock trace. */
static struct site *sites;
static uint32_t slots[SLOTS]; /* an index and 1; 0: free */
static size_t count;
static uint64_t lost;

int sites_start(void)
{
	sites = hp_arena_alloc(SITES_MOST * sizeof(*sites));
	return sites != NULL ? 0 : -ENOMEM;
}

/* With the lock held.  The slot where it stands, or where it would. */
static uint32_t *slot_of(uint64_t hash)
{
	for (size_t at = hash >> 40;; at++) {
		uint32_t *slot = &slots[at % SLOTS];

		if (*slot == 0 || sites[*slot - 1].hash == hash)
			return slot;
	}
}

static void add(struct sites_row *row, const struct trace_copy *copy)
{
	uint64_t took = copy->leave_ns - copy->enter_ns;

	row->count++;
	row->bytes += copy->bytes;
	row->host_ns += took;
	row->sync_count += copy->synchronous;
	row->sync_ns += copy->synchronous ? took : 0;
}

uint32_t sites_add(const struct frames_way *way, const struct trace_copy *copy)
{
	assert(hp_lock_held(HP_LOCK_trace));
	uint32_t site = way->depth != 0 ? way->name : SITES_NOWHERE;

	/* Each line of the tables that is not looked at is one less to miss the caches. */
	if (way->depth != 0 && site == FRAMES_NAMELESS) {
		site = *slot_of(way->hash) - 1;
		frames_name(way, site);
	}
	if (site != SITES_NOWHERE)
		add(&sites[site].row[copy->direction][copy->memory], copy);
	return site;
}

static void make(const struct frames_way *way)
{
	struct site site = { .hash = way->hash, .depth = way->depth };

	for (size_t i = 0; i < way->depth; i++) {
		/* A return address may stand behind the last byte of its function. */
		site.frame[i] = modules_find(way->address[i] - 1);
		site.frame[i].offset++;
	}
	hp_lock(HP_LOCK_trace);
	uint32_t *slot = slot_of(way->hash);
	if (*slot == 0 && count < SITES_MOST) {
		sites[count] = site;
		*slot = (uint32_t)++count;
	}
	hp_unlock(HP_LOCK_trace);
}

bool sites_walk(const void *frame, struct frames_way *ret)
{
	if (frame != NULL)
		return frames_walk(frame, ret);
	ret->depth = 0;
	return true;
}

uint32_t sites_copied(const struct trace_copy *copy, const void *frame)
{
	struct frames_way way;

	sites_walk(frame, &way);
	hp_lock(HP_LOCK_trace);
	uint32_t site = sites_add(&way, copy);
	hp_unlock(HP_LOCK_trace);
	if (site != SITES_NOWHERE)
		return site;
	if (way.depth != 0)
		make(&way);
	hp_lock(HP_LOCK_trace);
	site = sites_add(&way, copy);
	lost += site == SITES_NOWHERE;
	hp_unlock(HP_LOCK_trace);
	return site;
}

size_t sites_count(uint64_t *ret_lost)
{
	hp_lock(HP_LOCK_trace);
	size_t known = count;
	*ret_lost = lost;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void sites_read(size_t index, struct site *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = sites[index];
	hp_unlock(HP_LOCK_trace);
}
