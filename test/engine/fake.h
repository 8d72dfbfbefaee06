/*
 * A driver that only registers memory, and reports everything that must not happen.
 */
#ifndef HP_TEST_ENGINE_FAKE_H
#define HP_TEST_ENGINE_FAKE_H

#include "real/real.h"

#include <stdatomic.h>

struct fake {
	/* Set by the test. */
	uint64_t budget;                              /* the library must never register more */
	CUresult _Atomic refuse;                      /* result of registrations; 0: they succeed */
	void (*_Atomic inside)(void *base, size_t n); /* called while it registers */
	void (*_Atomic inside_end)(void *base);       /* called before it unregisters */
	void (*_Atomic inside_set)(void);             /* called when a context is made current */
	uintptr_t _Atomic gone;                       /* a context that must no longer be used */
	bool _Atomic keeps;                           /* it unregisters nothing */
	bool _Atomic lenient; /* contexts are destroyed, so 713 is expected */
	uint64_t _Atomic register_ns, unregister_ns; /* duration of such a call on the test clock */

	/* Counts of what happened. */
	long _Atomic registers, unregisters;    /* calls */
	long _Atomic registered;                /* that succeeded */
	long _Atomic overlaps;                  /* 712 */
	long _Atomic strangers;                 /* 713: not registered, or no longer */
	long _Atomic broken;                    /* broken rules, each reported on stdout */
	size_t _Atomic bytes, bytes_most;       /* registered now, and the largest sum */
	uintptr_t _Atomic last_base, last_room; /* of the last registration */
};

extern struct fake fake;

/* Makes this the driver of the process, with `budget` for pins, and starts the heap. */
void fake_start(uint64_t budget);

/* Sets the calling thread's context; new threads have none. */
void fake_set_context(uintptr_t context);

/* Destroys a context with its registrations. */
void fake_destroy_context(uintptr_t context);

/* Calls of the program: made like a wrapper does, with the steps of pin.h before and after. */
CUresult fake_program_register(void *address, size_t bytes);
CUresult fake_program_unregister(void *address);

/* True if all of [address, address + bytes) is registered. */
bool fake_is_registered(const void *address, size_t bytes);

/* True if every rule was kept and every sum is right.  No other thread may be active. */
bool fake_all_well(void);

#endif
