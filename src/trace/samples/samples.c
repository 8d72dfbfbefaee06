/*
 * samples.c - a table of chains and one of leaves; a full table is thinned out as a whole.
 */
#include "trace/samples/samples.h"
#include "base/hash.h"
#include "trace/keys.h"

#include <errno.h>
#include <string.h>

static struct table {
	struct sample *rows;
	struct keys keys; /* hashes */
} chains, leaves;
static uint64_t dropped;

int samples_start(void)
{
	dropped = 0;
	chains.rows = keys_start(&chains.keys, SAMPLES_MOST, sizeof(*chains.rows));
	leaves.rows = keys_start(&leaves.keys, SAMPLES_MOST, sizeof(*leaves.rows));
	return chains.rows != NULL && leaves.rows != NULL ? 0 : -ENOMEM;
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

static void add_to(struct table *table, const struct sample *sample);

static void give_up(struct table *table, uint32_t row)
{
	struct sample leaf = table->rows[row];

	keys_remove(&table->keys, row);
	table->rows[row] = (struct sample){ 0 };
	leaf.depth = 1;
	leaf.folded = true;
	if (table == &chains)
		add_to(&leaves, &leaf);
	else
		dropped += all_of(&leaf);
}

/* Frees at least a quarter of the rows, all of which are used: those with the fewest samples. */
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
	for (uint32_t i = 0; i < SAMPLES_MOST; i++)
		if (all_of(&table->rows[i]) <= most)
			give_up(table, i);
}

static void add_to(struct table *table, const struct sample *sample)
{
	uint64_t hash = hash_of(sample);
	uint32_t row = keys_find(&table->keys, hash);

	if (row != KEYS_NONE) {
		for (int thread = 0; thread < SAMPLES_THREADS; thread++)
			table->rows[row].count[thread] += sample->count[thread];
		table->rows[row].before += sample->before;
		table->rows[row].after += sample->after;
		return;
	}
	row = keys_add(&table->keys, hash);
	if (row == KEYS_NONE) {
		thin_out(table);
		row = keys_add(&table->keys, hash);
	}
	table->rows[row] = *sample;
}

void samples_add(const struct module_place *frame, size_t depth, size_t thread,
		 enum samples_time when)
{
	struct sample sample = { .before = when == SAMPLES_BEFORE,
				 .after = when == SAMPLES_AFTER,
				 .depth = (uint32_t)depth };

	memcpy(sample.frame, frame, depth * sizeof(*frame));
	sample.count[thread] = 1;
	add_to(&chains, &sample);
}

void samples_went_on(void)
{
	for (size_t i = 0; i < SAMPLES_MOST; i++)
		chains.rows[i].after = leaves.rows[i].after = 0;
}

uint64_t samples_dropped(void)
{
	return dropped;
}

size_t samples_count(void)
{
	return chains.keys.rows + leaves.keys.rows;
}

const struct sample *samples_read(size_t index)
{
	return index < chains.keys.rows ? &chains.rows[index]
					: &leaves.rows[index - chains.keys.rows];
}
