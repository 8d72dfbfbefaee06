/*
 * pocket.c - places in a table by context.
 *
 * One event a copy, recorded right behind it: the program may destroy its stream, then there is
 * nowhere to record one later.  One that has come speaks for all that had been left on its stream
 * when it was recorded.
 */
#include "copy/pocket.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/parse.h"
#include "base/protections.h"
#include "copy/own.h"
#include "host/pin.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>

#define POCKET_BYTES (POCKET_PLACE * POCKET_PLACES)

/* One for each device of a large machine. */
#define POCKETS      16

/*
 * Where a stream's last copy is not over, or no place is free and none was found to be over, the
 * next so many do not ask: behind a long kernel questions would cost more than what they are for
 * (0.28 us each).
 */
#define PAUSE        4

enum place_state {
	PLACE_FREE,
	PLACE_HELD, /* a thread fills it, or has it sent */
	PLACE_LEFT, /* the device's until its event has come */
	PLACE_LOST  /* nobody knows when the device is done with it */
};

struct place {
	enum place_state state;
	unsigned first;  /* index of the first of those left together: its event is theirs */
	uint64_t number; /* in the order in which places are left */
	uint64_t before; /* lefts when the event was about to be recorded: it speaks for those */
	unsigned long long stream; /* its id_of(); 0: like no other */
	CUevent event;             /* of the context; NULL: not made yet */
};

enum pocket_state { POCKET_NONE, POCKET_WANTED, POCKET_MAKING, POCKET_READY, POCKET_REFUSED };

/* Under the lock ring. */
static struct pocket {
	enum pocket_state state;
	CUcontext context;
	unsigned long long context_id;
	unsigned wanted;
	unsigned pause;  /* so many copies more take a place without asking the driver */
	uint64_t owners; /* how many contexts have had it */
	char *memory;    /* kept for the next */
	struct place places[POCKET_PLACES];
} pockets[POCKETS];
static uint64_t lefts; /* how often places have been left, or given back; under the lock ring */

static _Atomic bool may_be;
static unsigned wants_most; /* constant once may_be is true */

/* What id_of() says of the legacy stream; of others more than that, of some 0: not known. */
#define LEGACY 1

void pocket_start(unsigned wants)
{
	wants_most = wants;
	atomic_store(&may_be, REAL_HAS(cuMemHostRegister_v2) && REAL_HAS(cuCtxGetCurrent) &&
				      REAL_HAS(cuEventCreate) && REAL_HAS(cuEventRecord) &&
				      REAL_HAS(cuEventRecord_ptsz) && REAL_HAS(cuEventQuery) &&
				      REAL_HAS(cuStreamGetCtx));
}

/* What a thread holds stays its own: it may be in the midst of a copy that is going to fail. */
static void forget(struct pocket *pocket)
{
	assert(hp_lock_held(HP_LOCK_ring));
	for (struct place *place = pocket->places; place < pocket->places + POCKET_PLACES;
	     place++) {
		place->event = NULL;
		if (place->state != PLACE_HELD)
			place->state = PLACE_FREE;
	}
	if (pocket->state == POCKET_READY)
		pin_give_staging(POCKET_BYTES);
	pocket->state = POCKET_NONE;
	pocket->context = NULL;
	pocket->wanted = pocket->pause = 0;
	pocket->owners++;
}

/* The context's, from now on if it has had none; NULL: there are too many. */
static struct pocket *find(CUcontext context, unsigned long long id)
{
	struct pocket *unused = NULL;

	assert(hp_lock_held(HP_LOCK_ring));
	for (struct pocket *pocket = pockets; pocket < pockets + POCKETS; pocket++) {
		if (pocket->context == context && pocket->context_id == id)
			return pocket;
		/* The same address again: the other context has gone without a word. */
		if (pocket->context == context && pocket->state != POCKET_MAKING)
			forget(pocket);
		if (unused == NULL && pocket->context == NULL)
			unused = pocket;
	}
	if (unused == NULL)
		return NULL;
	unused->state = POCKET_WANTED;
	unused->context = context;
	unused->context_id = id;
	return unused;
}

