/*
 * The driver section: the code in which the housekeeper calls the driver.
 *
 * The section must not overlap with these: the begin of a capture, which the calls would
 * invalidate; the end of a context, which invalidates handles; the end of the process.
 */
#ifndef HP_ENGINE_SECTION_H
#define HP_ENGINE_SECTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Enters the section, in the relaxed capture mode.  False: the section is blocked.  Called by the
 * housekeeper only.  Never waits.
 */
bool section_begin(void);
void section_end(void);

/*
 * Blocks the section until section_unblock() was called as often, and waits until the housekeeper
 * has left it, `patience_ns` at most.  Any thread, no lock held, not inside the driver.
 */
void section_block(uint64_t patience_ns);
void section_unblock(void);

/* In the child of fork(): the section is empty. */
void section_after_fork_child(void);

#endif
