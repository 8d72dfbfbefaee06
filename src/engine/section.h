/*
 * The housekeeper's calls of the driver.  They must not overlap with the end of a context, which
 * invalidates handles, nor with the end of the process.  They are relaxed, so they harm no capture,
 * except those that record an event in a context.
 */
#ifndef HP_ENGINE_SECTION_H
#define HP_ENGINE_SECTION_H

#include <stdbool.h>
#include <stdint.h>

enum section {
	SECTION_ASKS = 1, /* asks about contexts; some microseconds */
	SECTION_PINS,     /* pins or unpins blocks; their words keep their contexts alive */
};

/*
 * Enters, in the relaxed capture mode.  False: pin_hold() is in force.  Called by the housekeeper
 * only.  Never waits.
 */
bool section_begin(enum section section);
void section_end(void);

/*
 * Waits until the housekeeper has left SECTION_ASKS; `any`: both sections.  It enters none while
 * pin_hold() is in force, which the caller calls before.
 */
void section_wait(bool any, uint64_t until_ns);

#endif
