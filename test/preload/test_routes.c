/*
 * test_routes.c - rows of copies (copies.h) with facts about the route: memory that is never pinned
 * and copied through staging memory, small synchronous uploads that return early, and calls that
 * are passed through.
 */
#include "copies.h"

#define RING_BYTES (32 * MIB)

COPIES_WITH(static_array, (STAGED), .calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2",
	    .memory = COPY_STATIC, .room = 24 * MIB, .sizes = { 24 * MIB }, .route = COPY_BY_RING,
	    .registered = RING_BYTES)
#define BY_EVERY_CALL .calls = COPY_RUNS, .sizes = { 5 * MIB, 8 * MIB }, .route = COPY_BY_RING
COPIES_WITH(static_by_every_call, (STAGED), .memory = COPY_STATIC, BY_EVERY_CALL)
COPIES_WITH(mapped_by_every_call, (STAGED), .memory = COPY_MAPPED, BY_EVERY_CALL)
COPIES_WITH(a_file_by_every_call, (STAGED), .memory = COPY_FILE, BY_EVERY_CALL)
/* A synchronous upload may be passed through: the faster way depends on the earlier work. */
COPIES_WITH(behind_work, (STAGED), .calls = COPY_RUNS " !cuMemcpyHtoD_v2* !cuMemcpy !cuMemcpy_ptds",
	    .memory = COPY_STATIC, .sizes = { 5 * MIB, 8 * MIB }, .streams = COPY_ALL_STREAMS,
	    .work = COPY_BUSY, .route = COPY_BY_RING)
COPIES_WITH(synchronous_behind_work, (STAGED),
	    .calls = "cuMemcpyHtoD_v2* cuMemcpyDtoH_v2* cuMemcpy cuMemcpy_ptds",
	    .memory = COPY_STATIC, .sizes = { 3 * MIB, 8 * MIB }, .work = COPY_BUSY,
	    .route = COPY_BY_RING)
/* Unaligned addresses and sizes. */
#define ODD_SIZES                                                                            \
	.sizes = { 128 * KIB + 1, 200 * KIB, MIB + 3, 2 * MIB, 16 * MIB + 1, 17 * MIB - 5 }, \
	.room = 24 * MIB, .shift = 3
COPIES_WITH(odd_sizes, (STAGED), .calls = "cuMemcpyHtoD_v2* cuMemcpyDtoH*", .memory = COPY_STATIC,
	    ODD_SIZES, .route = COPY_BY_RING)
#define SMALL .sizes = { 1, 7, 4 * KIB, 128 * KIB - 1, 128 * KIB }, .shift = 3
COPIES_WITH(small_uploads, (STAGED), .calls = "cuMemcpyHtoD_v2", .memory = COPY_STATIC, SMALL,
	    .route = COPY_BY_RING)
COPIES_WITH(uploads_on_the_threads_stream, (STAGED), .calls = "cuMemcpyHtoD_v2_ptds",
	    .memory = COPY_STATIC, .sizes = { 64 * KIB + 1, 128 * KIB - 1 }, .shift = 3,
	    .route = COPY_BY_RING)
COPIES_WITH(small_downloads, (STAGED), .calls = "cuMemcpyDtoH*", .memory = COPY_STATIC, SMALL,
	    .work = COPY_BUSY, .route = COPY_BY_SLOT)
COPIES_WITH(small_downloads_to_the_stack, (STAGED), .calls = "cuMemcpyDtoH*", .memory = COPY_STACK,
	    .room = COPY_STACK_BYTES, SMALL, .route = COPY_BY_SLOT)
/* An upload that the driver stages returns at once; through the area it would wait. */
COPIES_WITH(staged_by_the_driver, (STAGED), .calls = "cuMemcpyHtoDAsync*", .memory = COPY_STATIC,
	    .sizes = { MIB, 3 * MIB }, .work = COPY_BUSY, .route = COPY_PLAIN)
COPIES_WITH(staged_by_the_driver_on_the_threads_stream, (STAGED), .calls = "cuMemcpyHtoD_v2_ptds",
	    .memory = COPY_STATIC, .sizes = { 1, 4 * KIB, 64 * KIB }, .route = COPY_PLAIN)
/* Whole rows without gaps are a run; rows with gaps on the host are staged, too. */
COPIES_WITH(whole_rows, (STAGED), .calls = "cuMemcpy2D*", .memory = COPY_STATIC,
	    .sizes = { 4096 * 1100 }, .route = COPY_BY_RING)
