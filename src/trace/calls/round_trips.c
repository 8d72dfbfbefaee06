/*
 * round_trips.c - remembers the latest downloads by address, and the largest one of each thread.
 */
#include "trace/calls/round_trips.h"
#include "base/hash.h"
#include "base/lock.h"
#include "trace/calls/gaps.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SLOT_BITS   10
#define SLOTS       (1u << SLOT_BITS)
/* A smaller download to another address is taken for a result that only the host reads. */
#define OTHER_LEAST 4096u

struct download {
	const void *host; /* NULL: none */
	uint64_t bytes, leave_ns, copy_ns;
	uint64_t host_ns; /* gaps_of_thread() at its call */
	uint32_t buffer, site, thread;
	bool is_enqueued; /* it may complete after its call */
};

/* The end of the latest wait for the device, by any thread. */
static _Atomic uint64_t waited_ns;

/* Under the lock trace. */
static struct download slots[SLOTS];
static uint32_t threads;

/* The calling thread's number, from 1 on, and its largest download since its latest upload. */
static __thread struct {
	uint32_t number;
	struct download largest;
} mine __attribute__((tls_model("initial-exec")));

static struct download *slot_of(const void *host)
{
	return &slots[hp_hash((uintptr_t)host, SLOT_BITS)];
}

void round_trips_waited(uint64_t leave_ns)
{
	uint64_t latest = atomic_load_explicit(&waited_ns, memory_order_relaxed);

	/* Threads may note their waits in another order. */
	while (latest < leave_ns &&
	       !atomic_compare_exchange_weak_explicit(&waited_ns, &latest, leave_ns,
						      memory_order_relaxed, memory_order_relaxed))
		continue;
}

/* True if host code may have read the download: a wait has ended since its call. */
static bool is_seen(const struct download *download)
{
	return !download->is_enqueued ||
	       atomic_load_explicit(&waited_ns, memory_order_relaxed) > download->leave_ns;
}

static void came_down(const struct trace_copy *copy, uint32_t buffer, uint32_t site)
{
	struct download download = {
		.host = copy->host,
		.bytes = copy->bytes,
		.leave_ns = copy->leave_ns,
		.copy_ns = copy->leave_ns - copy->enter_ns,
		.host_ns = gaps_of_thread(copy->enter_ns),
		.buffer = buffer,
		.site = site,
		.thread = mine.number,
		.is_enqueued = !trace_copy_touched_host(copy),
	};

	*slot_of(copy->host) = download;
	if (copy->bytes >= OTHER_LEAST && copy->bytes > mine.largest.bytes)
		mine.largest = download;
}

/* True if most of the upload can come from the download. */
static bool fits(const struct trace_copy *copy, const struct download *from)
{
	return copy->bytes / 2 <= from->bytes;
}

/* Without gaps, calls in between cannot be distinguished from host code. */
static uint64_t host_ns_since(const struct trace_copy *copy, const struct download *download)
{
	uint64_t now = gaps_of_thread(copy->enter_ns);

	if (now != UINT64_MAX && now >= download->host_ns)
		return now - download->host_ns;
	return copy->enter_ns > download->leave_ns ? copy->enter_ns - download->leave_ns : 0;
}

static struct profile_trips trip_of(const struct trace_copy *copy, uint32_t site,
				    const struct download *from)
{
	return (struct profile_trips){
		.count = 1,
		.bytes = copy->bytes < from->bytes ? copy->bytes : from->bytes,
		.host_ns = host_ns_since(copy, from),
		.copy_ns = from->copy_ns + copy->leave_ns - copy->enter_ns,
		.download_site = from->site,
		.upload_site = site,
		.after = from->buffer,
	};
}

enum round_trip round_trips_copied(const struct trace_copy *copy, uint32_t buffer, uint32_t site,
				   struct profile_trips *ret_trip)
{
	enum round_trip kind = ROUND_TRIP_NONE;

	assert(hp_lock_held(HP_LOCK_trace));
	if (copy->host == NULL)
		return ROUND_TRIP_NONE;
	if (mine.number == 0)
		mine.number = ++threads;
	if (copy->direction == TRACE_D2H) {
		if (trace_copy_touched_host(copy))
			round_trips_waited(copy->leave_ns);
		came_down(copy, buffer, site);
		return ROUND_TRIP_NONE;
	}
	struct download *same = slot_of(copy->host), *from = NULL;
	bool is_same = same->host == copy->host && same->thread == mine.number;
	if (is_same && fits(copy, same)) {
		kind = ROUND_TRIP_SAME;
		from = same;
	} else if (mine.largest.host != NULL && copy->bytes >= OTHER_LEAST &&
		   fits(copy, &mine.largest) && is_seen(&mine.largest)) {
		kind = ROUND_TRIP_OTHER;
		from = &mine.largest;
	}
	if (from != NULL) {
		*ret_trip = trip_of(copy, site, from);
		/* Each download ends in one round trip at most. */
		struct download *slot = slot_of(from->host);
		if (slot->host == from->host && slot->leave_ns == from->leave_ns)
			slot->host = NULL;
		from->host = NULL;
	}
	if (is_same)
		same->host = NULL;
	if (copy->bytes >= OTHER_LEAST)
		mine.largest = (struct download){ 0 };
	return kind;
}
