/*
 * early.c - uploads of pinned blocks that come back before the block has been read.
 *
 *	our stream      block --bus--> scratch memory, at once, a ticket for each piece
 *	the program's   ... earlier work; the leg's event; scratch --> destination
 *
 * The block is closed for writing (defer/protect.h) until the tickets say that it has been read.
 * That never waits for the program's own work, so nobody who writes to the block can hang in it.
 * A part of the scratch memory is used again once its last copy has gone out of it; with none free
 * the upload takes another route.
 */
#include "shim/early.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/protections.h"
#include "copy/stage.h"
#include "defer/early.h"
#include "defer/touch.h"
#include "host/range.h"
#include "shim/deferring.h"
#include "shim/fault.h"
#include "shim/fetching.h"
#include "shim/pool.h"

/* To tell what a site's blocks do as sources from what they do as destinations. */
#define AS_SOURCE 0x55aa55aau

static bool is_asked_for(const struct shim_copy *copy)
{
	return copy->direction == TRACE_H2D && !copy->asynchronous &&
	       hp_options->route == COPY_AUTO;
}

static enum early_way choose(const struct shim_copy *copy)
{
	struct early_facts facts = {
		.wish = (enum early_wish)hp_options->early,
		.block = shim_fetch_refusal(copy),
		.behind_work = true,
	};

	/* The driver is asked only where it matters. */
	if (early_choose(&facts) == EARLY_NOT)
		return EARLY_NOT;
	facts.behind_work = shim_copy_behind_work(copy);
	return early_choose(&facts);
}

/* A signal that we cannot answer ends all of this. */
static bool is_answered(void)
{
	const char *why;

	if (shim_fault_is_ours(&why))
		return true;
	shim_fetch_stop(why);
	protect_join_all();
	return false;
}

/* One upload under way, and what carries it. */
struct upload {
	struct shim_copy *copy;
	struct flight *flight;
	struct protect_range *ranges[EARLY_PIECES];
	size_t count, piece;
	struct pool *pool; /* NULL: straight to its destination */
	int part;
	CUstream stream; /* that crosses the bus */
	bool per_thread; /* meant by NULL */
	CUdeviceptr to;
	bool begun; /* something has been enqueued there */
};

static bool find_part(struct upload *upload)
{
	CUcontext context = NULL;

	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	upload->pool = pool_take(context);
	if (upload->pool == NULL)
		return false;
	upload->part = -1;
	if (pool_fill(upload->pool)) {
		pool_sweep(upload->pool);
		upload->part = scratch_take(&upload->pool->scratch, upload->copy->bytes);
	}
	if (upload->part < 0) {
		pool_give_back(upload->pool);
		upload->pool = NULL;
		return false;
	}
	upload->stream = upload->pool->stream;
	upload->per_thread = false;
	upload->to = upload->pool->memory + upload->pool->scratch.parts[upload->part].at;
	return true;
}

/* `used`: the copy out of it has been enqueued, and its event. */
static void leave_part(struct upload *upload, bool used)
{
	if (upload->pool == NULL)
		return;
	upload->pool->used[upload->part] = used;
	if (!used)
		scratch_give(&upload->pool->scratch, upload->part);
	pool_give_back(upload->pool);
}

/* With none another route is better than this one's failure. */
static bool has_room(struct shim_copy *copy)
{
	struct upload upload = { .copy = copy };
	bool has = shim_stage_enter() && (!shim_copy_behind_work(copy) || find_part(&upload));

	leave_part(&upload, false);
	shim_stage_leave();
	return has;
}

bool shim_early_wanted(struct shim_copy *copy)
{
	if (!is_asked_for(copy) || choose(copy) == EARLY_NOT || !shim_close_ready() ||
	    touch_next(copy->block->site ^ AS_SOURCE) == TOUCH_WAIT)
		return false;
	copy->early = is_answered() && (copy->lane = shim_defer_lane(copy->per_thread)) != NULL &&
		      shim_may_send(copy) && has_room(copy);
	if (!copy->early) {
		copy->lane = NULL;
		hp_count(uploads_refused);
	}
	return copy->early;
}

static bool close_source(struct upload *upload)
{
	const struct block *block = upload->copy->block;
	size_t room = block->room;

	upload->piece = early_piece(room);
	upload->count = (room + upload->piece - 1) / upload->piece;
	upload->flight = flight_take((uint32_t)upload->count, block->site ^ AS_SOURCE,
				     early_patience_ns(upload->copy->bytes));
	return upload->flight != NULL && protect_claim_source(block->base, room, upload->piece,
							      upload->flight, upload->ranges);
}

/* Bytes of the source from `from` on that one call may name, up to `most`. */
static size_t run_from(const struct shim_copy *copy, const char *from, size_t most)
{
	size_t run = range_run(copy->block, from);

	return run < most ? run : most;
}

