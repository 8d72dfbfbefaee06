/*
 * pool.c - units in bit masks, and whom to ask for those in flight.
 *
 * The event of a copy is recorded right behind it: once the program has destroyed the stream, there
 * is nowhere to record one.  A complete event speaks for all earlier flights of its stream.
 */
#include "stage/pool.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/protections.h"
#include "real/handles.h"

#include <assert.h>

/*
 * Where the last upload of a stream is in flight, or no unit is free and none was found complete,
 * so many further uploads ask for no event: behind a long kernel the questions would cost more than
 * what they are for (0.28 us each).
 */
#define PAUSE 4

/* What a copy finds that is about to take units. */
struct look {
	CUcontext context;
	unsigned long long id;
	struct region_user *user; /* NULL: too many contexts */
	uint64_t generation;
	bool full;              /* no units in a row are free: small uploads */
	struct flights flights; /* of this context, in the region */
};

static uint64_t flights_made; /* under the lock staging */

bool pool_is_ready(void)
{
	return atomic_load_explicit(&region_large()->state, memory_order_relaxed) == REGION_READY;
}

bool pool_may_be(void)
{
	return atomic_load_explicit(&region_large()->state, memory_order_relaxed) != REGION_REFUSED;
}

/* Fills in a hold without units.  False: no context is current, or the stream is another's. */
static bool begin_look(CUstream stream, bool per_thread, struct look *look, struct pool_hold *ret)
{
	*ret = (struct pool_hold){ .stream = stream, .per_thread = per_thread };
	look->flights.count = 0;
	/*
	 * Events of one context cannot be recorded on another's stream, which may go on reading
	 * when the context of the region has ended.
	 */
	if (!handles_context(&look->context, &look->id) ||
	    !handles_stream_is_of(stream, look->context))
		return false;
	ret->stream_id = handles_stream_id(stream, per_thread);
	return true;
}

/* With the lock staging. */
static void find_user(struct look *look)
{
	look->user = region_user(look->context, look->id);
	look->generation = look->user != NULL ? look->user->generation : 0;
}

bool pool_make(void)
{
	struct look look;

	if (!pool_may_be() || !handles_context(&look.context, &look.id))
		return false;
	hp_lock(HP_LOCK_staging);
	find_user(&look);
	hp_unlock(HP_LOCK_staging);
	return look.user != NULL && region_make(region_large(), look.user, look.generation);
}

/* An error says nothing: of a context that is in one no unit comes back. */
static bool is_complete(const struct flight *flight)
{
	if (!hp_keeps(in_flight))
		return true;

	CUresult result = REAL(cuEventQuery)(flight->event);
	return hp_keeps(in_flight_in_doubt) ? result == CUDA_SUCCESS
					    : result != CUDA_ERROR_NOT_READY;
}

static void end_flight(struct region *region, const struct flight *complete)
{
	assert(hp_lock_held(HP_LOCK_staging));
	region->held &= ~flights_end(&region->flights, complete);
}

static unsigned count_of(uint64_t units)
{
	return (unsigned)__builtin_popcountll(units);
}

/* Gives units of the region to a hold.  With the lock staging. */
static void hold_units(const struct look *look, struct region *region, uint64_t units,
		       struct pool_hold *ret)
{
	assert(hp_lock_held(HP_LOCK_staging));
	region->held |= units;
	ret->region = region;
	ret->user = look->user;
	ret->generation = look->generation;
	ret->units = units;
	ret->count = count_of(units);
	ret->before = flights_made;
	ret->memory = region->memory + (size_t)__builtin_ctzll(units) * region->unit_bytes;
}

/* Half of what is free, so that the next copy finds some, too; 0: there are too few. */
static unsigned count_for(const struct region *region, unsigned least, unsigned most)
{
	unsigned free = region->units - count_of(region->held);
	unsigned count = free / 2 > least ? free / 2 : least;

	if (count > most)
		count = most;
	return count <= free ? count : 0;
}

/* The first so many that are free. */
static uint64_t choose_units(const struct region *region, unsigned count)
{
	uint64_t units = 0, free = ~region->held;

	for (; count > 0; count--) {
		units |= free & -free;
		free &= free - 1;
	}
	return units;
}

/* True if `more` units may be left in flight, next to those that are and that will be. */
static bool has_room_in_flight(const struct region *region, unsigned more)
{
	unsigned there = count_of(flights_units(&region->flights)) + region->promised;

	return there + more <= region->units / 2;
}

/* Returns the offset of a piece in the region. */
static size_t offset_of(const struct pool_hold *hold, size_t bytes, size_t index)
{
	size_t unit_bytes = hold->region->unit_bytes, in_unit = unit_bytes / bytes;
	size_t in_row = index % (hold->count * in_unit);
	uint64_t units = hold->units;

	for (size_t before = in_row / in_unit; before > 0; before--)
		units &= units - 1;
	return (size_t)__builtin_ctzll(units) * unit_bytes + in_row % in_unit * bytes;
}