COPIES_WITH(rows_with_gaps, (STAGED), .calls = "cuMemcpy2D*", .memory = COPY_STATIC,
	    .boxes = { { 4096, 1000, 1, { .pitch = 8192 }, { .pitch = 4096 } } }, .room = 16 * MIB,
	    .route = COPY_BY_RING)
COPIES_WITH(rows_with_gaps_on_the_device, (STAGED), .calls = "cuMemcpy2D*", .memory = COPY_STATIC,
	    .boxes = { { 4096, 1100, 1, { .pitch = 4096 }, { .pitch = 8192 } } }, .room = 16 * MIB,
	    .route = COPY_PLAIN)
/* If the driver must finish a copy of whole rows, the whole copy is repeated. */
COPIES_WITH(rows_given_up, (STAGED, "STANDIN_FAIL=cuMemcpyHtoDAsync:2"), .calls = "cuMemcpy2D_v2",
	    .memory = COPY_STATIC, .sizes = { 4096 * 1000 }, .up_only = true, .by = "cuMemcpy2D")

/* The driver's error codes are returned; no byte moves. */
#define WRONG .memory = COPY_STATIC, .sizes = { 64, MIB, 2 * MIB }, .code = CUDA_ERROR_INVALID_VALUE
COPIES_WITH(nowhere, (STAGED), .calls = "cuMemcpyHtoD* cuMemcpyDtoH* " COPY_BOXES, WRONG,
	    .wrong = COPY_NOWHERE)
COPIES_WITH(no_host, (STAGED), .calls = "cuMemcpyHtoD* cuMemcpyDtoH* " COPY_BOXES, WRONG,
	    .wrong = COPY_NO_HOST)
COPIES_WITH(too_long, (STAGED), .calls = "*", WRONG, .wrong = COPY_TOO_LONG)
COPIES_WITH(no_stream, (STAGED), .calls = "*Async*", .memory = COPY_STATIC, .sizes = { 64, MIB },
	    .wrong = COPY_NO_STREAM, .code = CUDA_ERROR_INVALID_HANDLE)
COPIES_WITH(no_bytes, (STAGED), .calls = COPY_RUNS, .memory = COPY_STATIC, .sizes = { MIB },
	    .wrong = COPY_NOTHING, .route = COPY_PLAIN)
/* The library does not touch the program's own pinned memory. */
COPIES_WITH(allocated_memory, (STAGED), .calls = "*", .memory = COPY_ALLOCATED, .sizes = { MIB },
	    .work = COPY_BUSY, .route = COPY_PLAIN)
/* The library records no event while a stream is captured that the copy may be ordered with. */
COPIES_WITH(captured, (STAGED), .calls = COPY_RUNS " !cuMemcpy*_v2 !*_ptds !cuMemcpy",
	    .memory = COPY_STATIC, .sizes = { 8 * MIB }, .capture = COPY_CAPTURED)
COPIES_WITH(during_a_capture, (STAGED), .calls = "*", .memory = COPY_STATIC, .sizes = { MIB },
	    .capture = COPY_DURING_CAPTURE)

/* Passed through: one call of the program; nothing is pinned or queried. */
#define PASSED                                                                               \
	.calls = "cuMemcpyHtoD_v2 cuMemcpyDtoH_v2", .memory = COPY_STATIC, .room = 24 * MIB, \
	.sizes = { 24 * MIB }, .turns = 4, .route = COPY_PLAIN, .stays_unpinned = true
COPIES_WITH(no_ring, (STAGED, "HOTPIN_RING=0"), PASSED, .asks_nothing = true)
COPIES_WITH(ring_refused,
	    (STAGED, "STANDIN_FAIL=cuMemHostRegister:1,cuMemHostRegister:2,cuMemHostRegister:3"),
	    PASSED)
COPIES_WITH(route_pass, ("HOTPIN_ROUTE=pass", "HOTPIN_THREADS=4", "HOTPIN_HEAP_MIN=0"), PASSED)
/* A single thread gains nothing at this size. */
COPIES_WITH(nobody_to_help, ("HOTPIN_THREADS=1", "HOTPIN_HEAP_MIN=0"), PASSED, .asks_nothing = true)