/* The calling thread has set POCKET_MAKING, for the one of so many owners. */
static void make(struct pocket *pocket, uint64_t owners)
{
	int saved = errno;
	bool taken = pin_take_staging(POCKET_BYTES), done;

	if (taken && pocket->memory == NULL && own_is_room(POCKET_BYTES))
		pocket->memory = own_map(POCKET_BYTES);
	done = taken && pocket->memory != NULL &&
	       own_register(pocket->memory, POCKET_BYTES) == CUDA_SUCCESS;
	errno = saved;
	hp_lock(HP_LOCK_ring);
	bool is_ours = pocket->state == POCKET_MAKING && pocket->owners == owners;
	if (is_ours && taken)
		pocket->state = done ? POCKET_READY : POCKET_REFUSED;
	if (is_ours && !taken) {
		/* The budget may have room the next time. */
		pocket->state = POCKET_WANTED;
		pocket->wanted = 0;
	}
	hp_unlock(HP_LOCK_ring);
	if (taken && !(is_ours && done))
		pin_give_staging(POCKET_BYTES);
}

static bool is_free(const struct pocket *pocket, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		if (i >= POCKET_PLACES || pocket->places[i].state != PLACE_FREE)
			return false;
	return true;
}

/* The first of so many in a row, from `from` on and then from the beginning; -1: there are none. */
static int find_free(const struct pocket *pocket, unsigned from, unsigned count)
{
	assert(hp_lock_held(HP_LOCK_ring));
	for (unsigned turn = 0; turn < POCKET_PLACES; turn++)
		if (is_free(pocket, (from + turn) % POCKET_PLACES, count))
			return (int)((from + turn) % POCKET_PLACES);
	return -1;
}

static bool hold_some(struct pocket *pocket, unsigned from, struct pocket_hold *ret)
{
	int first = find_free(pocket, from, ret->count);

	if (first < 0)
		return false;
	ret->pocket = (unsigned)(pocket - pockets);
	ret->place = (unsigned)first;
	ret->owners = pocket->owners;
	ret->memory = pocket->memory + ret->place * POCKET_PLACE;
	for (unsigned i = 0; i < ret->count; i++)
		pocket->places[ret->place + i].state = PLACE_HELD;
	return true;
}

/* Copies of those that were left, in that order, of several in a row the first. */
static size_t list_left(const struct pocket *pocket, struct place list[POCKET_PLACES])
{
	size_t count = 0;

	assert(hp_lock_held(HP_LOCK_ring));
	for (const struct place *place = pocket->places; place < pocket->places + POCKET_PLACES;
	     place++) {
		size_t at = count;

		if (place->state != PLACE_LEFT || place != &pocket->places[place->first])
			continue;
		for (; at > 0 && list[at - 1].number > place->number; at--)
			list[at] = list[at - 1];
		list[at] = *place;
		count++;
	}
	return count;
}

/* An error says nothing: of a context that is in one no place comes back. */
static bool is_over(const struct place *place)
{
	if (!hp_keeps(pocket_left))
		return true;

	CUresult result = REAL(cuEventQuery)(place->event);
	return hp_keeps(pocket_refused) ? result == CUDA_SUCCESS : result != CUDA_ERROR_NOT_READY;
}

/*
 * `over` has come, and with it what had been left on its stream before it was recorded: two threads
 * may leave their places in another order than that of their events.
 */
static void take_back(struct pocket *pocket, const struct place *over)
{
	assert(hp_lock_held(HP_LOCK_ring));
	for (struct place *place = pocket->places; place < pocket->places + POCKET_PLACES; place++)
		if (place->state == PLACE_LEFT &&
		    (place->number == over->number ||
		     (place->number <= (hp_keeps(pocket_order) ? over->before : over->number) &&
		      ((over->stream != 0 && place->stream == over->stream) ||
		       !hp_keeps(pocket_streams)))))
			place->state = PLACE_FREE;
}

