/*
 * ring.c - slots in a bit mask, events in a table by context.
 *
 * A registration ends with the context that was current when it was made, for all contexts.  The
 * memory stays: it is registered anew at the next copy that wants it.
 */
#include "copy/ring.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/protections.h"
#include "copy/own.h"
#include "host/pin.h"
#include "real/relaxed.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define REFUSALS_MOST 3

#define PATIENCE_NS   10000000000u
#define PAUSE_NS      100000

enum ring_state {
	RING_NONE,   /* not registered */
	RING_MAKING, /* a thread registers it */
	RING_READY,
	RING_ENDING, /* the context that it was registered in is about to go */
	RING_NEVER,
};
static _Atomic int state = RING_NEVER; /* changes under the lock ring */

/* Written while state is RING_MAKING, read by whoever holds a share. */
static char *memory;
static CUcontext _Atomic owner;
static unsigned refusals;

/* Under the lock ring. */
static unsigned slots;              /* constant after ring_start() */
static uint64_t slots_held;         /* a bit each */
static unsigned promised, promises; /* slots, and shares, that are held to be left */

/* The events of one context. */
struct lane {
	CUcontext context; /* NULL: none */
	unsigned long long id;
	unsigned flags;  /* for events */
	CUevent *events; /* of each slot, changed by whoever holds it */
};
static struct lane lanes[16]; /* under the lock ring */

/* Slots of copies that returned before the device was done with them.  Under the lock ring. */
static struct left {
	uint64_t number; /* 0: none; no two have the same */
	uint64_t slots;  /* a bit each, held */
	CUevent event;   /* then they are free */
	CUcontext context;
	unsigned long long id;
} lefts[RING_SLOTS_MOST / 2];
static uint64_t lefts_made;
static _Atomic unsigned lefts_now; /* how many there are */

void ring_start(uint64_t bytes)
{
	uint64_t count = bytes / RING_SLOT_BYTES;

	slots = count < RING_SLOTS_MOST ? (unsigned)count : RING_SLOTS_MOST;
	atomic_store(&state, slots > 0 ? RING_NONE : RING_NEVER);
}

bool ring_is_there(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == RING_READY;
}

bool ring_may_be(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) != RING_NEVER;
}

static bool has_functions(void)
{
	return REAL_HAS(cuMemHostRegister_v2) && REAL_HAS(cuCtxGetCurrent) &&
	       REAL_HAS(cuEventCreate) && REAL_HAS(cuEventRecord) && REAL_HAS(cuEventQuery) &&
	       REAL_HAS(cuEventSynchronize) && REAL_HAS(cuPointerGetAttributes);
}

/* RING_READY, RING_NONE (another time, perhaps) or RING_NEVER. */
static enum ring_state make(size_t bytes)
{
	CUcontext context = NULL;

	if (!has_functions())
		return RING_NEVER;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return RING_NONE;
	if (!pin_take_staging(bytes))
		return RING_NONE;
	if (memory == NULL && (!own_is_room(bytes) || (memory = own_map(bytes)) == NULL)) {
		pin_give_staging(bytes);
		return RING_NEVER;
	}

	CUresult result = own_register(memory, bytes);
	if (result == CUDA_SUCCESS) {
		owner = context;
		return RING_READY;
	}
	pin_give_staging(bytes);
	hp_debug("no ring for staging: CUDA error %d", (int)result);
	return ++refusals < REFUSALS_MOST ? RING_NONE : RING_NEVER;
}

bool ring_make(void)
{
	int expected = RING_NONE, saved = errno;

	if (!atomic_compare_exchange_strong(&state, &expected, RING_MAKING))
		return expected == RING_READY;

	enum ring_state then = make(slots * RING_SLOT_BYTES);
	/* Not if this has become the child of a fork meanwhile. */
	expected = RING_MAKING;
	atomic_compare_exchange_strong(&state, &expected, then);
	errno = saved;
	return then == RING_READY;
}

unsigned ring_event_flags(void)
{
	unsigned flags = 0;

	if (!REAL_HAS(cuCtxGetFlags) || REAL(cuCtxGetFlags)(&flags) != CUDA_SUCCESS)
		flags = 0;
	return CU_EVENT_DISABLE_TIMING |
	       (flags & CU_CTX_SCHED_BLOCKING_SYNC ? CU_EVENT_BLOCKING_SYNC : 0);
}

static void left_ends(struct left *left)
{
	assert(hp_lock_held(HP_LOCK_ring));
	slots_held &= ~left->slots;
	left->number = 0;
	atomic_fetch_sub(&lefts_now, 1);
}

