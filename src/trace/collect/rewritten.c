/*
 * rewritten.c - a ring of the latest copies, in the order of their begin.
 */
#include "trace/collect/rewritten.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/collect/clockmap.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>

/* The search range: copies in flight at once, and a few more, since threads begin out of order. */
#define NEIGHBORS 64

static struct rewritten *ring; /* under the lock trace */
static _Atomic uint64_t begun; /* written under the lock trace */

int rewritten_start(void)
{
	ring = hp_arena_alloc(REWRITTEN_MOST * sizeof(*ring));
	return ring != NULL ? 0 : -ENOMEM;
}

/* With the lock.  Returns the ticket. */
static uint64_t add(const struct rewritten *copy)
{
	uint64_t ticket = begun++;

	ring[ticket % REWRITTEN_MOST] = *copy;
	return ticket;
}

uint64_t rewritten_begin(enum trace_direction direction, uint64_t bytes, uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	uint64_t ticket = add(&(struct rewritten){ .kind = REWRITTEN_STAGED,
						   .direction = direction,
						   .begin_ns = now_ns,
						   .end_ns = UINT64_MAX,
						   .bytes = bytes,
						   .left = bytes,
						   .thread = trace_thread() });
	hp_unlock(HP_LOCK_trace);
	return ticket;
}

void rewritten_end(uint64_t ticket, uint64_t moved, uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	struct rewritten *copy = &ring[ticket % REWRITTEN_MOST];
	if (begun - ticket <= REWRITTEN_MOST) {
		uint64_t seen = copy->bytes - copy->left;

		copy->end_ns = now_ns;
		copy->bytes = moved;
		copy->left = moved > seen ? moved - seen : 0;
	}
	hp_unlock(HP_LOCK_trace);
}

void rewritten_deferred(const struct trace_copy *copy)
{
	assert(hp_lock_held(HP_LOCK_trace));
	add(&(struct rewritten){ .kind = REWRITTEN_DEFERRED,
				 .direction = copy->direction,
				 .begin_ns = copy->enter_ns,
				 .end_ns = copy->leave_ns,
				 .bytes = copy->bytes,
				 .left = copy->bytes,
				 .thread = trace_thread() });
}

static uint64_t oldest(void)
{
	return begun > REWRITTEN_MOST ? begun - REWRITTEN_MOST : 0;
}

/* Returns the number of copies that began by `ns`, as far as they are in order. */
static uint64_t begun_by(uint64_t ns)
{
	uint64_t low = oldest(), high = begun;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (ring[middle % REWRITTEN_MOST].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_inside(const struct rewritten *copy, const struct correlation_caller *caller)
{
	return copy->thread == caller->thread &&
	       caller->at_ns + CLOCKMAP_CALL_ERROR_NS >= copy->begin_ns &&
	       (copy->end_ns == UINT64_MAX ||
		caller->at_ns <= copy->end_ns + CLOCKMAP_CALL_ERROR_NS);
}

/*
 * With the lock.  Returns the copy that a call made, among the latest; NULL: none.  The oldest one
 * with room: a late record goes to the copy that still lacks bytes.
 */
static struct rewritten *find(enum rewritten_kind kind, enum trace_direction direction,
			      uint64_t bytes, const struct correlation_caller *caller)
{
	uint64_t last = begun_by(caller->at_ns + CLOCKMAP_CALL_ERROR_NS);
	uint64_t first = last > oldest() + NEIGHBORS ? last - NEIGHBORS : oldest();

	for (uint64_t ticket = first; ticket < last; ticket++) {
		struct rewritten *copy = &ring[ticket % REWRITTEN_MOST];

		if (copy->kind == kind && copy->direction == direction && copy->left >= bytes &&
		    (kind == REWRITTEN_STAGED || copy->left == bytes) && is_inside(copy, caller))
			return copy;
	}
	return NULL;
}

bool rewritten_claim(enum rewritten_kind kind, enum trace_direction direction, uint64_t bytes,
		     const struct correlation_caller *caller, struct rewritten *ret)
{
	/* Called for each record, so this avoids the lock, which the program's threads need. */
	if (caller == NULL || bytes == 0 || atomic_load(&begun) == 0)
		return false;
	hp_lock(HP_LOCK_trace);
	struct rewritten *copy = find(kind, direction, bytes, caller);
	if (copy != NULL) {
		*ret = *copy;
		copy->left -= bytes;
	}
	hp_unlock(HP_LOCK_trace);
	return copy != NULL;
}
