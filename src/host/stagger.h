/*
 * How far into its room does a block begin?  Pure.
 *
 * Blocks that all begin at multiples of 2 MiB make a program slow that walks several arrays side
 * by side: a load whose address agrees with that of an earlier store in its low bits (21 of them
 * on 2 MiB pages) has to wait for it.  Measured on a Xeon of model 207: a prefix sum over two such
 * arrays took 33 ms instead of 2 ms, a stencil over three 36 ms instead of 7 ms; with starts 4 KiB
 * or 64 bytes apart nothing was lost.
 */
#ifndef HP_HOST_STAGGER_H
#define HP_HOST_STAGGER_H

#include <stddef.h>

/* Neighbours in time begin differently; after this many turns the offsets repeat. */
#define STAGGER_TURNS 16

/* The most that stagger_offset() answers for a block of `bytes` with this alignment. */
size_t stagger_most(size_t bytes, size_t alignment);

/*
 * The offset of a block of `bytes` that is the `turn`th to be made: a multiple of `alignment` (a
 * power of two) and of 64, at most stagger_most() of the two; 0 where the alignment leaves no
 * choice.
 */
size_t stagger_offset(unsigned turn, size_t bytes, size_t alignment);

#endif
