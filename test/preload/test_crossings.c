/*
 * test_crossings.c - rows of copies (copies.h) that cross boundaries: out of a pinned block, or
 * into one.
 */
#include "copies.h"

#define REFUSED .code = CUDA_ERROR_INVALID_VALUE, .may_unpin = true

/*
 * Across the boundary between two blocks.  The driver refuses a range that is partly pinned,
 * although to the program all of it is one pageable range.  The block is unpinned, and the call is
 * repeated.
 */
#define RUN_ACROSS                                                                \
	.calls = COPY_RUNS, .sizes = { 16, 64 * KIB, 64 * KIB + 512, COPY_ROOM }, \
	.streams = 1 << COPY_NON_BLOCKING | 1 << COPY_NULL, .may_unpin = true
COPIES(runs_out_of_a_pinned_block, .memory = COPY_LEAVING, RUN_ACROSS)
COPIES(runs_into_a_pinned_block, .memory = COPY_ENTERING, RUN_ACROSS)
COPIES(runs_across_two_pinned_blocks, .memory = COPY_ACROSS, RUN_ACROSS)
COPIES(runs_between_blocks, .memory = COPY_BETWEEN, RUN_ACROSS)
COPIES(runs_into_what_the_program_registered, .calls = COPY_RUNS, .memory = COPY_LEAVING_FOR_OWN,
       .sizes = { 2000, MIB }, .work = COPY_BUSY, .may_unpin = true)
COPIES(runs_behind_work, .calls = COPY_RUNS, .memory = COPY_ACROSS,
       .sizes = { 64 * KIB, COPY_ROOM }, .work = COPY_BUSY, .may_unpin = true)

/* The driver stages such uploads, and returns while the kernel waits for the host. */
#define BEHIND_A_KERNEL                                                                            \
	.calls = "cuMemcpyHtoDAsync_v2*", .sizes = { 16, 8239, 64 * KIB, MIB }, .work = COPY_HELD, \
	.may_unpin = true
COPIES(uploads_out_of_a_block_behind_a_kernel, .memory = COPY_LEAVING, BEHIND_A_KERNEL)
COPIES(uploads_across_blocks_behind_a_kernel, .memory = COPY_ACROSS, BEHIND_A_KERNEL)

#define ROWS_ACROSS                                                        \
	.calls = COPY_BOXES,                                               \
	.boxes = { { 1000, 256, 1, { .pitch = 4000 }, { .pitch = 1000 } }, \
		   { 1000,                                                 \
		     64,                                                   \
		     4,                                                    \
		     { .pitch = 4000, .height = 64 },                      \
		     { .pitch = 1000, .height = 64 } } },                  \
	.may_unpin = true
COPIES(rows_inside, .memory = COPY_HOT, ROWS_ACROSS)
COPIES(rows_out_of_a_pinned_block, .memory = COPY_LEAVING, ROWS_ACROSS)
COPIES(rows_into_a_pinned_block, .memory = COPY_ENTERING, ROWS_ACROSS)
COPIES(rows_across_two_pinned_blocks, .memory = COPY_ACROSS, ROWS_ACROSS)

#define BATCH_ACROSS                                          \
	.calls = "*Batch*", .sizes = { 64 * KIB + 512, MIB }, \
	.boxes = { { 1000,                                    \
		     256,                                     \
		     1,                                       \
		     { .pitch = 4000, .height = 256 },        \
		     { .pitch = 1000, .height = 256 } } },    \
	.may_unpin = true
COPIES(batches_out_of_a_pinned_block, .memory = COPY_LEAVING, BATCH_ACROSS)
COPIES(batches_into_a_pinned_block, .memory = COPY_ENTERING, BATCH_ACROSS)
COPIES(batches_across_two_pinned_blocks, .memory = COPY_ACROSS, BATCH_ACROSS)

#define ARRAY_ACROSS .calls = "*", .array = true, .sizes = { 64 * KIB, MIB }, .may_unpin = true
COPIES(arrays_out_of_a_pinned_block, .memory = COPY_LEAVING, ARRAY_ACROSS)
COPIES(arrays_across_two_pinned_blocks, .memory = COPY_ACROSS, ARRAY_ACROSS)

COPIES(entering_behind_a_kernel, .calls = "cuMemcpyHtoDAsync*", .memory = COPY_ENTERING,
       .sizes = { 16, 8239, 64 * KIB }, .work = COPY_HELD)

/* The driver refuses the call as for pageable memory, and no byte moves. */
COPIES(too_long_across_blocks, .calls = "*", .memory = COPY_ACROSS,
       .sizes = { 64 * KIB, COPY_ROOM }, .wrong = COPY_TOO_LONG, REFUSED)

/*
 * During a capture nothing may invalidate it, nor move a byte that it forbids.  No staging ring, so
 * that nothing else registers.
 */
COPIES_WITH(forbidden_by_a_capture_at_first, ("HOTPIN_RING=0"),
	    .calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2", .memory = COPY_COLD,
	    .room = COPY_LARGE_BYTES, .sizes = { COPY_LARGE_BYTES },
	    .capture = COPY_FORBIDDEN_CAPTURE, .code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)

PRELOAD_MAIN()
