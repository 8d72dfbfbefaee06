/*
 * The pin rule: decides when pinning a block pays.  Pure.
 *
 * A block counts the bytes of its copies that would be faster from or to pinned memory.  The count
 * starts at 0 when the pages are new or were unpinned.  Pinning pays once the count reaches
 * cost_pays_from(): those copies have then lost about the time of a pin and its end.  The first
 * copy of a block never pins, because many blocks are copied once.
 */
#ifndef HP_PIN_COST_H
#define HP_PIN_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the count with which pinning a block of `room` bytes pays. */
size_t cost_pays_from(size_t room, bool huge);

enum cost_verdict {
	COST_STAY_PAGEABLE,     /* run the copy pageable */
	COST_PIN,               /* pin first, then copy */
	COST_PIN_IN_BACKGROUND, /* pin in the background; this small copy does not wait */
};

/*
 * Decides about a copy of `bytes` from or to a block that has counted `counted` bytes before.
 * `first`: the block was never copied.
 */
enum cost_verdict cost_decide(bool first, uint64_t counted, size_t bytes, size_t pays_from);

/* Returns what a copy of `bytes` from pinned memory saves, ns: an estimate for the profile. */
uint64_t cost_saved_ns(size_t bytes);

/*
 * Returns how long fork() waits for `pinned` bytes to be unpinned, ns: 50 ms to find out whether
 * the device is idle, and for each byte at most a third of what the kernel takes to copy it.  0
 * for so few bytes that the kernel copies them as fast.
 */
uint64_t cost_fork_patience_ns(size_t pinned);

#endif
