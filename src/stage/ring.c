/*
 * ring.c - a queue of parts.  Each part has an event, recorded right after the upload, because the
 * program may destroy the stream later.
 */
#include "stage/ring.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/protections.h"
#include "real/contexts.h"
#include "real/relaxed.h"
#include "stage/memory.h"

#define UNIT       ((size_t)64 << 10)
#define UNITS      ((unsigned)(RING_BYTES / UNIT))

/* Events that one upload polls at most.  On average each upload frees one part. */
#define POLLS_MOST 4

/*
 * After a poll in vain so many further uploads poll no event.  Behind a long kernel the polls would
 * cost more than they gain (0.28 us each).
 */
#define PAUSE      4

enum entry_state {
	ENTRY_HELD, /* by a thread; for good if its event cannot be recorded */
	ENTRY_SENT, /* until its event is complete */
	ENTRY_BACK, /* the device does not use it */
};

struct ring_entry {
	enum entry_state state;
	unsigned first, units;
	CUevent event; /* changed by the thread that holds the entry */
};

/* Under the lock staging. */
struct ring {
	struct memory memory;
	uint64_t oldest, next;            /* numbers of entries; equal: the ring is empty */
	unsigned pause;                   /* uploads that poll no event from now on */
	struct ring_entry entries[UNITS]; /* at number % UNITS */
};

void ring_start(uint32_t wants)
{
	memory_allow(MEMORY_RING, wants != 0 ? RING_BYTES : 0, sizeof(struct ring), wants);
}

static struct ring_entry *entry_at(struct ring *ring, uint64_t number)
{
	return &ring->entries[number % UNITS];
}

/* Removes the oldest entries that are back. */
static void remove_back(struct ring *ring)
{
	while (ring->oldest < ring->next && entry_at(ring, ring->oldest)->state == ENTRY_BACK)
		ring->oldest++;
}

/*
 * Finds `units` adjacent free units.  False: there are none.  An empty ring begins at its first
 * unit, which is in the CPU caches.
 */
static bool find_room(struct ring *ring, unsigned units, unsigned *ret_first)
{
	if (ring->oldest == ring->next) {
		*ret_first = 0;
		return true;
	}
	const struct ring_entry *oldest = entry_at(ring, ring->oldest);
	const struct ring_entry *newest = entry_at(ring, ring->next - 1);
	unsigned end = newest->first + newest->units;

	if (newest->first >= oldest->first && end + units <= UNITS) {
		*ret_first = end;
		return true;
	}
	*ret_first = newest->first >= oldest->first ? 0 : end;
	return *ret_first + units <= oldest->first;
}

/* Takes an entry of `units`.  NULL: there is no room. */
static struct ring_entry *add(struct ring *ring, unsigned units)
{
	unsigned first;

	if (ring->memory.ended || !find_room(ring, units, &first))
		return NULL;
	struct ring_entry *entry = entry_at(ring, ring->next++);
	entry->state = ENTRY_HELD;
	entry->first = first;
	entry->units = units;
	return entry;
}

/* Lists the events of the oldest entries, which may be complete.  Returns their number. */
static unsigned list_sent(struct ring *ring, CUevent ret[POLLS_MOST])
{
	unsigned count = 0;

	while (count < POLLS_MOST && ring->oldest + count < ring->next &&
	       entry_at(ring, ring->oldest + count)->state == ENTRY_SENT) {
		ret[count] = entry_at(ring, ring->oldest + count)->event;
		count++;
	}
	return count;
}

/* A query that fails is not completion: in a context with an error, parts stay in flight. */
static bool is_complete(CUevent event)
{
	if (!hp_keeps(in_flight))
		return true;

	CUresult result = REAL(cuEventQuery)(event);
	return hp_keeps(in_flight_in_doubt) ? result == CUDA_SUCCESS
					    : result != CUDA_ERROR_NOT_READY;
}

/*
 * Polls the oldest entries, and removes those that are complete.  Gives up the lock meanwhile: then
 * another thread may remove them, and an event may become that of a later entry.
 */
static void ask(struct ring *ring)
{
	const uint64_t first = ring->oldest;
	CUevent events[POLLS_MOST];
	unsigned count = list_sent(ring, events), complete = 0;

	if (count == 0)
		return;
	hp_unlock(HP_LOCK_staging);
	/* A query would invalidate a capture that begins meanwhile. */
	struct relaxed relaxed = relaxed_begin();
	while (complete < count && is_complete(events[complete]))
		complete++;
	relaxed_end(&relaxed);
	hp_lock(HP_LOCK_staging);
	if (complete < count)
		ring->pause = PAUSE;
	if (ring->oldest < first + complete)
		ring->oldest = first + complete;
	remove_back(ring);
}

/* Takes an entry of the context's ring, which the caller holds then.  Requires the lock staging. */
static struct ring_entry *take(struct ring *ring, size_t bytes)
{
	memory_hold(&ring->memory);
	if (ring->pause > 0)
		ring->pause--;
	else
		ask(ring);
	struct ring_entry *entry = add(ring, (unsigned)((bytes + UNIT - 1) / UNIT));
	if (entry == NULL)
		memory_put(&ring->memory);
	return entry;
}

bool ring_take(size_t bytes, CUstream stream, bool per_thread, struct ring_hold *ret)
{
	struct memory_context of;

	*ret = (struct ring_hold){ .stream = stream, .per_thread = per_thread };
	/* No event of this context covers work on a stream of another. */
	if (!memory_may_be(MEMORY_RING) || bytes > RING_BYTES || !memory_current(&of) ||
	    !contexts_has_stream(of.context, stream))
		return false;

	hp_lock(HP_LOCK_staging);
	ret->ring = (struct ring *)memory_get(MEMORY_RING, &of, 1);
	ret->entry = ret->ring != NULL ? take(ret->ring, bytes) : NULL;
	hp_unlock(HP_LOCK_staging);
	if (ret->entry == NULL)
		return false;
	ret->memory = ret->ring->memory.at + ret->entry->first * UNIT;
	if (memory_make_event(&ret->entry->event)) {
		hp_count(copies_from_ring);
		return true;
	}
	ring_put(ret, false);
	return false;
}

void ring_put(struct ring_hold *hold, bool sent)
{
	struct ring *ring = hold->ring;

	if (hold->memory == NULL)
		return;
	bool recorded = sent && REAL_ON(hold->per_thread, cuEventRecord)(
					hold->entry->event, hold->stream) == CUDA_SUCCESS;
	hp_lock(HP_LOCK_staging);
	if (recorded)
		hold->entry->state = ENTRY_SENT;
	else if (!sent)
		hold->entry->state = ENTRY_BACK;
	remove_back(ring);
	memory_put(&ring->memory);
	hp_unlock(HP_LOCK_staging);
	hold->memory = NULL;
}
