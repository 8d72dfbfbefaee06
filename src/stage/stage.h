/*
 * One copy between pageable memory and the device, through staging memory.
 *
 * When stage_run() returns, the program may overwrite the source or read the destination, and no
 * work of the copy is left on a stream.
 */
#ifndef HP_STAGE_STAGE_H
#define HP_STAGE_STAGE_H

#include "real/real.h"
#include "stage/shape.h"

struct stage_copy {
	bool to_device;
	bool asynchronous;  /* the program's call named `stream` */
	bool per_thread;    /* a _ptds or _ptsz function: stream 0 is the thread's own */
	CUstream stream;    /* NULL for a synchronous copy */
	CUdeviceptr device; /* the first byte on the device; `host` is that on the host */
	void *host;
	bool host_is_taken; /* another thread may register it now: the driver is not asked about it
			     */
	struct shape shape;
	unsigned workers; /* copy workers that may help */
};

/*
 * Returns how many of `workers` a copy can use; further ones would only wait for the bus.  The
 * numbers are the fastest ones on an H200; doc/measurements.md#borders lists the medians.
 */
unsigned stage_workers(bool to_device, size_t bytes, bool untouched, unsigned workers);

/*
 * True if one driver call carries out the copy, a download, and reports its errors.  Calls no
 * driver function.
 */
bool stage_is_one_call(const struct stage_copy *copy);

/*
 * Carries out the copy, ordered with other work like the driver's own function.  Returns how many
 * bytes, from the beginning, were moved: fewer than all if too few units are free or the driver
 * refuses a call.  The driver's own function then moves the rest and reports the error.
 *
 * No capture may be active.  If host memory is inaccessible, the calling thread takes the signal,
 * here or in the driver's function.
 */
size_t stage_run(const struct stage_copy *copy);

/*
 * Copies `bytes` at `host` into staging memory, with up to `workers` copy workers.  If the memory
 * at `host` is inaccessible, the calling thread takes the signal.
 */
void stage_fill(void *staging, const void *host, size_t bytes, unsigned workers);

#endif
