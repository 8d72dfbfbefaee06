/*
 * samples.c - two tables with open addressing; a full table is thinned out as a whole.
 */
#include "trace/samples/samples.h"
#include "base/arena.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define PLACES (2 * SAMPLES_MOST) /* at most half of them are taken */

struct table {
	struct sample *sample[PLACES]; /* NULL: free */
	size_t count;
	struct sample rows[SAMPLES_MOST]; /* the first `count` are taken */
};

static struct table *chains, *leaves;
static uint64_t dropped;

int samples_start(void)
{
	chains = hp_arena_alloc(sizeof(*chains));
	leaves = hp_arena_alloc(sizeof(*leaves));
	return chains != NULL && leaves != NULL ? 0 : -ENOMEM;
}

static uint64_t all_of(const struct sample *sample)
{
	uint64_t all = 0;

	for (int thread = 0; thread < SAMPLES_THREADS; thread++)
		all += sample->count[thread];
	return all;
}

static uint64_t hash_of(const struct sample *sample)
{
	uint64_t hash = sample->depth;

	for (size_t i = 0; i < sample->depth; i++) {
		const struct module_place *frame = &sample->frame[i];

		hash = hp_mix(hash, frame->offset ^ (uint64_t)frame->module << 48);
	}
	return hash;
}

static bool is_same(const struct sample *a, const struct sample *b)
{
	if (a->depth != b->depth)
		return false;
	for (size_t i = 0; i < a->depth; i++)
		if (a->frame[i].module != b->frame[i].module ||
		    a->frame[i].offset != b->frame[i].offset)
			return false;
	return true;
}

static struct sample **place_of(struct table *table, const struct sample *sample)
{
	size_t at = (size_t)(hash_of(sample) >> 20) % PLACES;

	while (table->sample[at] != NULL && !is_same(table->sample[at], sample))
		at = (at + 1) % PLACES;
	return &table->sample[at];
}

static void add_to(struct table *table, const struct sample *sample);

static void give_up(struct table *table, const struct sample *sample)
{
	struct sample leaf = *sample;

	leaf.depth = 1;
	leaf.folded = true;
	if (table == chains)
		add_to(leaves, &leaf);
	else
		dropped += all_of(sample);
}

/* Frees at least a quarter of the rows: those with the fewest samples. */
static void thin_out(struct table *table)
{
	uint64_t most = 0;
	size_t left = SAMPLES_MOST;

	while (left > SAMPLES_MOST * 3 / 4) {
		most = 2 * most + 1;
		left = 0;
		for (size_t i = 0; i < SAMPLES_MOST; i++)
			left += all_of(&table->rows[i]) > most;
	}
	memset(table->sample, 0, sizeof(table->sample));
	table->count = 0;
	for (size_t i = 0; i < SAMPLES_MOST; i++) {
		const struct sample *sample = &table->rows[i];

		if (all_of(sample) <= most) {
			give_up(table, sample);
			continue;
		}
		struct sample *kept = &table->rows[table->count++];
		if (kept != sample)
			*kept = *sample;
		*place_of(table, kept) = kept;
	}
}

static void add_to(struct table *table, const struct sample *sample)
{
	struct sample **place = place_of(table, sample);

	if (*place != NULL) {
		for (int thread = 0; thread < SAMPLES_THREADS; thread++)
			(*place)->count[thread] += sample->count[thread];
		return;
	}
	if (table->count == SAMPLES_MOST) {
		thin_out(table);
		place = place_of(table, sample);
	}
	*place = &table->rows[table->count++];
	**place = *sample;
}

void samples_add(const struct module_place *frame, size_t depth, enum samples_thread thread)
{
	struct sample sample = { .depth = (uint32_t)depth };

	memcpy(sample.frame, frame, depth * sizeof(*frame));
	sample.count[thread] = 1;
	add_to(chains, &sample);
}

uint64_t samples_dropped(void)
{
	return dropped;
}

size_t samples_count(void)
{
	return chains != NULL && leaves != NULL ? chains->count + leaves->count : 0;
}

const struct sample *samples_read(size_t index)
{
	return index < chains->count ? &chains->rows[index] : &leaves->rows[index - chains->count];
}
