/*
 * pins.h - how many bytes each process has registered, for a watching process: the file of
 * STANDIN_PINS.
 */
#ifndef STANDIN_PINS_H
#define STANDIN_PINS_H

#include <stdint.h>

/*
 * One entry for each process; pid 0: unused.  Only registrations with CU_MEMHOSTREGISTER_PORTABLE
 * and no other flag count: by that flag, a library in front of the driver can be told from the
 * program that it serves.
 */
#define STANDIN_PINS 64
struct standin_pins {
	int pid;
	uint64_t now, most, limit; /* bytes; atomic */
};

#endif
