/*
 * facts.c - finds the facts that the plan asks for.
 */
#include "engine/facts.h"
#include "base/kernel.h"
#include "base/options.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/staging.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "pin/pinning.h"

/* The number of further uploads of this thread that COPY_FOLLOWED concerns. */
static __thread uint8_t direct_left __attribute__((tls_model("initial-exec")));

/*
 * True if the copy need not give an address in the block to the driver: staging memory or a bounce
 * buffer can hold its bytes, a piece at a time.
 */
static bool may_go_aside(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	return !request->rows && request->other == NULL &&
	       (request->direction == TRACE_H2D || request->direction == TRACE_D2H);
}

/* Enters the block, and that of the other side.  `use` is the result of a first attempt. */
static enum pin_use enter(const struct copy *copy, enum pin_use use, bool waits)
{
	const struct copy_request *request = copy->request;
	struct block *other = request->other != NULL ? range_find(request->other) : NULL;

	for (;; use = pin_enter(copy->block, request->frame)) {
		if (use == PIN_TAKEN && !waits)
			return use;
		if (use == PIN_TAKEN) {
			pin_wait(copy->block);
			continue;
		}
		if (other == NULL || pin_enter(other, request->frame) != PIN_TAKEN)
			return use;
		/* A thread inside a block waits for no other. */
		pin_leave(request->frame);
		pin_wait(other);
	}
}

/*
 * Counts the copy for the pin rule, and pins the block if that pays now.  Enters the block: it
 * stays pinned, or pageable, until the copy has left.
 */
static enum pin_use find_host_memory(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool to_device = request->direction == TRACE_H2D;
	bool early = request->asynchronous || copy->facts.values[COPY_IS_DEFERRABLE];
	enum pin_use use =
		copy_gains_from_pinning(to_device, early, request->bytes)
			? pin_before_copy(copy->block, to_device, request->bytes, request->frame)
			: pin_enter(copy->block, request->frame);

	return enter(copy, use, !may_go_aside(copy));
}

void facts_enter(struct copy *copy, bool waits)
{
	if (copy->block != NULL)
		copy->facts.values[COPY_HOST_MEMORY] =
			enter(copy, pin_enter(copy->block, copy->request->frame), waits);
}

static bool is_stream_busy(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (direct_left != 0 && request->bytes <= COPY_DEFER_PINNED_MOST &&
	    copy->facts.values[COPY_IS_DEFERRABLE])
		direct_left--;
	return stream_is_busy(request->stream, request->per_thread);
}

static unsigned find(struct copy *copy, enum copy_fact fact)
{
	const struct copy_request *request = copy->request;

	switch (fact) {
	case COPY_IS_CAPTURED:
		/*
		 * A graph keeps the semantics of pageable memory only for nodes that were created
		 * with pageable memory.  A node of a pinned block reads its source when the graph
		 * runs, not at its launch.  If the block is unpinned by then, the node ends the
		 * context (error 719).  So hotpin unpins the block before the driver's call.
		 * Pinning the block again later does no harm.
		 */
		return stream_is_captured(request->stream, request->per_thread);
	case COPY_IS_DEFERRABLE:
		return defer_is_possible();
	case COPY_HOST_MEMORY:
		return find_host_memory(copy);
	case COPY_IS_BUSY:
		return is_stream_busy(copy);
	case COPY_IS_BEHIND_LEGACY:
		return stream_is_behind_legacy(request->stream, request->per_thread);
	case COPY_IS_STAGEABLE:
		return staging_is_possible(copy);
	case COPY_WORKERS:
		return staging_workers();
	default:
		return 0;
	}
}

void facts_begin(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	struct copy_facts *facts = &copy->facts;

	/* To the driver a copy that begins in unregistered memory is pageable throughout. */
	if (heap_owns(request->host))
		copy->block = range_find(request->host);
	facts->find = find;
	facts->captures = state_captures != 0 && hp_keeps(plain_during_captures);
	facts->may_defer = hp_options->async;
	facts->downloads_follow = direct_left != 0;
	facts->forced = (enum copy_route)hp_options->route;
}

/*
 * If the program passes device memory as the host side, the driver does not wait.  Memory that the
 * CPU can read is not device memory; asking the driver about an unknown address takes 2 us.
 */
static bool download_waits(const void *host)
{
	return range_find(host) != NULL || hp_can_read(host) || !hp_keeps(device_called_host) ||
	       !request_is_on_device((CUdeviceptr)host);
}

void facts_see_what_it_waits_for(struct copy *copy)
{
	if (copy->request->per_thread ||
	    (copy->request->bytes != 0 && !download_waits(copy->request->host)))
		return;
	copy->settles = defer_is_awaited();
	if (copy->settles && defer_upload_is_last())
		direct_left = COPY_FOLLOWED;
}
