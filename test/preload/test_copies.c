/*
 * test_copies.c - rows of copies (copies.h): memory that the library pinned behaves like pageable
 * memory, for every call that copies it and every error of the call.
 */
#include "copies.h"

#define SIZES                                                                               \
	{                                                                                   \
		1, 64, 4 * KIB, 16 * KIB, 16 * KIB + 1, 64 * KIB, 100000, MIB, 4 * MIB + 3, \
			8 * MIB                                                             \
	}
#define SMALL_SIZES                                           \
	{                                                     \
		1, 64, 4 * KIB, 16 * KIB, 64 * KIB, 300 * KIB \
	}

/* A pinned block: on return the source may be overwritten, and the destination is complete. */
COPIES(d2h, .calls = "cuMemcpyDtoHAsync*", .memory = COPY_HOT, .sizes = SIZES,
       .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
COPIES(h2d, .calls = "cuMemcpyHtoDAsync*", .memory = COPY_HOT, .sizes = SIZES,
       .streams = COPY_ALL_STREAMS)
COPIES(h2d_behind_work, .calls = "cuMemcpyHtoDAsync*", .memory = COPY_HOT, .sizes = SIZES,
       .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
COPIES(h2d_behind_work_at_once, .calls = "cuMemcpyHtoDAsync* cuMemcpyAsync*", .memory = COPY_HOT,
       .sizes = SMALL_SIZES, .streams = COPY_ALL_STREAMS, .work = COPY_BUSY, .at_once = true,
       .up_only = true)
COPIES(synchronous, .calls = "cuMemcpyHtoD_v2* cuMemcpyDtoH_v2*", .memory = COPY_HOT,
       .sizes = SIZES, .work = COPY_BUSY)
COPIES(either_way, .calls = "cuMemcpy cuMemcpy_ptds cuMemcpyAsync*", .memory = COPY_HOT,
       .sizes = SIZES, .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
COPIES(boxes_without_gaps, .calls = COPY_BOXES, .memory = COPY_HOT,
       .sizes = { 4 * KIB, 16 * KIB + 1, 64 * KIB, MIB, 4 * MIB }, .work = COPY_BUSY)
/* Rows with gaps, from the first to the last. */
COPIES(rows_behind_work, .calls = "cuMemcpy2DAsync* cuMemcpy3DAsync*", .memory = COPY_HOT,
       .boxes = { { 4096, 256, 1, { .pitch = 8192 }, { .pitch = 4096 } },
		  { 1000, 256, 1, { .pitch = 4000 }, { .pitch = 1000 } } },
       .turns = 3, .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
COPIES_WITH(rows_behind_a_kernel, ("HOTPIN_RING=0"), .calls = "cuMemcpy2DAsync* cuMemcpy3DAsync*",
	    .memory = COPY_HOT, .boxes = { { 4096, 8, 1, { .pitch = 4096 }, { .pitch = 4096 } } },
	    .up_only = true, .work = COPY_HELD)
/* Then the library waits for all streams. */
COPIES_WITH(d2h_whose_wait_is_refused, ("STANDIN_FAIL=cuStreamSynchronize:1"),
	    .calls = "cuMemcpyDtoHAsync_v2", .memory = COPY_HOT, .sizes = { 8 * MIB },
	    .work = COPY_BUSY)

/* Batches. */
#define BATCHED                                           \
	.sizes = { 100, 200 * KIB, 300 * KIB },           \
	.boxes = { { 1000,                                \
		     100,                                 \
		     1,                                   \
		     { .pitch = 1500, .height = 100 },    \
		     { .pitch = 1000, .height = 100 } },  \
		   { 200,                                 \
		     100,                                 \
		     3,                                   \
		     { .pitch = 256, .height = 100 },     \
		     { .pitch = 200, .height = 100 } } }, \
	.streams = COPY_ALL_STREAMS, .work = COPY_BUSY
COPIES(batches, .calls = "*Batch*", .memory = COPY_STATIC, BATCHED)
COPIES(batches_of_a_pinned_block, .calls = "*Batch*", .memory = COPY_HOT, BATCHED)

/* Arrays. */
#define OF_ARRAYS                                                                         \
	.array = true,                                                                    \
	.sizes = { 1, 4 * KIB, 16 * KIB, 16 * KIB + 1, 300 * KIB + 5, COPY_ARRAY_BYTES }, \
	.boxes = { { 1000,                                                                \
		     250,                                                                 \
		     1,                                                                   \
		     { .x = 8, .y = 1, .pitch = 1100, .height = 300 },                    \
		     { .x = 16, .y = 5, .pitch = COPY_ARRAY_PITCH } },                    \
		   { 800,                                                                 \
		     100,                                                                 \
		     1,                                                                   \
		     { .pitch = 800, .height = 100 },                                     \
		     { .x = 16, .y = 5, .pitch = COPY_ARRAY_PITCH } } },                  \
	.work = COPY_BUSY
COPIES(arrays, .calls = "*", .memory = COPY_STATIC, OF_ARRAYS)
COPIES(arrays_from_a_pinned_block, .calls = "*", .memory = COPY_HOT, OF_ARRAYS)
COPIES_WITH(arrays_staged, ("HOTPIN_ROUTE=stage", "HOTPIN_THREADS=2", "HOTPIN_HEAP_MIN=0"),
	    .calls = "*", .memory = COPY_STATIC, OF_ARRAYS)

/* The driver refuses the call as for pageable memory, and no byte moves. */
#define TYPED        "cuMemcpyHtoD* cuMemcpyDtoH* " COPY_BOXES
#define REFUSED      .code = CUDA_ERROR_INVALID_VALUE, .may_unpin = true
#define OF_ALL_SIZES .sizes = { 64, 64 * KIB, MIB }
COPIES(nowhere, .calls = TYPED, .memory = COPY_HOT, OF_ALL_SIZES, .wrong = COPY_NOWHERE, REFUSED)
COPIES(no_host, .calls = TYPED, .memory = COPY_HOT, OF_ALL_SIZES, .wrong = COPY_NO_HOST, REFUSED)
COPIES(no_stream, .calls = "*Async*", .memory = COPY_HOT, OF_ALL_SIZES, .wrong = COPY_NO_STREAM,
       .code = CUDA_ERROR_INVALID_HANDLE)
COPIES(no_bytes, .calls = COPY_RUNS, .memory = COPY_HOT, OF_ALL_SIZES, .wrong = COPY_NOTHING)
COPIES(too_long, .calls = "*", .memory = COPY_HOT, OF_ALL_SIZES, .wrong = COPY_TOO_LONG, REFUSED)
COPIES(too_long_for_an_array, .calls = "cuMemcpyHtoA* cuMemcpyAtoH*", .memory = COPY_HOT,
       .array = true, .sizes = { 64, 64 * KIB, COPY_ARRAY_BYTES }, .wrong = COPY_TOO_LONG, REFUSED)

/* During a capture the library must not invalidate it, nor move a byte that it forbids. */
#define ANY_SIZE .sizes = { 64, 64 * KIB, MIB }
COPIES(during_a_capture, .calls = "*", .memory = COPY_HOT, ANY_SIZE, .work = COPY_BUSY,
       .capture = COPY_DURING_CAPTURE)
COPIES(during_a_capture_of_a_cold_block, .calls = "*", .memory = COPY_COLD, ANY_SIZE,
       .capture = COPY_DURING_CAPTURE)
#define FORBIDDEN .capture = COPY_FORBIDDEN_CAPTURE, .code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
COPIES(forbidden_by_a_capture,
       .calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpy cuMemcpy2D_v2 cuMemcpy3D_v2",
       .memory = COPY_HOT, ANY_SIZE, FORBIDDEN)
#define CAPTURABLE                                                                        \
	.calls = "cuMemcpyHtoDAsync* cuMemcpyDtoHAsync* cuMemcpyAsync* cuMemcpy2DAsync* " \
		 "cuMemcpy3DAsync*",                                                      \
	ANY_SIZE, .work = COPY_BUSY, .capture = COPY_CAPTURED
COPIES(captured, .memory = COPY_HOT, CAPTURABLE)
COPIES(captured_of_a_static_array, .memory = COPY_STATIC, CAPTURABLE)
COPIES(captured_of_registered_memory, .memory = COPY_REGISTERED, CAPTURABLE)

/*
 * Memory that the program pins itself: asynchronous copies stay asynchronous, without extra calls.
 */
#define ITS_OWN .calls = "*", ANY_SIZE, .work = COPY_BUSY, .route = COPY_PLAIN
COPIES(registered_memory, .memory = COPY_REGISTERED, ITS_OWN)
COPIES(allocated_memory, .memory = COPY_ALLOCATED, ITS_OWN)
COPIES(registered_memory_behind_a_kernel, .calls = "*Async*", .memory = COPY_REGISTERED, ANY_SIZE,
       .work = COPY_HELD, .at_once = true)

PRELOAD_MAIN()
