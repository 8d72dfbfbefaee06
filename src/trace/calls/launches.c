/*
 * launches.c - a table of places by a hash of the way up the stack, a ring of launches for each
 * thread, and sums by kernel and place.
 *
 * A ring has one writer and one reader.  A note is one word, so that writes are atomic: the time in
 * the high bits, the place in the low bits.  The reader ignores a note that may have been
 * overwritten during the read.
 */
#include "trace/calls/launches.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/keys.h"
#include "trace/operation.h"
#include "trace/thread_memory.h"

#include <errno.h>
#include <stdatomic.h>

#define PLACE_BITS 9
#define NOWHERE    LAUNCHES_MOST
_Static_assert(LAUNCHES_MOST <= 1u << PLACE_BITS, "a place fits into a note");

/* Under the lock trace. */
static struct launch_site *sites;
static struct keys keys; /* hashes */
static uint64_t lost;

/* Not under the lock, since each launch adds to a sum. */
static struct called {
	_Atomic uint64_t count, host_ns;
} called[LAUNCHES_MOST];

int launches_start(void)
{
	sites = keys_start(&keys, LAUNCHES_MOST, sizeof(*sites));
	return sites != NULL ? 0 : -ENOMEM;
}

/* Returns the place of the way.  KEYS_NONE: there is no room for it, and the launch is lost. */
static uint32_t find_or_add(const struct frames_way *way)
{
	hp_lock(HP_LOCK_trace);
	uint32_t row = keys_find(&keys, way->hash);
	if (row == KEYS_NONE && (row = keys_add(&keys, way->hash)) != KEYS_NONE)
		sites[row].place = frames_place(way);
	lost += row == KEYS_NONE;
	hp_unlock(HP_LOCK_trace);
	return row;
}

/*
 * The same.  A thread remembers the places of as many ways as frames.c does: loops repeat their
 * places, and threads that launch would meet at the lock.  One word holds a hash and its place,
 * since a signal handler may launch, too.
 */
static uint32_t place_of(const struct frames_way *way)
{
	static __thread uint64_t known[1 << FRAMES_KNOWN_BITS]
		__attribute__((tls_model("initial-exec")));
	volatile uint64_t *slot = &known[way->hash % (1 << FRAMES_KNOWN_BITS)];
	uint64_t there = *slot;

	if (there >> PLACE_BITS == way->hash >> PLACE_BITS)
		return there % LAUNCHES_MOST;
	uint32_t row = find_or_add(way);
	if (row != KEYS_NONE)
		*slot = way->hash >> PLACE_BITS << PLACE_BITS | row;
	return row;
}

struct ring {
	_Atomic uint32_t thread; /* trace_thread() of its owner; 0: it has not launched yet */
	_Atomic uint32_t noted;  /* written only by the thread */
	uint32_t claimed;        /* the reader's: the latest note with a call, plus 1 */
	_Atomic uint64_t note[LAUNCHES_NOTES];
};

struct sum {
	uint64_t count, busy_ns;
};

struct pair {
	uint32_t kernel, place;
	struct sum sum;
};

static struct thread_memory rings = { .bytes = sizeof(struct ring) };
static __thread struct ring *own __attribute__((tls_model("initial-exec")));

/* Constant after launches_record(). */
static uint64_t began_ns;
static size_t kernels;
static _Atomic bool wanted;

static _Atomic bool is_recorded; /* launches, as launches_want_records() has last returned */

/*
 * Written by the reader: kernels that were joined to a launch, and kernels that ran before any
 * kernel of their name was joined.
 */
static _Atomic uint64_t joined_count, unplaced_count;

/* Used only by the thread that calls launches_want_records(). */
static uint64_t joined_before, unplaced_before;
static unsigned retries;

/* Used only by the reader. */
static struct pair *pairs;
static struct keys pair_keys;
static struct sum *ran, *joined; /* by kernel: all, and those with a known place */

