/*
 * When may a thread of ours be inside the driver?
 *
 * What the housekeeper does there must not meet the begin of a capture (it would break it), the end
 * of a context (its handles would be gone) or the end of the process.
 */
#ifndef HP_SHIM_VISIT_H
#define HP_SHIM_VISIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The housekeeper's.  True: until visit_end() it may call the driver, in the relaxed capture mode.
 * Never waits.
 */
bool visit_begin(void);
void visit_end(void);

/*
 * No visit begins from here to the same number of visit_allow(), and none is under way on return:
 * waits for it, `patience_ns` at most.  Any thread, no lock held, not inside the driver.
 */
void visit_forbid(uint64_t patience_ns);
void visit_allow(void);

/* In the child of fork(): nobody visits. */
void visit_after_fork_child(void);

#endif
