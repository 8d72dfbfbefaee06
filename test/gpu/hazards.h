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

#include "../preload/device.h"
#include "../driver.h"
#include "../pattern.h"

#include <errno.h>

#define KIB              ((size_t)1 << 10)
#define MIB              ((size_t)1 << 20)
#define PAGE             ((size_t)4096)

/* Of most blocks; a device is lent THERE_BYTES of memory at `there`. */
#define BYTES            (4 * MIB)
#define THERE_BYTES      (64 * MIB)

#define OK(call)         CHECK_EQ(call, CUDA_SUCCESS)

/* A test with a process of its own: it ends contexts, or the process, or wants an environment. */
#define ALONE(id)        TEST_WITH(id, "HAZARDS=alone")

/* Compared between a run without the library and one with it. */
#define SEE(what, value) hazard_see(what, (long long)(value))

/* Ends the test: the hazard cannot be had here. */
#define SKIP(why)                  \
	do {                       \
		hazard_skip = why; \
		return;            \
	} while (0)

/* As the program finds them, and the same behind the library's back. */
extern struct driver cu, native;

extern CUcontext primary;
extern CUdeviceptr there;
extern CUstream stream; /* a non-blocking one */
extern const char *hazard_skip;

/*
 * Finds the driver, makes the device's primary context current, with `there` and `stream`.  Again
 * in the same process: nothing, but that the context is made current.
 */
void begin(void);

/* The driver by its handle, not yet initialized; begin() calls it. */
void find_driver(void);

/* `there` and `stream` once more, in the context that is current. */
void begin_context(void);

/* A function of the stand-in's (standin.h), or NULL: there is a device. */
void *stand_in(const char *name);

/*
 * The stand-in: the next call of that name is held before it returns, until release_call(), so that
 * the thread that makes it stands in the middle of the driver.  False: a device holds nothing.
 */
bool hold_call(const char *name);
bool call_is_held(void);
void release_call(void);

void hazard_see(const char *what, long long value);

/* Is the memory at `at` registered with the driver, by anybody? */
bool is_pinned(const void *at);

/* Work of about so many milliseconds on the stream; on the stand-in it ends when waited for. */
void spin(CUstream on, unsigned ms);

/* Copies from the block until it is pinned, or for as long as should do; then waits. */
bool heat(char *block, size_t bytes);

/* A block of malloc() memory that is pinned wherever the library acts, filled with seed 1. */
char *hot(size_t bytes);

/* The whole pages of a block of BYTES: the first one, and how many bytes they are. */
char *inner(const char *block);
#define INSIDE (BYTES - PAGE)

/* Are the device's bytes at `from`, fetched into memory that nobody pins, those of the seed? */
bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed);

/* Copies of every kind between the block and the device agree about every byte, again and again. */
void agrees(char *block, size_t bytes);

/*
 * The pages of a block of BYTES have just been changed past malloc(): no registration is left on
 * them, the device sees what the program sees; the block is freed, and the next is as it should be.
 */
void changed(char *block);

/* Of a child; 1000 + signal where that ended it. */
int status_of(pid_t child);

#endif