int launches_record(uint64_t from_ns, size_t kernel_count)
{
	began_ns = from_ns;
	kernels = kernel_count;
	pairs = keys_start(&pair_keys, LAUNCHES_PAIRS, sizeof(*pairs));
	ran = hp_arena_alloc(kernels * sizeof(*ran));
	joined = hp_arena_alloc(kernels * sizeof(*joined));
	if (pairs == NULL || ran == NULL || joined == NULL)
		return -ENOMEM;
	atomic_store(&is_recorded, true);
	atomic_store(&wanted, true);
	return 0;
}

bool launches_are_recorded(void)
{
	return atomic_load_explicit(&wanted, memory_order_relaxed);
}

/* Notes where the calling thread launches. */
static void note(uint32_t place, uint64_t enter_ns)
{
	uint64_t since = enter_ns > began_ns ? enter_ns - began_ns : 0;

	if (!launches_are_recorded() || (own == NULL && (own = thread_memory_take(&rings)) == NULL))
		return;
	/* The first launch of this thread: that of another one has left the ring. */
	if (atomic_load_explicit(&own->thread, memory_order_relaxed) != trace_thread())
		atomic_store_explicit(&own->thread, trace_thread(), memory_order_relaxed);
	uint32_t noted = atomic_load_explicit(&own->noted, memory_order_relaxed);
	atomic_store_explicit(&own->note[noted % LAUNCHES_NOTES], since << PLACE_BITS | place,
			      memory_order_release);
	atomic_store_explicit(&own->noted, noted + 1, memory_order_release);
}

void launches_called(const struct frames_way *way, uint64_t enter_ns, uint64_t leave_ns)
{
	uint32_t place = place_of(way);

	if (place == KEYS_NONE)
		return;
	struct called *sum = &called[place];
	atomic_fetch_add_explicit(&sum->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sum->host_ns, leave_ns - enter_ns, memory_order_relaxed);
	note(place, enter_ns);
}

static struct ring *ring_of(uint32_t thread)
{
	static struct ring *latest; /* most launches follow one of the same thread */
	struct ring *ring = latest;

	if (ring != NULL && atomic_load_explicit(&ring->thread, memory_order_relaxed) == thread)
		return ring;
	for (ring = thread_memory_next(&rings, NULL); ring != NULL;
	     ring = thread_memory_next(&rings, ring))
		if (atomic_load_explicit(&ring->thread, memory_order_relaxed) == thread)
			return latest = ring;
	return NULL;
}

/* If that launch is already taken, the call was not noted, or not yet. */
uint32_t launches_place_at(uint32_t thread, uint64_t at_ns)
{
	struct ring *ring = ring_of(thread);
	uint64_t since = at_ns > began_ns ? at_ns - began_ns : 0;

	if (ring == NULL)
		return NOWHERE;
	uint32_t end = atomic_load_explicit(&ring->noted, memory_order_acquire);
	uint32_t room = end < LAUNCHES_NOTES ? end : LAUNCHES_NOTES;
	uint32_t before = 0; /* number of the last `room` that began before */
	for (uint32_t step = LAUNCHES_NOTES; step > 0; step /= 2) {
		if (before + step > room)
			continue;
		uint32_t at = end - room + before + step - 1;
		uint64_t note = atomic_load_explicit(&ring->note[at % LAUNCHES_NOTES],
						     memory_order_acquire);
		if (note >> PLACE_BITS <= since)
			before += step;
	}
	uint32_t at = end - room + before - 1;
	uint64_t note =
		atomic_load_explicit(&ring->note[at % LAUNCHES_NOTES], memory_order_acquire);
	uint32_t now = atomic_load_explicit(&ring->noted, memory_order_acquire);
	if (before == 0 || now - at >= LAUNCHES_NOTES || at + 1 == ring->claimed)
		return NOWHERE;
	ring->claimed = at + 1;
	return (uint32_t)(note & ((1u << PLACE_BITS) - 1));
}

