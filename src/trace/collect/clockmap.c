/*
 * clockmap.c - measures the offset between the clocks repeatedly.
 */
#include "trace/collect/clockmap.h"
#include "base/clock.h"

#include <time.h>

static int read_realtime(uint64_t *ret_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}

void clockmap_sample(struct clockmap *map, clockmap_read_fn read, int tries)
{
	uint64_t theirs, least_ns = UINT64_MAX;

	if (read(&theirs) != 0)
		read = read_realtime;
	for (int i = 0; i < tries; i++) {
		uint64_t before = hp_now_ns();

		if (read(&theirs) != 0)
			continue;
		uint64_t after = hp_now_ns();
		if (after - before >= least_ns)
			continue;
		least_ns = after - before;
		map->anchored = true;
		map->offset_ns = (int64_t)(theirs - (before + least_ns / 2));
	}
}

uint64_t clockmap_to_ours(const struct clockmap *map, uint64_t ns)
{
	int64_t ours = (int64_t)(ns - (uint64_t)map->offset_ns);

	return ours < 0 ? 0 : (uint64_t)ours;
}
