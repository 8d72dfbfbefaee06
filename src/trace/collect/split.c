/*
 * split.c - one sweep over all layers.
 */
#include "trace/collect/split.h"
#include "trace/sort.h"

#include <assert.h>
#include <stdbool.h>

_Static_assert(SPLIT_TRANSFER < SPLIT_COPY_CALL && SPLIT_KERNEL < SPLIT_COPY_CALL &&
		       SPLIT_COPY_CALL < SPLIT_WAIT,
	       "the device's layers come before the host's");
/* In place of a layer: a change of range, whose number is in `end`. */
#define RANGE SPLIT_LAYERS
_Static_assert(SPLIT_PARTS == STRIP_STATES, "the strip has the same states");
_Static_assert(sizeof(struct profile_split) == SPLIT_PARTS * sizeof(int64_t), "a field each");
_Static_assert(sizeof(struct profile_bin) == (STRIP_STATES + STRIP_COUNTS) * sizeof(int64_t),
	       "a column each");
_Static_assert(RANGE < 1 << SPLIT_LAYER_BITS, "the layer fits into the key");

void split_init(struct split *split, struct split_span *spans, size_t room, uint64_t begin)
{
	assert(room >= 2);
	*split = (struct split){ .spans = spans, .room = room, .at = begin, .begin = begin };
	strip_init(&split->strip, begin);
}

void split_begin_outside(struct split *split)
{
	split->range = SPLIT_OUTSIDE;
	split->strip.begin = UINT64_MAX;
}

static uint64_t start_of(const struct split_span *span)
{
	return span->key >> SPLIT_LAYER_BITS;
}

static void sort(struct split *split)
{
	sort_by_first(split->spans, split->count, sizeof(*split->spans) / sizeof(uint64_t));
}

/* Returns the state of the wall time for a set of layers. */
static enum split_part part_of(unsigned layers)
{
	const unsigned calls = 1 << SPLIT_COPY_CALL | 1 << SPLIT_WAIT | 1 << SPLIT_CALL;
	bool transfer = layers >> SPLIT_TRANSFER & 1, kernel = layers >> SPLIT_KERNEL & 1;

	if (transfer)
		return kernel ? SPLIT_PART_OVERLAP : SPLIT_PART_TRANSFER;
	if (kernel)
		return SPLIT_PART_KERNEL;
	if (layers >> SPLIT_START_UP & 1)
		return SPLIT_PART_STARTUP;
	return layers & calls ? SPLIT_PART_CALLS : SPLIT_PART_HOST;
}

/* Accounts for the time up to `to`. */
static void advance(struct split *split, uint64_t to)
{
	while (split->at < to) {
		uint64_t next = to;

		/* Mostly one or two of all layers are on. */
		for (unsigned left = split->on; left != 0; left &= left - 1) {
			unsigned layer = (unsigned)__builtin_ctz(left);

			if (split->open[layer] <= split->at)
				split->on &= ~(1u << layer);
			else if (split->open[layer] < next)
				next = split->open[layer];
		}
		split->state_ns[split->range][split->on] += next - split->at;
		if (split->range != SPLIT_OUTSIDE)
			strip_add_time(&split->strip, part_of(split->on), split->at, next);
		split->at = next;
	}
}

static void sweep(struct split *split, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct split_span *span = &split->spans[i];
		unsigned layer = span->key & ((1 << SPLIT_LAYER_BITS) - 1);

		advance(split, start_of(span));
		if (layer == RANGE) {
			split->range = (unsigned)span->end;
		} else if (span->end > split->open[layer]) {
			split->open[layer] = span->end;
			split->on |= 1u << layer;
		}
	}
}

static void make_room(struct split *split)
{
	size_t half = (split->count + 1) / 2;

	sort(split);
	sweep(split, half);
	for (size_t i = half; i < split->count; i++)
		split->spans[i - half] = split->spans[i];
	split->count -= half;
}

void split_add(struct split *split, enum split_layer layer, uint64_t start, uint64_t end)
{
	/* The time before the begin belongs to no part. */
	if (start < split->begin)
		start = split->begin;
	if (end <= start)
		return;
	if (split->count == split->room)
		make_room(split);
	if (layer >= SPLIT_CALL)
		strip_add_count(&split->strip, STRIP_CALLS, start, 1);
	/* Time that is already summed up does not change: sweep() only goes on from there. */
	if (start < split->at)
		split->late_ns += (end < split->at ? end : split->at) - start;
	split->spans[split->count++] = split_span_of(layer, start, end);
}

void split_range(struct split *split, uint64_t at, unsigned range)
{
	if (at < split->begin)
		at = split->begin;
	if (range != SPLIT_OUTSIDE && split->strip.begin == UINT64_MAX)
		split->strip.begin = at;
	if (split->count == split->room)
		make_room(split);
	split->spans[split->count++] = split_span_of(RANGE, at, range);
}

static void add_state(struct split_sum *sum, unsigned state, uint64_t ns)
{
	unsigned host = state & (1 << SPLIT_COPY_CALL | 1 << SPLIT_WAIT);

	sum->wall_ns += ns;
	for (int layer = 0; layer < SPLIT_LAYERS; layer++)
		sum->layer_ns[layer] += state >> layer & 1 ? ns : 0;
	((int64_t *)&sum->parts)[part_of(state)] += (int64_t)ns;
	if (host != 0)
		sum->blocked_ns += ns;
	else if (state >> SPLIT_DEFERRED & 1)
		sum->ahead_ns += ns;
	if (!(state >> SPLIT_COPY_CALL & 1))
		return;
	if (state >> SPLIT_TRANSFER & 1)
		sum->call_copying_ns += ns;
	else if (state >> SPLIT_KERNEL & 1)
		sum->call_waiting_ns += ns;
	else
		sum->call_overhead_ns += ns;
}

static void add_range(const struct split *split, unsigned range, struct split_sum *sum)
{
	for (unsigned state = 0; state < SPLIT_STATES; state++)
		add_state(sum, state, split->state_ns[range][state]);
}

void split_range_sum(const struct split *split, unsigned range, struct split_sum *ret)
{
	*ret = (struct split_sum){ 0 };
	add_range(split, range, ret);
}

void split_finish(struct split *split, uint64_t end, struct split_sum *ret)
{
	struct split_sum sum = { .late_ns = split->late_ns };

	if (end < split->at)
		end = split->at;
	sort(split);
	size_t inside = 0;
	while (inside < split->count && start_of(&split->spans[inside]) < end)
		inside++;
	sweep(split, inside);
	advance(split, end);
	split->count = 0;
	for (unsigned range = 0; range < SPLIT_RANGES; range++)
		add_range(split, range, &sum);
	*ret = sum;
}
