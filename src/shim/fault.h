/*
 * Is SIGSEGV ours to answer, and may it come?
 *
 * Closed pages need a handler of ours in the kernel.  To the program its own action is in force: it
 * sets it, asks for it and is called by it as if we were not there.
 */
#ifndef HP_SHIM_FAULT_H
#define HP_SHIM_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Not 0: the program's calls about signals come to us (io_entry.S).  Set once, by shim_start(),
 * where HOTPIN_ASYNC=all.
 */
extern _Atomic uint32_t shim_fault_watching __attribute__((visibility("hidden")));
void shim_fault_watch(void);

/*
 * May pages be closed now?  Puts our handler in the kernel, and asks each time whether it is still
 * there and this thread can be called by it; some 0.3 us.  Otherwise *ret_why says why not.
 */
bool shim_fault_is_ours(const char **ret_why);

/* The program blocks SIGSEGV, or is about to: nothing is closed any more, for good. */
void shim_fault_is_blocked(void);

#endif
