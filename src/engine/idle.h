/*
 * Finds out whether the device is idle, without the program's help.
 */
#ifndef HP_ENGINE_IDLE_H
#define HP_ENGINE_IDLE_H

enum idle_verdict {
	IDLE_YES,         /* nothing runs; GATE_IDLE is armed and says when that ends */
	IDLE_BUSY,        /* something ran for as long as it looked */
	IDLE_INTERRUPTED, /* new work came meanwhile, or nobody may ask just now */
	IDLE_UNKNOWN,     /* this driver cannot be asked */
};

/*
 * The housekeeper's.  Puts nothing on the device that other work could have to wait for.  Takes a
 * second at most, asleep but for some twenty short calls; while a fork() waits some 10 ms.
 */
enum idle_verdict idle_look(void);

#endif
