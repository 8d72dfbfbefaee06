/*
 * The steps that every copy wrapper shares: look at the call, choose a route, run the driver's
 * function once or in pieces, keep pageable memory's promises, report.
 *
 *	struct shim_copy copy = { .direction = TRACE_H2D, .host = src, .bytes = n };
 *	shim_enter(REAL_ROW_x);
 *	shim_copy_begin(&copy);
 *	while (shim_copy_next(&copy))
 *		copy.result = REAL(x)(dst + copy.done, copy.from, copy.now);
 *	return shim_copy_end(&copy);
 */
#ifndef HP_SHIM_COPY_H
#define HP_SHIM_COPY_H

#include "base/clock.h"
#include "base/protections.h"
#include "copy/bounce.h"
#include "copy/plan.h"
#include "copy/pocket.h"
#include "copy/shape.h"
#include "defer/ledger.h"
#include "host/block.h"
#include "host/heap.h"
#include "host/pin.h"
#include "shim/shim.h"
#include "trace/trace.h"

struct shim_copy {
	/* The call, as the wrapper knows it. */
	enum trace_direction direction;
	bool asynchronous;
	bool per_thread;    /* a _ptds or _ptsz function: stream 0 is the thread's own */
	bool rows;          /* 2D or 3D: cannot be cut into pieces, or only by the ring */
	CUstream stream;    /* of an asynchronous call */
	const void *host;   /* the host side; NULL: none that is ours */
	size_t bytes;       /* that are moved */
	size_t extent;      /* from the first byte on the host side to the last; 0: bytes */
	CUdeviceptr far;    /* the other side's first byte, if the ring may be used; 0: device[0] */
	struct shape shape; /* of host and far; width 0: a run */
	CUarray array;      /* the other side of a run, if it is one, and the byte in it */
	size_t array_at;
	CUdeviceptr device[2];  /* sides that can only be a device's memory; 0: none */
	CUdeviceptr refused[2]; /* by shim_refuse_promoted(), until the copy ends; 0: none */
	const void *other; /* of a run between two blocks of ours: the side that is not `host` */

	/* The piece to run now. */
	const void *from; /* the host side of the piece (its source may stand elsewhere) */
	size_t done, now; /* bytes before it, and of it */
	CUresult result;  /* what the driver answered, written by the wrapper */

	/* Between the steps. */
	enum copy_route route;
	enum copy_route fallback; /* copy_plan_fallback() */
	enum copy_place place;
	bool captured, retried, in_use;
	bool taken_in;  /* counted in the block's */
	bool staged;    /* at least begun */
	bool under_way; /* it has come back early */
	bool cut;       /* into several calls */
	bool pinned_meanwhile;
	struct block *block;
	struct pin_pieces pieces; /* of it, if this copy pins them */
	uint64_t ticket;          /* of trace_cutting(), if it is cut, or trace_staging() */
	uint64_t called_ns;       /* for the profile, else 0 */
	uint64_t enter_ns;        /* when all was chosen and pinned, for pin_after_copy(), else 0 */
	const void *frame;        /* of the exported function, for the profile */
	struct bounce bounce;     /* where a bounced source stands, if it has memory, or */
	struct pocket_hold pocket; /* this, likewise */
	size_t pocketed;           /* bytes that stand, or stood, there */

	/* Of copies that come back early: the lane of this one, or of what it waits for. */
	struct ledger_lane *lane;
	ledger_word lane_word;
};

/* From the first byte of the host side to the last, gaps included. */
static inline size_t shim_copy_extent(const struct shim_copy *copy)
{
	return copy->extent != 0 ? copy->extent : copy->bytes;
}

/* Bytes of an element of an array, and of the row that a run lies in; 0: not known. */
size_t shim_array_element(CUarray array);
size_t shim_array_row(CUarray array);

/*
 * Captures that live (shim/capture.c): while there is one, copies are asked whether they are in
 * it.
 */
extern _Atomic int shim_captures;

/* Then nothing is staged, sent in pieces or deferred. */
static inline bool shim_somebody_captures(void)
{
	return atomic_load(&shim_captures) != 0 && hp_keeps(plain_beside_captures);
}

/*
 * Do copies that we have no part in pass with nothing done but counted?  Where no profile is asked
 * for and no route is forced; from the first cuInit() on.
 */
extern _Atomic bool shim_copies_pass;

/*
 * Has nobody of us a part in a run of `bytes` between `host` and `device`?  What follows costs most
 * where a program comes by only now and then, and finds all that is ours out of the caches: here
 * are a few lines of them, in struct shim_copy and behind it some forty.
 */
static inline bool shim_copy_passes(bool to_device, const void *host, CUdeviceptr device,
				    size_t bytes)
{
	return atomic_load_explicit(&shim_gate, memory_order_relaxed) == 0 &&
	       atomic_load_explicit(&shim_copies_pass, memory_order_relaxed) &&
	       atomic_load_explicit(&shim_captures, memory_order_relaxed) == 0 &&
	       bytes < copy_stage_least(to_device) && !heap_owns(host) &&
	       !heap_owns((const void *)device);
}

/*
 * Chooses the route.  Nothing but a few loads where no block of ours is named, the copy can neither
 * gain by the ring (COPY_STAGE_LEAST) nor come back early, and no profile is asked for.
 */
void shim_copy_begin(struct shim_copy *copy);

