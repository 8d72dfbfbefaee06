/*
 * The bytes that the library has pinned in each process, for a watching process: the file
 * STANDIN_PINS.
 */
#ifndef STANDIN_PINS_H
#define STANDIN_PINS_H

#include <stdint.h>

/*
 * The bytes that the library, not the program, has under cuMemHostRegister: one entry for each
 * process; pid 0: unused.  If the library pins more than the initial HOTPIN_PIN_BUDGET, abort()
 * ends the process, whether watched or not.
 */
#define STANDIN_PINS 64
struct standin_pins {
	int pid;
	uint64_t now, most, budget; /* bytes; atomic */
};

#endif
