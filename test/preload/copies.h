/*
 * A table of copies: each row states a fact about copies of one kind, and the runner checks it.
 *
 *	COPIES(d2h, .calls = "cuMemcpyDtoHAsync*", .memory = COPY_HOT, .sizes = { 1, 8 * MIB },
 *	       .streams = COPY_ALL_STREAMS, .work = COPY_BUSY)
 *
 * A row is a test of its own.  It makes every call that its patterns match, in each direction that
 * the call has, with each size, on each stream.  Each copy moves bytes that exist nowhere else, and
 * the runner compares both sides, gaps and neighbors included, with an image of what they must
 * hold:
 * - the destination of a download when the call returns;
 * - the target of an upload whose source the program overwrites when the call has returned;
 * - both sides unchanged if the call fails.
 * Memory that the program pinned itself is compared after its stream was waited for.
 *
 * All of that also holds without the library.  The fields from `route` on state what the library
 * does.
 */
#ifndef HP_TEST_PRELOAD_COPIES_H
#define HP_TEST_PRELOAD_COPIES_H

#include "promote.h"

/* The most bytes of a row of one size. */
#define COPY_LARGE_BYTES (32 * MIB)

/* Room of neighbors, a multiple of the heap's unit; their boundary is that of their rooms. */
#define COPY_ROOM        (2 * MIB)

/* The side of an array of 32-bit elements, and the bytes of one row. */
#define COPY_ARRAY_SIDE  ((size_t)512)
#define COPY_ARRAY_PITCH (COPY_ARRAY_SIDE * 4)
#define COPY_ARRAY_BYTES (COPY_ARRAY_SIDE * COPY_ARRAY_PITCH)

/* A batch has at most so many rows. */
#define COPY_BATCH_MOST  ((size_t)1024)

/* Bytes that the runner checks before and after each side of a copy. */
#define COPY_GUARD       64

/* Kinds of host memory. */
enum copy_memory {
	COPY_HOT,    /* a pinned block of malloc() memory */
	COPY_COLD,   /* a block that was never copied; each copy has its own */
	COPY_STATIC, /* a static array of the program */
	COPY_STACK,  /* an array on the thread's stack */
	COPY_MAPPED, /* anonymous pages */
	COPY_FILE,   /* pages of a file that others map, too */
	/* Two adjacent blocks; copies cross their boundary. */
	COPY_LEAVING,         /* the lower one is pinned */
	COPY_ENTERING,        /* the upper one is pinned */
	COPY_ACROSS,          /* both are pinned */
	COPY_BETWEEN,         /* none is pinned */
	COPY_LEAVING_FOR_OWN, /* the lower one is pinned, the program registered the upper one */
	/* Memory that the program pinned itself. */
	COPY_REGISTERED,
	COPY_ALLOCATED,
	COPY_MEMORIES
};

enum copy_stream {
	COPY_NULL,
	COPY_LEGACY,
	COPY_PER_THREAD,
	COPY_BLOCKING,
	COPY_NON_BLOCKING,
	COPY_STREAMS
};
#define COPY_ALL_STREAMS ((1u << COPY_STREAMS) - 1)

/* Device work before the call. */
enum copy_work {
	COPY_IDLE,
	COPY_BUSY, /* work in the same stream that the stand-in has not run */
	COPY_HELD  /* work in the same stream that ends only after the return of the call */
};

enum copy_capture {
	COPY_NO_CAPTURE,
	COPY_DURING_CAPTURE,    /* a capture is active on a stream without order to others */
	COPY_FORBIDDEN_CAPTURE, /* on a stream that is ordered with the legacy stream */
	COPY_CAPTURED,          /* on the copy's own stream; the graph is launched once */
	COPY_CAPTURES
};

/* Arguments that the driver refuses. */
enum copy_wrong {
	COPY_RIGHT,
	COPY_NOWHERE,   /* the device's side is not device memory */
	COPY_TOO_LONG,  /* the device's side ends in the middle of the copy */
	COPY_NO_HOST,   /* the host's side is NULL */
	COPY_NO_STREAM, /* the stream does not exist */
	COPY_NOTHING    /* no bytes, which the driver accepts */
};

/* How the library makes the call; without the library, the call is always unchanged. */
enum copy_route {
	COPY_ANY_ROUTE,
	COPY_BY_RING, /* in pieces through the staging ring: events are recorded */
	COPY_BY_SLOT, /* one driver call that names pinned memory of the library */
	COPY_PLAIN,   /* the program's own call, without any event */
	COPY_EARLY    /* the call returns before earlier work has run */
};

/* One side of a box, as in CUDA_MEMCPY3D. */
struct copy_side {
	size_t x, y, z, pitch, height;
};

/* A run of bytes is one row of one slice. */
struct copy_box {
	size_t width, rows, slices;
	struct copy_side host, device;
};

