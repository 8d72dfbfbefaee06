/*
 * region.c - a table of contexts with a small region each, and one large region that they share.
 *
 * The memory of a region stays mapped when its registration ends; the next owner registers the same
 * pages.
 */
#include "stage/region.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/limits.h"
#include "pin/pin.h"
#include "real/relaxed.h"
#include "stage/pieces.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/*
 * After so many refusals by the driver no large region is made.  For small regions one refusal
 * suffices.
 */
#define LARGE_REFUSALS_MOST 3

/* A region is mapped only if so many times its size is available. */
#define MEMORY_TIMES        8

#define PATIENCE_NS         10000000000u
#define PAUSE_NS            100000

static struct region large = { .state = REGION_REFUSED,
			       .unit_bytes = REGION_LARGE_UNIT,
			       .event_bytes = PIECES_LEAST };
static struct region_user users[REGION_USERS]; /* under the lock staging */
static _Atomic bool small_may_be;              /* small regions are allowed; any thread */
static uint32_t wants_most;                    /* constant once small_may_be is true */

void region_start(uint64_t large_bytes, uint32_t small_wants)
{
	uint64_t units = large_bytes / REGION_LARGE_UNIT;

	for (unsigned i = 0; i < REGION_USERS; i++) {
		users[i].index = i;
		users[i].small.units = REGION_SMALL_UNITS;
		users[i].small.unit_bytes = users[i].small.event_bytes = REGION_SMALL_UNIT;
	}
	wants_most = small_wants;
	large.units = units < REGION_LARGE_UNITS ? (unsigned)units : REGION_LARGE_UNITS;
	atomic_store(&large.state, large.units > 0 ? REGION_NONE : REGION_REFUSED);
	atomic_store(&small_may_be, small_wants != REGION_NO_SMALL);
}

struct region *region_large(void)
{
	return &large;
}

bool region_small_may_be(void)
{
	return atomic_load_explicit(&small_may_be, memory_order_acquire);
}

bool region_small_is_wanted(struct region_user *user)
{
	assert(hp_lock_held(HP_LOCK_staging));
	if (user->small.state != REGION_NONE || ++user->wanted <= wants_most)
		return false;
	user->wanted = 0;
	return true;
}

static size_t bytes_of(const struct region *region)
{
	return region->units * region->unit_bytes;
}

static size_t large_events_bytes(void)
{
	return bytes_of(&large) / large.event_bytes * sizeof(CUevent);
}

CUevent *region_events(const struct region *region, struct region_user *user)
{
	assert(hp_lock_held(HP_LOCK_staging));
	if (region != &large)
		return user->small_events;
	if (user->large_events == NULL)
		user->large_events = hp_arena_alloc(large_events_bytes());
	return user->large_events;
}

/*
 * Frees the context's units in flight, and the region if the context has registered it.  Threads
 * keep the units that they hold, because their copies run until they fail.
 */
static void end_for_context(struct region *region, const struct region_user *gone)
{
	bool registered = region->state == REGION_READY || region->state == REGION_ENDING;

	assert(hp_lock_held(HP_LOCK_staging));
	region->held &= ~flights_forget(&region->flights, gone->index);
	if (!registered || region->owner != gone || !hp_keeps(staging_ends_with_context))
		return;
	pin_give_staging(bytes_of(region));
	region->state = REGION_NONE;
	region->owner = NULL;
}

/* Clears the record of a context that has ended, together with all its work. */
static void forget(struct region_user *gone)
{
	end_for_context(&large, gone);
	end_for_context(&gone->small, gone);
	if (gone->small.state == REGION_REFUSED)
		gone->small.state = REGION_NONE;
	gone->small.refusals = 0;
	if (gone->large_events != NULL)
		memset(gone->large_events, 0, large_events_bytes());
	gone->large_made = 0;
	memset(gone->small_events, 0, sizeof(gone->small_events));
	gone->context = NULL;
	gone->wanted = gone->pause = 0;
	gone->generation++;
}

