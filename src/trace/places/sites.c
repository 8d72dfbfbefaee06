/*
 * sites.c - a table of fixed size, by a hash of the way up the stack.
 *
 * An id is a row of the table and, in the high bits, the number of times that the row was reused.
 * Threads, events and repeats remember ids, so an old id never refers to the site that uses the
 * row now.
 */
#include "trace/places/sites.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/keys.h"

#include <assert.h>
#include <errno.h>

#define COPY_NS 1000 /* weight of a copy in addition to its time */

_Static_assert((SITES_MOST & (SITES_MOST - 1)) == 0, "an id has the row in its low bits");

/* Under the lock trace. */
static struct site *sites; /* SITES_MOST, then one for the rest */
static struct head {
	uint64_t weight;
	uint32_t id;
} heads[SITES_MOST];     /* separate: each copy reads one, each eviction reads all */
static struct keys keys; /* hashes */
static uint64_t lost;
static bool held;

int sites_start(void)
{
	sites = hp_arena_alloc((SITES_MOST + 1) * sizeof(*sites));
	return sites != NULL ? keys_start(&keys, SITES_MOST) : -ENOMEM;
}

static uint64_t weight_of(const struct trace_copy *copy)
{
	return copy->leave_ns - copy->enter_ns + COPY_NS;
}

uint32_t sites_add(struct frames_way *way, const struct trace_copy *copy)
{
	assert(hp_lock_held(HP_LOCK_trace));
	uint32_t id = way->depth != 0 ? way->site_id : SITES_NOWHERE;

	/* Each cache line of the tables that is not read saves a cache miss. */
	if (way->depth != 0 && (id == FRAMES_NO_SITE || heads[id % SITES_MOST].id != id)) {
		uint32_t row = keys_find(&keys, way->hash);

		id = row != KEYS_NONE ? heads[row].id : SITES_NOWHERE;
		way->site_id = id;
	}
	if (id != SITES_NOWHERE) {
		heads[id % SITES_MOST].weight += weight_of(copy);
		trace_sum_add(&sites[id % SITES_MOST].row[copy->direction][copy->memory], copy);
	}
	return id;
}

/* With the lock held.  Adds the sums of a site to the row of the rest. */
static void fold(const struct site *site)
{
	struct site *rest = &sites[SITES_MOST];

	rest->folded = true;
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++)
			trace_sum_add_sum(&rest->row[direction][memory],
					  &site->row[direction][memory]);
}

/* With the lock held.  Returns a new id for the row, which is never SITES_NOWHERE. */
static uint32_t next_id(uint32_t row)
{
	uint32_t id = heads[row].id;

	return id < UINT32_MAX - 2 * SITES_MOST ? id + SITES_MOST : row;
}

/* With the lock held, when all rows are used.  Removes the site of least weight. */
static void evict(void)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < SITES_MOST; i++)
		if (heads[i].weight < heads[least].weight)
			least = i;
	fold(&sites[least]);
	keys_remove(&keys, least);
	heads[least].id = next_id(least);
}

/* With the lock held.  Gives a site a row.  False: no row is available now. */
static bool make(const struct site *site)
{
	if (keys.rows < SITES_MOST)
		heads[keys.rows].id = keys.rows;
	else if (held)
		return false;
	else
		evict();
	uint32_t row = keys_add(&keys, site->hash);
	sites[row] = *site;
	/* The row keeps its weight, so that the new site is not the next one evicted. */
	return true;
}

uint32_t sites_copied(const struct trace_copy *copy, struct frames_way *way)
{
	struct site site = { .hash = way->hash, .folded = way->cut, .place = frames_place(way) };

	hp_lock(HP_LOCK_trace);
	/* Another thread may have added the site. */
	uint32_t id = sites_add(way, copy);
	if (id == SITES_NOWHERE && way->depth == 0) {
		lost++;
	} else if (id == SITES_NOWHERE && make(&site)) {
		id = sites_add(way, copy);
	} else if (id == SITES_NOWHERE) {
		trace_sum_add(&site.row[copy->direction][copy->memory], copy);
		fold(&site);
	}
	hp_unlock(HP_LOCK_trace);
	return id;
}

void sites_hold(bool hold)
{
	hp_lock(HP_LOCK_trace);
	held = hold;
	hp_unlock(HP_LOCK_trace);
}

/* With the lock held.  Returns a site, then the row of the rest; NULL: there are no more. */
static const struct site *site_at(size_t index)
{
	if (index < keys.rows)
		return &sites[index];
	return index == keys.rows && sites[SITES_MOST].folded ? &sites[SITES_MOST] : NULL;
}

static uint64_t copies_of(const struct site *site)
{
	uint64_t copies = 0;

	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++)
			copies += site->row[direction][memory].count;
	return copies;
}

void sites_count(struct sites_counts *ret)
{
	const struct site *site;

	hp_lock(HP_LOCK_trace);
	*ret = (struct sites_counts){ .lost = lost };
	for (size_t i = 0; (site = site_at(i)) != NULL; i++)
		ret->folded += site->folded ? copies_of(site) : 0;
	hp_unlock(HP_LOCK_trace);
}

bool sites_read(size_t index, struct site *ret)
{
	hp_lock(HP_LOCK_trace);
	const struct site *site = site_at(index);
	if (site != NULL)
		*ret = *site;
	hp_unlock(HP_LOCK_trace);
	return site != NULL;
}

int64_t sites_index(uint32_t id)
{
	bool is_there =
		hp_locked(HP_LOCK_trace, id != SITES_NOWHERE && heads[id % SITES_MOST].id == id);
	return is_there ? (int64_t)(id % SITES_MOST) : UNKNOWN;
}
