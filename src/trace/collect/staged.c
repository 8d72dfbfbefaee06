/*
 * staged.c - a ring of the latest staged copies, in the order of their begin.
 */
#include "trace/collect/staged.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/collect/correlation.h"

#include <errno.h>
#include <stdatomic.h>

/* The largest error of CUPTI's time stamps, which are interpolated. */
#define SLACK_NS  50000

/* The search range: copies in flight at once, and a few more, since threads begin out of order. */
#define NEIGHBORS 64

static struct staged {
	uint64_t begin_ns, end_ns; /* end_ns is UINT64_MAX: not complete */
	uint64_t bytes, left;      /* left: not yet in a record */
	enum trace_direction direction;
	bool claimed;
	uint32_t thread;
} * ring;                      /* under the lock trace */
static _Atomic uint64_t begun; /* written under the lock trace */

int staged_start(void)
{
	ring = hp_arena_alloc(STAGED_MOST * sizeof(*ring));
	return ring != NULL ? 0 : -ENOMEM;
}

uint64_t staged_begin(enum trace_direction direction, uint64_t bytes, uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	uint64_t ticket = begun++;
	ring[ticket % STAGED_MOST] = (struct staged){ .begin_ns = now_ns,
						      .end_ns = UINT64_MAX,
						      .bytes = bytes,
						      .left = bytes,
						      .direction = direction,
						      .thread = trace_thread() };
	hp_unlock(HP_LOCK_trace);
	return ticket;
}

void staged_end(uint64_t ticket, uint64_t moved, uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	struct staged *copy = &ring[ticket % STAGED_MOST];
	if (begun - ticket <= STAGED_MOST) {
		uint64_t seen = copy->bytes - copy->left;

		copy->end_ns = now_ns;
		copy->bytes = moved;
		copy->left = moved > seen ? moved - seen : 0;
	}
	hp_unlock(HP_LOCK_trace);
}

/* Returns the number of copies that began by `ns`, as far as they are in order. */
static uint64_t begun_by(uint64_t ns)
{
	uint64_t low = begun > STAGED_MOST ? begun - STAGED_MOST : 0, high = begun;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (ring[middle % STAGED_MOST].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool holds(const struct staged *copy, enum trace_direction direction, uint64_t start_ns,
		  uint64_t bytes)
{
	return copy->direction == direction && copy->left >= bytes &&
	       start_ns + SLACK_NS >= copy->begin_ns &&
	       (copy->end_ns == UINT64_MAX || start_ns <= copy->end_ns + SLACK_NS);
}

/* With the lock.  Returns the copy that a piece belongs to, among the latest; NULL: none. */
static struct staged *find(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
			   const struct correlation_caller *caller)
{
	uint64_t last = begun_by(start_ns + SLACK_NS);
	uint64_t oldest = begun > STAGED_MOST ? begun - STAGED_MOST : 0;
	uint64_t first = last > oldest + NEIGHBORS ? last - NEIGHBORS : oldest;

	/*
	 * The oldest copy with room for the piece: a late record goes to the copy that still lacks
	 * bytes.
	 */
	for (uint64_t ticket = first; ticket < last; ticket++) {
		struct staged *copy = &ring[ticket % STAGED_MOST];

		if (bytes != 0 && holds(copy, direction, start_ns, bytes) &&
		    (caller == NULL ||
		     correlation_is_within(caller, copy->thread, copy->begin_ns, copy->end_ns)))
			return copy;
	}
	return NULL;
}

bool staged_claim(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
		  const struct correlation_caller *caller, struct staged_piece *ret)
{
	/* Called for each record, so this avoids the lock, which the program's threads need. */
	if (atomic_load(&begun) == 0)
		return false;
	hp_lock(HP_LOCK_trace);
	struct staged *copy = find(direction, start_ns, bytes, caller);
	if (copy != NULL) {
		*ret = (struct staged_piece){ !copy->claimed, copy->bytes };
		copy->claimed = true;
		copy->left -= bytes;
	}
	hp_unlock(HP_LOCK_trace);
	return copy != NULL;
}
