/*
 * context.c - what each room does when a context ends.
 */
#include "engine/context.h"
#include "base/protections.h"
#include "engine/housekeeper.h"
#include "engine/tracker.h"
#include "pin/pinning.h"
#include "pin/unpin.h"
#include "real/contexts.h"
#include "stage/memory.h"

void context_ending(CUcontext context)
{
	pin_context_ending((uintptr_t)context);
	pin_queue_forget((uintptr_t)context);
	/* The housekeeper asks about no context from here on. */
	housekeeper_wait(false, UINT64_MAX);
	memory_context_ending(context);
	contexts_forget(context);
}

void context_ended(CUcontext context, bool gone)
{
	if (!gone && contexts_id(context) != 0)
		contexts_made(context);
	memory_context_ended(context, gone);
	if (gone && hp_keeps(forget_contexts))
		tracker_context_gone(context);
	pin_context_ended((uintptr_t)context, gone && hp_keeps(context_takes_pins));
}
