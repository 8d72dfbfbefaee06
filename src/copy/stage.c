/*
 * stage.c - a copy cut into pieces that pass through the ring.
 *
 * To the device: the crew fills places of the ring, the calling thread sends them off in order.
 * To the host: the calling thread has the device fill the places, the crew empties them.  The
 * calling thread moves pieces too where that keeps the bus busy, and always can: a crew that is
 * busy elsewhere, or absent, costs time only.
 *
 * Order with other work is the driver's: pieces are enqueued on the very stream that the
 * program's call means, by the asynchronous function of the same flavour.
 */
#define _GNU_SOURCE
#include "copy/stage.h"
#include "base/bounds.h"
#include "base/protections.h"
#include "copy/move.h"
#include "copy/plan.h"
#include "copy/ring.h"
#include "copy/workers.h"
#include "real/relaxed.h"

#include <errno.h>
#include <stdatomic.h>

/* Moved in some 20 us: the bus has that much work in hand. */
#define SHORT_PIECE ((size_t)256 << 10)

struct run {
	const struct stage_copy *copy;
	struct ring_share share;
	struct workers_job *job;
	struct shape_cut cut;
	size_t piece, room; /* room for one in the ring, for how many at once */
	bool failed;        /* the driver refused something, or the program's memory did */
	bool left;          /* the share is the device's until it is through */
	_Atomic int *kind;  /* of the host side's mapping: enum kind */
};

enum kind { KIND_UNKNOWN, KIND_ASKED, KIND_PLAIN, KIND_OTHER };

/* Below, faulting in what is there costs less than asking. */
#define ASKS_KIND_FROM ((size_t)1 << 20)

static size_t bytes_of(const struct run *run, size_t index, size_t *ret_at)
{
	size_t bytes;

	shape_piece(&run->cut, index, ret_at, &bytes);
	return bytes;
}

/* Whoever of the crew comes first asks; the others do without meanwhile. */
static enum move_care care_of(const struct run *run)
{
	const struct stage_copy *copy = run->copy;
	int kind = atomic_load_explicit(run->kind, memory_order_relaxed);

	if (kind == KIND_UNKNOWN && atomic_compare_exchange_strong(run->kind, &kind, KIND_ASKED)) {
		size_t extent = shape_extent(&copy->shape, &copy->shape.host);
		kind = move_is_plain(copy->host, extent) ? KIND_PLAIN : KIND_OTHER;
		atomic_store(run->kind, kind);
	}
	return kind == KIND_PLAIN ? MOVE_GLANCES : MOVE_LOOKS;
}

static bool move(const void *arg, size_t index, bool owner)
{
	const struct run *run = arg;
	const struct stage_copy *copy = run->copy;
	size_t at, bytes = bytes_of(run, index, &at);
	char *place = ring_memory(&run->share, run->piece, index);
	enum move_care care = owner ? MOVE_OWN : care_of(run);

	return copy->to_device ? move_in(place, &copy->shape, copy->host, at, bytes, care)
			       : move_out(copy->host, &copy->shape, place, at, bytes, care);
}

CUresult stage_enqueue(const struct stage_copy *copy, size_t offset, void *host, size_t bytes)
{
	CUdeviceptr device = copy->device + offset;

	if (copy->to_device)
		return copy->per_thread
			       ? REAL(cuMemcpyHtoDAsync_v2_ptsz)(device, host, bytes, copy->stream)
			       : REAL(cuMemcpyHtoDAsync_v2)(device, host, bytes, copy->stream);
	return copy->per_thread ? REAL(cuMemcpyDtoHAsync_v2_ptsz)(host, device, bytes, copy->stream)
				: REAL(cuMemcpyDtoHAsync_v2)(host, device, bytes, copy->stream);
}

