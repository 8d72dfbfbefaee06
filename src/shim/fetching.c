/*
 * fetching.c - synchronous copies from the device that do not wait (HOTPIN_ASYNC=all).
 *
 * The pages of the destination are closed, the copy is enqueued where the program's call would have
 * run it, and behind it a word in memory of ours, its ticket, and an event.  Errors of earlier work
 * come with the next call then, as CUDA allows; an error of the copy's own arguments comes here,
 * and the program's own function finds it again.
 */
#include "shim/fetching.h"
#include "base/counters.h"
#include "base/options.h"
#include "copy/stage.h"
#include "defer/fetch.h"
#include "defer/protect.h"
#include "defer/touch.h"
#include "host/range.h"
#include "shim/deferring.h"
#include "shim/fault.h"

static struct protect_range *claim(const struct shim_copy *copy, bool trial)
{
	struct protect_range *range =
		protect_claim(copy->block->base, copy->block->room, copy->block->site, trial);

	if (range == NULL)
		hp_count(fetches_refused);
	return range;
}

/* A call may not name two registrations. */
static bool enqueue_pieces(const struct shim_copy *copy)
{
	struct stage_copy stage = shim_stage_describe(copy);

	for (size_t done = 0, bytes; done < copy->bytes; done += bytes) {
		char *to = (char *)copy->host + done;

		bytes = range_run(copy->block, to);
		bytes = bytes < copy->bytes - done ? bytes : copy->bytes - done;
		/* Behind what is on its way comes the program's own call, and waits. */
		if (stage_enqueue(&stage, done, to, bytes) != CUDA_SUCCESS)
			return false;
	}
	return true;
}

static CUresult record(const struct protect_range *range, bool per_thread)
{
	CUevent event = atomic_load(&range->event);

	return per_thread ? REAL(cuEventRecord_ptsz)(event, NULL)
			  : REAL(cuEventRecord)(event, NULL);
}

/* Closed before the copy is enqueued: afterwards it would be too late to refuse. */
static bool enqueue(struct shim_copy *copy, struct ledger_lane *lane)
{
	struct protect_range *range = claim(copy, false);

	if (range == NULL)
		return false;
	if (!shim_close_event(&range->event, &range->context, &range->ends) ||
	    !enqueue_pieces(copy)) {
		protect_drop(range);
		return false;
	}
	range->has_ticket = shim_close_ticket(range, NULL, copy->per_thread);
	copy->result = record(range, copy->per_thread);
	if (copy->result == CUDA_SUCCESS && !range->spoiled) {
		shim_defer_noted(lane, copy->per_thread);
		shim_gate_close(SHIM_GATE_FETCHED);
		protect_arm(range);
		return true;
	}
	/* Nobody could say when it is over, or everybody has seen into it. */
	copy->result = shim_stream_wait(NULL, copy->per_thread);
	protect_drop(range);
	return true;
}

/* In registrations of ours, each byte in one that stays while the copy runs. */
static bool is_pinned(const struct shim_copy *copy)
{
	return copy->place == COPY_PINNED ||
	       (copy->place == COPY_PIECES && atomic_load(&copy->block->pin) == BLOCK_PINNED);
}

enum fetch_refusal shim_fetch_refusal(const struct shim_copy *copy)
{
	const struct block *block = copy->block;
	struct fetch_facts facts = {
		.allowed = hp_options->async == HP_ASYNC_ALL && shim_close_allowed(),
		.exposed = exposure_any(),
		.pinned = is_pinned(copy),
		.huge = atomic_load(&block->huge),
		.altered = atomic_load(&block->altered),
		.to = (uintptr_t)copy->host,
		.base = block->base,
		.start = block->start,
		.bytes = copy->bytes,
		.room = block->room,
		.size = block->size,
	};

	return fetch_refuse(&facts);
}

static bool may_be(const struct shim_copy *copy)
{
	enum fetch_refusal refusal = shim_fetch_refusal(copy);

	if (refusal == FETCH_EXPOSED || refusal == FETCH_PART)
		hp_count(fetches_refused);
	/* Where no call of the program's will do, the driver has to be asked. */
	return refusal == FETCH_FINE && (copy->place == COPY_PINNED || shim_may_send(copy));
}

static bool is_asked_for(const struct shim_copy *copy)
{
	return copy->direction == TRACE_D2H && !copy->asynchronous && !copy->rows && copy->far != 0;
}

bool shim_fetch_deferred(struct shim_copy *copy)
{
	const char *why;

	if (!is_asked_for(copy) || !may_be(copy) || !shim_close_ready())
		return false;

	enum touch_wish wish = touch_next(copy->block->site);
	if (wish == TOUCH_WAIT)
		return false;
	if (!shim_fault_is_ours(&why)) {
		hp_count(fetches_refused);
		shim_fetch_stop(why);
		protect_join_all();
		return false;
	}
	copy->on_trial = wish == TOUCH_TRY;
	if (copy->on_trial)
		return false;

	struct ledger_lane *lane = shim_defer_lane(copy->per_thread);
	if (lane == NULL) {
		hp_count(fetches_refused);
		return false;
	}
	struct shim_undisturbed was = shim_undisturbed_begin();
	if (shim_stage_enter())
		copy->deferred = enqueue(copy, lane);
	shim_stage_leave();
	shim_undisturbed_end(&was);
	if (copy->deferred)
		hp_count(copies_deferred_d2h);
	return copy->deferred;
}

void shim_fetch_ended(struct shim_copy *copy)
{
	struct shim_undisturbed was = shim_undisturbed_begin();
	struct protect_range *range = claim(copy, true);

	if (range != NULL) {
		shim_gate_close(SHIM_GATE_FETCHED);
		protect_arm(range);
	}
	shim_undisturbed_end(&was);
}
