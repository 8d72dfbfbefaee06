/*
 * staged.c - the latest staged copies in a ring, in the order of their begin.
 */
#include "trace/staged.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/correlation.h"

#include <errno.h>
#include <stdatomic.h>

/* CUPTI's stamps are interpolated. */
#define SLACK_NS      50000
#define CALL_SLACK_NS 1000

/* So many may be in flight at once, or a little more: threads begin out of order. */
#define NEIGHBORS     64

static struct staged {
	uint64_t begin_ns, end_ns; /* UINT64_MAX: not over */
	uint64_t bytes, left;      /* that no record has told of */
	enum trace_direction direction;
	bool is_cut, claimed;
	uint32_t thread;
} * ring;                      /* under the lock trace */
static _Atomic uint64_t begun; /* written under the lock trace */

int staged_start(void)
{
	ring = hp_arena_alloc(STAGED_MOST * sizeof(*ring));
	return ring != NULL ? 0 : -ENOMEM;
}

uint64_t staged_begin(enum trace_direction direction, bool is_cut, uint64_t bytes, uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	uint64_t ticket = begun++;
	ring[ticket % STAGED_MOST] = (struct staged){ .begin_ns = now_ns,
						      .end_ns = UINT64_MAX,
						      .bytes = bytes,
						      .left = bytes,
						      .direction = direction,
						      .is_cut = is_cut,
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

/* The number of those that began by `ns`, as far as they are remembered in order. */
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

/* Did its thread make a call while it was in this copy?  Clocks are a little apart. */
static bool is_callers(const struct staged *copy, const struct correlation_caller *caller)
{
	return copy->thread == caller->thread && caller->at_ns + CALL_SLACK_NS >= copy->begin_ns &&
	       (copy->end_ns == UINT64_MAX || caller->at_ns <= copy->end_ns + CALL_SLACK_NS);
}

/* With the lock: the one that a piece is of, among the latest; NULL: none. */
static struct staged *find(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
			   const struct correlation_caller *caller)
{
	uint64_t last = begun_by(start_ns + SLACK_NS);
	uint64_t oldest = begun > STAGED_MOST ? begun - STAGED_MOST : 0;
	uint64_t first = last > oldest + NEIGHBORS ? last - NEIGHBORS : oldest;

	/* The oldest that holds it: what comes late goes to the copy that still lacks it. */
	for (uint64_t ticket = first; ticket < last; ticket++) {
		struct staged *copy = &ring[ticket % STAGED_MOST];

		if (bytes != 0 && holds(copy, direction, start_ns, bytes) &&
		    (caller == NULL || is_callers(copy, caller)))
			return copy;
	}
	return NULL;
}

bool staged_claim(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
		  const struct correlation_caller *caller, struct staged_piece *ret)
{
	/* Each record asks, and the program's threads want the lock. */
	if (atomic_load(&begun) == 0)
		return false;
	hp_lock(HP_LOCK_trace);
	struct staged *copy = find(direction, start_ns, bytes, caller);
	if (copy != NULL && caller != NULL)
		correlation_confirm();
	else if (caller != NULL && !correlation_is_confirmed())
		copy = find(direction, start_ns, bytes, NULL);
	if (copy != NULL) {
		*ret = (struct staged_piece){ !copy->claimed, copy->is_cut, copy->bytes };
		copy->claimed = true;
		copy->left -= bytes;
	}
	hp_unlock(HP_LOCK_trace);
	return copy != NULL;
}
