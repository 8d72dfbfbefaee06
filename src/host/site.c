/*
 * site.c - the table of sites and their banks.
 *
 * Small and of fixed size, so that neither a program with many sites nor one that makes up new ones
 * for ever costs anything.  Every field is atomic by itself.  Who finds his site's record just
 * taken by another site adds to the wrong history; but a bank is only ever changed in steps that
 * keep the sum, and never runs below zero.
 */
#include "host/site.h"

#include <stdatomic.h>
#include <stddef.h>

#define WAYS         4
#define SET_BITS     8

/* A history: a bit for each season, the latest in bit 0, and from COUNT_SHIFT on their number. */
#define SEASONS      8
#define SEASONS_MASK ((1u << SEASONS) - 1)
#define COUNT_SHIFT  SEASONS

static struct record {
	_Atomic uint32_t site;    /* 0: nobody's */
	_Atomic uint32_t history; /* of seasons */
	_Atomic uint32_t dense;   /* likewise, of large blocks */
	_Atomic uint32_t used;    /* since the set was last looked through for room */
	_Atomic uint64_t bank;
	_Atomic uintptr_t trial;
} records[1 << SET_BITS][WAYS];

static _Atomic uint64_t common_bank = SITE_ENDOWMENT_NS;

static unsigned count_of(uint32_t history)
{
	return history >> COUNT_SHIFT;
}

uint32_t site_history_add(uint32_t history, bool hot)
{
	unsigned count = count_of(history) < SEASONS ? count_of(history) + 1 : SEASONS;

	return ((history << 1 | hot) & SEASONS_MASK) | count << COUNT_SHIFT;
}

bool site_history_is_hot(uint32_t history)
{
	unsigned count = count_of(history);

	return count >= 2 && 2 * (unsigned)__builtin_popcount(history & SEASONS_MASK) > count;
}

static uint64_t load(const _Atomic uint64_t *number)
{
	return atomic_load_explicit(number, memory_order_relaxed);
}

static struct record *set_of(uint32_t site)
{
	return records[site * UINT32_C(0x9e3779b1) >> (32 - SET_BITS)];
}

static struct record *find(uint32_t site)
{
	struct record *set = set_of(site);

	for (int i = 0; site != 0 && i < WAYS; i++) {
		if (atomic_load_explicit(&set[i].site, memory_order_relaxed) != site)
			continue;
		if (atomic_load_explicit(&set[i].used, memory_order_relaxed) == 0)
			atomic_store_explicit(&set[i].used, 1, memory_order_relaxed);
		return &set[i];
	}
	return NULL;
}

/* The record that was not used for longest, more or less. */
static struct record *least_used(struct record *set)
{
	for (int i = 0; i < WAYS; i++)
		if (atomic_load_explicit(&set[i].used, memory_order_relaxed) == 0)
			return &set[i];
	for (int i = 0; i < WAYS; i++)
		atomic_store_explicit(&set[i].used, 0, memory_order_relaxed);
	return &set[0];
}

static struct record *find_or_make(uint32_t site)
{
	struct record *record = find(site);

	if (record != NULL || site == 0)
		return record;
	record = least_used(set_of(site));

	uint32_t before = atomic_load_explicit(&record->site, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&record->site, &before, site))
		return before == site ? record : NULL;
	atomic_store_explicit(&record->history, 0, memory_order_relaxed);
	atomic_store_explicit(&record->dense, 0, memory_order_relaxed);
	atomic_store_explicit(&record->trial, 0, memory_order_relaxed);
	atomic_store_explicit(&record->used, 1, memory_order_relaxed);
	atomic_fetch_add(&common_bank, atomic_exchange(&record->bank, 0));
	return record;
}

static void add(_Atomic uint32_t *history, bool hot)
{
	uint32_t before = atomic_load_explicit(history, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(history, &before, site_history_add(before, hot)))
		continue;
}

bool site_is_hot(uint32_t site)
{
	struct record *record = find(site);

	return record != NULL && site_history_is_hot(record->history);
}

void site_note_season(uint32_t site, bool hot)
{
	struct record *record = find_or_make(site);

	if (record != NULL)
		add(&record->history, hot);
}

enum site_density site_density(uint32_t site, uintptr_t *ret_trial)
{
	struct record *record = find(site);
	uint32_t dense = record != NULL ? record->dense : 0;

	*ret_trial =
		record != NULL ? atomic_load_explicit(&record->trial, memory_order_relaxed) : 0;
	if (site == 0)
		return SITE_SPARSE;
	if (dense == 0)
		return SITE_UNKNOWN;
	return (unsigned)__builtin_popcount(dense & SEASONS_MASK) == count_of(dense) ? SITE_DENSE
										     : SITE_SPARSE;
}

void site_note_dense(uint32_t site, bool dense)
{
	struct record *record = find_or_make(site);

	if (record != NULL)
		add(&record->dense, dense);
}

void site_set_trial(uint32_t site, uintptr_t address)
{
	struct record *record = find_or_make(site);

	if (record != NULL)
		atomic_store_explicit(&record->trial, address, memory_order_relaxed);
}

void site_funds(uint32_t site, uint64_t *ret_own, uint64_t *ret_common)
{
	struct record *record = find(site);

	*ret_own = record != NULL ? load(&record->bank) : 0;
	*ret_common = load(&common_bank);
}

/* Up to `ns`; what it was. */
static uint64_t take(_Atomic uint64_t *bank, uint64_t ns)
{
	uint64_t has = load(bank), taken;

	do
		taken = has < ns ? has : ns;
	while (!atomic_compare_exchange_weak(bank, &has, has - taken));
	return taken;
}

bool site_draw(uint32_t site, uint64_t ns, bool common)
{
	struct record *record = find(site);
	uint64_t own = record != NULL ? take(&record->bank, ns) : 0;
	uint64_t rest = common ? take(&common_bank, ns - own) : 0;

	if (own + rest == ns)
		return true;
	if (own != 0)
		atomic_fetch_add(&record->bank, own);
	if (rest != 0)
		atomic_fetch_add(&common_bank, rest);
	return false;
}

void site_credit(uint32_t site, uint64_t ns)
{
	struct record *record = ns != 0 ? find_or_make(site) : NULL;

	atomic_fetch_add(record != NULL ? &record->bank : &common_bank, ns);
}
