/*
 * A driver that only registers memory, and reports everything that must not happen.
 */
#ifndef HP_TEST_ENGINE_FAKE_H
#define HP_TEST_ENGINE_FAKE_H

#include "real/real.h"

#include <stdatomic.h>

struct fake {
	/* Set by the test. */
	uint64_t budget;                              /* more must never be registered by us */
	CUresult _Atomic refuse;                      /* what registering answers; 0: does it */
	unsigned _Atomic refuse_every;                /* every so many calls; 0: as above */
	void (*_Atomic inside)(void *base, size_t n); /* called while it registers */
	void (*_Atomic inside_end)(void *base);       /* called before it unregisters */
	void (*_Atomic inside_set)(void);             /* called when a context is made current */
	uintptr_t _Atomic gone;                       /* a context that must not be used any more */
	bool _Atomic lenient;                         /* contexts die: 713 is to be expected */
	uint64_t _Atomic register_ns, unregister_ns;  /* what such a call takes on the test clock */

	/* What happened. */
	long _Atomic registers, unregisters;    /* calls */
	long _Atomic registered;                /* that succeeded */
	long _Atomic overlaps;                  /* 712 */
	long _Atomic strangers;                 /* 713: not registered (any more) */
	long _Atomic broken;                    /* rules broken, each said on stdout */
	size_t _Atomic bytes, bytes_most;       /* registered now, and at most */
	uintptr_t _Atomic last_base, last_room; /* of the last registration */
};

extern struct fake fake;

/* Makes it the driver of this process, with `budget` for pins and the heap started. */
void fake_start(uint64_t budget);

/* The calling thread's context; new threads have none. */
void fake_set_context(uintptr_t context);

/* A context goes, and its registrations with it. */
void fake_destroy_context(uintptr_t context);

/* The program's own calls: as a wrapper makes them, with what pin.h wants before and after. */
CUresult fake_program_register(void *address, size_t bytes);
CUresult fake_program_unregister(void *address);

/* Is all of [address, address + bytes) registered? */
bool fake_is_registered(const void *address, size_t bytes);

/* Was every rule kept, and is every sum right?  No other thread may be at work. */
bool fake_all_well(void);

#endif
