/*
 * Which part of the scratch memory on the device is free?  Pure; its owner keeps others out.
 */
#ifndef HP_DEFER_SCRATCH_H
#define HP_DEFER_SCRATCH_H

#include <stddef.h>

#define SCRATCH_PARTS 8

/* Starts as 0 but for `room`. */
struct scratch {
	size_t room;
	struct {
		size_t at, bytes; /* bytes 0: free */
	} parts[SCRATCH_PARTS];
};

/* The number of a part of `bytes` bytes, aligned for any copy; -1: there is no room. */
int scratch_take(struct scratch *scratch, size_t bytes);

void scratch_give(struct scratch *scratch, int part);

#endif
