/*
 * CUPTI's time stamps on our clock.
 *
 * CUPTI counts in CLOCK_REALTIME on Linux by default, but on CUDA 13 only once its stack is up,
 * so nothing is measured before the first record is there.  Both clocks are slewed alike and
 * differ by steps only: the latest anchor is the best one for fresh records.
 */
#ifndef HP_TRACE_CLOCKMAP_H
#define HP_TRACE_CLOCKMAP_H

#include <stdbool.h>
#include <stdint.h>

/* CUPTI's clock less ours, and how wide the gap was that it was measured in. */
struct clockmap_anchor {
	int64_t offset_ns;
	uint64_t gap_ns, at_ns;
};

struct clockmap {
	bool anchored;
	struct clockmap_anchor first, last;
	uint64_t most_step_ns; /* the largest difference between neighboring anchors */
};

/* Reads CUPTI's clock; nonzero where it cannot. */
typedef int (*clockmap_read_fn)(uint64_t *ret_ns);

/*
 * A new anchor: the tightest of `tries` readings between two of ours.  `read` is
 * cuptiGetTimestamp(); NULL, or a refusal, stands for CLOCK_REALTIME.
 */
void clockmap_sample(struct clockmap *map, clockmap_read_fn read, int tries);

/* `ns` of CUPTI's clock on ours; 0 where that would lie before our clock began. */
uint64_t clockmap_to_ours(const struct clockmap *map, uint64_t ns);

/*
 * How far the clocks ran apart between the first and the last anchor, in parts per billion.  False:
 * not known, since one of them was stepped meanwhile: by the system's administrator, or by another
 * user of CUPTI that has given it a clock of its own.
 */
bool clockmap_drift_ppb(const struct clockmap *map, int64_t *ret);

#endif
