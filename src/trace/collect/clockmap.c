/*
 * clockmap.c - measures the offset between the clocks repeatedly.
 */
#include "trace/collect/clockmap.h"
#include "base/clock.h"

#include <time.h>

/* The offset of clocks that are slewed alike changes by less from one anchor to the next. */
#define STEP_NS 1000000u

static int read_realtime(uint64_t *ret_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}

void clockmap_sample(struct clockmap *map, clockmap_read_fn read, int tries)
{
	struct clockmap_anchor best = { .gap_ns = UINT64_MAX };
	uint64_t theirs;

	if (read == NULL || read(&theirs) != 0)
		read = read_realtime;
	for (int i = 0; i < tries; i++) {
		uint64_t before = hp_now_ns();

		if (read(&theirs) != 0)
			continue;
		uint64_t after = hp_now_ns();
		if (after - before >= best.gap_ns)
			continue;
		best.gap_ns = after - before;
		best.at_ns = before + (after - before) / 2;
		best.offset_ns = (int64_t)(theirs - best.at_ns);
	}
	if (best.gap_ns == UINT64_MAX)
		return;
	if (!map->anchored)
		map->first = best;
	else {
		int64_t step = best.offset_ns - map->last.offset_ns;
		uint64_t size = step < 0 ? -(uint64_t)step : (uint64_t)step;

		if (size > map->most_step_ns)
			map->most_step_ns = size;
	}
	map->last = best;
	map->anchored = true;
}

uint64_t clockmap_to_ours(const struct clockmap *map, uint64_t ns)
{
	int64_t ours = (int64_t)(ns - (uint64_t)map->last.offset_ns);

	return ours < 0 ? 0 : (uint64_t)ours;
}

bool clockmap_drift_ppb(const struct clockmap *map, int64_t *ret)
{
	uint64_t span = map->last.at_ns - map->first.at_ns;

	if (map->most_step_ns >= STEP_NS)
		return false;
	*ret = 0;
	if (map->anchored && span != 0)
		*ret = (int64_t)((__int128)(map->last.offset_ns - map->first.offset_ns) *
				 1000000000 / (__int128)span);
	return true;
}
