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

#include "../driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define PAGE ((size_t)4096)

/* By flavor: stream NULL is the legacy stream, or the thread's own.  NULL: there is no such. */
extern struct driver cu[2];

/* What begin() has made. */
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

/* Finds the driver; the primary context is current and has the kernels. */
void begin(void);
/* The kernels in the context that is current now. */
void kernels_load(void);

/* A call that the facts rest on; the section ends where it fails. */
#define OK(call) must(call, #call, __FILE__, __LINE__)
void must(CUresult rc, const char *text, const char *file, int line);

/* Reports a fact of the section; the name is what follows the section's. */
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with a name that is put together. */
#define FACT(value, ...)                                     \
	do {                                                 \
		char name_[128];                             \
		snprintf(name_, sizeof(name_), __VA_ARGS__); \
		fact(name_, "%s", value);                    \
	} while (0)
/* "0", or the code of an error; in static memory. */
const char *code(CUresult rc);

/*
 * A kernel of 30 ms on the stream, and whether it is over.  One at a time; the stand-in's is over
 * when somebody has waited for it.
 */
void busy(CUstream on);
bool still_busy(void);
/* How a call returned that was made behind busy(): "returns", "waits", or the code of its error.
 */
const char *returned(CUresult rc);
/* Waits for the whole context. */
void settle(void);
/* A kernel that copies 8 bytes of the device's. */
void move_word(CUstream on, CUdeviceptr to, CUdeviceptr from);
/* A kernel that could print a line, if its argument were not 0. */
CUresult launch_printing(void);

/* Fresh pages, each byte set. */
char *pages(size_t bytes, int value);
/* One byte of the device's, by way of memory that is pinned. */
int peek(CUdeviceptr at);

/* Runs it on another thread with the context current, and waits for that. */
void elsewhere(void (*job)(void *), void *argument);

#endif
