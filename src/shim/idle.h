/*
 * Has the device nothing to do?  Asked without the program's help.
 */
#ifndef HP_SHIM_IDLE_H
#define HP_SHIM_IDLE_H

#include <stdint.h>

enum idle_verdict {
	IDLE_YES,       /* nothing runs; SHIM_GATE_QUIET is armed and says when that ends */
	IDLE_BUSY,      /* something ran for all of that time */
	IDLE_DISTURBED, /* new work came meanwhile, or nobody may ask just now */
	IDLE_UNKNOWN,   /* this driver cannot be asked */
};

/*
 * The housekeeper's.  Puts nothing on the device that other work could have to wait for.  Takes
 * `patience_ns` at most, asleep but for some twenty short calls a second.
 */
enum idle_verdict idle_look(uint64_t patience_ns);

#endif
