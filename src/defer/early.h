/*
 * May an upload come back before its source, a pinned block, has been read?  Pure.
 *
 * The source is closed for writing meanwhile.  Behind other work the bus is crossed at once, into
 * scratch memory on the device, and only the copy from there waits for its turn: so whoever writes
 * to the source never waits for a kernel.
 */
#ifndef HP_DEFER_EARLY_H
#define HP_DEFER_EARLY_H

#include "defer/fetch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A source is opened in pieces, whole 2 MiB pages each, this many at the most. */
#define EARLY_PIECES 16

enum early_way {
	EARLY_NOT,     /* as ever: by the ring, or waited for */
	EARLY_DIRECT,  /* on the program's stream, where nothing is before it */
	EARLY_SCRATCH, /* on a stream of ours, then from the scratch memory on the program's */
};

/* HOTPIN_EARLY, in the order of its words. */
enum early_wish { EARLY_OFF, EARLY_BEHIND, EARLY_ALWAYS };

struct early_facts {
	enum early_wish wish;
	enum fetch_refusal block; /* what a copy from the device would be refused for there */
	bool behind_work;
};

enum early_way early_choose(const struct early_facts *facts);

/* How many bytes of a block of `room` bytes are closed and opened at a time. */
size_t early_piece(size_t room);

/*
 * What its writers may wait, all in all, ns: half of what it takes to put `bytes` into the ring
 * instead.  More often than not above it, and a site's uploads wait again.
 */
uint64_t early_patience_ns(size_t bytes);

#endif