static CUevent *event_at(const struct pool_hold *hold, size_t bytes, size_t index)
{
	return &hold->events[offset_of(hold, bytes, index) / hold->region->event_bytes];
}

char *pool_memory(const struct pool_hold *hold, size_t bytes, size_t index)
{
	return hold->region->memory + offset_of(hold, bytes, index);
}

CUevent pool_event(const struct pool_hold *hold, size_t bytes, size_t index)
{
	return *event_at(hold, bytes, index);
}

size_t pool_room(const struct pool_hold *hold, size_t bytes)
{
	return hold->count * (hold->region->unit_bytes / bytes);
}

/* Makes an event unless there is one.  False: the driver refuses it. */
static bool make_event(CUevent *event)
{
	if (*event != NULL)
		return true;
	if (REAL(cuEventCreate)(event, handles_event_flags()) == CUDA_SUCCESS)
		return true;
	*event = NULL;
	return false;
}

/* Makes all events of a hold, of pieces of any size: once for each unit and context. */
static bool make_events(const struct pool_hold *hold)
{
	size_t each = hold->region->event_bytes;

	for (size_t i = 0; i < pool_room(hold, each); i++)
		if (!make_event(event_at(hold, each, i)))
			return false;
	hp_lock(HP_LOCK_staging);
	if (hold->user->generation == hold->generation)
		hold->user->large_made |= hold->units;
	hp_unlock(HP_LOCK_staging);
	return true;
}

/* Moves complete flights to the front of the list.  Returns how many there are. */
static unsigned find_complete(struct flights *flights)
{
	unsigned count = 0;

	for (unsigned i = 0; i < flights->count; i++)
		if (is_complete(&flights->list[i]))
			flights->list[count++] = flights->list[i];
	return count;
}

static bool still_lives(const struct look *look)
{
	assert(hp_lock_held(HP_LOCK_staging));
	return look->user != NULL && look->user->generation == look->generation;
}

/* With the lock staging.  *ret_made: the units have their events. */
static bool hold_share(const struct look *look, unsigned least, unsigned most, bool leaves,
		       struct pool_hold *ret, bool *ret_made)
{
	struct region *region = region_large();
	unsigned count = region->state == REGION_READY ? count_for(region, least, most) : 0;

	if (leaves && hp_keeps(rest_bounced) && !has_room_in_flight(region, count))
		count = 0;
	ret->events = count > 0 ? region_events(region, look->user) : NULL;
	if (ret->events == NULL)
		return false;
	hold_units(look, region, choose_units(region, count), ret);
	*ret_made = (ret->units & ~look->user->large_made) == 0;
	ret->promised = leaves;
	region->promised += leaves ? count : 0;
	return true;
}

bool pool_take_large(unsigned least, unsigned most, bool leaves, CUstream stream, bool per_thread,
		     struct pool_hold *ret)
{
	struct region *region = region_large();
	struct look look;
	bool held = false, made = false;

	assert(least <= most && most <= POOL_SHARE_MOST);
	if (!pool_is_ready() || !begin_look(stream, per_thread, &look, ret))
		return false;

	hp_lock(HP_LOCK_staging);
	find_user(&look);
	if (look.user != NULL)
		flights_of(&region->flights, look.user->index, &look.flights);
	hp_unlock(HP_LOCK_staging);
	unsigned complete = find_complete(&look.flights);
	hp_lock(HP_LOCK_staging);
	if (still_lives(&look)) {
		for (unsigned i = 0; i < complete; i++)
			end_flight(region, &look.flights.list[i]);
		held = hold_share(&look, least, most, leaves, ret, &made);
	}
	hp_unlock(HP_LOCK_staging);
	if (!held || made || make_events(ret))
		return held;
	pool_put(ret);
	return false;
}

/* Returns so many units in a row, from unit `from` on and then from the first; 0: none are free. */
static uint64_t find_row(const struct region *region, unsigned from, unsigned count)
{
	const uint64_t row = UINT64_MAX >> (64 - count);

	assert(hp_lock_held(HP_LOCK_staging));
	for (unsigned turn = 0; turn < region->units; turn++) {
		unsigned first = (from + turn) % region->units;

		if (first + count <= region->units && (region->held & row << first) == 0)
			return row << first;
	}
	return 0;
}

static bool hold_row(const struct look *look, unsigned from, unsigned count, struct pool_hold *ret)
{
	struct region *region = &look->user->small;
	uint64_t units = find_row(region, from, count);

	if (units == 0)
		return false;
	ret->events = region_events(region, look->user);
	hold_units(look, region, units, ret);
	return true;
}

/*
 * Without the lock.  If the stream's last upload is complete its units are the best: they are in
 * the caches.  A copy that finds it in flight keeps the next ones from asking.
 */
