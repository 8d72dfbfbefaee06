/*
 * test_crossings.c - rows of copies (copies.h) that cross boundaries: out of a pinned block, and
 * from one registration into the next.
 */
#include "copies.h"

/* No staging ring, so that nothing else registers or splits. */
#define ALONE     "HOTPIN_RING=0"
#define REFUSED   .code = CUDA_ERROR_INVALID_VALUE, .may_unpin = true
#define FORBIDDEN .capture = COPY_FORBIDDEN_CAPTURE, .code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT

/*
 * Across the boundary between two blocks.  The driver refuses a range that is partly pinned,
 * although to the program all of it is one pageable range.  A run is split, because unpinning would
 * wait for every kernel.
 */
#define RUN_ACROSS                                                                \
	.calls = COPY_RUNS, .sizes = { 16, 64 * KIB, 64 * KIB + 512, COPY_ROOM }, \
	.streams = 1 << COPY_NON_BLOCKING | 1 << COPY_NULL
COPIES(runs_out_of_a_pinned_block, .memory = COPY_LEAVING, RUN_ACROSS)
COPIES(runs_into_a_pinned_block, .memory = COPY_ENTERING, RUN_ACROSS)
COPIES(runs_across_two_pinned_blocks, .memory = COPY_ACROSS, RUN_ACROSS)
COPIES(runs_between_blocks, .memory = COPY_BETWEEN, RUN_ACROSS)
COPIES(runs_into_what_the_program_registered, .calls = COPY_RUNS, .memory = COPY_LEAVING_FOR_OWN,
       .sizes = { 2000, MIB }, .work = COPY_BUSY)
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

/* First copies of large blocks.  No ring, so that nothing else registers or splits. */
#define WHOLE .memory = COPY_COLD, .room = COPY_PIECES_BYTES, .sizes = { COPY_PIECES_BYTES }
COPIES_WITH(first_upload, (ALONE), .calls = "cuMemcpyHtoD_v2", WHOLE)
COPIES_WITH(first_upload_asynchronous, (ALONE), .calls = "cuMemcpyHtoDAsync_v2", WHOLE)
COPIES_WITH(first_upload_either_way, (ALONE), .calls = "cuMemcpyAsync", .up_only = true, WHOLE)
COPIES_WITH(first_download, (ALONE), .calls = "cuMemcpyDtoH_v2", WHOLE)
COPIES_WITH(first_download_asynchronous, (ALONE), .calls = "cuMemcpyDtoHAsync_v2", WHOLE)
COPIES_WITH(first_copies_of_the_threads_stream, (ALONE),
	    .calls = "cuMemcpyHtoD_v2_ptds cuMemcpyDtoH_v2_ptds cuMemcpyAsync_ptsz", WHOLE)

/* Later copies of any range of such a block: it stays pinned. */
#define PIECE COPY_PIECE
COPIES_WITH(pieces_of_any_range, (ALONE),
	    .calls = "cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 "
		     "cuMemcpy cuMemcpyAsync",
	    .memory = COPY_PIECES,
	    .ranges = { { 0, COPY_PIECES_BYTES },
			{ 8, COPY_PIECES_BYTES - 8 },
			{ PIECE - 64 * KIB, PIECE },
			{ PIECE, 2 * PIECE },
			{ PIECE - 8, 2 * PIECE + 8 } })