/* The context has gone, and its work with it. */
static void forget_lefts(CUcontext context)
{
	for (size_t i = 0; i < HP_LEN(lefts); i++)
		if (lefts[i].number != 0 && lefts[i].context == context)
			left_ends(&lefts[i]);
}

/*
 * Looks whether the device is done with what was left, in any context or in the current one alone,
 * `only`: others may have gone without a word, and their events with them.
 */
static void take_back(CUcontext only, unsigned long long id)
{
	struct left seen[HP_LEN(lefts)];
	size_t count = 0, over = 0;

	if (atomic_load(&lefts_now) == 0)
		return;
	hp_lock(HP_LOCK_ring);
	for (size_t i = 0; i < HP_LEN(lefts); i++)
		if (lefts[i].number != 0 &&
		    (only == NULL || (lefts[i].context == only && lefts[i].id == id)))
			seen[count++] = lefts[i];
	hp_unlock(HP_LOCK_ring);

	/* An error means that nothing runs there any more. */
	for (size_t i = 0; i < count; i++)
		if (REAL(cuEventQuery)(seen[i].event) != CUDA_ERROR_NOT_READY)
			seen[over++] = seen[i];

	/* Another thread may have seen it too; then the slots, and the event, are a later copy's.
	 */
	hp_lock(HP_LOCK_ring);
	for (size_t i = 0; i < HP_LEN(lefts); i++)
		for (size_t j = 0; j < over && lefts[i].number != 0; j++)
			if (lefts[i].number == seen[j].number)
				left_ends(&lefts[i]);
	hp_unlock(HP_LOCK_ring);
}

/* The context's lane, made if there is none yet; NULL: too many contexts, no memory. */
static struct lane *lane_of(CUcontext context, unsigned long long id, unsigned flags)
{
	struct lane *unused = NULL;
	size_t bytes = slots * RING_SLOT_PIECES * sizeof(CUevent);

	assert(hp_lock_held(HP_LOCK_ring));
	for (size_t i = 0; i < HP_LEN(lanes); i++) {
		if (lanes[i].context == context && lanes[i].id == id)
			return &lanes[i];
		/* The same address again: the other context has gone without a word. */
		if (unused == NULL && (lanes[i].context == NULL || lanes[i].context == context))
			unused = &lanes[i];
	}
	if (unused == NULL)
		return NULL;
	if (unused->events == NULL)
		unused->events = hp_arena_alloc(bytes);
	if (unused->events == NULL)
		return NULL;
	memset(unused->events, 0, bytes);
	if (unused->context != NULL)
		forget_lefts(unused->context);
	unused->context = context;
	unused->id = id;
	unused->flags = flags;
	return unused;
}

/* Half of what is free, so that the next copy finds some too. */
static unsigned count_for(unsigned least, unsigned most)
{
	unsigned free = slots - (unsigned)__builtin_popcountll(slots_held);
	unsigned count = free / 2 > least ? free / 2 : least;

	if (count > most)
		count = most;
	return count <= free ? count : 0;
}

static void take_slots(unsigned count, struct ring_share *ret)
{
	ret->slots = 0;
	for (unsigned slot = 0; ret->slots < count; slot++) {
		if (slots_held >> slot & 1)
			continue;
		slots_held |= (uint64_t)1 << slot;
		ret->slot[ret->slots++] = (uint8_t)slot;
	}
}

static bool make_events(const struct ring_share *share, unsigned flags)
{
	for (unsigned i = 0; i < share->slots; i++) {
		CUevent *events = share->events + share->slot[i] * RING_SLOT_PIECES;

		for (size_t j = 0; j < RING_SLOT_PIECES; j++)
			if (events[j] == NULL &&
			    REAL(cuEventCreate)(&events[j], flags) != CUDA_SUCCESS) {
				events[j] = NULL;
				return false;
			}
	}
	return true;
}

/* With the lock: so many slots beside what is left already, and is to be.  NULL: no. */
static struct left *room_among_left(unsigned more, unsigned promised_slots,
				    unsigned promised_shares)
{
	unsigned there = more + promised_slots, shares = promised_shares;
	struct left *unused = NULL;

	for (size_t i = 0; i < HP_LEN(lefts); i++)
		if (lefts[i].number != 0) {
			there += (unsigned)__builtin_popcountll(lefts[i].slots);
			shares++;
		} else {
			unused = &lefts[i];
		}
	return shares < HP_LEN(lefts) && there <= slots / 2 ? unused : NULL;
}

/* With the lock. */
static void promise_ends(const struct ring_share *share)
{
	if (!share->leaves)
		return;
	promised -= share->slots;
	promises--;
}

