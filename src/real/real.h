/*
 * Where is the function that we stand in front of?
 *
 * Addresses only: this room knows nothing of the wrappers in shim/.
 */
#ifndef HP_REAL_REAL_H
#define HP_REAL_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All ABI versions and both stream flavours under their exported names. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/* What may have to happen before a driver function runs. */
enum real_class {
	REAL_PASS,    /* nothing, ever */
	REAL_LOCAL,   /* likewise, but the call is ours to see */
	REAL_COPY,    /* a plan of its own */
	REAL_ENQUEUE, /* work that is outstanding on other streams comes first */
	REAL_WAIT,    /* the host waits: everything it waits for must have been enqueued */
	REAL_OBSERVE, /* the host asks: what is outstanding is finished first */
	REAL_MEMORY,  /* memory comes, goes, or is seen by others: likewise */
	REAL_CAPTURE, /* nothing of ours may be outstanding while a capture lives */
	REAL_LIFE,    /* contexts, streams and events come and go: likewise */
	REAL_SETTLE,  /* unknown, so everything that is outstanding is finished first */
	REAL_CLASS_COUNT
};

/* How what the device does can be seen without a call into the driver that we know. */
enum real_sight {
	REAL_UNSEEN,
	REAL_SEEN_PINNED,      /* by the host, in memory that the program pinned */
	REAL_SEEN_MANAGED,     /* in managed memory, or in host memory that kernels may touch */
	REAL_SEEN_GRAPH,       /* in host memory that a graph reads or writes when it runs */
	REAL_SEEN_CALLBACK,    /* by a function of the program's that the driver calls */
	REAL_SEEN_SHARED,      /* by other processes or devices */
	REAL_SEEN_EXTERNAL,    /* by other APIs and devices */
	REAL_SEEN_MEMORY_OPS,  /* by words that streams write or wait for */
	REAL_SEEN_SYNC_MEMOPS, /* by whoever asked that synchronous copies be complete */
	REAL_SEEN_PRINTF,      /* on the terminal: a synchronous copy flushes what kernels print */
	REAL_SEEN_GREEN,       /* on streams of contexts that we do not keep apart */
	REAL_SEEN_PAST_US,     /* by libraries whose calls do not come by here, or not all */
	REAL_SIGHT_COUNT
};

enum real_row {
#define DRIVER(name, class, stream)       REAL_ROW_##name,
#define WRAPPED                           DRIVER
#define EXPOSES(name, class, stream, how) REAL_ROW_##name,
#include "real/driver.def"
	REAL_ROW_COUNT
};

/* One row of driver.def. */
struct real_driver_fact {
	const char *name;
	uint8_t class; /* enum real_class */
	int8_t stream; /* index of the CUstream argument, or one of the below */
	bool wrapped;
	uint8_t sight; /* enum real_sight */
};
#define REAL_NO_STREAM     (-1)
#define REAL_CONFIG_STREAM (-2) /* in the CUlaunchConfig that argument 0 points to */

extern const struct real_driver_fact real_driver_facts[REAL_ROW_COUNT];

/* Is it a function of the _ptds or _ptsz kind, to which stream 0 is the thread's own? */
bool real_is_per_thread(enum real_row row);

/*
 * The driver's functions by row; the thunks in shim/ jump through it.  NULL until
 * real_driver_load() has written it whole, each slot to the same value whichever thread does;
 * then, for a name that the driver lacks, the address of `missing` below.
 */
extern void *_Atomic real_driver[REAL_ROW_COUNT];

/* Calls the driver's own `name`, typed by NVIDIA's header. */
#define REAL(name)                                                               \
	((__typeof__(name) *)atomic_load_explicit(&real_driver[REAL_ROW_##name], \
						  memory_order_relaxed))

/* Does the driver in use have `name`? */
#define REAL_HAS(name) real_driver_has(REAL_ROW_##name)
bool real_driver_has(enum real_row row);

/* dlsym() as libc has it; never ours. */
typedef void *(*real_dlsym_fn)(void *handle, const char *name);

/*
 * Finds every row of driver.def through `look_up(handle, name)`.  An address for which `is_ours`
 * is true is never taken; `missing` goes where there is none.  Safe in any number of threads at
 * once, without a lock: all of them store the same values, and each returns with the table whole.
 * Returns the number found; 0 leaves the table as it was.
 */
unsigned real_driver_load(void *handle, real_dlsym_fn look_up, bool (*is_ours)(const void *),
			  void *missing);

/* Puts `stand_in` wherever nothing has been found: there is no driver. */
void real_driver_fill(void *stand_in);

/* Has a real_driver_load() found something? */
bool real_driver_loaded(void);

/* The row whose function is at `address`, or -1.  Lock-free. */
int real_driver_row_at(const void *address);

/* Is `address` inside the object that the driver's functions came from? */
bool real_driver_contains(const void *address);

#endif
