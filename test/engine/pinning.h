/*
 * Common steps of tests of pins on the stand-in driver: allocate, copy, and look at the state.
 */
#ifndef HP_TEST_ENGINE_PINNING_H
#define HP_TEST_ENGINE_PINNING_H

#include "base/lock.h"
#include "heap/heap.h"
#include "heap/cache.h"
#include "heap/map.h"
#include "heap/huge_pages.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/unpin.h"
#include "pin/use.h"

#include "check.h"
#include "heap_check.h"
#include "sizes.h"
#include "../standin/standin.h"

#include <pthread.h>
#include <stdatomic.h>

/* What happens when the library pins and unpins. */
extern struct pinning {
	/* Set by the test. */
	CUresult _Atomic refuse;                      /* result of registrations; 0: the driver's */
	void (*_Atomic inside)(void *base, size_t n); /* called before it registers */
	void (*_Atomic inside_end)(void *base);       /* called before it unregisters */
	bool _Atomic keeps;                           /* the driver unregisters nothing */

	long _Atomic registers, unregisters; /* calls */
	long _Atomic broken;                 /* broken rules, each reported on stdout */
} pinning;

extern CUcontext context;

/* Starts the library on the stand-in, with `budget` for pins, and makes `context` current. */
void pinning_start(uint64_t budget);

/* Calls of the program: made like a wrapper does, with the steps of pin.h before and after. */
CUresult program_registers(void *address, size_t bytes);
CUresult program_unregisters(void *address);

/* True if every rule was kept and every sum is right.  No other thread may be active. */
bool all_is_well(void);

/* A test of pins with room for all, in which every rule is kept. */
#define PIN_TEST(id) TEST_BETWEEN(id, pinning_start(GIB), CHECK(all_is_well()))

/* Blocks of this site get 2 MiB pages, as if copies had shown that these pay off. */
#define PROVEN       4711

static inline void prove(void)
{
	/* Copied blocks were hardly touched, which taught the site that; undo it. */
	huge_note_site(PROVEN, true);
}

/* Returns a block that was copied before, so its next copy may pin it. */
static inline char *allocate(size_t bytes)
{
	prove();

	/* The alignment makes the block begin where its room does. */
	char *memory = heap_alloc(bytes, bytes < 2 * MIB ? 4 * KIB : 64 * KIB, false, PROVEN);

	if (!CHECK(memory != NULL))
		_exit(1);
	range_find(memory)->copied_ns = 1;
	return memory;
}

/* A copy that is over before the driver is called.  True: it was one of pinned memory. */
static inline bool copy(const void *memory, size_t bytes)
{
	const void *frame = __builtin_frame_address(0);
	enum pin_use use = pin_before_copy(range_find(memory), true, bytes, frame);

	pin_leave(frame);
	return use == PIN_PINNED;
}

/* True if a byte of [address, address + bytes) is pinned by us. */
static inline bool pin_covers_any(const void *address, size_t bytes)
{
	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;)
		if (block_may_be_pinned(block))
			return true;
	return false;
}

static inline int pin_of(const void *memory)
{
	return block_pin(range_find(memory));
}

/* Copies until the block is pinned.  False if 100 copies were not enough. */
static inline bool heat_up(const void *memory, size_t bytes)
{
	for (int i = 0; i < 100; i++)
		if (copy(memory, bytes))
			return true;
	return false;
}

static inline char *allocate_pinned(size_t bytes)
{
	char *memory = allocate(bytes);

	heat_up(memory, bytes);
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
	return memory;
}

static inline void after_fork_child(void)
{
	hp_locks_after_fork_child();
	heap_after_fork_child();
	pin_after_fork_child();
}

/* From here on, fork() does what the library's handlers do. */
static inline void heed_forks(void)
{
	pthread_atfork(hp_locks_before_fork, hp_locks_after_fork_parent, after_fork_child);
}

/* True if all of [memory, memory + bytes) is registered. */
static inline bool is_registered(const char *memory, size_t bytes)
{
	return standin_pinned(memory) && standin_pinned(memory + bytes - 1);
}

static inline CUcontext new_context(void)
{
	CUcontext created = NULL;

	OK(cuCtxCreate_v2(&created, 0, 0));
	return created;
}

/* Ends the context, as the shim does. */
static inline void end_context(CUcontext owner)
{
	pin_context_ending((uintptr_t)owner);
	OK(cuCtxDestroy_v2(owner));
	pin_context_ended((uintptr_t)owner, true);
}

#endif