/* One call. */
struct copy {
	const struct copy_call *call;
	bool to_device, unified;
	struct copy_box box;
	char *host;
	CUdeviceptr device;
	CUarray array; /* used instead of `device` if not NULL */
	CUstream stream;
};

enum copy_trait {
	COPY_UPLOADS = 1,   /* it copies to the device */
	COPY_DOWNLOADS = 2, /* it copies to the host */
	COPY_ASYNC = 4,
	COPY_OWN = 8,       /* stream NULL is the per-thread stream */
	COPY_ROWS = 16,     /* it has rows */
	COPY_SLICES = 32,   /* and slices */
	COPY_BATCH = 64,    /* the rows are the copies of a batch */
	COPY_ARRAYS = 128,  /* the device's side may be an array */
	COPY_ARRAY = 256,   /* the device's side is always an array */
	COPY_UNIFIED = 512, /* it allows CU_MEMORYTYPE_UNIFIED */
	COPY_MADE = 1024    /* its stream is neither the legacy one nor NULL */
};

/* A driver function, by its symbol. */
struct copy_call {
	const char *name;
	unsigned traits;
	CUresult (*run)(const struct copy *copy);
};

extern const struct copy_call copy_calls[];
extern const size_t copy_calls_count;

/* Returns the start of the side relative to its address, and its extent, gaps included. */
static inline size_t copy_begin_of(const struct copy_side *side)
{
	return side->x + (side->y + side->z * side->height) * side->pitch;
}

static inline size_t copy_span_of(const struct copy_side *side, const struct copy_box *box)
{
	return ((box->slices - 1) * side->height + box->rows - 1) * side->pitch + box->width;
}

/* Convert a box to the driver's structures; the direction decides which side is the source. */
CUDA_MEMCPY2D copy_flat(const struct copy *copy);
CUDA_MEMCPY3D copy_deep(const struct copy *copy);

/* Host memory as a row requires it; copies lie around `border`. */
struct copy_host {
	enum copy_memory kind;
	char *at;
	size_t bytes, border;
};

/* Returns `bytes` or more of that kind; kinds with a boundary have a fixed size. */
struct copy_host copy_host_make(enum copy_memory kind, size_t bytes);
/* Pins the memory again if its pin has ended. */
void copy_host_heat(const struct copy_host *host);
/* True if the library has pinned such memory and must leave it so. */
bool copy_host_is_hot(enum copy_memory kind);
/* True if the program has pinned such memory: its asynchronous copies are truly asynchronous. */
bool copy_host_is_own(enum copy_memory kind);

/* Memory for COPY_STACK, on the runner's own stack. */
#define COPY_STACK_BYTES ((size_t)256 << 10)
extern char *copy_stack;

/* Returns the stream of that kind; streams are created once. */
CUstream copy_stream_of(enum copy_stream kind);
/* Enqueues work that ends when copy_let_go() is called. */
void copy_hold(CUstream stream);
void copy_let_go(void);

struct copy_row {
	const char *calls; /* patterns of fnmatch(), separated by blanks; "!..." excludes */
	enum copy_memory memory;
	bool array;               /* the device's side is an array */
	size_t room;              /* of the memory; 0: 8 MiB */
	size_t sizes[16];         /* around the memory's boundary, or its middle; ends with 0 */
	struct copy_box boxes[8]; /* ends with a box of width 0 */
	size_t shift;             /* moves both sides by so many bytes */
	unsigned turns;           /* number of repeats; 0: once */
	unsigned streams;         /* bits, for asynchronous calls; 0: COPY_NON_BLOCKING */
	enum copy_work work;
	enum copy_capture capture;
	enum copy_wrong wrong;
	bool up_only, down_only;
	CUresult code;

	enum copy_route route;
	const char *by;       /* the driver call that moves the bytes, once */
	bool at_once;         /* earlier work has not run on return, without the library neither */
	bool may_unpin;       /* any number may end afterwards */
	bool stays_unpinned;  /* nothing is registered when the row ends */
	size_t registered;    /* the bytes that are registered then, if not 0 */
	bool asks_nothing;    /* no query about the copy's memory or stream */
	void (*before)(void); /* called first, with a context */
};

void copy_run_row(const struct copy_row *row);

/* Patterns for the calls that move one run of bytes. */
#define COPY_RUNS       "cuMemcpyHtoD* cuMemcpyDtoH* cuMemcpy cuMemcpy_ptds cuMemcpyAsync*"
/* Patterns for the calls that move a box of rows. */
#define COPY_BOXES      "cuMemcpy2D* cuMemcpy3D* !*Batch*"

#define COPIES(id, ...) CASE(id, copy_run_row(&(const struct copy_row){ __VA_ARGS__ }))

/* `environment`: strings of preload.h in parentheses. */
#define COPIES_WITH(id, environment, ...) \
	CASE_WITH(id, environment, copy_run_row(&(const struct copy_row){ __VA_ARGS__ }))

#endif
