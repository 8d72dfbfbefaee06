/*
 * A program that exercises every way in which pinned memory could become stale or be noticed.
 *
 * Each case is a test, named after its row of the hazard table in hazards.c: row03_munmap.  A
 * test's observations must be the same without the library and with it, on the stand-in driver and
 * on a device.  Observations that differ between devices are reported with SEE(), and hazards.py
 * compares them.  Under the library each test first makes sure that the block is really pinned, by
 * asking the driver directly: otherwise the test would prove nothing.
 *
 * The driver is found as a runtime finds it: dlopen(), dlsym(), cuGetProcAddress().
 */
#ifndef HP_TEST_GPU_HAZARDS_H
#define HP_TEST_GPU_HAZARDS_H

#include "device.h"
#include "driver.h"
#include "pattern.h"
#include "sizes.h"

#include <errno.h>

/* Size of most blocks, and of device memory at `there`. */
#define BYTES                  (4 * MIB)
#define THERE_BYTES            (64 * MIB)

/* A test in a process of its own: it ends contexts or the process, or needs an environment. */
#define ALONE(id)              TEST_WITH(id, "HAZARDS=alone")
#define ALONE_AFTER(id, first) TEST_AFTER_WITH(id, first, "HAZARDS=alone")
#define CASE_ALONE(id, ...)    CASE_WITH(id, ("HAZARDS=alone"), __VA_ARGS__)

/* Compared between a run without the library and one with it. */
#define SEE(what, value)       hazard_see(what, (long long)(value))

/* Ends the test: the hazard cannot occur here. */
#define SKIP(why)                  \
	do {                       \
		hazard_skip = why; \
		return;            \
	} while (0)

/* Functions as the program finds them, and the driver's own. */
extern struct driver cu, native;

extern CUcontext primary;
extern CUdeviceptr there;
extern CUstream stream; /* a non-blocking one */
extern const char *hazard_skip;

/*
 * Finds the driver and makes the device's primary context current, with `there` and `stream`.  A
 * second call in the same process only makes the context current.
 */
void begin(void);

/* Opens the driver without initializing it; begin() calls this. */
void find_driver(void);

/* Creates `there` and `stream` again, in the current context. */
void begin_context(void);

/* Returns a function of the stand-in (standin.h), or NULL with a device. */
void *stand_in(const char *name);

/*
 * On the stand-in: holds the next call of that name before it returns, until release_call(), so
 * that its thread stays inside the driver.  False: a device cannot hold calls.
 */
bool hold_call(const char *name);
bool call_is_held(void);
void release_call(void);

void hazard_see(const char *what, long long value);

/* True if the memory at `at` is registered with the driver, by the program or by the library. */
bool is_pinned(const void *at);

/* Enqueues work of about so many milliseconds; on the stand-in it ends when waited for. */
void spin(CUstream on, unsigned ms);

/* Copies from the block until it is pinned, or for as long as that should take; then waits. */
bool heat(char *block, size_t bytes);

/* Returns a block of malloc() memory that is pinned if the library acts, filled with seed 1. */
char *hot(size_t bytes);

/* Returns the first whole page of a block of BYTES; INSIDE is the size of its whole pages. */
char *inner(const char *block);
#define INSIDE (BYTES - PAGE)

/*
 * True if the device's bytes at `from`, downloaded into memory that is never pinned, are those of
 * the seed.
 */
bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed);

/*
 * Checks repeatedly that copies of every kind between the block and the device have the right
 * bytes.
 */
void agrees(char *block, size_t bytes);

/*
 * To be called after pages of a block of BYTES were changed without malloc().  Checks that none is
 * still registered and that the device sees the program's data; frees the block, and checks that
 * the next one is an ordinary block.
 */
void changed(char *block);

#endif