struct region_user *region_user(CUcontext context, unsigned long long id)
{
	struct region_user *unused = NULL;

	assert(hp_lock_held(HP_LOCK_staging));
	for (struct region_user *user = users; user < users + REGION_USERS; user++) {
		if (user->context == context && user->id == id)
			return user;
		if (user->context == context)
			forget(user);
		if (unused == NULL && user->context == NULL)
			unused = user;
	}
	if (unused == NULL)
		return NULL;
	unused->context = context;
	unused->id = id;
	return unused;
}

/* True if memory is plentiful and address space unlimited.  Some system calls. */
static bool is_room(size_t bytes)
{
	return !limits_ration_space() && limits_available("") / MEMORY_TIMES >= bytes &&
	       limits_cgroup_left("") / MEMORY_TIMES >= bytes;
}

/*
 * Maps memory with huge pages if possible.  A child of fork() does not inherit the mapping, because
 * the kernel would copy pinned pages at once.
 */
static char *map(size_t bytes)
{
	const size_t align = HP_HUGE_PAGE_BYTES;
	char *at = hp_map(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	if (at == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)at & (align - 1);
	if (before != 0)
		hp_unmap(at, before);
	hp_unmap(at + before + bytes, align - before);
	hp_advise(at + before, bytes, MADV_HUGEPAGE);
	hp_advise(at + before, bytes, MADV_DONTFORK);
	return at + before;
}

static CUresult pin(char *memory, size_t bytes)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = REAL(cuMemHostRegister_v2)(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	return result;
}

/*
 * Registers the region.  Returns its next state: REGION_NONE if a later attempt may succeed, for
 * instance when more of the budget is left.
 */
static enum region_state make(struct region *region)
{
	size_t bytes = bytes_of(region);
	enum region_state then = REGION_REFUSED;

	if (!pin_take_staging(bytes))
		return REGION_NONE;
	if (region->memory == NULL && is_room(bytes))
		region->memory = map(bytes);
	if (region->memory != NULL) {
		CUresult result = pin(region->memory, bytes);

		if (result == CUDA_SUCCESS)
			return REGION_READY;
		hp_debug("no pinned memory for staging: CUDA error %d", (int)result);
		if (region == &large && ++region->refusals < LARGE_REFUSALS_MOST)
			then = REGION_NONE;
	}
	pin_give_staging(bytes);
	return then;
}

static bool begin_to_make(struct region *region, struct region_user *owner, uint64_t generation)
{
	hp_lock(HP_LOCK_staging);
	bool begins = region->state == REGION_NONE && owner->generation == generation;
	if (begins) {
		region->state = REGION_MAKING;
		region->owner = owner;
	}
	hp_unlock(HP_LOCK_staging);
	return begins;
}

bool region_make(struct region *region, struct region_user *owner, uint64_t generation)
{
	int saved = errno;

	if (!begin_to_make(region, owner, generation))
		return region->state == REGION_READY;

	enum region_state then = make(region);
	hp_lock(HP_LOCK_staging);
	/* The context may have ended meanwhile, and its registrations with it. */
	bool lives = owner->generation == generation;
	if (then == REGION_READY && !lives)
		pin_give_staging(bytes_of(region));
	if (!lives)
		then = REGION_NONE;
	if (then != REGION_READY)
		region->owner = NULL;
	/* Unless region_after_fork_child() has changed the state. */
	if (region->state == REGION_MAKING)
		region->state = then;
	hp_unlock(HP_LOCK_staging);
	errno = saved;
	return then == REGION_READY;
}

/* Returns the record of a context that uses staging memory, else NULL. */
static struct region_user *user_of(CUcontext context)
{
	assert(hp_lock_held(HP_LOCK_staging));
	for (struct region_user *user = users; user < users + REGION_USERS; user++)
		if (context != NULL && user->context == context)
			return user;
	return NULL;
}

/* True if the region will end with the context; no copy takes its units from now on. */
static bool begin_to_end(struct region *region, const struct region_user *owner)
{
	bool ends = region->state == REGION_READY && region->owner == owner &&
		    hp_keeps(staging_ends_with_context);

	assert(hp_lock_held(HP_LOCK_staging));
	if (ends)
		region->state = REGION_ENDING;
	return ends;
}

/* True while threads hold units, or another context than the owner has work in flight there. */
static bool is_in_use(const struct region *region, unsigned owner)
{
	struct flights flights;

	hp_lock(HP_LOCK_staging);
	flights = region->flights;
	uint64_t held = region->held & ~flights_units(&flights);
	hp_unlock(HP_LOCK_staging);
	/* A failed query means that the context is broken, so no work runs there. */
	for (unsigned i = 0; i < flights.count && held == 0; i++)
		if (flights.list[i].user != owner && flights.list[i].event != NULL &&
		    REAL(cuEventQuery)(flights.list[i].event) == CUDA_ERROR_NOT_READY)
			return true;
	return held != 0;
}

/* Waits, bounded: a thread that holds units may itself wait for the calling thread. */
static void wait_until_unused(const struct region *region, unsigned owner)
{
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;
	struct relaxed relaxed = relaxed_begin();

	while (is_in_use(region, owner) && hp_sleep_before(end_ns, PAUSE_NS))
		continue;
	relaxed_end(&relaxed);
}

void region_context_ending(CUcontext context)
{
	int saved = errno;

	hp_lock(HP_LOCK_staging);
	struct region_user *user = user_of(context);
	bool large_ends = user != NULL && begin_to_end(&large, user);
	bool small_ends = user != NULL && begin_to_end(&user->small, user);
	hp_unlock(HP_LOCK_staging);
	if (large_ends)
		wait_until_unused(&large, user->index);
	if (small_ends)
		wait_until_unused(&user->small, user->index);
	errno = saved;
}

static void cancel_end(struct region *region, const struct region_user *owner)
{
	if (region->state == REGION_ENDING && region->owner == owner)
		region->state = REGION_READY;
}

void region_context_ended(CUcontext context, bool gone)
{
	hp_lock(HP_LOCK_staging);
	struct region_user *user = user_of(context);
	if (user != NULL && gone && hp_keeps(in_flight_ends_with_context)) {
		forget(user);
	} else if (user != NULL && !gone) {
		cancel_end(&large, user);
		cancel_end(&user->small, user);
	}
	hp_unlock(HP_LOCK_staging);
}

/* Ends the registration unless a unit is in use.  Returns the bytes that were registered. */
static size_t give_back(struct region *region)
{
	hp_lock(HP_LOCK_staging);
	bool unused = region->state == REGION_READY && region->held == 0;
	const struct region_user *owner = region->owner;
	uint64_t generation = unused ? owner->generation : 0;
	if (unused)
		region->state = REGION_MAKING;
	hp_unlock(HP_LOCK_staging);
	if (!unused)
		return 0;

	struct relaxed relaxed = relaxed_begin();
	bool ended = REAL(cuMemHostUnregister)(region->memory) == CUDA_SUCCESS;
	relaxed_end(&relaxed);
	hp_lock(HP_LOCK_staging);
	/* The context may have ended meanwhile, and its registrations with it. */
	ended = ended || owner->generation != generation;
	if (ended) {
		pin_give_staging(bytes_of(region));
		region->owner = NULL;
	}
	/* Unless region_after_fork_child() has changed the state. */
	if (region->state == REGION_MAKING)
		region->state = ended ? REGION_NONE : REGION_READY;
	hp_unlock(HP_LOCK_staging);
	return ended ? bytes_of(region) : 0;
}

size_t region_give_back(void)
{
	size_t bytes = give_back(&large);

	for (struct region_user *user = users; user < users + REGION_USERS; user++)
		bytes += give_back(&user->small);
	return bytes;
}

void region_after_fork_child(void)
{
	atomic_store(&large.state, REGION_REFUSED);
	atomic_store(&small_may_be, false);
}
