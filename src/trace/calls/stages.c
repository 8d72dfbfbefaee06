/*
 * stages.c - a list of open ranges, and each change of stage for the split.
 */
#include "trace/calls/stages.h"
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

_Static_assert(STAGES_MOST < 128, "emit_events.c has room for so many names");

struct change {
	uint64_t at_ns;
	unsigned stage;
};

/* Under the lock trace. */
static struct open {
	uint64_t ticket, began_ns;
	unsigned stage;
} open_ranges[OPEN_MOST]; /* in the order of their begin */
static size_t open_count;
static uint64_t tickets, lost;
static struct stage *stages; /* STAGES_MOST + 1 */
static size_t count;
static struct change *changes;
static unsigned changed;
static bool capturing; /* in the capture range, if that is not the whole run */

static _Atomic unsigned current;

static bool is(const struct stage *stage, const char *domain, const char *name)
{
	return strncmp(stage->name, name, STAGES_NAME_MOST - 1) == 0 &&
	       strncmp(stage->domain, domain, STAGES_NAME_MOST - 1) == 0;
}

static bool has_memory(void)
{
	if (stages == NULL) {
		stages = hp_arena_alloc((STAGES_MOST + 1) * sizeof(*stages));
		changes = hp_arena_alloc(CHANGES_MOST * sizeof(*changes));
	}
	return stages != NULL && changes != NULL;
}

/* With the lock held.  Returns the number of a stage; 0: there is no memory. */
static unsigned find_or_add(const char *domain, const char *name)
{
	if (!has_memory())
		return 0;
	for (size_t i = 1; i <= count; i++)
		if (is(&stages[i], domain, name))
			return (unsigned)i;
	if (count == STAGES_MOST)
		return STAGES_MOST;
	if (++count == STAGES_MOST) {
		domain = "";
		name = "(others)";
	}
	snprintf(stages[count].name, STAGES_NAME_MOST, "%s", name);
	snprintf(stages[count].domain, STAGES_NAME_MOST, "%s", domain);
	return (unsigned)count;
}

/* With the lock held.  Changes the current stage to that of the latest open range. */
static void change(uint64_t now_ns)
{
	unsigned stage = open_count > 0 ? open_ranges[open_count - 1].stage : 0;

	atomic_store_explicit(&current, stage, memory_order_relaxed);
	if (!capturing && !capture_range_is_all())
		stage = SPLIT_OUTSIDE;
	if (changed < CHANGES_MOST)
		changes[changed++] = (struct change){ now_ns, stage };
	else
		lost++;
}

uint64_t stages_begin(const char *domain, const char *name, uint64_t now_ns)
{
	unsigned stage = 0;

	hp_lock(HP_LOCK_trace);
	uint64_t ticket = ++tickets;
	if (open_count < OPEN_MOST)
		stage = find_or_add(domain, name);
	else
		hp_count(ranges_dropped);
	if (stage != 0) {
		open_ranges[open_count++] = (struct open){ ticket, now_ns, stage };
		stages[stage].entered += capturing || capture_range_is_all();
		change(now_ns);
	}
	hp_unlock(HP_LOCK_trace);
	return ticket;
}

void stages_capture(bool begins, uint64_t now_ns)
{
	if (!has_memory())
		return;
	capturing = begins;
	if (begins && open_count > 0)
		stages[open_ranges[open_count - 1].stage].entered++;
	change(now_ns);
}

static void note_event(const struct open *range, uint64_t now_ns)
{
	events_add(&(struct event){ .kind = EVENT_STAGE,
				    .track = (uint16_t)events_stages(),
				    .start_ns = range->began_ns,
				    .duration_ns = now_ns - range->began_ns,
				    .name = range->stage,
				    .bytes = UINT64_MAX,
				    .site = UINT32_MAX });
}

void stages_end(uint64_t ticket, uint64_t now_ns)
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
	if (range.stage != 0 && events_wanted() && capture_range_is_open(now_ns))
		note_event(&range, now_ns);
}

void stages_copied(const struct trace_copy *copy)
{
	if (atomic_load_explicit(&current, memory_order_relaxed) == 0 ||
	    copy->direction > TRACE_D2H)
		return;
	trace_flow_add(&stages[current].flow[copy->direction], copy);
}

void stages_launched(void)
{
	if (atomic_load_explicit(&current, memory_order_relaxed) == 0)
		return;
	hp_lock(HP_LOCK_trace);
	stages[current].launches++;
	hp_unlock(HP_LOCK_trace);
}

void stages_drain(struct split *split)
{
	hp_lock(HP_LOCK_trace);
	for (unsigned i = 0; i < changed; i++)
		split_stage(split, changes[i].at_ns, changes[i].stage);
	changed = 0;
	hp_unlock(HP_LOCK_trace);
}

size_t stages_count(uint64_t *ret_lost)
{
	hp_lock(HP_LOCK_trace);
	size_t known = count;
	*ret_lost = lost;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void stages_read(size_t stage, struct stage *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = stages[stage];
	hp_unlock(HP_LOCK_trace);
}
