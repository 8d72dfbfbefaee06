/*
 * Computes how short the run could have been: bounds from the split of its wall time.  Pure.
 *
 * Each bound is the least wall time under its assumption, so each saving is the most.
 */
#ifndef HP_TRACE_OUT_WHATIF_H
#define HP_TRACE_OUT_WHATIF_H

#include "trace/collect/split.h"

#include <stdbool.h>

enum whatif {
	WHATIF_PINNED,
	WHATIF_OVERLAPPED,
	WHATIF_BOTH,
	WHATIF_NO_TRANSFERS,
	WHATIF_COUNT,
};

/* Copies of pageable memory in one direction, and the peak rate of the link. */
struct whatif_pageable {
	uint64_t bytes, busy_ns; /* of copies whose times are known */
	uint64_t peak;           /* bytes a second; 0: unknown */
};

struct whatif_facts {
	const struct split_sum *split;
	uint64_t excess_ns; /* whatif_excess_ns() */
	/*
	 * Time in calls that may have copied pageable memory.  The device's records of such copies
	 * begin when the driver has staged the first bytes.  The time before is overhead of the
	 * call, which pinning also saves.
	 */
	uint64_t pageable_calls_ns;
	/*
	 * Time of uploads and of downloads: a link carries both at the same time.  0: no such
	 * copies.
	 */
	uint64_t up_ns, down_ns;
	bool excess_known;
};

/*
 * Writes the copies' time in excess of the time at peak rate.  False: unknown, since no peak is
 * known.
 */
bool whatif_excess_ns(const struct whatif_pageable *directions, int count, uint64_t *ret_ns);

/* Writes the largest possible saving, at most the split's wall time.  False: unknown. */
bool whatif_saves_ns(const struct whatif_facts *facts, enum whatif what, uint64_t *ret_ns);

/* Names for the JSON, and the assumption of each bound, by enum whatif. */
extern const char *const whatif_names[WHATIF_COUNT];
extern const char *const whatif_assumes[WHATIF_COUNT];

#endif
