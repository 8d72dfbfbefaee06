/*
 * How short could the run have been?  Pure: bounds from the split of its wall time.
 *
 * Each is the least that the wall time could be under its assumption, so what it saves is the most.
 */
#ifndef HP_TRACE_WHATIF_H
#define HP_TRACE_WHATIF_H

#include "trace/split.h"

#include <stdbool.h>

enum whatif {
	WHATIF_PINNED,
	WHATIF_OVERLAPPED,
	WHATIF_BOTH,
	WHATIF_NO_TRANSFERS,
	WHATIF_COUNT,
};

/* Copies of pageable memory in one direction, and what the link can do. */
struct whatif_pageable {
	uint64_t bytes, busy_ns; /* of those whose times are known */
	uint64_t peak;           /* bytes a second; 0: unknown */
};

struct whatif_facts {
	const struct split_sum *split;
	uint64_t excess_ns; /* whatif_excess_ns() */
	/*
	 * Inside calls that may have copied pageable memory.  The device's records of such copies
	 * begin when the driver has staged the first bytes: what it did before is overhead of the
	 * call, and spared by pinning too.
	 */
	uint64_t pageable_calls_ns;
	/* Copies to the device and from it: a link does both at once.  0: it had none. */
	uint64_t up_ns, down_ns;
	bool excess_known;
};

/* What the copies took longer than the peak allows.  False: not known, for want of a peak. */
bool whatif_excess_ns(const struct whatif_pageable *directions, int count, uint64_t *ret_ns);

/* The most that could be saved, at most the split's wall time.  False: not known. */
bool whatif_saves_ns(const struct whatif_facts *facts, enum whatif what, uint64_t *ret_ns);

/* Names for the JSON and what each assumes, by enum whatif. */
extern const char *const whatif_names[WHATIF_COUNT];
extern const char *const whatif_assumes[WHATIF_COUNT];

#endif
