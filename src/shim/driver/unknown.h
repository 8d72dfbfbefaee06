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
 * stubs, returns `address` as after unknown_acts().
 */
void *unknown_stub(const char *name, void *address);

/* Called when the stub is called.  Returns the address to which it continues. */
void *unknown_enter(size_t stub);

/*
 * The program calls an unknown function, or may call it unseen.  From now on no copy returns early.
 * If the name is that of a copy, every block is unpinned, and none is pinned any more.  If it
 * begins a capture, copies are also left as they are, because each may be captured.
 */
void unknown_acts(const char *name);

/* Once there is a device: looks at all loaded files, and treats what they link by unknown_acts().
 */
void linked_find(void);

/* Called if GATE_LOADED is set.  Clears it, and looks at the files if there is a device. */
void linked_loaded(void);

#endif