/* Small uploads behind work return early, and the program may change the source. */
#define EARLY       .calls = "cuMemcpyHtoD_v2", .work = COPY_BUSY, .route = COPY_EARLY
#define EARLY_SIZES .sizes = { 1, 4, 64, 4 * KIB, 32 * KIB, 64 * KIB }
COPIES(early_from_a_pinned_block, .memory = COPY_HOT, EARLY_SIZES, EARLY)
COPIES(early_from_a_block, .memory = COPY_COLD, .room = 64 * KIB, EARLY_SIZES, EARLY)
COPIES(early_from_a_static_array, .memory = COPY_STATIC, EARLY_SIZES, EARLY)
COPIES(early_from_the_stack, .memory = COPY_STACK, .room = 64 * KIB, EARLY_SIZES, EARLY)
/* Larger uploads wait for earlier work, as in plain CUDA, and query nothing. */
COPIES_WITH(large_behind_work, ("HOTPIN_THREADS=3", "HOTPIN_RING=0"), .calls = "cuMemcpyHtoD_v2",
	    .memory = COPY_HOT, .sizes = { 256 * KIB, 4 * MIB }, .work = COPY_BUSY,
	    .by = "cuMemcpyHtoD", .asks_nothing = true)

/* The driver call of an upload to an idle device. */
#define UPLOAD .calls = "cuMemcpyHtoD_v2", .turns = 3
COPIES(small_from_a_pinned_block, UPLOAD, .memory = COPY_HOT, .room = MIB, .sizes = { 64 * KIB },
       .by = "cuMemcpyHtoDAsync", .asks_nothing = true)
COPIES(larger_from_a_pinned_block, UPLOAD, .memory = COPY_HOT, .room = MIB, .sizes = { 128 * KIB },
       .by = "cuMemcpyHtoD")
COPIES(small_from_a_block, .calls = "cuMemcpyHtoD_v2", .memory = COPY_COLD, .room = MIB,
       .sizes = { 64 * KIB }, .by = "cuMemcpyHtoDAsync", .asks_nothing = true)
COPIES(larger_from_a_block, .calls = "cuMemcpyHtoD_v2", .memory = COPY_COLD, .room = MIB,
       .sizes = { 128 * KIB }, .by = "cuMemcpyHtoDAsync")

/* The driver is asked whether a copy may be cut only if the copy pins its block. */
COPIES_WITH(large_without_a_budget, ("HOTPIN_PIN_BUDGET=8M", "HOTPIN_RING=0"), UPLOAD,
	    .memory = COPY_COLD, .room = 32 * MIB, .sizes = { 32 * MIB }, .route = COPY_PLAIN,
	    .stays_unpinned = true, .asks_nothing = true)

/* Boxes of unpinned memory, not forced: such large downloads pay for staging. */
static void earn_by_downloads(void)
{
	static char bytes[3 * MIB];

	for (int i = 0; i < 60; i++)
		OK(cuMemcpyDtoH_v2(bytes, there, sizeof(bytes)));
}

#define UNFORCED "HOTPIN_THREADS=4", "HOTPIN_HEAP_MIN=0"
#define BOXES    .memory = COPY_STATIC, .before = earn_by_downloads
COPIES_WITH(large_boxes_down, (UNFORCED), .calls = "cuMemcpy2DUnaligned_v2 cuMemcpy3D_v2",
	    .boxes = { { 4096, 500, 1, { .x = 4, .pitch = 5000 }, { .pitch = 4096 } },
		       { 6000, 60, 6, { 16, 1, 0, 6016, 62 }, { 0, 0, 1, 6000, 60 } } },
	    .down_only = true, .route = COPY_BY_RING, BOXES)
COPIES_WITH(large_boxes_up, (UNFORCED), .calls = "cuMemcpy2DUnaligned_v2 cuMemcpy3D_v2",
	    .boxes = { { 4096, 500, 1, { .x = 8, .pitch = 6144 }, { .pitch = 4096 } },
		       { 8192, 250, 1, { .pitch = 8192 }, { .x = 64, .y = 3, .pitch = 9216 } },
		       { 6000, 60, 6, { 16, 1, 0, 6016, 62 }, { 0, 0, 0, 6000, 60 } },
		       { 5000, 30, 14, { 0, 0, 0, 5000, 30 }, { 0, 0, 0, 5120, 40 } } },
	    .up_only = true, .route = COPY_PLAIN, BOXES)
/* Rows that are too short to pay off. */
COPIES_WITH(narrow_rows, (UNFORCED), .calls = "cuMemcpy2D_v2",
	    .boxes = { { 1000, 1500, 1, { .pitch = 1100 }, { .pitch = 1000 } } }, .up_only = true,
	    .route = COPY_PLAIN, BOXES)

PRELOAD_MAIN()
