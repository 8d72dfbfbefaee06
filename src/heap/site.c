/*
 * site.c - the table of allocation sites.
 *
 * The table is small and of fixed size, so neither a program with many sites nor one that creates
 * new ones forever costs anything.  Each field is a separate atomic variable.  A thread whose
 * record another site takes at that moment adds to the wrong history, which costs some speed at
 * most.
 */
#include "heap/site.h"

#include <stdatomic.h>
#include <stddef.h>

#define WAYS         4
#define SET_BITS     8

/* A history: a bit for each block looked at, the latest in bit 0, and their number above. */
#define HISTORY      8
#define HISTORY_MASK ((1u << HISTORY) - 1)
#define COUNT_SHIFT  HISTORY

static struct record {
	_Atomic uint32_t site;  /* 0: no site has this record */
	_Atomic uint32_t dense; /* a history */
	_Atomic uint32_t used;  /* since the set was last searched for room */
	_Atomic uintptr_t trial;
} records[1 << SET_BITS][WAYS];

/* Pure: `history` with one block more. */
static uint32_t longer(uint32_t history, bool dense)
{
	uint32_t count = history >> COUNT_SHIFT;

	if (count < HISTORY)
		count++;

	return ((history << 1 | dense) & HISTORY_MASK) | count << COUNT_SHIFT;
}

/* Returns the record that was not used for longest, roughly. */
static struct record *least_used(struct record *set)
{
	for (int i = 0; i < WAYS; i++)
		if (atomic_load_explicit(&set[i].used, memory_order_relaxed) == 0)
			return &set[i];
	for (int i = 0; i < WAYS; i++)
		atomic_store_explicit(&set[i].used, 0, memory_order_relaxed);
	return &set[0];
}

/* Gives the site a record of the set.  NULL: another thread has taken it. */
static struct record *make_record(struct record *set, uint32_t site)
{
	struct record *record = least_used(set);
	uint32_t before = atomic_load_explicit(&record->site, memory_order_relaxed);

	if (!atomic_compare_exchange_strong(&record->site, &before, site))
		return before == site ? record : NULL;
	atomic_store_explicit(&record->dense, 0, memory_order_relaxed);
	atomic_store_explicit(&record->trial, 0, memory_order_relaxed);
	atomic_store_explicit(&record->used, 1, memory_order_relaxed);
	return record;
}

/* Returns the site's record; a new one if `make`.  NULL: there is none. */
static struct record *record_of(uint32_t site, bool make)
{
	struct record *set = records[site * UINT32_C(0x9e3779b1) >> (32 - SET_BITS)];

	if (site == 0)
		return NULL;
	for (int i = 0; i < WAYS; i++) {
		if (atomic_load_explicit(&set[i].site, memory_order_relaxed) != site)
			continue;
		if (atomic_load_explicit(&set[i].used, memory_order_relaxed) == 0)
			atomic_store_explicit(&set[i].used, 1, memory_order_relaxed);
		return &set[i];
	}
	return make ? make_record(set, site) : NULL;
}

enum site_density site_density(uint32_t site, uintptr_t *ret_trial)
{
	struct record *record = record_of(site, false);
	uint32_t dense = record != NULL ? record->dense : 0;

	*ret_trial =
		record != NULL ? atomic_load_explicit(&record->trial, memory_order_relaxed) : 0;
	if (site == 0)
		return SITE_SPARSE;
	if (dense == 0)
		return SITE_UNKNOWN;
	return (unsigned)__builtin_popcount(dense & HISTORY_MASK) == dense >> COUNT_SHIFT
		       ? SITE_DENSE
		       : SITE_SPARSE;
}

void site_note_dense(uint32_t site, bool dense)
{
	struct record *record = record_of(site, true);

	if (record == NULL)
		return;

	uint32_t before = atomic_load_explicit(&record->dense, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&record->dense, &before, longer(before, dense)))
		continue;
}

void site_set_trial(uint32_t site, uintptr_t address)
{
	struct record *record = record_of(site, true);

	if (record != NULL)
		atomic_store_explicit(&record->trial, address, memory_order_relaxed);
}