bool ring_take(CUcontext context, unsigned least, unsigned most, bool leaves,
	       struct ring_share *ret)
{
	unsigned long long id = own_context_id(context);
	unsigned flags = ring_event_flags(), count = 0;
	struct lane *lane = NULL;

	take_back(context, id);
	hp_lock(HP_LOCK_ring);
	if (atomic_load(&state) == RING_READY && least <= most && most <= RING_SHARE_MOST)
		count = count_for(least, most);
	if (leaves && hp_keeps(rest_bounced) && room_among_left(count, promised, promises) == NULL)
		count = 0;
	if (count > 0)
		lane = lane_of(context, id, flags);
	if (lane != NULL) {
		take_slots(count, ret);
		ret->leaves = leaves;
		promised += leaves ? count : 0;
		promises += leaves;
		ret->context = context;
		ret->id = id;
		ret->events = lane->events;
		flags = lane->flags;
	}
	hp_unlock(HP_LOCK_ring);
	if (lane == NULL)
		return false;
	if (make_events(ret, flags))
		return true;
	ring_put(ret);
	return false;
}

static uint64_t bits_of(const struct ring_share *share)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < share->slots; i++)
		bits |= (uint64_t)1 << share->slot[i];
	return bits;
}

void ring_put(const struct ring_share *share)
{
	hp_lock(HP_LOCK_ring);
	slots_held &= ~bits_of(share);
	promise_ends(share);
	hp_unlock(HP_LOCK_ring);
}

bool ring_leave(const struct ring_share *share, CUevent event)
{
	hp_lock(HP_LOCK_ring);
	/* What it was promised is its own. */
	struct left *unused = share->leaves ? room_among_left(0, 0, 0)
					    : room_among_left(share->slots, promised, promises);
	bool leaves = unused != NULL && atomic_load(&state) == RING_READY;

	if (leaves)
		promise_ends(share);
	if (leaves && hp_keeps(ring_left)) {
		*unused = (struct left){ ++lefts_made, bits_of(share), event, share->context,
					 share->id };
		atomic_fetch_add(&lefts_now, 1);
	}
	hp_unlock(HP_LOCK_ring);
	return leaves;
}

/* In slots of the share, counted by COPY_PIECE_LEAST. */
static size_t place_of(const struct ring_share *share, size_t bytes, size_t index)
{
	size_t in_slot = RING_SLOT_BYTES / bytes, place = index % (share->slots * in_slot);

	return share->slot[place / in_slot] * RING_SLOT_PIECES +
	       place % in_slot * (bytes / COPY_PIECE_LEAST);
}

char *ring_memory(const struct ring_share *share, size_t bytes, size_t index)
{
	return memory + place_of(share, bytes, index) * COPY_PIECE_LEAST;
}

CUevent ring_event(const struct ring_share *share, size_t bytes, size_t index)
{
	return share->events[place_of(share, bytes, index)];
}

/* By anything but what was left in `context`. */
static bool is_in_use(CUcontext context)
{
	uint64_t held;

	take_back(NULL, 0);
	hp_lock(HP_LOCK_ring);
	held = slots_held;
	for (size_t i = 0; i < HP_LEN(lefts); i++)
		if (lefts[i].number != 0 && lefts[i].context == context)
			held &= ~lefts[i].slots;
	hp_unlock(HP_LOCK_ring);
	return held != 0;
}

void ring_context_ending(CUcontext context)
{
	int expected = RING_READY, saved = errno;

	if (context == NULL || owner != context || !hp_keeps(ring_ends_with_context) ||
	    !atomic_compare_exchange_strong(&state, &expected, RING_ENDING))
		return;
	/*
	 * What other contexts have on its way goes through memory that is about to be unpinned.
	 * Such a copy may itself be waiting for this thread, hence not for ever.
	 */
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;
	struct relaxed relaxed = relaxed_begin();
	while (is_in_use(context) && hp_now_ns() < end_ns)
		hp_sleep_ns(PAUSE_NS);
	relaxed_end(&relaxed);
	errno = saved;
}

void ring_context_ended(CUcontext context, bool gone)
{
	if (context == NULL)
		return;
	hp_lock(HP_LOCK_ring);
	for (size_t i = 0; gone && i < HP_LEN(lanes); i++)
		if (lanes[i].context == context)
			lanes[i].context = NULL;
	if (gone)
		forget_lefts(context);
	int expected = RING_ENDING;
	bool ended = owner == context && atomic_compare_exchange_strong(
						 &state, &expected, gone ? RING_NONE : RING_READY);
	hp_unlock(HP_LOCK_ring);
	if (ended && gone)
		pin_give_staging(slots * RING_SLOT_BYTES);
}

void ring_after_fork_child(void)
{
	atomic_store(&state, RING_NEVER);
}
