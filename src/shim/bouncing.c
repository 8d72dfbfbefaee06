/*
 * bouncing.c - sources that are sent from a copy of theirs: in a bounce buffer, which the driver
 * stages inside its call, or in a place of the pocket.
 */
#include "shim/bouncing.h"
#include "base/protections.h"
#include "defer/exposure.h"
#include "shim/choosing.h"

#include <string.h>

/* Is it behind the legacy stream, without being that? */
static bool follows_legacy(const struct shim_copy *copy)
{
	unsigned flags = 0;

	if (copy->stream == NULL)
		return copy->per_thread;
	if (copy->stream == CU_STREAM_LEGACY || copy->stream == CU_STREAM_PER_THREAD)
		return copy->stream == CU_STREAM_PER_THREAD;
	return !REAL_HAS(cuStreamGetFlags) ||
	       REAL(cuStreamGetFlags)(copy->stream, &flags) != CUDA_SUCCESS ||
	       (flags & CU_STREAM_NON_BLOCKING) == 0;
}

bool shim_copy_behind_legacy(const struct shim_copy *copy)
{
	if (!hp_keeps(held_by_legacy) || !follows_legacy(copy))
		return false;
	/* To ask the legacy stream beside a capture would end that; one that begins now waits. */
	bool behind = !shim_stage_enter() ||
		      shim_copy_behind_work(&(struct shim_copy){ .stream = CU_STREAM_LEGACY });
	shim_stage_leave();
	return behind;
}

bool shim_copy_held_up(const struct shim_copy *copy)
{
	return shim_copy_behind_work(copy) || shim_copy_behind_legacy(copy);
}

void shim_wait_for_writers(const struct shim_copy *copy)
{
	if (copy->direction == TRACE_H2D && !copy->asynchronous && exposure_of_sources() &&
	    hp_keeps(source_behind_work))
		shim_stream_wait(NULL, copy->per_thread);
}

/*
 * Smaller ones the driver takes in as fast from pageable memory.  A synchronous call would wait for
 * what the device reads itself; a deferred copy is none.
 */
static bool fits_pocket(const struct shim_copy *copy)
{
	return !copy->rows && copy->now > COPY_STAGED_MOST && copy->now < COPY_TAKEN_LEAST &&
	       (copy->asynchronous || copy->route == COPY_DEFER);
}

void shim_bounce(struct shim_copy *copy)
{
	shim_wait_for_writers(copy);
	if (fits_pocket(copy) && shim_pocket_take(copy)) {
		copy->pocketed = copy->now;
		copy->ticket = trace_staging(copy->direction, copy->now);
		memcpy(copy->pocket.memory, copy->from, copy->now);
		copy->from = copy->pocket.memory;
		return;
	}
	/* Rows stand there with their gaps. */
	size_t bytes = copy->rows && hp_keeps(bounced_rows) ? shim_copy_extent(copy) : copy->now;
	bool kept = false;
	if (!bounce_take(bytes, &copy->bounce, &kept)) {
		shim_fall_back(copy);
		return;
	}
	if (kept)
		shim_bounce_kept();
	memcpy(copy->bounce.memory, copy->from, bytes);
	copy->from = copy->bounce.memory;
}

void shim_bounce_end(struct shim_copy *copy, bool sent)
{
	if (copy->pocket.memory != NULL) {
		copy->pocketed = sent ? copy->pocketed : 0;
		trace_staged(copy->ticket, copy->pocketed, sent);
		shim_pocket_end(copy, sent);
	}
	bounce_put(&copy->bounce);
}
