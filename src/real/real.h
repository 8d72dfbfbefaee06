/*
 * The addresses of the functions that we stand in front of.
 *
 * Addresses only: this room knows nothing of the wrappers in shim/.
 */
#ifndef HP_REAL_REAL_H
#define HP_REAL_REAL_H

#include "base/counters.h"
#include "base/protections.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All ABI versions and both stream flavours under their exported names. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/* What may have to happen before a driver function runs. */
enum real_class {
#define PASSES(class)            REAL_##class,
#define GATED(class, protection) REAL_##class,
#include "real/class.def"
	REAL_CLASS_COUNT
};

/* The protection of each class; of those that pass the gate none is asked for. */
extern const enum hp_protection real_class_protections[REAL_CLASS_COUNT];

/* How the host can see work on the device without a call into the driver that hotpin knows. */
enum real_sight {
	REAL_UNSEEN,
#define SIGHT(how, name) REAL_SEEN_##how,
#include "real/sight.def"
	REAL_SIGHT_COUNT
};

/* By enum real_sight, from REAL_UNSEEN + 1 on. */
extern const enum hp_protection real_sight_protections[REAL_SIGHT_COUNT];
extern const enum hp_counter real_sight_counters[REAL_SIGHT_COUNT];

enum real_row {
#define DRIVER(name, ...)  REAL_ROW_##name,
#define WRAPPED(name, ...) REAL_ROW_##name,
#define EXPOSES(name, ...) REAL_ROW_##name,
#include "real/driver.def"
	REAL_ROW_COUNT
};

/* The per-thread flavour of each function that has one. */
enum real_per_thread_row {
#define FLAVOUR(name, flavour) REAL_PER_THREAD_##name = REAL_ROW_##flavour,
#include "real/driver.def"
};

/* Whether hotpin itself calls the function. */
enum real_need { REAL_UNUSED, REAL_OPTIONAL, REAL_REQUIRED };

/* What the function launches, for the profile; a host function is neither. */
enum real_launch { REAL_NO_LAUNCH, REAL_LAUNCHES_KERNEL, REAL_LAUNCHES_GRAPH };

/* One row of driver.def. */
struct real_driver_fact {
	const char *name;
	uint8_t class; /* enum real_class */
	int8_t stream; /* index of the CUstream argument, or one of the below */
	bool wrapped;
	uint8_t sight;  /* enum real_sight */
	uint8_t need;   /* enum real_need */
	uint8_t launch; /* enum real_launch */
};
#define REAL_NO_STREAM     (-1)
#define REAL_CONFIG_STREAM (-2) /* in the CUlaunchConfig that argument 0 points to */

extern const struct real_driver_fact real_driver_facts[REAL_ROW_COUNT];

/* True for a _ptds or _ptsz flavour, to which stream 0 is the thread's own. */
extern const bool real_is_per_thread[REAL_ROW_COUNT];

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

/* Likewise; calls the per-thread flavour of `name` if `per_thread`. */
#define REAL_ON(per_thread, name)                                                                \
	((__typeof__(name) *)atomic_load_explicit(                                               \
		&real_driver[(per_thread) ? (int)REAL_PER_THREAD_##name : (int)REAL_ROW_##name], \
		memory_order_relaxed))

/* True if the driver in use has `name`.  For optional rows: the required ones are always there. */
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

/* True once real_driver_load() has found something. */
bool real_driver_loaded(void);

/* Returns the name of a required function that the driver in use lacks; NULL: it lacks none. */
const char *real_driver_lacks(void);

/* The row whose function is at `address`, or -1.  Lock-free. */
int real_driver_row_at(const void *address);

/* True if `address` is inside the object that the driver's functions came from. */
bool real_driver_contains(const void *address);

#endif
