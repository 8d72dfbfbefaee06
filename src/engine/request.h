/* One copy, as the wrapper of the program's call describes it.  Constant during the copy. */
#ifndef HP_ENGINE_REQUEST_H
#define HP_ENGINE_REQUEST_H

#include "real/real.h"
#include "stage/shape.h"
#include "trace/trace.h"

struct copy_request {
	enum trace_direction direction;
	bool asynchronous;
	bool per_thread;       /* a _ptds or _ptsz function: stream 0 is the thread's own */
	bool rows;             /* 2D or 3D: one call moves all of it, or staging memory does */
	CUstream stream;       /* of an asynchronous call */
	const void *host;      /* the host side; NULL: there is none, or it is not known */
	const void *other;     /* between two blocks of ours: the side that is not `host` */
	size_t bytes;          /* the number of bytes to move */
	size_t extent;         /* the bytes that the host side spans, gaps of rows included */
	size_t other_extent;   /* the same of `other` */
	CUdeviceptr far;       /* the first byte of the other side; 0: not known, or in an array */
	struct shape shape;    /* of the rows on the host; width 0: a run */
	bool gaps_there;       /* the other side's rows have gaps */
	CUdeviceptr device[2]; /* sides that can only be a device's memory; 0: none */
	uint64_t called_ns;    /* for the profile, else 0 */
	const void *frame;     /* of the exported function, for the profile */
};

/*
 * Fills in direction, host, far and other for a copy from `src` to `dst`, which can each be host or
 * device memory.  Asks the driver only for the profile, or if the copy could gain
 * (COPY_DIRECTION_LEAST).
 */
void request_between(struct copy_request *request, CUdeviceptr dst, CUdeviceptr src);

/* Returns the direction of a copy between sides in host or device memory. */
enum trace_direction request_direction(bool from_device, bool to_device);

/* True if `address` is in a device's memory.  Asks the driver (counted). */
bool request_is_on_device(CUdeviceptr address);

#endif
