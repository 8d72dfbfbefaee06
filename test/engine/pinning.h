/*
 * Common steps of tests of pins: allocate, copy, and look at the state.
 */
#ifndef HP_TEST_ENGINE_PINNING_H
#define HP_TEST_ENGINE_PINNING_H

#include "heap/heap.h"
#include "heap/map.h"
#include "heap/site.h"
#include "pin/context_end.h"
#include "pin/pinning.h"

#include "check.h"
#include "heap_check.h"
#include "sizes.h"

/* Blocks of this site get 2 MiB pages, as if copies had shown that these pay off. */
#define PROVEN 4711

static inline void prove(void)
{
	/* Copied blocks were hardly touched, which taught the site that; undo it. */
	for (int i = 0; i < 8; i++)
		site_note_dense(PROVEN, true);
}

/* Returns a block that was copied before, so its next copy may pin it. */
static inline char *allocate(size_t bytes)
{
	prove();

	/* The alignment makes the block begin where its room does. */
	char *memory = heap_alloc(bytes, 64 * KIB, false, PROVEN);

	if (!CHECK(memory != NULL))
		_exit(1);
	range_find(memory)->copied_ns = 1;
	return memory;
}

static inline bool copy(const void *memory, size_t bytes)
{
	return pin_before_copy(range_find(memory), true, bytes);
}

static inline int pin_of(const void *memory)
{
	return range_find(memory)->pin;
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

/* Reports the end of the context, as the driver would. */
static inline void forget_context(uintptr_t owner)
{
	pin_context_ending(owner);
	pin_context_ended(owner, true);
}

#endif