COPIES_WITH(pieces_by_every_call, (ALONE), .calls = COPY_RUNS, .memory = COPY_PIECES,
	    .ranges = { { PIECE - 64 * KIB, 128 * KIB },
			{ PIECE - 64 * KIB, 16 },
			{ 2 * PIECE - 5, 64 * KIB } },
	    .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
COPIES(pieces_with_a_ring, .calls = COPY_RUNS, .memory = COPY_PIECES,
       .ranges = { { PIECE - 64 * KIB, 128 * KIB }, { PIECE - MIB, 2 * MIB } },
       .streams = COPY_ALL_STREAMS)
COPIES_WITH(pieces_behind_a_kernel, (ALONE), .calls = "cuMemcpyHtoDAsync* cuMemcpyAsync*",
	    .memory = COPY_PIECES, .sizes = { 16, 32 * KIB, 64 * KIB }, .up_only = true,
	    .work = COPY_HELD)
COPIES(entering_behind_a_kernel, .calls = "cuMemcpyHtoDAsync*", .memory = COPY_ENTERING,
       .sizes = { 16, 8239, 64 * KIB }, .work = COPY_HELD)
/* Too many rows for a bounce buffer: the block is unpinned, and pinned again as a whole. */
COPIES_WITH(rows_across_pieces, (ALONE), .calls = COPY_BOXES, .memory = COPY_PIECES,
	    .boxes = { { 4000, 1536, 1, { .pitch = 4096 }, { .pitch = 4096 } } }, .may_unpin = true)
COPIES_WITH(rows_across_pieces_during_a_kernel, (ALONE), .calls = "cuMemcpy2DAsync*",
	    .memory = COPY_PIECES,
	    .boxes = { { 4096, 512, 1, { .pitch = 4096 }, { .pitch = 4096 } } }, .up_only = true,
	    .work = COPY_CONCURRENT)
/* Unpinning would wait for the kernel, which waits for this thread. */
COPIES(large_rows_across_pieces_during_a_kernel,
       .calls = "cuMemcpy2D_v2_ptds cuMemcpy2DAsync* cuMemcpy3DAsync*", .memory = COPY_PIECES,
       .boxes = { { 1024, 700, 1, { .pitch = 8192 }, { .pitch = 1024 } },
		  { 1024, 700, 1, { .pitch = 6000 }, { .pitch = 1024 } } },
       .work = COPY_CONCURRENT)
/* Such short rows are copied immediately, as from pageable memory. */
COPIES(large_rows_across_pieces_behind_a_kernel, .calls = "cuMemcpy2DAsync* cuMemcpy3DAsync*",
       .memory = COPY_PIECES, .boxes = { { 80, 700, 1, { .pitch = 8192 }, { .pitch = 80 } } },
       .up_only = true, .work = COPY_HELD)
COPIES_WITH(batches_across_pieces, (ALONE), .calls = "*Batch*", .memory = COPY_PIECES,
	    .sizes = { MIB, 10 * MIB }, .may_unpin = true)

/* The driver refuses the call as for pageable memory, and no byte moves. */
COPIES_WITH(too_long_at_first, (ALONE), .calls = "cuMemcpyHtoD* cuMemcpyDtoH*", WHOLE,
	    .wrong = COPY_TOO_LONG, .code = CUDA_ERROR_INVALID_VALUE)
COPIES_WITH(too_long_from_pieces, (ALONE), .calls = COPY_RUNS, .memory = COPY_PIECES,
	    .ranges = { { 0, COPY_PIECES_BYTES }, { PIECE - MIB, 4 * MIB } },
	    .wrong = COPY_TOO_LONG, REFUSED)
COPIES_WITH(too_long_from_pieces_for_an_array, (ALONE), .calls = "cuMemcpyHtoA* cuMemcpyAtoH*",
	    .memory = COPY_PIECES, .array = true, .sizes = { 64 * KIB, COPY_ARRAY_BYTES },
	    .wrong = COPY_TOO_LONG, REFUSED)
COPIES_WITH(too_long_batches_from_pieces, (ALONE), .calls = "*Batch*", .memory = COPY_PIECES,
	    .ranges = { { 0, COPY_PIECES_BYTES }, { PIECE - MIB, 4 * MIB } },
	    .wrong = COPY_TOO_LONG, REFUSED)
COPIES(too_long_across_blocks, .calls = "*", .memory = COPY_ACROSS,
       .sizes = { 64 * KIB, COPY_ROOM }, .wrong = COPY_TOO_LONG, REFUSED)

/* During a capture nothing may invalidate it, nor move a byte that it forbids. */
COPIES_WITH(during_a_capture_in_pieces, (ALONE), .calls = COPY_RUNS, .memory = COPY_PIECES,
	    .ranges = { { 0, COPY_PIECES_BYTES } }, .capture = COPY_DURING_CAPTURE)
COPIES_WITH(forbidden_by_a_capture_at_first, (ALONE), .calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2",
	    WHOLE, FORBIDDEN)
COPIES_WITH(forbidden_by_a_capture_in_pieces, (ALONE),
	    .calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpy", .memory = COPY_PIECES,
	    .ranges = { { 0, COPY_PIECES_BYTES } }, FORBIDDEN)

PRELOAD_MAIN()
