/*
 * stage.c - moves a copy in pieces through staging memory.
 *
 * Upload: copy workers fill units of the area, and the calling thread enqueues them in order.
 * Download: the calling thread enqueues transfers into units, and copy workers empty them.  The
 * calling thread moves pieces, too, if that keeps the bus busy.  The calling thread can move all
 * pieces, so a copy without free workers only takes longer.
 *
 * The driver orders the copy with other work: pieces are enqueued on the stream of the program's
 * call, by the asynchronous function of the same flavor.
 */
#define _GNU_SOURCE
#include "stage/stage.h"
#include "base/bounds.h"
#include "base/protections.h"
#include "base/thread.h"
#include "real/relaxed.h"
#include "stage/area.h"
#include "stage/move.h"
#include "stage/workers.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIB         ((size_t)1 << 10)
#define MIB         ((size_t)1 << 20)

/* A thread moves so many bytes in some 20 us; the bus has enough other pieces for that time. */
#define SHORT_PIECE (256 * KIB)

/*
 * Downloads from this size on wake their workers at the start, not at the first piece: 64 MiB take
 * 1.83 ms instead of 2.12.  Smaller downloads gain nothing.
 */
#define CALL_FROM   (64 * MIB)

#define NODES_MOST  1024u /* the most that a kernel supports */
#define LONG_BITS   (8 * sizeof(unsigned long))

/*
 * The NUMA policy by which the kernel places pages that a thread touches first.  A copy worker that
 * touches the program's pages first takes the policy of the calling thread over, so that the pages
 * are placed as by the driver's copy in that thread.
 */
struct placement {
	bool is_known; /* false: the kernel does not say, or must not be asked */
	int mode;      /* set_mempolicy(2), with its flags */
	unsigned long nodes[NODES_MOST / LONG_BITS];
};

/* One copy while it runs.  Changed only by the calling thread; workers read it. */
struct run {
	const struct stage_copy *copy;
	struct area_hold hold;
	char *memory; /* in place of the hold, for all pieces at once; or NULL */
	struct workers_job *job;
	size_t bytes, piece; /* of the copy, and of a piece; the last piece may have fewer */
	size_t count, room;  /* how many pieces the copy has, and how many fit into the hold */
	bool failed;         /* the driver refused a call, or the program's memory cannot be used */
	_Atomic bool *refused;      /* a worker has found inaccessible memory; or NULL */
	enum move_check check;      /* of the program's memory, by workers */
	struct placement placement; /* of pages that a download touches first */
};

/* Below this size, checking each page costs less than asking for the kind of the mapping. */
#define ASKS_KIND_FROM MIB

/*
 * Fills in the policy of the calling thread.  Without one, the thread gets pages of the node of its
 * CPU; in a worker, the same takes a policy that prefers that node.
 */
static void placement_get(struct placement *ret)
{
	unsigned cpu, node;

	memset(ret, 0, sizeof(*ret));
	ret->is_known = syscall(SYS_get_mempolicy, &ret->mode, ret->nodes,
				(unsigned long)NODES_MOST, NULL, 0L) == 0;
	if (ret->mode != MPOL_DEFAULT && ret->mode != MPOL_LOCAL)
		return;
	ret->is_known = ret->is_known && getcpu(&cpu, &node) == 0 && node < NODES_MOST;
	if (!ret->is_known)
		return;
	ret->mode = MPOL_PREFERRED;
	ret->nodes[node / LONG_BITS] = 1ul << node % LONG_BITS;
}

static void placement_set(const struct placement *placement)
{
	if (placement->is_known)
		syscall(SYS_set_mempolicy, placement->mode, placement->nodes,
			(unsigned long)NODES_MOST);
}

/*
 * Returns how many bytes each piece of a copy has; the last may have fewer.  Small pieces start the
 * transfer early, large ones need fewer driver calls.
 */
static size_t piece_bytes(bool to_device, size_t bytes)
{
	if (bytes < MIB)
		return AREA_PIECE;
	if (bytes < 4 * MIB)
		return 256 * KIB;
	if (bytes < 16 * MIB)
		return to_device ? 512 * KIB : 256 * KIB;
	return to_device || bytes >= 64 * MIB ? MIB : 512 * KIB;
}

