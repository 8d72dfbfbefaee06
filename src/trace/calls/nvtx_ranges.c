/*
 * nvtx_ranges.c - a list of open ranges, and each change of range for the split.
 */
#include "trace/calls/nvtx_ranges.h"
#include "base/arena.h"
#include "base/counters.h"
#include "base/lock.h"
#include "trace/calls/capture_range.h"
#include "trace/collect/events.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define OPEN_MOST    256
#define CHANGES_MOST 65536u /* between two turns of the reading thread: 1 MiB */

_Static_assert(NVTX_RANGES_MOST < 128, "emit_events.c has room for so many names");

struct change {
	uint64_t at_ns;
	unsigned range;
};

/* Under the lock trace. */
static struct open {
	uint64_t ticket, began_ns;
	unsigned number;
} open_ranges[OPEN_MOST]; /* in the order of their begin */
static size_t open_count;
static uint64_t tickets, lost;
static struct nvtx_range *ranges; /* NVTX_RANGES_MOST + 1 */
static size_t count;
static struct change *changes;
static unsigned changed;

static _Atomic unsigned current;

static bool is(const struct nvtx_range *range, const char *domain, const char *name)
{
	return strncmp(range->name, name, NVTX_RANGES_NAME_MOST - 1) == 0 &&
	       strncmp(range->domain, domain, NVTX_RANGES_NAME_MOST - 1) == 0;
}

static bool has_memory(void)
{
	if (ranges == NULL) {
		ranges = hp_arena_alloc((NVTX_RANGES_MOST + 1) * sizeof(*ranges));
		changes = hp_arena_alloc(CHANGES_MOST * sizeof(*changes));
	}
	return ranges != NULL && changes != NULL;
}

/* With the lock held.  Returns the number of a range; 0: there is no memory. */
static unsigned find_or_add(const char *domain, const char *name)
{
	if (!has_memory())
		return 0;
	for (size_t i = 1; i <= count; i++)
		if (is(&ranges[i], domain, name))
			return (unsigned)i;
	if (count == NVTX_RANGES_MOST)
		return NVTX_RANGES_MOST;
	if (++count == NVTX_RANGES_MOST) {
		domain = "";
		name = "(others)";
	}
	snprintf(ranges[count].name, NVTX_RANGES_NAME_MOST, "%s", name);
	snprintf(ranges[count].domain, NVTX_RANGES_NAME_MOST, "%s", domain);
	return (unsigned)count;
}

/* True in the capture range. */
static bool is_captured(void)
{
	return capture_range_is_open(UINT64_MAX);
}

/* With the lock held.  Changes the current range to that of the latest open range. */
static void change(uint64_t now_ns)
{
	unsigned range = open_count > 0 ? open_ranges[open_count - 1].number : 0;

	atomic_store_explicit(&current, range, memory_order_relaxed);
	if (!is_captured())
		range = SPLIT_OUTSIDE;
	if (changed < CHANGES_MOST)
		changes[changed++] = (struct change){ now_ns, range };
	else
		lost++;
}

uint64_t nvtx_ranges_begin(const char *domain, const char *name, uint64_t now_ns)
{
	unsigned range = 0;

	hp_lock(HP_LOCK_trace);
	uint64_t ticket = ++tickets;
	if (open_count < OPEN_MOST)
		range = find_or_add(domain, name);
	else
		hp_count(ranges_dropped);
	if (range != 0) {
		open_ranges[open_count++] = (struct open){ ticket, now_ns, range };
		ranges[range].entered += is_captured();
		change(now_ns);
	}
	hp_unlock(HP_LOCK_trace);
	return ticket;
}

void nvtx_ranges_capture(bool begins, uint64_t now_ns)
{
	if (!has_memory())
		return;
	if (begins && open_count > 0)
		ranges[open_ranges[open_count - 1].number].entered++;
	change(now_ns);
}

static void note_event(const struct open *range, uint64_t now_ns)
{
	events_add(&(struct event){
		.kind = EVENT_RANGE,
		.track = (uint16_t)events_track(&(struct event_track){ .kind = EVENT_RANGES }),
		.start_ns = range->began_ns,
		.duration_ns = now_ns - range->began_ns,
		.name = range->number,
		.bytes = UINT64_MAX,
		.site = UINT32_MAX });
}

void nvtx_ranges_end(uint64_t ticket, uint64_t now_ns)
{
	struct open range = { 0 };

	hp_lock(HP_LOCK_trace);
	size_t at = open_count;
	while (at > 0 && open_ranges[at - 1].ticket != ticket)
		at--;
	if (at > 0) {
		range = open_ranges[at - 1];
		memmove(&open_ranges[at - 1], &open_ranges[at],
			(open_count - at) * sizeof(open_ranges[0]));
		open_count--;
		change(now_ns);
	}
	hp_unlock(HP_LOCK_trace);
	if (range.number != 0 && events_wanted() && capture_range_is_open(now_ns))
		note_event(&range, now_ns);
}

void nvtx_ranges_copied(const struct trace_copy *copy)
{
	if (atomic_load_explicit(&current, memory_order_relaxed) == 0 ||
	    copy->direction > TRACE_D2H)
		return;
	trace_flow_add(&ranges[current].flow[copy->direction], copy);
}

void nvtx_ranges_launched(void)
{
	if (atomic_load_explicit(&current, memory_order_relaxed) == 0)
		return;
	hp_lock(HP_LOCK_trace);
	ranges[current].launches++;
	hp_unlock(HP_LOCK_trace);
}

void nvtx_ranges_drain(struct split *split)
{
	hp_lock(HP_LOCK_trace);
	for (unsigned i = 0; i < changed; i++)
		split_range(split, changes[i].at_ns, changes[i].range);
	changed = 0;
	hp_unlock(HP_LOCK_trace);
}

uint64_t nvtx_ranges_lost(void)
{
	return hp_locked(HP_LOCK_trace, lost);
}

bool nvtx_ranges_read(size_t range, struct nvtx_range *ret)
{
	return hp_locked(HP_LOCK_trace, range <= count && (*ret = ranges[range], true));
}
