/*
 * pool.c - keeps units in bit masks, and polls events of units in flight.
 *
 * The event of a copy is recorded right after the copy, because the program may destroy the stream
 * later.  A complete event covers all earlier flights of its stream.
 */
#include "stage/pool.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/protections.h"
#include "real/handles.h"

#include <assert.h>

/*
 * After a poll that freed no units, or while the last upload of the stream is in flight, so many
 * further uploads poll no event.  Behind a long kernel the polls would cost more than they gain
 * (0.28 us each).
 */
#define PAUSE 4

/* The facts that a copy needs before it takes units. */
struct pool_query {
	CUcontext context;
	unsigned long long id;
	struct region_user *user; /* NULL: too many contexts */
	uint64_t generation;
	bool full;              /* too few adjacent units are free, for small uploads */
	struct flights flights; /* of this context, in the region */
};

static uint64_t flights_made; /* under the lock staging */

bool pool_is_ready(void)
{
	return atomic_load_explicit(&region_large()->state, memory_order_relaxed) == REGION_READY;
}

bool pool_may_be(void)
{
	return atomic_load_explicit(&region_large()->state, memory_order_acquire) != REGION_REFUSED;
}

/*
 * Fills in a hold without units.  False: no context is current, or the stream belongs to another
 * context.
 */
static bool begin_query(CUstream stream, bool per_thread, struct pool_query *query,
			struct pool_hold *ret)
{
	*ret = (struct pool_hold){ .stream = stream, .per_thread = per_thread };
	query->flights.count = 0;
	/*
	 * Events cannot be recorded on a stream of another context, which may still read units when
	 * the context of the region has ended.
	 */
	if (!handles_context(&query->context, &query->id) ||
	    !handles_stream_is_of(stream, query->context))
		return false;
	ret->stream_id = handles_stream_id(stream, per_thread);
	return true;
}

/* With the lock staging. */
static void find_user(struct pool_query *query)
{
	query->user = region_user(query->context, query->id);
	query->generation = query->user != NULL ? query->user->generation : 0;
}

bool pool_make(void)
{
	struct pool_query query;

	if (!pool_may_be() || !handles_context(&query.context, &query.id))
		return false;
	hp_lock(HP_LOCK_staging);
	find_user(&query);
	hp_unlock(HP_LOCK_staging);
	return query.user != NULL && region_make(region_large(), query.user, query.generation);
}

/* A failed query is not completion: in a context with an error, units stay in flight. */
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
static void hold_units(const struct pool_query *query, struct region *region, uint64_t units,
		       struct pool_hold *ret)
{
	assert(hp_lock_held(HP_LOCK_staging));
	region->held |= units;
	ret->region = region;
	ret->user = query->user;
	ret->generation = query->generation;
	ret->units = units;
	ret->count = count_of(units);
	ret->before = flights_made;
	ret->memory = region->memory + (size_t)__builtin_ctzll(units) * region->unit_bytes;
}

/* Returns half of the free units, so that the next copy finds some, too; 0: too few are free. */
static unsigned count_for(const struct region *region, unsigned least, unsigned most)
{
	unsigned free = region->units - count_of(region->held);
	unsigned count = free / 2 > least ? free / 2 : least;

	if (count > most)
		count = most;
	return count <= free ? count : 0;
}

/* Returns the first `count` free units. */
static uint64_t choose_units(const struct region *region, unsigned count)
{
	uint64_t units = 0, free = ~region->held;

	for (; count > 0; count--) {
		units |= free & -free;
		free &= free - 1;
	}
	return units;
}

/* True if `more` units may be left in flight, besides those that are or will be. */
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

/* Creates the event if it does not exist.  False: the driver refuses. */
static bool make_event(CUevent *event)
{
	if (*event != NULL)
		return true;
	if (REAL(cuEventCreate)(event, handles_event_flags()) == CUDA_SUCCESS)
		return true;
	*event = NULL;
	return false;
}

/* Creates all events of the hold's units, once for each unit and context. */
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

/* Polls the flights, and moves complete ones to the front of the list.  Returns their number. */
static unsigned find_complete(struct flights *flights)
{
	unsigned count = 0;

	for (unsigned i = 0; i < flights->count; i++)
		if (is_complete(&flights->list[i]))
			flights->list[count++] = flights->list[i];
	return count;
}

static bool still_lives(const struct pool_query *query)
{
	assert(hp_lock_held(HP_LOCK_staging));
	return query->user != NULL && query->user->generation == query->generation;
}

/* Takes units for a large copy.  *ret_made: they have their events.  Requires the lock staging. */
static bool hold_share(const struct pool_query *query, unsigned least, unsigned most, bool leaves,
		       struct pool_hold *ret, bool *ret_made)
{
	struct region *region = region_large();
	unsigned count = region->state == REGION_READY ? count_for(region, least, most) : 0;

	if (leaves && hp_keeps(rest_bounced) && !has_room_in_flight(region, count))
		count = 0;
	ret->events = count > 0 ? region_events(region, query->user) : NULL;
	if (ret->events == NULL)
		return false;
	hold_units(query, region, choose_units(region, count), ret);
	*ret_made = (ret->units & ~query->user->large_made) == 0;
	ret->promised = leaves;
	region->promised += leaves ? count : 0;
	return true;
}

