/*
 * touch.c - what each site's copies have shown.
 *
 * A fault handler writes here, so there is no lock: one word holds a site and its history.
 */
#include "defer/touch.h"

#include <stdatomic.h>

#define LATE_ENOUGH    2 /* in a row */
#define TURNS_MOST     10
#define SITES          256

/* A history: how many late ones in a row, how often it was early, how many copies to let pass. */
#define LATE(history)  ((history)&0xff)
#define EARLY(history) ((history) >> 8 & 0xff)
#define SKIP(history)  ((history) >> 16)

static uint32_t history_of(uint32_t late, uint32_t early, uint32_t skip)
{
	return late | early << 8 | skip << 16;
}

enum touch_wish touch_history_wish(uint32_t history)
{
	if (LATE(history) >= LATE_ENOUGH)
		return TOUCH_DEFER;
	return SKIP(history) == 0 ? TOUCH_TRY : TOUCH_WAIT;
}

uint32_t touch_history_waited(uint32_t history)
{
	return history_of(LATE(history), EARLY(history), SKIP(history) - 1);
}

uint32_t touch_history_add(uint32_t history, bool late)
{
	uint32_t early = EARLY(history);

	if (!late) {
		early += early < TURNS_MOST;
		return history_of(0, early, (uint32_t)1 << early);
	}
	if (LATE(history) < LATE_ENOUGH)
		return history_of(LATE(history) + 1, early, 0);
	/* What has paid off for long is soon tried again after one that did not. */
	return history_of(LATE_ENOUGH, early != 0 ? early - 1 : 0, 0);
}

/* A site in the upper half, its history in the lower. */
static _Atomic uint64_t sites[SITES];

static _Atomic uint64_t *place_of(uint32_t site)
{
	return &sites[(site >> 1) % SITES];
}

static uint32_t history_in(uint64_t entry, uint32_t site)
{
	return entry >> 32 == site ? (uint32_t)entry : 0;
}

static uint64_t entry_of(uint32_t site, uint32_t history)
{
	return (uint64_t)site << 32 | history;
}

enum touch_wish touch_next(uint32_t site)
{
	_Atomic uint64_t *place = place_of(site);
	uint64_t entry = atomic_load(place);
	enum touch_wish wish = touch_history_wish(history_in(entry, site));

	/* Where another thread has just written, this copy is not counted. */
	if (wish == TOUCH_WAIT)
		atomic_compare_exchange_strong(
			place, &entry,
			entry_of(site, touch_history_waited(history_in(entry, site))));
	return wish;
}

void touch_note(uint32_t site, bool late)
{
	_Atomic uint64_t *place = place_of(site);
	uint64_t entry = atomic_load(place), next;

	do
		next = entry_of(site, touch_history_add(history_in(entry, site), late));
	while (!atomic_compare_exchange_weak(place, &entry, next));
}