unsigned stage_workers(bool to_device, size_t bytes, bool untouched, unsigned workers)
{
	unsigned most = untouched || bytes >= (to_device ? 32 : 16) * MIB ? 8 : 4;

	return workers < most ? workers : most;
}

static size_t bytes_of(const struct run *run, size_t index)
{
	return hp_least(run->piece, run->bytes - index * run->piece);
}

/* Returns how copy workers must check the program's memory. */
static enum move_check check_for(const void *host, size_t extent, unsigned workers)
{
	return workers > 0 && extent >= ASKS_KIND_FROM && move_is_plain(host, extent)
		       ? MOVE_CHECK_PRESENT
		       : MOVE_CHECK_ACCESS;
}

static bool move(const void *arg, size_t index, bool owner)
{
	const struct run *run = arg;
	const struct stage_copy *copy = run->copy;
	size_t at = index * run->piece, bytes = bytes_of(run, index);
	char *memory =
		run->memory != NULL ? run->memory + at : area_memory(&run->hold, run->piece, index);
	enum move_check check = owner ? MOVE_UNCHECKED : run->check;

	if (!copy->to_device && !owner)
		placement_set(&run->placement);
	bool moved =
		move_bytes(copy->to_device, memory, &copy->shape, copy->host, at, bytes, check);
	if (!moved && run->refused != NULL)
		atomic_store(run->refused, true);
	return moved;
}

bool stage_is_one_call(const struct stage_copy *copy)
{
	size_t bytes = shape_bytes(&copy->shape);

	return !copy->to_device && bytes <= piece_bytes(false, bytes);
}

static CUresult enqueue(const struct run *run, size_t index)
{
	const struct stage_copy *copy = run->copy;
	CUdeviceptr device = copy->device + index * run->piece;
	void *memory = area_memory(&run->hold, run->piece, index);
	size_t bytes = bytes_of(run, index);

	if (copy->to_device)
		return REAL_ON(copy->per_thread, cuMemcpyHtoDAsync_v2)(device, memory, bytes,
								       copy->stream);
	return REAL_ON(copy->per_thread, cuMemcpyDtoHAsync_v2)(memory, device, bytes, copy->stream);
}

static CUresult record(const struct run *run, size_t index)
{
	CUevent event = area_event(&run->hold, run->piece, index);

	return REAL_ON(run->copy->per_thread, cuEventRecord)(event, run->copy->stream);
}

/* Enqueues a piece.  False: the driver refused the piece or its event. */
static bool put(struct run *run, size_t index, bool with_event)
{
	if (enqueue(run, index) == CUDA_SUCCESS &&
	    (!with_event || record(run, index) == CUDA_SUCCESS))
		return true;
	run->failed = true;
	return false;
}

/* True if the device is done with the piece. */
static bool has_passed(const struct run *run, size_t index)
{
	return !hp_keeps(staged_units_wait) ||
	       REAL(cuEventQuery)(area_event(&run->hold, run->piece, index)) == CUDA_SUCCESS;
}

static bool wait_for(struct run *run, size_t index)
{
	if (REAL(cuEventSynchronize)(area_event(&run->hold, run->piece, index)) == CUDA_SUCCESS)
		return true;
	run->failed = true;
	return false;
}

/*
 * After a failure: waits until the device no longer uses the hold.  After an error of the whole
 * context the device does not use it either.
 */
static bool drain(const struct run *run)
{
	return REAL_ON(run->copy->per_thread, cuStreamSynchronize)(run->copy->stream) ==
	       CUDA_SUCCESS;
}

/*
 * Moves a piece in this thread if that pays; `wanted` is the piece that this thread needs next.
 * Meanwhile the bus may become idle, so it pays only with few workers or short pieces.
 */
static bool helps(const struct run *run, size_t wanted)
{
	return (run->copy->workers < 4 || run->piece <= SHORT_PIECE ||
		workers_next(run->job) <= wanted) &&
	       workers_help(run->job);
}

/*
 * Uploads the pieces.  Returns how many are on the device, or will be without further calls.
 *
 * To keep the bus busy, each turn does the first of these that is possible: enqueue a piece that
 * was moved; make room by polling the oldest piece, or by waiting for it if no other piece is left
 * to enqueue; move a piece.
 */