/* The bytes of the source in [done, end). */
static bool cross(struct upload *upload, size_t done, size_t end)
{
	const struct stage_copy stage = {
		.to_device = true,
		.per_thread = upload->per_thread,
		.stream = upload->stream,
		.device = upload->to,
	};

	for (size_t bytes; done < end; done += bytes) {
		char *from = (char *)upload->copy->host + done;

		bytes = run_from(upload->copy, from, end - done);
		if (stage_enqueue(&stage, done, from, bytes) != CUDA_SUCCESS)
			return false;
		upload->begun = true;
	}
	return true;
}

/* Each piece, and its ticket behind it. */
static bool cross_in_pieces(struct upload *upload)
{
	uintptr_t host = (uintptr_t)upload->copy->host;
	size_t bytes = upload->copy->bytes;

	for (size_t i = 0, done = 0; i < upload->count; i++) {
		uintptr_t border = upload->copy->block->base + (i + 1) * upload->piece;
		size_t end = border <= host ? 0 : border - host < bytes ? border - host : bytes;

		if (!cross(upload, done, end) ||
		    !shim_close_ticket(upload->ranges[i], upload->stream, upload->per_thread))
			return false;
		upload->ranges[i]->has_ticket = true;
		done = end;
	}
	return true;
}

static CUresult record(CUevent event, CUstream stream, bool per_thread)
{
	return per_thread ? REAL(cuEventRecord_ptsz)(event, stream)
			  : REAL(cuEventRecord)(event, stream);
}

/* From the scratch memory, in the order that the program's own call has. */
static bool move_on(const struct upload *upload)
{
	const struct shim_copy *copy = upload->copy;
	CUevent leg = atomic_load(&upload->flight->event);

	if (!hp_keeps(early_legs))
		return REAL(cuMemcpyDtoDAsync_v2)(copy->far, upload->to, copy->bytes, NULL) ==
		       CUDA_SUCCESS;
	if (copy->per_thread)
		return REAL(cuStreamWaitEvent_ptsz)(NULL, leg, 0) == CUDA_SUCCESS &&
		       REAL(cuMemcpyDtoDAsync_v2_ptsz)(copy->far, upload->to, copy->bytes, NULL) ==
			       CUDA_SUCCESS;
	return REAL(cuStreamWaitEvent)(NULL, leg, 0) == CUDA_SUCCESS &&
	       REAL(cuMemcpyDtoDAsync_v2)(copy->far, upload->to, copy->bytes, NULL) == CUDA_SUCCESS;
}

static bool is_spoiled(const struct upload *upload)
{
	for (size_t i = 0; i < upload->count; i++)
		if (upload->ranges[i]->spoiled)
			return true;
	return false;
}

/* False: nothing of it is on its way. */
static bool enqueue(struct upload *upload)
{
	struct flight *flight = upload->flight;
	struct shim_copy *copy = upload->copy;
	bool sent = shim_close_event(&flight->event, &flight->context, &flight->ends) &&
		    cross_in_pieces(upload) &&
		    record(atomic_load(&flight->event), upload->stream, upload->per_thread) ==
			    CUDA_SUCCESS &&
		    !is_spoiled(upload);

	if (sent && upload->pool != NULL) {
		/* Otherwise the program's own call comes behind what has moved on, and waits. */
		sent = move_on(upload) && record(upload->pool->done[upload->part], NULL,
						 copy->per_thread) == CUDA_SUCCESS;
	}
	if (!sent && upload->begun)
		shim_stream_wait(upload->stream, upload->per_thread);
	return sent;
}

static bool send(struct upload *upload)
{
	struct shim_copy *copy = upload->copy;

	/* What was idle a moment ago is so still, or the upload comes behind what came. */
	if (shim_copy_behind_work(copy) && !find_part(upload))
		return false;
	if (!close_source(upload)) {
		leave_part(upload, false);
		return false;
	}
	bool sent = enqueue(upload);
	leave_part(upload, sent);
	if (!sent) {
		/* The next one will hardly fare better. */
		flight_spend(upload->flight, UINT64_MAX / 2);
		for (size_t i = 0; i < upload->count; i++)
			protect_drop(upload->ranges[i]);
		return false;
	}
	copy->result = CUDA_SUCCESS;
	shim_defer_add(copy->lane, copy->per_thread);
	shim_gate_close(SHIM_GATE_FETCHED);
	if (upload->pool != NULL)
		hp_count(uploads_scratch);
	protect_arm_source(upload->ranges, upload->count);
	return true;
}

bool shim_early_sent(struct shim_copy *copy)
{
	struct upload upload = { .copy = copy, .to = copy->far, .per_thread = copy->per_thread };
	struct shim_undisturbed was = shim_undisturbed_begin();
	uint64_t ticket = trace_cutting(copy->direction, copy->bytes);

	copy->early = false;
	if (shim_stage_enter())
		copy->deferred = send(&upload);
	shim_stage_leave();
	trace_staged(ticket, copy->deferred ? copy->bytes : 0, copy->deferred);
	shim_undisturbed_end(&was);
	if (copy->deferred)
		hp_count(uploads_early);
	else
		hp_count(uploads_refused);
	return copy->deferred;
}
