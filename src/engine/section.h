/*
 * The driver section: when a thread of ours may be inside the driver.
 *
 * What the housekeeper does there must not meet the begin of a capture (it would break it), the end
 * of a context (its handles would be gone) or the end of the process.
 */
#ifndef HP_ENGINE_SECTION_H
#define HP_ENGINE_SECTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The housekeeper's.  True: until section_end() it may call the driver, in the relaxed capture
 * mode. Never waits.
 */
bool section_begin(void);
void section_end(void);

/*
 * No visit begins from here to the same number of section_unblock(), and none is under way on
 * return: waits for it, `patience_ns` at most.  Any thread, no lock held, not inside the driver.
 */
void section_block(uint64_t patience_ns);
void section_unblock(void);

/* In the child of fork(): nobody visits. */
void section_after_fork_child(void);

#endif
