/*
 * whatif.c - four subtractions.
 *
 * Faster transfers can save only time in which a transfer ran without a kernel.  Overlap can save
 * only time in which either of them ran alone.  Uploads and downloads can overlap each other, too.
 */
#include "trace/out/whatif.h"

const char *const whatif_names[WHATIF_COUNT] = {
	[WHATIF_PINNED] = "all_pinned",
	[WHATIF_OVERLAPPED] = "all_overlapped",
	[WHATIF_BOTH] = "pinned_and_overlapped",
	[WHATIF_NO_TRANSFERS] = "no_transfers",
};

const char *const whatif_assumes[WHATIF_COUNT] = {
	[WHATIF_PINNED] = ("every copy of pageable memory runs at the link's peak, its call does "
			   "nothing else, and pinning costs nothing"),
	[WHATIF_OVERLAPPED] =
		"transfers in one direction, in the other, and kernels never wait for each other",
	[WHATIF_BOTH] = "both of these",
	[WHATIF_NO_TRANSFERS] = "data stays on the device, and no call copies any",
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool whatif_excess_ns(const struct whatif_pageable *directions, int count, uint64_t *ret_ns)
{
	uint64_t excess = 0;

	for (int i = 0; i < count; i++) {
		const struct whatif_pageable *copies = &directions[i];

		if (copies->bytes == 0)
			continue;
		if (copies->peak == 0)
			return false;
		uint64_t best = (uint64_t)((__uint128_t)copies->bytes * 1000000000 / copies->peak);
		if (copies->busy_ns > best)
			excess += copies->busy_ns - best;
	}
	*ret_ns = excess;
	return true;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Returns the time of a direction without the time that faster copies save.  Inexact for copies
 * that overlap each other.
 */
static uint64_t left_of(uint64_t direction_ns, uint64_t transfer_ns, uint64_t spared_ns)
{
	uint64_t ns = least(direction_ns, transfer_ns);

	return ns > spared_ns ? ns - spared_ns : 0;
}

/*
 * Returns the saving if uploads, downloads and kernels overlap fully: only the longest of them
 * remains.
 */
static uint64_t overlapped_ns(const struct whatif_facts *facts, uint64_t spared_ns)
{
	const struct split_sum *split = facts->split;
	uint64_t transfer_ns = split->transfer_ns + split->overlap_ns;
	uint64_t busiest = split->kernel_ns + split->overlap_ns;

	if (facts->up_ns == 0 && facts->down_ns == 0)
		return least(split->transfer_ns - spared_ns, split->kernel_ns);
	busiest = largest(busiest, left_of(facts->up_ns, transfer_ns, spared_ns));
	busiest = largest(busiest, left_of(facts->down_ns, transfer_ns, spared_ns));
	return split->transfer_ns - spared_ns + split->kernel_ns + split->overlap_ns - busiest;
}

bool whatif_saves_ns(const struct whatif_facts *facts, enum whatif what, uint64_t *ret_ns)
{
	const struct split_sum *split = facts->split;
	uint64_t pinned = least(facts->excess_ns, split->transfer_ns);
	uint64_t staging = least(facts->pageable_calls_ns, split->call_overhead_ns);

	if (!facts->excess_known && (what == WHATIF_PINNED || what == WHATIF_BOTH))
		return false;
	switch (what) {
	case WHATIF_PINNED:
		*ret_ns = pinned + staging;
		return true;
	case WHATIF_OVERLAPPED:
		*ret_ns = overlapped_ns(facts, 0);
		return true;
	case WHATIF_BOTH:
		*ret_ns = pinned + staging + overlapped_ns(facts, pinned);
		return true;
	default:
		*ret_ns = split->transfer_ns + split->call_overhead_ns;
		return true;
	}
}
