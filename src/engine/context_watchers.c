/*
 * context_watchers.c - the functions that each room runs when a context ends.
 *
 * The driver section is blocked first and unblocked last, because the housekeeper's handles become
 * invalid in between.
 */
#include "engine/context_watchers.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/section.h"
#include "engine/tracker.h"
#include "pin/context_end.h"
#include "real/contexts.h"
#include "stage/memory.h"

static void block_section(CUcontext context)
{
	(void)context;
	section_block(UINT64_MAX);
}

static void unblock_section(CUcontext context, bool gone)
{
	(void)context;
	(void)gone;
	section_unblock();
}

static void pins_ending(CUcontext context)
{
	if (hp_keeps(context_takes_pins))
		pin_context_ending((uintptr_t)context);
}

static void pins_ended(CUcontext context, bool gone)
{
	pin_context_ended((uintptr_t)context, gone);
}

static void tracked_ended(CUcontext context, bool gone)
{
	if (gone && hp_keeps(forget_contexts))
		tracker_context_gone(context);
}

static const struct contexts_watcher watchers[] = {
	{ block_section, unblock_section },
	{ .ended = tracked_ended },
	{ pins_ending, pins_ended },
	{ memory_context_ending, memory_context_ended },
};

void context_watchers_start(void)
{
	contexts_watch(watchers, HP_LEN(watchers));
}
