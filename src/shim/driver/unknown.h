/*
 * Driver functions that driver.def does not list, because they are newer than this version.
 *
 * Such a function may do anything: it may show work on the device to the host, or copy a pinned
 * block, which then has not the semantics of pageable memory.  Runtimes look up every function at
 * their start, so only a call counts; where hotpin cannot see the call, the name does.
 */
#ifndef HP_SHIM_DRIVER_UNKNOWN_H
#define HP_SHIM_DRIVER_UNKNOWN_H

#include <stddef.h>

/*
 * Returns a stub in front of `address`, which a look-up of `name` has found.  If there are no more
 * stubs, the program counts as having called it, and gets `address`.
 */
void *unknown_stub(const char *name, void *address);

/* Called when the stub is called.  Returns the address to which it continues. */
void *unknown_enter(size_t stub);

/*
 * Called once there is a device: looks at all loaded files.  An unknown function that one of them
 * links counts as called.
 */
void unknown_find_linked(void);

/* Called if GATE_LOADED is set.  Clears it, and looks at the files if there is a device. */
void unknown_look_again(void);

#endif