/* The middle one of those that `stream` has left, and how many there are.  NULL: none. */
static const struct place *middle_of(const struct place *list, size_t count,
				     unsigned long long stream, size_t *ret_of)
{
	const struct place *of[POCKET_PLACES];

	*ret_of = 0;
	for (size_t i = 0; i < count; i++)
		if (stream != 0 && list[i].stream == stream)
			of[(*ret_of)++] = &list[i];
	return *ret_of != 0 ? of[*ret_of / 2] : NULL;
}

/* The last that `stream` has left; NULL: none. */
static const struct place *last_of(const struct place *list, size_t count,
				   unsigned long long stream)
{
	while (count-- > 0)
		if (stream != 0 && list[count].stream == stream)
			return &list[count];
	return NULL;
}

/*
 * One that is over, of places in the order in which they were left; four are asked at most.  The
 * middle one of the stream that has left most may give back many; where that stands still, the
 * middle one of the calling stream, the first, the last.
 */
static const struct place *find_over(const struct place *list, size_t count, unsigned long long id)
{
	size_t most = 0, of;

	if (count == 0)
		return NULL;
	const struct place *asked[] = { NULL, middle_of(list, count, id, &of), &list[0],
					&list[count - 1] };
	for (size_t i = 0; i < count; i++) {
		const struct place *middle = middle_of(list, count, list[i].stream, &of);

		if (of > most) {
			asked[0] = middle;
			most = of;
		}
	}
	for (size_t i = 0; i < HP_LEN(asked); i++)
		if (asked[i] != NULL && (i == 0 || asked[i] != asked[i - 1]) && is_over(asked[i]))
			return asked[i];
	return NULL;
}

/*
 * Without the lock.  If the stream's last is over that place is the best: it is in the caches.
 * Who found that it is not does not ask again at once.
 */
static bool hold_some_left(struct pocket *pocket, uint64_t owners, const struct place *list,
			   size_t count, bool full, struct pocket_hold *ret)
{
	const struct place *over = last_of(list, count, ret->stream_id);
	bool held = false, waits = over != NULL && !is_over(over);

	if (waits)
		over = NULL;
	if (over == NULL && full)
		over = find_over(list, count, ret->stream_id);
	hp_lock(HP_LOCK_ring);
	if (pocket->owners == owners && pocket->state == POCKET_READY) {
		if (waits || (full && over == NULL))
			pocket->pause = PAUSE;
		if (over != NULL)
			take_back(pocket, over);
		held = hold_some(pocket, over != NULL ? over->first : 0, ret);
	}
	hp_unlock(HP_LOCK_ring);
	return held;
}

/* A handle may be another stream's one day, while what was put on the first still waits. */
static unsigned long long id_of(CUstream stream, bool per_thread)
{
	unsigned long long id = 0;

	if (stream == CU_STREAM_LEGACY || (stream == NULL && !per_thread))
		return LEGACY;
	if (stream == NULL || stream == CU_STREAM_PER_THREAD || !REAL_HAS(cuStreamGetId) ||
	    REAL(cuStreamGetId)(stream, &id) != CUDA_SUCCESS)
		return 0;
	return id + LEGACY + 1;
}

/*
 * An event of ours cannot be recorded on another context's stream, which may go on reading when the
 * pocket's context has gone.
 */
static bool is_of(CUcontext context, CUstream stream)
{
	CUcontext of = NULL;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    !hp_keeps(pocket_foreign))
		return true;
	return REAL(cuStreamGetCtx)(stream, &of) == CUDA_SUCCESS && of == context;
}