/* Its rows stand packed in the ring. */
static CUresult enqueue_box(const struct stage_copy *copy, void *place, const struct shape_box *box)
{
	CUdeviceptr device = copy->device + box->offset;
	CUDA_MEMCPY3D deep = { .WidthInBytes = box->width,
			       .Height = box->rows,
			       .Depth = box->slices };

	if (copy->to_device) {
		deep.srcMemoryType = CU_MEMORYTYPE_HOST;
		deep.srcHost = place;
		deep.srcPitch = box->width;
		deep.srcHeight = box->rows;
		deep.dstMemoryType = CU_MEMORYTYPE_DEVICE;
		deep.dstDevice = device;
		deep.dstPitch = box->side.pitch;
		deep.dstHeight = box->side.slice / box->side.pitch;
	} else {
		deep.srcMemoryType = CU_MEMORYTYPE_DEVICE;
		deep.srcDevice = device;
		deep.srcPitch = box->side.pitch;
		deep.srcHeight = box->side.slice / box->side.pitch;
		deep.dstMemoryType = CU_MEMORYTYPE_HOST;
		deep.dstHost = place;
		deep.dstPitch = box->width;
		deep.dstHeight = box->rows;
	}
	if (box->slices > 1)
		return copy->per_thread ? REAL(cuMemcpy3DAsync_v2_ptsz)(&deep, copy->stream)
					: REAL(cuMemcpy3DAsync_v2)(&deep, copy->stream);
	CUDA_MEMCPY2D flat = { .srcMemoryType = deep.srcMemoryType,
			       .srcHost = deep.srcHost,
			       .srcDevice = deep.srcDevice,
			       .srcPitch = deep.srcPitch,
			       .dstMemoryType = deep.dstMemoryType,
			       .dstHost = (void *)deep.dstHost,
			       .dstDevice = deep.dstDevice,
			       .dstPitch = deep.dstPitch,
			       .WidthInBytes = box->width,
			       .Height = box->rows };
	return copy->per_thread ? REAL(cuMemcpy2DAsync_v2_ptsz)(&flat, copy->stream)
				: REAL(cuMemcpy2DAsync_v2)(&flat, copy->stream);
}

static CUresult enqueue(const struct run *run, size_t index)
{
	const struct stage_copy *copy = run->copy;
	size_t at, bytes = bytes_of(run, index, &at);
	struct shape_box box = shape_device_box(&copy->shape, at, bytes);
	void *place = ring_memory(&run->share, run->piece, index);

	return box.rows == 1 && box.slices == 1 ? stage_enqueue(copy, box.offset, place, bytes)
						: enqueue_box(copy, place, &box);
}

static CUresult record(const struct run *run, size_t index)
{
	CUevent event = ring_event(&run->share, run->piece, index);

	return run->copy->per_thread ? REAL(cuEventRecord_ptsz)(event, run->copy->stream)
				     : REAL(cuEventRecord)(event, run->copy->stream);
}

/* Puts a piece on its stream.  False: the driver refused it or its event. */
static bool put(struct run *run, size_t index, bool with_event)
{
	if (enqueue(run, index) == CUDA_SUCCESS &&
	    (!with_event || record(run, index) == CUDA_SUCCESS))
		return true;
	run->failed = true;
	return false;
}

/* Has the device come past the piece? */
static bool has_passed(const struct run *run, size_t index)
{
	return !hp_keeps(staged_places_wait) ||
	       REAL(cuEventQuery)(ring_event(&run->share, run->piece, index)) == CUDA_SUCCESS;
}

static bool wait_for(struct run *run, size_t index)
{
	if (REAL(cuEventSynchronize)(ring_event(&run->share, run->piece, index)) == CUDA_SUCCESS)
		return true;
	run->failed = true;
	return false;
}

/*
 * After a failure: the device lets go of the ring.  An error of the whole context, too, means that
 * it does.
 */
static bool drain(const struct run *run)
{
	return (run->copy->per_thread
			? REAL(cuStreamSynchronize_ptsz)(run->copy->stream)
			: REAL(cuStreamSynchronize)(run->copy->stream)) == CUDA_SUCCESS;
}

/*
 * Should this thread move a piece now?  `wanted` is the piece that it cannot go on without.  While
 * it does the bus may run out of work, which only a small crew or short pieces make up for.
 */
static bool helps(const struct run *run, size_t wanted)
{
	return (run->copy->hands < 4 || run->piece <= SHORT_PIECE ||
		workers_next(run->job) <= wanted) &&
	       workers_help(run->job);
}

/*
 * Returns how many pieces have arrived on the device, or will by themselves.
 *
 * In the order of what keeps the bus busy: send what has been moved in; else make room, by asking
 * whether the oldest piece is through, or by waiting for it where all that may be moved has been
 * sent; else move a piece.
 */
static size_t send(struct run *run)
{
	size_t sent = 0, passed = 0, count = run->cut.count, limit = hp_least(run->room, count);

	workers_allow(run->job, limit);
	for (unsigned idle = 0; sent < count;) {
		bool reused = sent + run->room < count, last = sent + 1 == count;
		enum workers_state state =
			sent < limit ? workers_look(run->job, sent) : WORKERS_WAITING;

		if (state == WORKERS_REFUSED ||
		    (state == WORKERS_MOVED && !put(run, sent, reused || last)))
			return drain(run) ? sent : 0;
		if (state == WORKERS_MOVED) {
			sent++;
		} else if (passed < sent && limit < count &&
			   (has_passed(run, passed) || (sent == limit && wait_for(run, passed)))) {
			passed++;
			workers_allow(run->job, ++limit);
		} else if (run->failed) {
			drain(run);
			return 0;
		} else if (!helps(run, sent)) {
			workers_pause(idle++);
		}
	}
	run->left = run->copy->returns_early && run->room >= count &&
		    ring_leave(&run->share, ring_event(&run->share, run->piece, count - 1));
	if (run->left || !hp_keeps(staged_comes_back_done) || wait_for(run, count - 1))
		return count;
	drain(run);
	return 0;
}