/*
 * A synchronous D2H has been moved: it ends after all work, but that of unordered streams where it
 * was on the legacy stream, so the device may be idle.
 */
static inline void shim_copy_showed_idle(bool per_thread)
{
	if (!per_thread && !atomic_load_explicit(&shim_unordered_streams, memory_order_relaxed))
		shim_device_quiet();
}

/* True: run the driver's function for the piece. */
bool shim_copy_next(struct shim_copy *copy);

/* Waits where the program was promised it; returns what the wrapper returns. */
CUresult shim_copy_end(struct shim_copy *copy);

/*
 * The whole life of `copy`: `call` is the driver's argument list, run for each piece.  The program
 * waits for what the gate settles, and for what is pinned and unpinned, too.
 */
#define SHIM_COPY_RUN(name, call)                                                     \
	copy.called_ns = trace_active() ? hp_now_ns() : 0;                            \
	shim_enter_on(REAL_ROW_##name, copy.bytes != 0 ? copy.stream : SHIM_NO_WORK); \
	copy.frame = __builtin_frame_address(0);                                      \
	shim_copy_begin(&copy);                                                       \
	while (shim_copy_next(&copy))                                                 \
		copy.result = REAL(name) call;                                        \
	return shim_copy_end(&copy)

/*
 * Fills in direction, host and far for a copy between two addresses that can each be host or
 * device.  Asks the driver only where the profile wants to know, or the ring could be of use
 * (COPY_ASK_DIRECTION).
 */
void shim_copy_between(struct shim_copy *copy, CUdeviceptr dst, CUdeviceptr src);

/* Did the capture that the stream takes part in begin on it?  False: perhaps, where many live. */
bool shim_capture_began_on(CUstream stream);

/* One that began on `stream` has ended. */
void shim_capture_ended(CUstream stream);

/*
 * May the ring be used for `copy`?  Then says so in `facts`, with the number of copy threads; else
 * leaves them as they are.  Makes ring and threads where they have become worth it.
 */
void shim_stage_look(const struct shim_copy *copy, struct copy_facts *facts);

/* The same, for a copy into memory that could be pinned instead: is it untouched, too? */
bool shim_stage_wins(const struct shim_copy *copy, struct copy_facts *facts);

/*
 * May the ring be used for `copy`, which is behind other work and would come back once the ring has
 * it?  `pinned`: its source is a promoted block.  Makes the ring once that has become worth it.
 */
bool shim_stage_early(const struct shim_copy *copy, bool pinned);

/*
 * May the ring carry `copy`, rows of a block in several registrations, which no call of the
 * driver's may name at once?  Makes the ring: there is no better way.
 */
bool shim_stage_across(const struct shim_copy *copy);

/*
 * Moves as much of it through the ring as can be; returns how many bytes, and whether the last of
 * them are still on their way.
 */
size_t shim_stage_run(const struct shim_copy *copy, bool *ret_under_way);

/*
 * Around what enqueues work of ours on the program's streams; a section without cancellation.
 * False: a capture lives, and nothing may be enqueued.  shim_stage_leave() follows in any case.
 */
bool shim_stage_enter(void);
void shim_stage_leave(void);

/*
 * Takes a place of the pocket for `copy`, which is small and about to be enqueued.  True: between
 * here and shim_pocket_end() no capture begins.
 */
bool shim_pocket_take(struct shim_copy *copy);

/* `sent`: a copy out of it has been enqueued, as the last thing on its stream. */
void shim_pocket_end(struct shim_copy *copy, bool sent);

/* The copy as the ring and its neighbours want it. */
struct stage_copy shim_stage_describe(const struct shim_copy *copy);

/* May `copy` be cut, and its pieces be enqueued?  Asks the driver. */
bool shim_may_send(const struct shim_copy *copy);

/*
 * Enqueues the pieces of a copy of a block in several registrations, all but the last, and makes
 * those registrations if copy->pieces wants it.  What is left, and by which route, is in `copy`.
 */
void shim_send(struct shim_copy *copy);

/* A capture is about to begin, counted already: no staged copy is under way on return. */
void shim_stage_settle(void);

/* Waits for a stream on our own account, without harm to other threads' captures.  Counted. */
CUresult shim_stream_wait(CUstream stream, bool per_thread);

/* What we pinned of [address, address + bytes) is given up: it may be pinned again later. */
void shim_unpin(const void *address, size_t bytes);

/* Has the copy's stream not finished what it was given?  One call into the driver; counted. */
bool shim_copy_behind_work(const struct shim_copy *copy);

/* What shim_refuse_promoted() does for memory that may be ours. */
bool shim_refuse(CUdeviceptr address);
/* The driver has answered. */
void shim_refused(CUdeviceptr address);

/*
 * `address` is about to be named as a device's memory.  A promoted block would pass for that;
 * pageable memory is refused, so it is given up first.  One compare for all other addresses.
 * True: nobody pins it before shim_refused(), which must follow.
 */
static inline bool shim_refuse_promoted(CUdeviceptr address)
{
	return __builtin_expect(heap_owns((const void *)address), 0) &&
	       hp_keeps(no_device_memory) && shim_refuse(address);
}

/* Is work on `stream` being captured?  True also where the driver cannot say. */
bool shim_stream_captures(CUstream stream, bool per_thread);

#endif
