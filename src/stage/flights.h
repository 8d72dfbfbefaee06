/*
 * The ranges of one pinned region that the device still uses, in the order in which copies left
 * them.
 *
 * Only bookkeeping: takes no lock and calls no driver function.  The caller polls the events.
 */
#ifndef HP_STAGE_FLIGHTS_H
#define HP_STAGE_FLIGHTS_H

#include "real/real.h"

#include <stdint.h>

/* No region ever has more: stage/region.h. */
#define FLIGHTS_MOST       32

/* Events that flights_to_ask() names at most. */
#define FLIGHTS_ASKED_MOST 4

struct flight {
	uint64_t number;           /* grows with every flight of the process */
	uint64_t before;           /* flights up to it were left before the event was recorded */
	unsigned long long stream; /* its id; 0: not known, like no other */
	CUevent event;             /* completes after all that uses the units; NULL: none does */
	unsigned user;             /* whose stream and event: index of a context */
	uint64_t units;            /* a bit each */
};

struct flights {
	unsigned count;
	struct flight list[FLIGHTS_MOST]; /* by number */
};

/* Appends a flight, whose number is above all others. */
void flights_add(struct flights *flights, const struct flight *flight);

/*
 * Removes `complete` and the flights that its event covers: flights of its stream that were left
 * before the event was recorded.  Returns their units.  `complete` may have been removed already.
 */
uint64_t flights_end(struct flights *flights, const struct flight *complete);

/* Removes all flights of a context.  Returns their units. */
uint64_t flights_forget(struct flights *flights, unsigned user);

/* Copies the flights of a context that have an event. */
void flights_of(const struct flights *flights, unsigned user, struct flights *ret);

uint64_t flights_units(const struct flights *flights);

/* Returns the last flight of a stream; NULL: there is none. */
const struct flight *flights_last_of(const struct flights *flights, unsigned long long stream);

/*
 * Lists the flights whose events a copy on `stream` polls, in this order; all are of one context.
 * First the middle flight of the stream with most flights, which may free most units.  That stream
 * may be blocked, so then the middle flight of `stream`, the oldest and the newest.  Returns their
 * number.
 */
unsigned flights_to_ask(const struct flights *flights, unsigned long long stream,
			const struct flight *ret[FLIGHTS_ASKED_MOST]);

#endif
