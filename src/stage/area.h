/*
 * The area of a context: pinned units that large copies pass through.
 *
 * A copy holds units from area_take() to area_put(), before it returns.  No copy waits for the
 * units of another: if too few are free, the copy takes its fallback.
 */
#ifndef HP_STAGE_AREA_H
#define HP_STAGE_AREA_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AREA_UNIT       ((size_t)2 << 20)

/* Every piece size is a power of two, this one at least. */
#define AREA_PIECE      ((size_t)128 << 10)

/* The most units of an area, regardless of what HOTPIN_RING says. */
#define AREA_UNITS_MOST 64

/* The most units that a copy holds: 16 MiB are as fast as 64. */
#define AREA_SHARE_MOST 8

struct area;

/* Units that one copy holds.  Used only by the thread that makes the copy. */
struct area_hold {
	struct area *area; /* NULL: nothing is held */
	uint64_t units;    /* a bit each */
	unsigned count;    /* of units */
};

/*
 * Allows areas of `bytes`, in whole units; 0: none.  A context's area is made once its copies have
 * missed `price` ns without it.  Called once.
 */
void area_start(uint64_t bytes, uint64_t price);

/*
 * True if the current context has an area.  A copy that would save `gain_ns` by it adds this to
 * what was missed, and makes the area if that pays now.
 */
bool area_is_there(uint64_t gain_ns);

/*
 * Takes between `least` and `most` units of the current context, with their events.  Takes at most
 * half of the free units, unless `least` is more, so that the next copy finds some, too.  False:
 * there are too few, or events cannot be had.
 */
bool area_take(unsigned least, unsigned most, struct area_hold *ret);

/* Puts the units back, if any are held.  The device no longer uses them. */
void area_put(struct area_hold *hold);

/* Return memory and event of piece `index` of `bytes` each, a power of two. */
char *area_memory(const struct area_hold *hold, size_t bytes, size_t index);
CUevent area_event(const struct area_hold *hold, size_t bytes, size_t index);

/* Returns how many pieces fit into the hold at once. */
size_t area_room(const struct area_hold *hold, size_t bytes);

#endif
