/*
 * strip.c - sums in bins, whose width doubles when all of them are used.
 */
#include "trace/collect/strip.h"
#include "base/parse.h"

#include <assert.h>
#include <string.h>

void strip_init(struct strip *strip, uint64_t begin)
{
	*strip = (struct strip){ .begin = begin, .width = STRIP_FIRST_NS };
}

static void merge(struct profile_bin *to, const struct profile_bin *from)
{
	for (size_t i = 0; i < HP_LEN(to->column); i++)
		to->column[i] += from->column[i];
}

static void double_width(struct strip *strip)
{
	for (size_t i = 0; i < STRIP_BINS / 2; i++) {
		struct profile_bin both = strip->bin[2 * i];

		merge(&both, &strip->bin[2 * i + 1]);
		strip->bin[i] = both;
	}
	memset(&strip->bin[STRIP_BINS / 2], 0, sizeof(strip->bin) / 2);
	strip->bins = (strip->bins + 1) / 2;
	strip->width *= 2;
}

/* Returns the bin of a time, which must not lie before the begin. */
static struct profile_bin *bin_at(struct strip *strip, uint64_t at)
{
	/* Nearly always the bin is that of the previous time, which needs no division. */
	if (at - strip->latest < strip->width && strip->bins > 0)
		return &strip->bin[strip->latest_bin];
	while ((at - strip->begin) / strip->width >= STRIP_BINS)
		double_width(strip);
	size_t index = (size_t)((at - strip->begin) / strip->width);

	if (index >= strip->bins)
		strip->bins = index + 1;
	strip->latest_bin = index;
	strip->latest = strip->begin + index * strip->width;
	return &strip->bin[index];
}

void strip_add_time(struct strip *strip, unsigned state, uint64_t from, uint64_t to)
{
	assert(state < STRIP_STATES);
	if (from < strip->begin)
		from = strip->begin;
	if (from >= to)
		return;
	/* Nearly always the span lies in the bin of the previous time. */
	if (strip->bins > 0 && from >= strip->latest && to - strip->latest <= strip->width) {
		strip->bin[strip->latest_bin].column[state] += (int64_t)(to - from);
		return;
	}
	/* The last bin first, so that the width stays the same from here on. */
	bin_at(strip, to - 1);
	while (from < to) {
		struct profile_bin *bin = bin_at(strip, from);
		uint64_t end = strip->latest + strip->width;

		if (end > to)
			end = to;
		bin->column[state] += (int64_t)(end - from);
		from = end;
	}
}

void strip_add_count(struct strip *strip, enum strip_count what, uint64_t at, uint64_t count)
{
	if (at >= strip->begin)
		bin_at(strip, at)->column[STRIP_STATES + what] += (int64_t)count;
}
