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
#include "base/counters.h"
#include "base/parse.h"
#include "copy/plan.h"
#include "copy/relaxed.h"
#include "copy/ring.h"
#include "copy/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Moved in some 20 us: the bus has that much work in hand. */
#define SHORT_PIECE ((size_t)256 << 10)

struct run {
	const struct stage_copy *copy;
	struct ring_share share;
	struct workers_job *job;
	size_t piece, count, room; /* bytes of one, how many, how many at once */
	bool failed;               /* the driver refused something */
};

static bool is_a_stream(CUstream stream)
{
	return stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

static bool stream_is_of(const struct stage_copy *copy, CUcontext context)
{
	CUcontext of = NULL;

	if (!copy->asynchronous || !is_a_stream(copy->stream))
		return true;
	if (!REAL_HAS(cuStreamGetCtx))
		return false;
	return REAL(cuStreamGetCtx)(copy->stream, &of) == CUDA_SUCCESS && of == context;
}

/* One allocation that lies wholly on the device, of this context (pools name none). */
static bool is_device_memory(const struct stage_copy *copy, CUcontext context)
{
	CUmemorytype type = 0;
	CUcontext of = NULL;
	unsigned managed = 0; /* a bool is written, in one byte or in four */
	CUdeviceptr base = 0;
	size_t bytes = 0;
	CUpointer_attribute names[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	void *values[] = { &type, &of, &managed, &base, &bytes };

	hp_count(asked_pointer);
	return REAL(cuPointerGetAttributes)(HP_LEN(names), names, values, copy->device) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE && managed == 0 && (of == NULL || of == context) &&
	       copy->device >= base && copy->device - base <= bytes &&
	       copy->bytes <= bytes - (copy->device - base);
}

/*
 * Ranges of host memory that the driver knows.  Asking for each copy would cost as much as the
 * driver takes to enqueue one.
 */
static __thread struct known {
	uintptr_t base;
	size_t bytes;
	unsigned uses;
} known[4] __attribute__((tls_model("initial-exec")));

#define USES_MOST 256 /* then it is asked again */

bool stage_was_registered(const void *host)
{
	for (size_t i = 0; i < HP_LEN(known); i++)
		if ((uintptr_t)host - known[i].base < known[i].bytes && ++known[i].uses < USES_MOST)
			return true;
	return false;
}

static void remember(uintptr_t base, size_t bytes)
{
	struct known *oldest = &known[0];

	for (size_t i = 0; i < HP_LEN(known); i++) {
		if (known[i].base == base)
			known[i].bytes = 0;
		if (known[i].bytes == 0 || (oldest->bytes != 0 && known[i].uses > oldest->uses))
			oldest = &known[i];
	}
	*oldest = (struct known){ base, bytes, 0 };
}

static bool is_registered(const void *host)
{
	CUmemorytype type = 0;
	CUdeviceptr base = 0;
	size_t bytes = 0;
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
					CU_POINTER_ATTRIBUTE_RANGE_SIZE };
	void *values[] = { &type, &base, &bytes };

	hp_count(asked_pointer);
	if (REAL(cuPointerGetAttributes)(HP_LEN(names), names, values, (CUdeviceptr)host) !=
	    CUDA_SUCCESS)
		return true;
	if (type != 0)
		remember(base, bytes);
	return type != 0;
}

bool stage_is_possible(const struct stage_copy *copy)
{
	CUcontext context = NULL;

	if ((uintptr_t)copy->host + copy->bytes < (uintptr_t)copy->host ||
	    REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	return !is_registered(copy->host) && stream_is_of(copy, context) &&
	       is_device_memory(copy, context);
}

bool stage_is_untouched(const void *address, size_t bytes)
{
	enum { SAMPLES = 4 };
	int saved = errno;
	bool untouched = true;

	/* Neither the first page nor the last, where a neighbour or an allocator may have been. */
	for (size_t i = 1; i <= SAMPLES && untouched; i++) {
		uintptr_t at = ((uintptr_t)address + bytes / (SAMPLES + 1) * i) & -(uintptr_t)4096;
		unsigned char there = 1;

		untouched = syscall(SYS_mincore, at, 1, &there) == 0 && (there & 1) == 0;
	}
	errno = saved;
	return untouched;
}

/* The destination is written with what it holds, atomically: others may be writing there. */
static void touch(const struct stage_copy *copy)
{
	unsigned char *first = copy->host, *last = first + copy->bytes - 1;

	if (copy->to_device) {
		(void)*(volatile unsigned char *)first;
		(void)*(volatile unsigned char *)last;
	} else {
		__atomic_fetch_or(first, 0, __ATOMIC_RELAXED);
		__atomic_fetch_or(last, 0, __ATOMIC_RELAXED);
	}
}

static size_t bytes_of(const struct run *run, size_t index)
{
	size_t left = run->copy->bytes - index * run->piece;

	return left < run->piece ? left : run->piece;
}

static struct workers_piece piece_at(const void *arg, size_t index)
{
	const struct run *run = arg;
	char *host = (char *)run->copy->host + index * run->piece;
	char *place = ring_memory(&run->share, run->piece, index);

	return (struct workers_piece){ .to = run->copy->to_device ? place : host,
				       .from = run->copy->to_device ? host : place,
				       .bytes = bytes_of(run, index) };
}

static CUresult enqueue(const struct run *run, size_t index)
{
	const struct stage_copy *copy = run->copy;
	void *place = ring_memory(&run->share, run->piece, index);
	CUdeviceptr device = copy->device + index * run->piece;
	size_t bytes = bytes_of(run, index);

	if (copy->to_device)
		return copy->per_thread
			       ? REAL(cuMemcpyHtoDAsync_v2_ptsz)(device, place, bytes, copy->stream)
			       : REAL(cuMemcpyHtoDAsync_v2)(device, place, bytes, copy->stream);
	return copy->per_thread
		       ? REAL(cuMemcpyDtoHAsync_v2_ptsz)(place, device, bytes, copy->stream)
		       : REAL(cuMemcpyDtoHAsync_v2)(place, device, bytes, copy->stream);
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
	return REAL(cuEventQuery)(ring_event(&run->share, run->piece, index)) == CUDA_SUCCESS;
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

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
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

/* Returns how many pieces have arrived on the device. */
static size_t send(struct run *run)
{
	size_t sent = 0, passed = 0, limit = least(run->room, run->count);

	workers_allow(run->job, limit);
	for (unsigned idle = 0; sent < run->count;) {
		bool reused = sent + run->room < run->count, last = sent + 1 == run->count;

		if (sent < limit && workers_is_done(run->job, sent)) {
			if (!put(run, sent, reused || last))
				return drain(run) ? sent : 0;
			sent++;
		} else if (passed < sent && limit < run->count &&
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
	if (wait_for(run, run->count - 1))
		return run->count;
	drain(run);
	return 0;
}

/* Returns how many pieces have arrived in the program's memory. */
static size_t fetch(struct run *run)
{
	size_t sent = 0, landed = 0, moved = 0, count = run->count;

	for (unsigned idle = 0; moved < count;) {
		if (sent < count && sent < moved + run->room) {
			if (put(run, sent, true))
				sent++;
			else
				count = sent;
		} else if (moved < landed && workers_is_done(run->job, moved)) {
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

	run->piece = copy_piece(copy->to_device, copy->bytes);
	run->count = (copy->bytes + run->piece - 1) / run->piece;

	size_t slots = (copy->bytes + RING_SLOT_BYTES - 1) / RING_SLOT_BYTES;
	unsigned most = (unsigned)least(slots, RING_SHARE_MOST);
	/* With less than 8 MiB a large copy would have to wait for every piece. */
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS ||
	    !ring_take(context, most < 4 ? most : 4, most, &run->share))
		return false;
	run->room = ring_room(&run->share, run->piece);
	return true;
}

size_t stage_run(const struct stage_copy *copy)
{
	struct run run = { .copy = copy };
	struct workers_job own;
	size_t moved = 0;
	int saved = errno, cancellable;

	touch(copy);
	/* A thread that ended in here would leave the crew writing into its memory. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
	struct relaxed relaxed = relaxed_begin();
	if (begin(&run)) {
		run.job = workers_open(&own, run.count > 1 ? copy->hands : 0, piece_at, &run);
		size_t pieces = copy->to_device ? send(&run) : fetch(&run);
		workers_close(run.job);
		ring_put(&run.share);
		moved = least(pieces * run.piece, copy->bytes);
	}
	relaxed_end(&relaxed);
	pthread_setcancelstate(cancellable, NULL);
	errno = saved;
	return moved;
}
