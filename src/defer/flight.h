/*
 * What has an upload cost that came back before its source was read?
 *
 * Its source is closed for writing in pieces (protect.h), each of which is opened by itself.  The
 * last one to be opened ends the flight, and says whether the site's next upload had better wait.
 */
#ifndef HP_DEFER_FLIGHT_H
#define HP_DEFER_FLIGHT_H

#include "real/real.h"

#include <stdatomic.h>
#include <stdint.h>

#define FLIGHTS 8

struct flight {
	_Atomic uint32_t left;     /* pieces that are not open; 0: the flight is free */
	_Atomic uint64_t spent_ns; /* that writers have waited */

	/* Written by whoever has taken it, before anything is closed. */
	uint32_t site;
	uint64_t most_ns; /* more would have been better spent waiting */

	/* Comes when all has been read; of `context`.  Kept from one flight to the next. */
	_Atomic(CUevent) event;
	_Atomic(CUcontext) context;
	uint32_t ends; /* contexts that had gone when the event was made */
};

/* One of `pieces` pieces; NULL: all are taken.  Any thread. */
struct flight *flight_take(uint32_t pieces, uint32_t site, uint64_t most_ns);

/* Somebody has waited for a piece that he now opens.  In signal handlers too. */
void flight_spend(struct flight *flight, uint64_t ns);

/* A piece is open.  In signal handlers too. */
void flight_landed(struct flight *flight);

/* In the child of fork(). */
void flight_after_fork_child(void);

#endif