bool pocket_take(size_t bytes, CUstream stream, bool per_thread, struct pocket_hold *ret)
{
	struct place list[POCKET_PLACES];
	CUcontext context = NULL;
	bool held = false, makes = false, asks = false, full = false;
	uint64_t owners = 0;
	size_t count = 0;

	*ret = (struct pocket_hold){ .stream = stream,
				     .per_thread = per_thread,
				     .count = (unsigned)((bytes + POCKET_PLACE - 1) /
							 POCKET_PLACE) };
	if (!atomic_load_explicit(&may_be, memory_order_relaxed) ||
	    REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL ||
	    !is_of(context, stream))
		return false;

	unsigned long long id = own_context_id(context);
	ret->stream_id = id_of(stream, per_thread);
	hp_lock(HP_LOCK_ring);
	struct pocket *pocket = find(context, id);
	if (pocket != NULL && pocket->state == POCKET_WANTED && ++pocket->wanted > wants_most) {
		pocket->state = POCKET_MAKING;
		owners = pocket->owners;
		makes = true;
	} else if (pocket != NULL && pocket->state == POCKET_READY) {
		owners = pocket->owners;
		asks = pocket->pause == 0;
		if (asks) {
			count = list_left(pocket, list);
			full = find_free(pocket, 0, ret->count) < 0;
		} else {
			pocket->pause--;
			held = hold_some(pocket, 0, ret);
		}
	}
	hp_unlock(HP_LOCK_ring);
	if (makes)
		make(pocket, owners);
	if (asks)
		held = hold_some_left(pocket, owners, list, count, full, ret);
	if (held)
		hp_count(copies_pocketed);
	return held;
}

/* Carries out what place_of() began; if the context went meanwhile they are only free again. */
static void settle(struct pocket_hold *hold, const struct place *then)
{
	struct pocket *pocket = &pockets[hold->pocket];

	hp_lock(HP_LOCK_ring);
	bool is_ours = pocket->owners == hold->owners;
	lefts++;
	for (unsigned i = hold->place; i < hold->place + hold->count; i++) {
		struct place *place = &pocket->places[i];
		CUevent event = i == hold->place ? then->event : place->event;

		place->state = PLACE_FREE;
		if (!is_ours)
			continue;
		*place = *then;
		place->event = event;
		place->first = hold->place;
		place->number = lefts;
	}
	hp_unlock(HP_LOCK_ring);
	hold->memory = NULL;
}

/* What the first place is to be, with its event, and what has been left so far. */
static struct place place_of(const struct pocket_hold *hold, enum place_state state)
{
	struct pocket *pocket = &pockets[hold->pocket];
	struct place then = { .state = state, .stream = hold->stream_id };

	hp_lock(HP_LOCK_ring);
	if (pocket->owners == hold->owners)
		then.event = pocket->places[hold->place].event;
	then.before = lefts;
	hp_unlock(HP_LOCK_ring);
	return then;
}

void pocket_put(struct pocket_hold *hold)
{
	struct place then = place_of(hold, PLACE_FREE);

	settle(hold, &then);
}

static bool record(CUevent event, const struct pocket_hold *hold)
{
	return (hold->per_thread ? REAL(cuEventRecord_ptsz)
				 : REAL(cuEventRecord))(event, hold->stream) == CUDA_SUCCESS;
}

void pocket_leave(struct pocket_hold *hold)
{
	struct place then = place_of(hold, PLACE_LEFT);

	if (then.event == NULL &&
	    REAL(cuEventCreate)(&then.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		then.event = NULL;
	if (then.event == NULL || !record(then.event, hold))
		then.state = PLACE_LOST;
	settle(hold, &then);
}

void pocket_context_gone(CUcontext context)
{
	hp_lock(HP_LOCK_ring);
	for (struct pocket *pocket = pockets; pocket < pockets + POCKETS; pocket++)
		if (context != NULL && pocket->context == context && hp_keeps(pocket_contexts))
			forget(pocket);
	hp_unlock(HP_LOCK_ring);
}

void pocket_after_fork_child(void)
{
	atomic_store(&may_be, false);
}