/*
 * One piece: the driver waits for it in the call that copies it, or in one more, for less than an
 * event costs that is recorded and asked for.
 */
static size_t fetch_one(struct run *run)
{
	const struct stage_copy *copy = run->copy;
	char *place = ring_memory(&run->share, run->piece, 0);
	size_t bytes = shape_bytes(&copy->shape);
	CUresult result;

	if (copy->asynchronous) {
		result = stage_enqueue(copy, 0, place, bytes);
		if (!drain(run))
			return 0;
	} else {
		result = copy->per_thread ? REAL(cuMemcpyDtoH_v2_ptds)(place, copy->device, bytes)
					  : REAL(cuMemcpyDtoH_v2)(place, copy->device, bytes);
	}
	return result == CUDA_SUCCESS &&
	       move_out(copy->host, &copy->shape, place, 0, bytes, MOVE_OWN);
}

/*
 * Returns how many pieces have arrived in the program's memory.
 *
 * In the order of what keeps the bus busy: ask the device for all that there is room for; count
 * what has been moved out, which makes room; allow what has landed; else move a piece; and wait for
 * the device only where nothing of what has landed is left.
 */
static size_t fetch(struct run *run)
{
	size_t sent = 0, landed = 0, moved = 0, count = run->cut.count;

	if (shape_bytes(&run->copy->shape) >= COPY_CALLS_FROM)
		workers_call(run->job, count);
	for (unsigned idle = 0; moved < count;) {
		enum workers_state state =
			moved < landed ? workers_look(run->job, moved) : WORKERS_WAITING;

		if (state == WORKERS_REFUSED) {
			run->failed = true;
			break;
		}
		if (sent < count && sent < moved + run->room) {
			if (put(run, sent, true))
				sent++;
			else
				count = sent;
		} else if (state == WORKERS_MOVED) {
			moved++;
		} else if (landed < sent && landed < count && has_passed(run, landed)) {
			workers_allow(run->job, ++landed);
		} else if (helps(run, moved)) {
			continue;
		} else if (moved == landed && landed < sent) {
			if (wait_for(run, landed))
				workers_allow(run->job, ++landed);
			else
				count = landed;
		} else {
			workers_pause(idle++);
		}
	}
	if (run->failed)
		drain(run);
	return moved;
}

static bool begin(struct run *run)
{
	const struct stage_copy *copy = run->copy;
	CUcontext context = NULL;

	size_t bytes = shape_bytes(&copy->shape);
	run->piece = copy_piece(copy->to_device, bytes);
	run->cut = shape_cut(&copy->shape, run->piece);

	/* Pieces of rows fill their places in part. */
	size_t slots = (run->cut.count * run->piece + RING_SLOT_BYTES - 1) / RING_SLOT_BYTES;
	unsigned most = (unsigned)hp_least(slots, RING_SHARE_MOST);
	/* With less than 8 MiB a large copy would have to wait for every piece. */
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS ||
	    !ring_take(context, most < 4 ? most : 4, most, copy->never_waits, &run->share))
		return false;
	run->room = ring_room(&run->share, run->piece);
	return true;
}

/* How many bytes the first `pieces` have. */
static size_t bytes_before(const struct run *run, size_t pieces)
{
	size_t at = shape_bytes(&run->copy->shape);

	if (pieces < run->cut.count)
		bytes_of(run, pieces, &at);
	return at;
}

static size_t move_pieces(struct run *run)
{
	const struct stage_copy *copy = run->copy;
	struct workers_job own;

	run->job = workers_open(&own, run->cut.count > 1 ? copy->hands : 0, move, run);
	size_t pieces = copy->to_device ? send(run) : fetch(run);
	workers_close(run->job);
	return pieces;
}

size_t stage_run(const struct stage_copy *copy, bool *ret_under_way)
{
	_Atomic int kind = shape_bytes(&copy->shape) < ASKS_KIND_FROM ? KIND_OTHER : KIND_UNKNOWN;
	struct run run = { .copy = copy, .kind = &kind };
	size_t moved = 0;
	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	if (begin(&run)) {
		size_t pieces = stage_is_one_call(copy) ? fetch_one(&run) : move_pieces(&run);
		if (!run.left)
			ring_put(&run.share);
		moved = bytes_before(&run, pieces);
	}
	relaxed_end(&relaxed);
	if (copy->returns_early)
		*ret_under_way = run.left;
	errno = saved;
	return moved;
}
