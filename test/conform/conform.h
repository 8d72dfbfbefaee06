/*
 * Determines the behavior of a CUDA driver, fact by fact.
 *
 * A fact is a name and a value, printed as `name = value`.  facts.def states the value of each on
 * an H200, and where the stand-in differs.  No fact depends on the speed of a device: a call has
 * waited if the kernel before it is complete, and the stand-in runs nothing until a call waits for
 * it.
 *
 * Each section is a process of its own, forked before the driver is loaded, because contexts may
 * end in it.
 */
#ifndef HP_CONFORM_CONFORM_H
#define HP_CONFORM_CONFORM_H

#include "driver.h"
#include "sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By flavor: stream NULL is the legacy stream, or the thread's own.  Missing functions are NULL. */
extern struct driver cu[2];

/* Created by begin(). */
extern CUcontext primary;
extern CUdeviceptr there; /* THERE_BYTES */
#define THERE_BYTES (64 * MIB)
extern CUstream blocking, unbound; /* unbound: CU_STREAM_NON_BLOCKING */
extern bool stand_in;

#define SECTION(id)                                                     \
	static void section_##id(void);                                 \
	static struct section entry_##id = { #id, section_##id, NULL }; \
	__attribute__((constructor)) static void add_##id(void)         \
	{                                                               \
		*section_last = &entry_##id;                            \
		section_last = &entry_##id.next;                        \
	}                                                               \
	static void section_##id(void)

struct section {
	const char *name;
	void (*run)(void);
	struct section *next;
};
extern struct section **section_last;

/* Finds the driver, makes the primary context current, and loads the kernels. */
void begin(void);
/* Loads the kernels into the current context. */
void kernels_load(void);

/* Makes a call that facts depend on; the section ends if it fails. */
#define MUST(call) must(call, #call, __FILE__, __LINE__)
void must(CUresult rc, const char *text, const char *file, int line);

/* Reports a fact of the section; the section's name is prepended. */
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * True if the registration of `at` holds pages.  The stand-in's does not where io_uring is missing
 * or the limit of locked memory is low (test/standin/pin.c).
 */
bool holds_pages(const void *at);
/* Reports a fact that differs if registrations hold no pages. */
void fact_of_pages(bool held, const char *name, const char *value);
/* Reports a fact whose name is composed. */
#define FACT(value, ...)                                     \
	do {                                                 \
		char name_[128];                             \
		snprintf(name_, sizeof(name_), __VA_ARGS__); \
		fact(name_, "%s", value);                    \
	} while (0)
/* Returns "0", or the code of an error; in static memory. */
const char *code(CUresult rc);

/*
 * Starts a kernel of 30 ms on the stream, and tells whether it is still running.  Only one at a
 * time.  The stand-in's kernel completes when a call waits for it.
 */
void busy(CUstream on);
bool still_busy(void);
/* Says how a call behind busy() returned: "returns", "waits", or the code of its error. */
const char *returned(CUresult rc);
/* Waits for the whole context. */
void settle(void);
/* Launches a kernel that copies 8 bytes of device memory. */
void move_word(CUstream on, CUdeviceptr to, CUdeviceptr from);
/* Launches a kernel that would print a line if its argument were not 0. */
CUresult launch_printing(void);

/* Returns new pages, with each byte set. */
char *pages(size_t bytes, int value);
/* Returns one byte of device memory, read by pinned memory. */
int peek(CUdeviceptr at);

/* Runs the job on another thread with the same context, and waits for it. */
void elsewhere(void (*job)(void *), void *argument);

#endif
