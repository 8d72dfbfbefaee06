/*
 * One copy between pageable memory and the device, through staging memory.
 *
 * When stage_run() returns, the source may be overwritten, or the destination has its data, and no
 * work of the copy is left on a stream.  Copies that may return early are the exception.
 */
#ifndef HP_STAGE_STAGE_H
#define HP_STAGE_STAGE_H

#include "real/real.h"
#include "stage/shape.h"

struct stage_copy {
	bool to_device;
	bool asynchronous;  /* `stream` is what the program named */
	bool per_thread;    /* a _ptds or _ptsz function: stream 0 is the thread's own */
	CUstream stream;    /* NULL for a synchronous copy */
	CUdeviceptr device; /* first byte, on both sides */
	void *host;
	struct shape shape;
	unsigned workers;   /* copy workers that may help */
	bool returns_early; /* an upload that may be in flight when stage_run() returns */
	bool never_waits;   /* likewise, and not begun where it could not be left in flight */
};

/*
 * Enqueues `bytes` of the copy from `offset` on, whose host side lies at `host`, on the stream of
 * the program's own call.
 */
CUresult stage_enqueue(const struct stage_copy *copy, size_t offset, void *host, size_t bytes);

/*
 * Carries the copy out, in order with other work as the driver's function would.  Returns how many
 * bytes, from the beginning, have been moved: all, or fewer where too few units are free or the
 * driver refuses a call.  The driver's own function then does the rest and reports what is wrong.
 *
 * *ret_in_flight says whether a copy that may return early is in flight: all is enqueued, and
 * nothing waited for the last piece.  Such a copy fits into half of the large region at once.  For
 * other copies NULL will do.
 *
 * No capture may live.  Where the host side cannot be read or written, the calling thread takes the
 * signal, here or in the driver's function.
 */
size_t stage_run(const struct stage_copy *copy, bool *ret_in_flight);

#endif
