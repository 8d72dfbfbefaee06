/*
 * Asks the driver whether the device is idle.
 */
#ifndef HP_ENGINE_IDLE_H
#define HP_ENGINE_IDLE_H

enum idle_verdict {
	IDLE_YES,         /* the device is idle; GATE_IDLE is set until new work is submitted */
	IDLE_BUSY,        /* work ran until the time limit, or no event could be recorded */
	IDLE_INTERRUPTED, /* new work was submitted, or the driver section was blocked */
	IDLE_UNKNOWN,     /* the driver cannot tell; a call that waits for the only context can */
	IDLE_UNASKED,     /* nothing can tell: there are several contexts */
};

/*
 * Queries all contexts.  Called by the housekeeper only.  No work waits for what this puts on the
 * device.  Takes about a second, or some 10 ms while a fork() waits; a last pause may add 50 ms.
 */
enum idle_verdict idle_query(void);

#endif
