/*
 * The units of one pinned region that the device still uses, in the order in which copies left
 * them.
 *
 * The lock staging guards the list of a region (stage/region.h); the caller holds that lock, or
 * uses a copy of the list.  Nothing here calls the driver: the caller polls the events.
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
	uint64_t before;           /* flights up to this number precede the event */
	unsigned long long stream; /* id of the stream; 0: unknown, equal to no other */
	CUevent event;             /* completes after all work that uses the units; NULL: none */
	unsigned user;             /* index of the context of stream and event (region_user) */
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

/* Returns the units of all flights. */
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