static size_t send(struct run *run)
{
	size_t sent = 0, passed = 0, count = run->count, limit = hp_least(run->room, count);

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
	if (!hp_keeps(staged_returns_complete) || wait_for(run, count - 1))
		return count;
	drain(run);
	return 0;
}

/*
 * Downloads a copy of one piece.  Waits for the stream, in the same call or in one more, which
 * costs less than an event.  Returns the number of pieces that have arrived.
 */
static size_t fetch_one(struct run *run)
{
	const struct stage_copy *copy = run->copy;
	char *memory = area_memory(&run->hold, run->piece, 0);
	CUresult result;

	if (copy->asynchronous) {
		result = enqueue(run, 0);
		if (!drain(run))
			return 0;
	} else {
		result = REAL_ON(copy->per_thread, cuMemcpyDtoH_v2)(memory, copy->device,
								    run->bytes);
	}
	return result == CUDA_SUCCESS &&
	       move_bytes(false, memory, &copy->shape, copy->host, 0, run->bytes, MOVE_UNCHECKED);
}

/*
 * Downloads the pieces.  Returns how many are in the program's memory.
 *
 * To keep the bus busy, each turn does the first of these that is possible: enqueue a piece while
 * there is room; count a piece that was moved, which makes room; let workers move a piece whose
 * transfer is complete; move a piece; wait for the device.
 */
static size_t fetch(struct run *run)
{
	size_t sent = 0, landed = 0, moved = 0, count = run->count;

	if (run->bytes >= CALL_FROM)
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

static void cut(struct run *run)
{
	run->bytes = shape_bytes(&run->copy->shape);
	run->piece = piece_bytes(run->copy->to_device, run->bytes);
	run->count = (run->bytes + run->piece - 1) / run->piece;
}

static bool begin(struct run *run)
{
	cut(run);
	size_t units = (run->bytes + AREA_UNIT - 1) / AREA_UNIT;
	unsigned most = (unsigned)hp_least(units, AREA_SHARE_MOST);
	/* A large copy with units of less than 8 MiB would wait for every piece. */
	if (!area_take(most < 4 ? most : 4, most, &run->hold))
		return false;
	run->room = area_room(&run->hold, run->piece);
	return true;
}

static size_t move_pieces(struct run *run)
{
	const struct stage_copy *copy = run->copy;
	unsigned workers = run->count > 1 ? copy->workers : 0;
	struct workers_job own;

	run->check = check_for(copy->host, shape_extent(&copy->shape), workers);
	if (!copy->to_device && workers > 0)
		placement_get(&run->placement);
	run->job = workers_open(&own, workers, move, run);
	size_t pieces = copy->to_device ? send(run) : fetch(run);
	workers_close(run->job);
	return pieces;
}

size_t stage_run(const struct stage_copy *copy)
{
	struct run run = { .copy = copy };
	size_t moved = 0;
	int saved = errno;
	/* Workers would go on with the job of a canceled thread, and its units would be lost. */
	hp_uncancellable_begin();
	struct relaxed relaxed = relaxed_begin();
	if (begin(&run)) {
		size_t pieces = stage_is_one_call(copy) ? fetch_one(&run) : move_pieces(&run);
		area_put(&run.hold);
		moved = hp_least(run.bytes, pieces * run.piece);
	}
	relaxed_end(&relaxed);
	hp_uncancellable_end();
	errno = saved;
	return moved;
}

void stage_fill(void *staging, const void *host, size_t bytes, unsigned workers)
{
	const struct stage_copy copy = { .to_device = true,
					 .host = (void *)host,
					 .shape = shape_of_run(bytes) };
	_Atomic bool refused = false;
	int saved = errno;
	struct run run = { .copy = &copy,
			   .memory = staging,
			   .check = check_for(host, bytes, workers),
			   .refused = &refused };
	struct workers_job own, *job;

	cut(&run);
	job = workers_open(&own, workers, move, &run);
	workers_allow(job, run.count);
	while (workers_help(job))
		continue;
	workers_close(job);
	if (atomic_load(&refused))
		memcpy(staging, host, bytes);
	errno = saved;
}
