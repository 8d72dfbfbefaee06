/* area.c - keeps the units of an area in bit masks.  A unit has an event for each smallest piece.
 */
#include "stage/area.h"
#include "base/bounds.h"
#include "base/lock.h"
#include "base/thread.h"
#include "stage/memory.h"

#include <assert.h>

#define EVENTS_PER_UNIT (AREA_UNIT / AREA_PIECE)

struct area {
	struct memory memory;

	uint64_t held; /* units that threads use, a bit each; under the lock staging */

	/* Of a unit: changed by the thread that holds it. */
	CUevent events[AREA_UNITS_MOST * EVENTS_PER_UNIT];
};

void area_start(uint64_t bytes, uint64_t price)
{
	uint64_t units = hp_least(bytes / AREA_UNIT, AREA_UNITS_MOST);

	memory_allow(MEMORY_AREA, units * AREA_UNIT, sizeof(struct area), price);
}

bool area_is_there(uint64_t gain_ns)
{
	struct memory_context of;

	if (!memory_may_be(MEMORY_AREA) || !memory_current(&of))
		return false;
	hp_uncancellable_begin();
	bool is_there = hp_locked(HP_LOCK_staging, memory_get(MEMORY_AREA, &of, gain_ns) != NULL);
	hp_uncancellable_end();
	return is_there;
}

/* Returns half of the free units, so that the next copy finds some, too; 0: too few are free. */
static unsigned count_for(const struct area *area, unsigned least, unsigned most)
{
	unsigned units = (unsigned)(area->memory.bytes / AREA_UNIT);
	unsigned free = units - (unsigned)__builtin_popcountll(area->held);
	unsigned count = free / 2 > least ? free / 2 : least;

	if (count > most)
		count = most;
	return count <= free ? count : 0;
}

/* Returns the first `count` free units. */
static uint64_t choose_units(const struct area *area, unsigned count)
{
	uint64_t units = 0, free = ~area->held;

	for (; count > 0; count--) {
		units |= free & -free;
		free &= free - 1;
	}
	return units;
}

/* Returns the offset of a piece in the area. */
static size_t offset_of(const struct area_hold *hold, size_t bytes, size_t index)
{
	size_t in_unit = AREA_UNIT / bytes, in_row = index % (hold->count * in_unit);
	uint64_t units = hold->units;

	for (size_t before = in_row / in_unit; before > 0; before--)
		units &= units - 1;
	return (size_t)__builtin_ctzll(units) * AREA_UNIT + in_row % in_unit * bytes;
}

static CUevent *event_at(const struct area_hold *hold, size_t bytes, size_t index)
{
	return &hold->area->events[offset_of(hold, bytes, index) / AREA_PIECE];
}

char *area_memory(const struct area_hold *hold, size_t bytes, size_t index)
{
	return hold->area->memory.at + offset_of(hold, bytes, index);
}

CUevent area_event(const struct area_hold *hold, size_t bytes, size_t index)
{
	return *event_at(hold, bytes, index);
}

size_t area_room(const struct area_hold *hold, size_t bytes)
{
	return hold->count * (AREA_UNIT / bytes);
}

/* Creates the events that the hold's units do not have yet. */
static bool make_events(const struct area_hold *hold)
{
	for (size_t i = 0; i < area_room(hold, AREA_PIECE); i++)
		if (!memory_make_event(event_at(hold, AREA_PIECE, i)))
			return false;
	return true;
}

bool area_take(unsigned least, unsigned most, struct area_hold *ret)
{
	struct memory_context of;

	assert(least <= most && most <= AREA_SHARE_MOST);
	*ret = (struct area_hold){ 0 };
	if (!memory_may_be(MEMORY_AREA) || !memory_current(&of))
		return false;
	hp_lock(HP_LOCK_staging);
	struct area *area = (struct area *)memory_get(MEMORY_AREA, &of, 0);
	unsigned count = area != NULL ? count_for(area, least, most) : 0;
	if (count > 0) {
		*ret = (struct area_hold){ area, choose_units(area, count), count };
		area->held |= ret->units;
		memory_hold(&area->memory);
	}
	hp_unlock(HP_LOCK_staging);
	if (count == 0 || make_events(ret))
		return count != 0;
	area_put(ret);
	return false;
}

void area_put(struct area_hold *hold)
{
	struct area *area = hold->area;

	if (area == NULL)
		return;
	hp_lock(HP_LOCK_staging);
	area->held &= ~hold->units;
	memory_put(&area->memory);
	hp_unlock(HP_LOCK_staging);
	hold->area = NULL;
}
