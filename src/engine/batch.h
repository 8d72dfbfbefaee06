/*
 * A call that carries out several copies.
 *
 * The call waits as a whole if it touches a pinned block.  A block is unpinned if the batch goes
 * into a graph, or if a copy extends beyond the block.
 *
 * Sources that must be read before the call returns are not copied to bounce buffers, unlike those
 * of single uploads: the driver returns at once, and is assumed to read the sources later
 * (doc/measurements.md#batch-source).
 */
#ifndef HP_ENGINE_BATCH_H
#define HP_ENGINE_BATCH_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch {
	bool per_thread, captured, pinned;
	bool held;    /* unpin_release() follows */
	bool unpins;  /* the block below must be unpinned; another thread has not taken it */
	bool refused; /* the driver did not unregister such a block */
	struct block *outside; /* a block that the batch could not enter, or NULL */
	CUstream stream;
	/* For the profile: the copies share the duration of the call evenly. */
	const void *frame;
	uint64_t enter_ns, each_ns;
};

/* Called when the call has passed the gate.  batch_end() must follow in the same thread. */
struct batch batch_begin(CUstream stream, bool per_thread, const void *frame);

/*
 * Enters the blocks of a side, unless the batch could not enter an earlier one.
 * batch_enters_again() follows, which unpins a block if the copy crosses an end of it, or is
 * captured: true if all sides must be entered once more.
 */
void batch_enter_side(struct batch *batch, const void *address, size_t extent);
bool batch_enters_again(struct batch *batch);

/*
 * Report a call that succeeded, with `count` > 0 copies.  batch_report_copy() follows for each
 * copy.
 */
void batch_report_begin(struct batch *batch, size_t count);
void batch_report_copy(struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes);

/* Waits if the batch touches a pinned block.  Returns what the call returns. */
CUresult batch_end(const struct batch *batch, CUresult result);

#endif
