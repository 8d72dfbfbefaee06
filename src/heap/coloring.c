/*
 * coloring.c - offsets of blocks in their rooms.
 */
#include "heap/coloring.h"

/* On 2 MiB pages all low bits count, on 4 KiB pages those below 4096.  A step changes both. */
#define LARGE_FROM ((size_t)2 << 20)
#define LARGE_STEP ((size_t)4096 + 256)
/* A small block must not touch more pages than necessary. */
#define SMALL_STEP ((size_t)256)

static size_t step_of(size_t bytes)
{
	return bytes >= LARGE_FROM ? LARGE_STEP : SMALL_STEP;
}

size_t coloring_most(size_t bytes, size_t alignment)
{
	return (COLORING_TURNS - 1) * step_of(bytes) & ~(alignment - 1);
}

size_t coloring_offset(unsigned turn, size_t bytes, size_t alignment)
{
	return turn % COLORING_TURNS * step_of(bytes) & ~(alignment - 1);
}
