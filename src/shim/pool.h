/*
 * What carries uploads across the bus before the program's own stream is ready for them: a stream
 * of ours, and memory of the device's that they wait in.
 */
#ifndef HP_SHIM_POOL_H
#define HP_SHIM_POOL_H

#include "defer/scratch.h"
#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>

/* One a context.  Whoever has taken it may use the rest; nobody waits for it. */
struct pool {
	_Atomic bool taken;
	CUcontext _Atomic context; /* NULL: free */
	bool refused;              /* the driver gave it no memory: not asked again */
	CUstream stream;           /* of its own: not ordered with any other */
	CUdeviceptr memory;        /* 0: not yet */
	struct scratch scratch;
	CUevent done[SCRATCH_PARTS]; /* comes when the part is free again */
	bool used[SCRATCH_PARTS];
};

/* Of the current context, `context`, or NULL.  To be given back. */
struct pool *pool_take(CUcontext context);
void pool_give_back(struct pool *pool);

/* Its stream, and its memory where that is wanted. */
bool pool_fill(struct pool *pool);

/* What has gone out of the scratch memory leaves room. */
void pool_sweep(struct pool *pool);

/* A context is gone, and what we had on its device. */
void pool_context_gone(CUcontext context);

#endif
