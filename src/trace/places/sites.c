/*
 * sites.c - a table of fixed size, by a hash of the way up the stack.
 *
 * An id is a row of the table and, in the high bits, the number of times that the row was reused.
 * Events, buffers and repeats remember ids, so an old id never refers to the site that uses the
 * row now.
 */
#include "trace/places/sites.h"
#include "base/lock.h"
#include "trace/keys.h"

#include <assert.h>
#include <errno.h>

#define COPY_NS 1000 /* weight of a copy in addition to its time */

_Static_assert((SITES_MOST & (SITES_MOST - 1)) == 0, "an id has the row in its low bits");

/* Under the lock trace. */
static struct site *sites; /* the one behind all rows is for the rest */
static struct head {
	uint64_t weight;
	uint32_t id;
} heads[SITES_MOST];     /* separate: each copy reads one, each eviction reads all */
static struct keys keys; /* hashes */
static uint64_t lost;
static bool held;

int sites_start(void)
{
	sites = keys_start(&keys, SITES_MOST, sizeof(*sites));
	return sites != NULL ? 0 : -ENOMEM;
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

/*
 * With the lock held, when all rows are used.  Removes the site of least weight.  The row keeps its
 * weight, so that the next site in it is not the next one evicted.
 */
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

/* With the lock held.  Returns the id of a way's site; SITES_NOWHERE: no row is available now. */
static uint32_t find_or_make(const struct frames_way *way)
{
	uint32_t row = keys_find(&keys, way->hash);

	if (row != KEYS_NONE)
		return heads[row].id;
	if (keys.rows < SITES_MOST)
		heads[keys.rows].id = keys.rows;
	else if (held)
		return SITES_NOWHERE;
	else
		evict();
	row = keys_add(&keys, way->hash);
	sites[row] = (struct site){ .folded = way->cut, .place = frames_place(way) };
	return heads[row].id;
}

uint32_t sites_add(const struct frames_way *way, const struct trace_copy *copy)
{
	struct site *site = &sites[SITES_MOST];

	assert(hp_lock_held(HP_LOCK_trace));
	if (way->depth == 0) {
		lost++;
		return SITES_NOWHERE;
	}
	uint32_t id = find_or_make(way);
	if (id != SITES_NOWHERE) {
		site = &sites[id % SITES_MOST];
		heads[id % SITES_MOST].weight += copy->leave_ns - copy->enter_ns + COPY_NS;
	} else {
		site->folded = true;
	}
	trace_sum_add(&site->row[copy->direction][copy->memory], copy);
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

const struct frames_place *sites_place(uint32_t id)
{
	bool is_there = id != SITES_NOWHERE && heads[id % SITES_MOST].id == id;
	const struct site *site = is_there ? site_at(id % SITES_MOST) : NULL;

	assert(hp_lock_held(HP_LOCK_trace));
	return site != NULL ? &site->place : NULL;
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