static bool ask_and_hold(const struct look *look, unsigned count, struct pool_hold *ret)
{
	const struct flight *complete = flights_last_of(&look->flights, ret->stream_id);
	const struct flight *asked[FLIGHTS_ASKED_MOST];
	bool held = false, waits = complete != NULL && !is_complete(complete);

	if (waits)
		complete = NULL;
	unsigned more = complete == NULL && look->full
				? flights_to_ask(&look->flights, ret->stream_id, asked)
				: 0;
	for (unsigned i = 0; i < more && complete == NULL; i++)
		if (is_complete(asked[i]))
			complete = asked[i];
	hp_lock(HP_LOCK_staging);
	if (still_lives(look) && look->user->small.state == REGION_READY) {
		if (waits || (look->full && complete == NULL))
			look->user->pause = PAUSE;
		if (complete != NULL)
			end_flight(&look->user->small, complete);
		held = hold_row(look,
				complete != NULL ? (unsigned)__builtin_ctzll(complete->units) : 0,
				count, ret);
	}
	hp_unlock(HP_LOCK_staging);
	return held;
}

enum step { STEP_NONE, STEP_MAKE, STEP_ASK, STEP_HELD };

/* Takes units where no question is needed, else says what is to be done without the lock. */
static enum step begin_small(struct look *look, unsigned count, struct pool_hold *ret)
{
	struct region_user *user = look->user;

	assert(hp_lock_held(HP_LOCK_staging));
	if (user == NULL)
		return STEP_NONE;
	if (region_small_is_wanted(user))
		return STEP_MAKE;
	if (user->small.state != REGION_READY)
		return STEP_NONE;
	if (user->pause > 0) {
		user->pause--;
		return hold_row(look, 0, count, ret) ? STEP_HELD : STEP_NONE;
	}
	flights_of(&user->small.flights, user->index, &look->flights);
	look->full = find_row(&user->small, 0, count) == 0;
	return STEP_ASK;
}

bool pool_take_small(size_t bytes, CUstream stream, bool per_thread, struct pool_hold *ret)
{
	struct look look;

	if (!region_small_may_be() || bytes > REGION_SMALL_UNITS * REGION_SMALL_UNIT ||
	    !begin_look(stream, per_thread, &look, ret))
		return false;

	unsigned count = (unsigned)((bytes + REGION_SMALL_UNIT - 1) / REGION_SMALL_UNIT);
	hp_lock(HP_LOCK_staging);
	find_user(&look);
	enum step step = begin_small(&look, count, ret);
	hp_unlock(HP_LOCK_staging);
	if (step == STEP_MAKE)
		region_make(&look.user->small, look.user, look.generation);
	if (step == STEP_ASK && ask_and_hold(&look, count, ret))
		step = STEP_HELD;
	if (step == STEP_HELD)
		hp_count(copies_slotted);
	return step == STEP_HELD;
}

/* The units are free, or in flight, from now on. */
static void end_hold(struct pool_hold *hold)
{
	assert(hp_lock_held(HP_LOCK_staging));
	if (hold->promised)
		hold->region->promised -= hold->count;
	hold->memory = NULL;
}

void pool_put(struct pool_hold *hold)
{
	if (hold->memory == NULL)
		return;
	hp_lock(HP_LOCK_staging);
	hold->region->held &= ~hold->units;
	end_hold(hold);
	hp_unlock(HP_LOCK_staging);
}

/* Records the event of the first unit on the hold's stream.  NULL: the driver refuses that. */
static CUevent record_own(const struct pool_hold *hold)
{
	CUevent *event = event_at(hold, hold->region->unit_bytes, 0);

	if (!make_event(event))
		return NULL;
	return REAL_ON(hold->per_thread, cuEventRecord)(*event, hold->stream) == CUDA_SUCCESS
		       ? *event
		       : NULL;
}

/* What was promised to a copy is its own. */
static bool may_leave(const struct pool_hold *hold)
{
	const struct region *region = hold->region;

	return region != region_large() ||
	       ((region->state == REGION_READY || region->owner == hold->user) &&
		(hold->promised || has_room_in_flight(region, hold->count)));
}

bool pool_leave(struct pool_hold *hold, CUevent event)
{
	struct region *region = hold->region;

	if (event == NULL)
		event = record_own(hold);
	hp_lock(HP_LOCK_staging);
	bool lives = hold->user->generation == hold->generation;
	bool leaves = !lives || may_leave(hold);
	if (leaves && lives)
		flights_add(&region->flights,
			    &(struct flight){ .number = ++flights_made,
					      .before = hold->before,
					      .stream = event != NULL ? hold->stream_id : 0,
					      .event = event,
					      .user = hold->user->index,
					      .units = hold->units });
	else if (leaves)
		region->held &= ~hold->units;
	if (leaves)
		end_hold(hold);
	hp_unlock(HP_LOCK_staging);
	return leaves;
}