static void add_to(struct sum *sum, uint64_t busy_ns)
{
	sum->count++;
	sum->busy_ns += busy_ns;
}

static void add_one(_Atomic uint64_t *count)
{
	uint64_t now = atomic_load_explicit(count, memory_order_relaxed);

	atomic_store_explicit(count, now + 1, memory_order_relaxed);
}

bool launches_ran(size_t kernel, uint64_t busy_ns)
{
	if (!launches_are_recorded() || kernel >= kernels)
		return false;
	add_to(&ran[kernel], busy_ns);
	if (joined[kernel].count == 0)
		add_one(&unplaced_count);
	return atomic_load_explicit(&is_recorded, memory_order_relaxed);
}

/* Without room for the pair, the kernel counts as without a place. */
void launches_joined(uint32_t kernel, uint32_t place, uint64_t busy_ns)
{
	uint64_t key = (uint64_t)kernel << 32 | place;
	uint32_t row = place < NOWHERE ? keys_find(&pair_keys, key) : KEYS_NONE;

	if (place < NOWHERE && row == KEYS_NONE && (row = keys_add(&pair_keys, key)) != KEYS_NONE)
		pairs[row] = (struct pair){ .kernel = kernel, .place = place };
	if (row == KEYS_NONE)
		return;
	add_to(&pairs[row].sum, busy_ns);
	add_to(&joined[kernel], busy_ns);
	add_one(&joined_count);
}

bool launches_want_records(void)
{
	uint64_t joined_now = atomic_load_explicit(&joined_count, memory_order_relaxed);
	uint64_t unplaced = atomic_load_explicit(&unplaced_count, memory_order_relaxed);
	bool on = atomic_load_explicit(&is_recorded, memory_order_relaxed);
	bool want = on ? joined_now - joined_before < LAUNCHES_EXACT
		       : unplaced != unplaced_before && retries < LAUNCHES_RETRIES;

	if (want != on) {
		joined_before = joined_now;
		retries += want;
		atomic_store_explicit(&is_recorded, want, memory_order_relaxed);
	}
	unplaced_before = unplaced;
	return want;
}

static uint64_t share(uint64_t of, uint64_t count, uint64_t all)
{
	return (uint64_t)((__uint128_t)of * count / all);
}

void launches_read_times(size_t place, struct profile_launch *ret)
{
	ret->kernels = ret->device_ns = ret->estimated_ns = 0;
	for (size_t i = 0; launches_are_recorded() && i < pair_keys.rows; i++) {
		const struct pair *pair = &pairs[i];

		if (pair->place != place)
			continue;
		const struct sum *all = &ran[pair->kernel], *known = &joined[pair->kernel];
		uint64_t shared_ns =
			share(all->busy_ns - known->busy_ns, pair->sum.count, known->count);
		uint64_t shared = share(all->count - known->count, pair->sum.count, known->count);
		ret->kernels += (int64_t)(pair->sum.count + shared);
		ret->device_ns += (int64_t)(pair->sum.busy_ns + shared_ns);
		ret->estimated_ns += (int64_t)shared_ns;
	}
}

void launches_read_rest(struct profile_launches_rest *ret)
{
	*ret = (struct profile_launches_rest){ 0 };
	for (size_t i = 0; launches_are_recorded() && i < kernels; i++) {
		if (joined[i].count != 0)
			continue;
		ret->kernels += (int64_t)ran[i].count;
		ret->device_ns += (int64_t)ran[i].busy_ns;
	}
}

uint64_t launches_lost(void)
{
	return hp_locked(HP_LOCK_trace, lost);
}

bool launches_read(size_t index, struct launch_site *ret)
{
	if (index >= hp_locked(HP_LOCK_trace, keys.rows))
		return false;
	*ret = hp_locked(HP_LOCK_trace, sites[index]);
	ret->count = atomic_load_explicit(&called[index].count, memory_order_relaxed);
	ret->host_ns = atomic_load_explicit(&called[index].host_ns, memory_order_relaxed);
	return true;
}
