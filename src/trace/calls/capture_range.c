/*
 * capture_range.c - a ring of the latest parts.  Records of the device arrive seconds after their
 * work, so one that belongs to an older part is left out.
 */
#include "trace/calls/capture_range.h"
#include "base/arena.h"
#include "base/lock.h"
#include "base/options.h"
#include "trace/calls/nvtx_ranges.h"

#include <stdatomic.h>
#include <string.h>

struct part {
	_Atomic uint64_t begin, end; /* end is UINT64_MAX: it has not ended */
};

/* CAPTURE_RANGE_PARTS of them, written under the lock trace; NULL: none has begun. */
static struct part *parts;
static _Atomic uint64_t count;

static unsigned open; /* under the lock trace: the number of begins without an end */

bool capture_range_is_all(void)
{
	return hp_options->capture[0] == '\0';
}

bool capture_range_is_named(const char *name)
{
	static const char prefix[] = HP_CAPTURE_NVTX;

	return strncmp(hp_options->capture, prefix, sizeof(prefix) - 1) == 0 &&
	       strcmp(hp_options->capture + sizeof(prefix) - 1, name) == 0;
}

static struct part *part_of(uint64_t number)
{
	return &parts[number % CAPTURE_RANGE_PARTS];
}

void capture_range_begins(uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	if (parts == NULL)
		parts = hp_arena_alloc(CAPTURE_RANGE_PARTS * sizeof(*parts));
	/* Without memory nothing is captured. */
	if (parts != NULL && open++ == 0) {
		uint64_t number = atomic_load_explicit(&count, memory_order_relaxed);
		struct part *part = part_of(number);

		atomic_store_explicit(&part->begin, now_ns, memory_order_relaxed);
		atomic_store_explicit(&part->end, UINT64_MAX, memory_order_relaxed);
		atomic_store_explicit(&count, number + 1, memory_order_release);
		nvtx_ranges_capture(true, now_ns);
	}
	hp_unlock(HP_LOCK_trace);
}

void capture_range_ends(uint64_t now_ns)
{
	hp_lock(HP_LOCK_trace);
	if (open > 0 && --open == 0) {
		uint64_t number = atomic_load_explicit(&count, memory_order_relaxed);

		atomic_store_explicit(&part_of(number - 1)->end, now_ns, memory_order_release);
		nvtx_ranges_capture(false, now_ns);
	}
	hp_unlock(HP_LOCK_trace);
}

uint64_t capture_range_count(void)
{
	return atomic_load_explicit(&count, memory_order_acquire);
}

bool capture_range_is_open(uint64_t since_ns)
{
	if (capture_range_is_all())
		return true;
	uint64_t begun = capture_range_count();
	if (begun == 0)
		return false;
	const struct part *latest = part_of(begun - 1);
	return atomic_load_explicit(&latest->begin, memory_order_relaxed) <= since_ns &&
	       atomic_load_explicit(&latest->end, memory_order_acquire) == UINT64_MAX;
}

bool capture_range_holds(uint64_t at_ns)
{
	uint64_t high = capture_range_count();
	uint64_t low = high > CAPTURE_RANGE_PARTS ? high - CAPTURE_RANGE_PARTS : 0;
	uint64_t oldest = low;

	if (capture_range_is_all())
		return true;
	/* Finds the first part that begins after that time. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (atomic_load_explicit(&part_of(middle)->begin, memory_order_relaxed) <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > oldest &&
	       at_ns < atomic_load_explicit(&part_of(low - 1)->end, memory_order_relaxed);
}

uint64_t capture_range_began_ns(void)
{
	uint64_t begun = capture_range_count();

	return begun > 0 ? atomic_load_explicit(&part_of(begun - 1)->begin, memory_order_relaxed)
			 : 0;
}
