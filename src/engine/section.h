/*
 * The driver section: the code in which the housekeeper calls the driver.
 *
 * The section must not overlap with the end of a context, which invalidates handles, nor with the
 * end of the process.  No section begins while a capture is active.  The calls in it are relaxed,
 * so those that have begun earlier harm no capture, except calls that record an event in a context.
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

/*
 * Bracket the calls in the section that would invalidate a capture.  False: a capture is active.
 * Never waits.
 */
bool section_record_begin(void);
void section_record_end(void);

/*
 * Blocks the section until section_unblock_after_capture() was called as often.  Waits only while
 * the housekeeper is in section_record_begin() .. section_record_end(), some microseconds.
 */
void section_block_for_capture(void);
void section_unblock_after_capture(void);

/* In the child of fork(): the section is empty. */
void section_after_fork_child(void);

#endif
