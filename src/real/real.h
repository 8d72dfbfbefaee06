/*
 * The driver functions that hotpin stands in front of: their table, classes and addresses.
 *
 * This room does not use the wrappers in shim/.
 */
#ifndef HP_REAL_REAL_H
#define HP_REAL_REAL_H

#include "base/counters.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All ABI versions and both stream flavors under their exported names. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "real/newer.h"

/* The action before a driver function runs while deferred copies are in flight. */
enum real_class {
	REAL_PASS,    /* none: no effect on copies; hotpin's function if a profile times it */
	REAL_LOCAL,   /* none: no effect on copies; the program always gets hotpin's function */
	REAL_COPY,    /* a copy: ordered behind deferred copies on other streams */
	REAL_ENQUEUE, /* enqueues work: ordered behind deferred copies on other streams */
	REAL_WAIT,    /* the host waits: deferred copies complete first, as for all below */
	REAL_OBSERVE, /* the host polls */
	REAL_MEMORY,  /* memory and its export */
	REAL_CAPTURE, /* begins or ends a capture */
	REAL_LIFE,    /* contexts, streams, events */
	REAL_SETTLE,  /* may do anything */
};

/*
 * The ways in which the host can see work on the device without a call into the driver that hotpin
 * knows.
 */
enum real_visibility {
	REAL_UNSEEN,
#define VISIBILITY(how, name) REAL_SEEN_##how,
#include "real/visibility.def"
	REAL_VISIBILITY_COUNT
};

/* By enum real_visibility, from REAL_UNSEEN + 1 on. */
extern const enum hp_counter real_visibility_counters[REAL_VISIBILITY_COUNT];

enum real_row {
#define DRIVER(name, ...)  REAL_ROW_##name,
#define WRAPPED(name, ...) REAL_ROW_##name,
#define EXPOSES(name, ...) REAL_ROW_##name,
#include "real/driver.def"
	REAL_ROW_COUNT
};

/* The per-thread flavor of each function that has one. */
enum real_per_thread_row {
#define FLAVOR(name, flavor) REAL_PER_THREAD_##name = REAL_ROW_##flavor,
#include "real/driver.def"
};

/* Says whether hotpin itself calls the function. */
enum real_need { REAL_UNUSED, REAL_OPTIONAL, REAL_REQUIRED };

/* The kind of launch, for the profile; a host function is no launch. */
enum real_launch { REAL_NO_LAUNCH, REAL_LAUNCHES_KERNEL, REAL_LAUNCHES_GRAPH };

/* One row of driver.def. */
struct real_driver_fact {
	const char *name;
	uint8_t class;      /* enum real_class */
	int8_t stream;      /* index of the CUstream argument, or one of the below */
	uint8_t visibility; /* enum real_visibility */
	uint8_t need;       /* enum real_need */
	uint8_t launch;     /* enum real_launch */
};
#define REAL_NO_STREAM     (-1)
#define REAL_CONFIG_STREAM (-2) /* in the CUlaunchConfig that argument 0 points to */

extern const struct real_driver_fact real_driver_facts[REAL_ROW_COUNT];

/*
 * The next functions by row; the stubs in shim/ jump to these addresses.  They are the driver's
 * own, or another preloaded library's in front of it (real_driver_use()).  NULL until
 * real_driver_load() has filled in the table; every thread that does stores the same values.  A
 * function that the driver lacks has the address of `missing` below.
 */
extern void *_Atomic real_driver[REAL_ROW_COUNT];

/* Calls the next `name`, typed by NVIDIA's header. */
#define REAL(name)                                                               \
	((__typeof__(name) *)atomic_load_explicit(&real_driver[REAL_ROW_##name], \
						  memory_order_relaxed))

/* As REAL(), but calls the per-thread flavor of `name` if `per_thread`. */
#define REAL_ON(per_thread, name)                                                                \
	((__typeof__(name) *)atomic_load_explicit(                                               \
		&real_driver[(per_thread) ? (int)REAL_PER_THREAD_##name : (int)REAL_ROW_##name], \
		memory_order_relaxed))

/* True if the driver has `name`.  For OPTIONAL rows; every driver has the REQUIRED ones. */
#define REAL_HAS(name) real_driver_has(REAL_ROW_##name)
bool real_driver_has(enum real_row row);

/* The type of dlsym(). */
typedef void *(*real_dlsym_fn)(void *handle, const char *name);

/*
 * Finds every row of driver.def through `look_up(handle, name)`.  Ignores an address for which
 * `is_ours` is true.  Stores `missing` for a function that was not found.  Several threads may call
 * this at once, without a lock: all of them store the same values.  Returns the number of functions
 * found; 0: the table is unchanged.
 */
unsigned real_driver_load(void *handle, real_dlsym_fn look_up, bool (*is_ours)(const void *),
			  void *missing);

/* From now on the row's function is `address`, of a library in front of the driver.  Any thread. */
void real_driver_use(enum real_row row, void *address);

/* Returns the driver's own function of the row, or NULL. */
void *real_driver_own(enum real_row row);

/* Stores `stand_in` in every row without an address.  Called if there is no driver. */
void real_driver_fill(void *stand_in);

/* True once real_driver_load() has found a function. */
bool real_driver_loaded(void);

/* Returns the name of a REQUIRED function that the driver lacks, or NULL. */
const char *real_driver_lacks(void);

/* Returns the row whose function in the driver is at `address`, or -1.  Lock-free. */
int real_driver_row_at(const void *address);

/* True if `address` is inside the driver library. */
bool real_driver_contains(const void *address);

#endif