bool pool_take_large(unsigned least, unsigned most, bool leaves, CUstream stream, bool per_thread,
		     struct pool_hold *ret)
{
	struct region *region = region_large();
	struct pool_query query;
	bool held = false, made = false;

	assert(least <= most && most <= POOL_SHARE_MOST);
	if (!pool_is_ready() || !begin_query(stream, per_thread, &query, ret))
		return false;

	hp_lock(HP_LOCK_staging);
	find_user(&query);
	if (query.user != NULL)
		flights_of(&region->flights, query.user->index, &query.flights);
	hp_unlock(HP_LOCK_staging);
	unsigned complete = find_complete(&query.flights);
	hp_lock(HP_LOCK_staging);
	if (still_lives(&query)) {
		for (unsigned i = 0; i < complete; i++)
			end_flight(region, &query.flights.list[i]);
		held = hold_share(&query, least, most, leaves, ret, &made);
	}
	hp_unlock(HP_LOCK_staging);
	if (!held || made || make_events(ret))
		return held;
	pool_put(ret);
	return false;
}

/*
 * Returns `count` adjacent free units, searched from unit `from` on and then from the first; 0:
 * none.
 */
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

static bool hold_row(const struct pool_query *query, unsigned from, unsigned count,
		     struct pool_hold *ret)
{
	struct region *region = &query->user->small;
	uint64_t units = find_row(region, from, count);

	if (units == 0)
		return false;
	ret->events = region_events(region, query->user);
	hold_units(query, region, units, ret);
	return true;
}

/*
 * Polls events without the lock, and takes units.  Prefers the units of the stream's last upload,
 * which are in the CPU caches.  If that upload is in flight, the next copies do not poll.
 */
static bool ask_and_hold(const struct pool_query *query, unsigned count, struct pool_hold *ret)
{
	const struct flight *complete = flights_last_of(&query->flights, ret->stream_id);
	const struct flight *asked[FLIGHTS_ASKED_MOST];
	bool held = false, waits = complete != NULL && !is_complete(complete);

	if (waits)
		complete = NULL;
	unsigned more = complete == NULL && query->full
				? flights_to_ask(&query->flights, ret->stream_id, asked)
				: 0;
	for (unsigned i = 0; i < more && complete == NULL; i++)
		if (is_complete(asked[i]))
			complete = asked[i];
	hp_lock(HP_LOCK_staging);
	if (still_lives(query) && query->user->small.state == REGION_READY) {
		if (waits || (query->full && complete == NULL))
			query->user->pause = PAUSE;
		if (complete != NULL)
			end_flight(&query->user->small, complete);
		held = hold_row(query,
				complete != NULL ? (unsigned)__builtin_ctzll(complete->units) : 0,
				count, ret);
	}
	hp_unlock(HP_LOCK_staging);
	return held;
}

enum step { STEP_NONE, STEP_MAKE, STEP_ASK, STEP_HELD };

/* Takes units if no poll is needed; otherwise returns what to do without the lock. */
static enum step begin_small(struct pool_query *query, unsigned count, struct pool_hold *ret)
{
	struct region_user *user = query->user;

	assert(hp_lock_held(HP_LOCK_staging));
	if (user == NULL)
		return STEP_NONE;
	if (region_small_is_wanted(user))
		return STEP_MAKE;
	if (user->small.state != REGION_READY)
		return STEP_NONE;
	if (user->pause > 0) {
		user->pause--;
		return hold_row(query, 0, count, ret) ? STEP_HELD : STEP_NONE;
	}
	flights_of(&user->small.flights, user->index, &query->flights);
	query->full = find_row(&user->small, 0, count) == 0;
	return STEP_ASK;
}

bool pool_take_small(size_t bytes, CUstream stream, bool per_thread, struct pool_hold *ret)
{
	struct pool_query query;

	if (!region_small_may_be() || bytes > REGION_SMALL_UNITS * REGION_SMALL_UNIT ||
	    !begin_query(stream, per_thread, &query, ret))
		return false;

	unsigned count = (unsigned)((bytes + REGION_SMALL_UNIT - 1) / REGION_SMALL_UNIT);
	hp_lock(HP_LOCK_staging);
	find_user(&query);
	enum step step = begin_small(&query, count, ret);
	hp_unlock(HP_LOCK_staging);
	if (step == STEP_MAKE)
		region_make(&query.user->small, query.user, query.generation);
	if (step == STEP_ASK && ask_and_hold(&query, count, ret))
		step = STEP_HELD;
	if (step == STEP_HELD)
		hp_count(copies_slotted);
	return step == STEP_HELD;
}

/* Ends the hold: its units are free, or in flight, from now on. */
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

/* Records the event of the first unit on the hold's stream.  NULL: the driver refuses. */
static CUevent record_own(const struct pool_hold *hold)
{
	CUevent *event = event_at(hold, hold->region->unit_bytes, 0);

	if (!make_event(event))
		return NULL;
	return REAL_ON(hold->per_thread, cuEventRecord)(*event, hold->stream) == CUDA_SUCCESS
		       ? *event
		       : NULL;
}

/* True if the hold's units may be left in flight; always if that was promised. */
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
