/*
 * The bytes that the library has pinned in each process, for a watching process: the file
 * STANDIN_PINS.
 */
#ifndef HP_STANDIN_PINS_H
#define HP_STANDIN_PINS_H

#include <stdint.h>

/*
 * What the library (not the program) has under cuMemHostRegister: one of these a process, pid 0
 * where nobody is.  A process whose library pins more than the HOTPIN_PIN_BUDGET of its start is
 * ended by abort(), watched or not.
 */
#define STANDIN_PINS 64
struct standin_pins {
	int pid;
	uint64_t now, most, budget; /* bytes; atomic */
};

#endif
