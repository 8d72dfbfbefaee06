/*
 * cost.c - the pin rule, and how long fork() waits.
 */
#include "pin/cost.h"

/*
 * Medians for 64 MiB on an H200 (PCIe 5 x16, driver 580.159), with fast host memory
 * (doc/measurements.md#register): a pageable copy takes 2.7 ms more than a pinned one.
 * Registering and unregistering take 3.9 ms on 4 KiB pages, 2.1 ms on 2 MiB pages, and 45 us for
 * any size, in which a pinned copy gains about 1 MiB.
 */
static const struct {
	unsigned small_percent, huge_percent; /* of the room, on 4 KiB and on 2 MiB pages */
	size_t floor_bytes;
} rule = { .small_percent = 140, .huge_percent = 75, .floor_bytes = (size_t)1 << 20 };

/* What a pinned copy saves, by the same medians, ns per MiB. */
#define SAVED_NS          42000
#define MIB_SHIFT         20

/* A copy of at least this part of the count that pays waits for the pin. */
#define BACKGROUND_PART   8

#define FORK_LEAST        ((size_t)32 << 20)
#define FORK_LOOK_NS      ((uint64_t)50000000)
#define FORK_BYTES_PER_NS 8

size_t cost_pays_from(size_t room, bool huge)
{
	return room * (huge ? rule.huge_percent : rule.small_percent) / 100 + rule.floor_bytes;
}

enum cost_verdict cost_decide(bool first, uint64_t counted, size_t bytes, size_t pays_from)
{
	if (first || counted + bytes < pays_from)
		return COST_STAY_PAGEABLE;
	return bytes < pays_from / BACKGROUND_PART ? COST_PIN_IN_BACKGROUND : COST_PIN;
}

uint64_t cost_saved_ns(size_t bytes)
{
	return (uint64_t)(((unsigned __int128)bytes * SAVED_NS) >> MIB_SHIFT);
}

uint64_t cost_fork_patience_ns(size_t pinned)
{
	return pinned < FORK_LEAST ? 0 : FORK_LOOK_NS + pinned / FORK_BYTES_PER_NS;
}
