/*
 * For programs that sleep by the test clock: resident memory, and blocks that fill the memory.
 */
#ifndef HP_TEST_PRELOAD_RESIDENT_H
#define HP_TEST_PRELOAD_RESIDENT_H

#include "clock.h"
#include "memory.h"
#include "promote.h"

/* A step of time: shorter than any wait of the library without work. */
#define STEP_NS (20 * TEST_MS)

/* Sleeps until no more than `most` is resident, for at most `seconds`. */
bool shrinks_to(size_t most, double seconds);

/* Sleeps while no other thread of the program runs. */
void rest(double seconds);

#define BLOCKS 8
extern char *blocks[BLOCKS];

/* Fills all blocks, of 24 MiB and more. */
void allocate(bool pinned);
void free_all(void);

/* The stand-in's device memory is memory of this process: makes all of it resident. */
size_t base_line(void);

#endif
