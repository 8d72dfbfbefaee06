/*
 * Address coloring: how far into its room a block begins.  Pure.
 *
 * Programs that walk several arrays side by side are slow if all of them begin at multiples of 2
 * MiB: a load waits for an earlier store whose address agrees in the low bits, 21 of them on 2 MiB
 * pages.  A prefix sum over two such arrays took 33 ms instead of 2 ms (Xeon, model 207).  Starts
 * 4 KiB or 64 bytes apart cost nothing.
 */
#ifndef HP_HEAP_COLORING_H
#define HP_HEAP_COLORING_H

#include <stddef.h>

/* Consecutive blocks begin at different offsets, which repeat after so many turns. */
#define COLORING_TURNS 16

/* Returns the largest coloring_offset() of a block of `bytes` with this alignment. */
size_t coloring_most(size_t bytes, size_t alignment);

/*
 * Returns the offset of a block of `bytes` that is created in turn `turn`: a multiple of
 * `alignment` (a power of two) and of 64, at most coloring_most(); 0 if the alignment leaves no
 * choice.
 */
size_t coloring_offset(unsigned turn, size_t bytes, size_t alignment);

#endif
