/*
 * What the exported functions share: the gate word, the state of the process, the way in.
 */
#ifndef HP_SHIM_SHIM_H
#define HP_SHIM_SHIM_H

#include "host/heap.h"
#include "real/real.h"
#include "shim/frame.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Marks the functions that the program can see; src/libhotpin.map and test/rules check the set. */
#define HP_EXPORT __attribute__((visibility("default")))

/* Why a driver call may not go straight on.  Zero: it may. */
enum shim_gate_bit {
	SHIM_GATE_UNREADY = 1 << 0,  /* the driver's functions have not been looked for */
	SHIM_GATE_TALLY = 1 << 1,    /* calls are counted by name */
	SHIM_GATE_LAUNCH = 1 << 2,   /* launches are reported to the profile */
	SHIM_GATE_QUIET = 1 << 3,    /* the device was idle; the next work put on it says so */
	SHIM_GATE_DEFERRED = 1 << 4, /* copies have come back early (shim/deferring.h) */
	SHIM_GATE_UNPIN = 1 << 5,    /* beside QUIET: something is being unpinned, and work waits */
};
extern _Atomic uint32_t shim_gate;

/*
 * Called by thunk.S with the gate closed; returns the driver's function to jump to.  The row is one
 * of enum real_row, or REAL_ROW_COUNT and the number of an unknown name.
 */
void *shim_gate_enter(const struct shim_frame *frame);

/* The gate is closed and `row` is about to run, on `stream`: does what its bits ask for. */
void shim_gate_pass(enum real_row row, CUstream stream);

/* It is not known on which stream, if on one at all. */
#define SHIM_NO_STREAM ((CUstream)-1)

/* It is a copy of no bytes: nothing is enqueued, and nothing waits. */
#define SHIM_NO_WORK   ((CUstream)-2)

/* The first thing that every wrapper does. */
static inline void shim_enter_on(enum real_row row, CUstream stream)
{
	if (__builtin_expect(atomic_load_explicit(&shim_gate, memory_order_relaxed) != 0, 0))
		shim_gate_pass(row, stream);
}

static inline void shim_enter(enum real_row row)
{
	shim_enter_on(row, SHIM_NO_STREAM);
}

void shim_gate_open(enum shim_gate_bit bit);  /* takes the bit out */
void shim_gate_close(enum shim_gate_bit bit); /* puts it in */

/* Do we act in this process at all?  Constant after shim_start(). */
bool shim_active(void);

/* Options, real functions, heap.  Idempotent: the constructor, or whoever comes before it. */
void shim_start(void);

/*
 * Registers our handlers around fork(), and for the ends of threads, once; at the process's first
 * malloc().
 */
void shim_watch_forks(void);

/*
 * Finds the driver's functions through `handle`; NULL: loads libcuda.so.1.  False: there is none,
 * and nothing has changed.  Any thread, without a lock.
 */
bool shim_find_driver(void *handle);

/* dlsym() behind us; NULL until shim_dlsym_find(), which any thread may call at any time. */
extern real_dlsym_fn shim_dlsym_next;
void *shim_dlsym_find(void);

/* What shim_dlsym_answer() returns for an answer of NULL; NULL itself sends the caller on. */
#define SHIM_DLSYM_NULL ((void *)1)

/*
 * The answer to dlsym(handle, name) for a name cu[A-Z]* asked from `caller`: ours for a function of
 * the driver that we stand in front of, NULL for everybody else's.
 */
void *shim_dlsym_answer(void *handle, const char *name, const void *caller);

/* What the program gets where the driver answered `address`: ours, or `address` itself. */
void *shim_route(void *address);

/* Exported stub or wrapper by row (thunk.S). */
extern void *const shim_exports[REAL_ROW_COUNT];

/* The stubs for names unknown at build time (thunk.S), and what each goes on to. */
extern const char shim_unknown_stubs[];
extern void *_Atomic shim_unknown_real[SHIM_UNKNOWN_MOST];

/* Is `address` inside this library? */
bool shim_is_ours(const void *address);

/* Does `name` start with `head`? */
static inline bool shim_starts(const char *name, const char *head)
{
	return strncmp(name, head, strlen(head)) == 0;
}

/* Is `caller` in the driver, or in a tool of NVIDIA's that needs the driver's own functions? */
bool shim_is_nvidias(const void *caller);

/* Calls by row since the gate counts (SHIM_GATE_TALLY). */
extern _Atomic uint64_t shim_tally[REAL_ROW_COUNT];

/* The first cuInit() has succeeded. */
void shim_device_found(void);

/* Writes the profile, once; later calls do nothing. */
void shim_report(void);

/* Makes _exit() write the profile too.  Once, where there is one. */
void shim_finish_prepare(void);

/*
 * What _exit() does first; `status` -1: not known.  Safe in a signal handler; takes two seconds at
 * most.
 */
void shim_finish_at_once(int status);

/*
 * A call has shown that everything put on the device so far is done: the housekeeper may unpin what
 * is due until new work comes (which opens SHIM_GATE_QUIET).
 */
void shim_device_quiet(void);

/*
 * Work is about to be put on the device: opens SHIM_GATE_QUIET, and waits before if something is
 * being unpinned; for the rest of 64 MiB or of one block: a millisecond for each 64 MiB.
 */
void shim_device_disturbed(void);

/* cuStreamCreate() and its kind have made a stream that the legacy stream does not wait for. */
extern _Atomic bool shim_unordered_streams;

/* There is a context: from here on a thread gives back what is kept and unpins what is due. */
void shim_housekeeper_start(void);

/* A block has been put aside by free().  One to three loads, unless that is worth waking it. */
extern _Atomic bool shim_housekeeper_sleeps;
void shim_housekeeper_wake(void);
static inline void shim_freed(void)
{
	if (__builtin_expect(atomic_load(&shim_housekeeper_sleeps), 0) && heap_wants_care())
		shim_housekeeper_wake();
}

/* Wakes it whatever there is to do.  False: there is none. */
bool shim_housekeeper_call(void);

/* There is an idle bounce buffer from now on.  One exchange, mostly. */
void shim_bounce_kept(void);

/* A copy has ended, which may have shown that a block should be pinned.  One load, mostly. */
void shim_copied(void);

/* In the child of fork(): there is no housekeeper. */
void shim_housekeeper_forget(void);

#endif
