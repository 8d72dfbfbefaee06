/*
 * sites.c - a table of fixed size, by a hash of the way up the stack.
 */
#include "trace/sites.h"
#include "base/arena.h"
#include "base/lock.h"

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

static uint64_t hash_of(const uintptr_t *way, size_t depth)
{
	uint64_t hash = depth;

	for (size_t i = 0; i < depth; i++)
		hash = ((hash ^ way[i]) * UINT64_C(0x9e3779b97f4a7c15)) ^ (hash >> 29);
	return hash;
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

/* SITES_NOWHERE: not there yet, and nothing was added. */
static uint32_t add_to(uint64_t hash, const struct trace_copy *copy)
{
	hp_lock(HP_LOCK_trace);
	uint32_t site = *slot_of(hash) - 1;
	if (site != SITES_NOWHERE)
		add(&sites[site].row[copy->direction][copy->memory], copy);
	hp_unlock(HP_LOCK_trace);
	return site;
}

static void make(uint64_t hash, const uintptr_t *way, size_t depth)
{
	struct site site = { .hash = hash, .depth = depth };

	for (size_t i = 0; i < depth; i++) {
		/* A return address may stand behind the last byte of its function. */
		site.frame[i] = modules_find(way[i] - 1);
		site.frame[i].offset++;
	}
	hp_lock(HP_LOCK_trace);
	uint32_t *slot = slot_of(hash);
	if (*slot == 0 && count < SITES_MOST) {
		sites[count] = site;
		*slot = (uint32_t)++count;
	}
	hp_unlock(HP_LOCK_trace);
}

uint32_t sites_copied(const struct trace_copy *copy, const void *frame)
{
	uintptr_t way[FRAMES_MOST];
	size_t depth = frame != NULL ? frames_walk(frame, way) : 0;
	uint32_t site = SITES_NOWHERE;

	if (depth != 0) {
		uint64_t hash = hash_of(way, depth);

		site = add_to(hash, copy);
		if (site == SITES_NOWHERE) {
			make(hash, way, depth);
			site = add_to(hash, copy);
		}
	}
	if (site == SITES_NOWHERE) {
		hp_lock(HP_LOCK_trace);
		lost++;
		hp_unlock(HP_LOCK_trace);
	}
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
