/*
 * telling.c - one copy as a count, as a lesson about what pinning gains, and as a record of the
 * profile.
 */
#include "shim/telling.h"
#include "base/clock.h"
#include "base/counters.h"
#include "host/pin.h"
#include "shim/choosing.h"
#include "trace/trace.h"

static void count_route(enum copy_route route)
{
	switch (route) {
	case COPY_DIRECT:
	case COPY_WAIT:
		hp_count(copies_direct);
		break;
	case COPY_BOUNCE:
		hp_count(copies_bounced);
		break;
	case COPY_SPLIT:
		hp_count(copies_split);
		break;
	case COPY_SEND:
		hp_count(copies_sent);
		break;
	case COPY_STAGE:
	case COPY_EARLY:
		hp_count(copies_staged);
		break;
	case COPY_DEFER:
		break; /* by the ledger */
	default:
		hp_count(copies_passed);
		break;
	}
}

static enum trace_memory memory_of(const struct shim_copy *copy)
{
	if (copy->direction == TRACE_D2D || copy->direction == TRACE_P2P)
		return TRACE_DEVICE;
	if (copy->staged)
		return copy->route == COPY_STAGE || copy->route == COPY_EARLY ? TRACE_STAGED
									      : TRACE_PAGEABLE;
	switch (copy->place) {
	case COPY_PINNED:
	case COPY_PIECES:
		if (copy->pocketed != 0)
			return TRACE_STAGED;
		return copy->route == COPY_BOUNCE || copy->route == COPY_DEFER ? TRACE_PAGEABLE
									       : TRACE_PROMOTED;
	case COPY_PAGEABLE:
	case COPY_STRADDLES:
		return TRACE_PAGEABLE;
	default:
		return TRACE_UNKNOWN;
	}
}

/* What pinning spares such a copy, or spared it. */
static uint64_t gain_of(const struct shim_copy *copy)
{
	return shim_gains_from_pinning(copy)
		       ? pin_gain_ns(copy->direction == TRACE_H2D, copy->bytes)
		       : 0;
}

static void report(const struct shim_copy *copy, uint64_t leave_ns)
{
	trace_copied(&(struct trace_copy){
		.direction = copy->direction,
		.memory = memory_of(copy),
		.synchronous = !copy->asynchronous,
		.deferred = copy->route == COPY_DEFER || (copy->under_way && !copy->asynchronous),
		.captured = copy->captured,
		.bytes = copy->bytes,
		.enter_ns = copy->called_ns,
		.leave_ns = leave_ns,
		.linear = !copy->rows,
		.device = copy->far != 0 ? copy->far : copy->device[0],
		.host = copy->host,
		.allocator = copy->block != NULL ? atomic_load(&copy->block->site) : 0,
		.block_bytes = copy->block != NULL ? atomic_load(&copy->block->size) : 0,
		.gain_ns = gain_of(copy),
		.frame = copy->frame,
	});
}

/* Not from staging or pinning: what that takes says nothing about what pinning would spare. */
static void learn(const struct shim_copy *copy, uint64_t ns)
{
	bool pinned =
		copy->route == COPY_DIRECT || copy->route == COPY_WAIT || copy->route == COPY_SEND;

	if (!copy->captured && !copy->staged && !copy->pinned_meanwhile &&
	    shim_gains_from_pinning(copy))
		pin_after_copy(copy->direction == TRACE_H2D, copy->bytes, pinned, ns);
}

void shim_copy_tell(const struct shim_copy *copy, bool moved)
{
	count_route(copy->route);
	if (!moved || (copy->enter_ns == 0 && copy->called_ns == 0))
		return;

	uint64_t leave_ns = hp_now_ns();

	if (copy->enter_ns != 0)
		learn(copy, leave_ns - copy->enter_ns);
	if (copy->called_ns != 0 && trace_active())
		report(copy, leave_ns);
}
