/*
 * One copy between pageable memory and the device, through the ring.
 *
 * When stage_run() returns the source is free, or the data is there, and nothing of it is left on
 * the device's streams; but for a copy that may return early.
 */
#ifndef HP_COPY_STAGE_H
#define HP_COPY_STAGE_H

#include "copy/shape.h"
#include "real/real.h"

struct stage_copy {
	bool to_device;
	bool asynchronous;  /* `stream` is what the program named */
	bool per_thread;    /* a _ptds or _ptsz function: stream 0 is the thread's own */
	CUstream stream;    /* NULL for a synchronous copy */
	CUdeviceptr device; /* first byte, on both sides */
	void *host;
	struct shape shape;
	unsigned hands; /* threads of the crew that may help */
	/* To the device: it may be on its way when stage_run() returns, with the source free. */
	bool returns_early;
	bool never_waits; /* such a one, and not begun where it could not be left on its way */
};

/*
 * May it be staged?  Asks the driver (counted): the current context is the stream's, the whole
 * device side is one allocation of that context and not managed memory, the host side is neither
 * pinned, managed nor on a device.  What is wrong with a copy's arguments is thereby left to the
 * driver's own call.
 */
bool stage_is_possible(const struct stage_copy *copy);

/*
 * May it be cut into calls on its stream?  As above but for the host side, which is known to be
 * ours.
 */
bool stage_may_cut(const struct stage_copy *copy);

/*
 * Is it to the host, and one call of the driver's, which finds out itself what is wrong with it?
 * No call into the driver.
 */
bool stage_is_one_call(const struct stage_copy *copy);

/*
 * Does the device side not go beyond memory that the driver has given out, whosever it is?  Asks
 * the driver (counted).  A copy that does is refused as a whole.
 */
bool stage_fits(const struct stage_copy *copy);

/*
 * Enqueues `bytes` of it from `offset` on, whose host side stands at `host`, in the order that the
 * program's own call has.
 */
CUresult stage_enqueue(const struct stage_copy *copy, size_t offset, void *host, size_t bytes);

/*
 * Has this thread lately found `host` in memory that the driver knows?  No call into the driver.
 * That memory may be gone, which makes a copy slow, not wrong.
 */
bool stage_was_registered(const void *host);

/*
 * Moves it, in order with other work as the driver's function would.  Returns how many
 * bytes, from the beginning, have been moved: all of them, or fewer where no slots are free or the
 * driver refuses something.  The driver's own function does the rest then, and says what is wrong.
 *
 * *ret_under_way, where the copy may return early, says whether it has: all has been enqueued, the
 * last piece was not waited for.  Not where it does not fit into half of the ring at once.  NULL
 * will do for others.
 *
 * No capture may live.  Where the host side cannot be read, or written, the signal comes in the
 * calling thread, here or in the driver's function.
 */
size_t stage_run(const struct stage_copy *copy, bool *ret_under_way);

/*
 * Is the memory untouched, as far as a few samples of it show?  Some system calls; errno is kept.
 */
bool stage_is_untouched(const void *address, size_t bytes);

#endif
