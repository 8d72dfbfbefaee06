/*
 * The libraries between hotpin and the driver.
 *
 * Other preloaded libraries replace functions of the driver, too, to limit or to count what a
 * program does.  hotpin calls what the program would have called without it: the next library's
 * function.  The driver's own function only tells which row of driver.def is meant.
 */
#ifndef HP_SHIM_DRIVER_CHAIN_H
#define HP_SHIM_DRIVER_CHAIN_H

#include "real/real.h"

#include <stdbool.h>

/*
 * Makes the functions real that other libraries export, or return for names that hotpin looks up.
 * Called once the driver is loaded through `handle`, before the gate opens.
 */
void chain_start(void *handle);

/* Keeps the file of `address` loaded, also if the program closes it. */
void chain_keep(const void *address);

/* Returns what the next library answers to dlsym(handle, name), where libc answers `own`. */
void *chain_look_up(void *handle, const char *name, void *own);

/* The next library has answered a look-up of the row's function with `answer`: it is real now. */
void chain_use(int row, void *answer);

/*
 * True if `address` is in a library whose functions are real.  A look-up from there must find the
 * driver's own function, or the library would call itself through hotpin.
 */
bool chain_contains(const void *address);

/*
 * Returns what the program gets for a look-up of `name` that means the driver's function `own`, and
 * that the next library answers with `answer`: hotpin's function in front of it, or `answer`.  The
 * address `own` decides, never a name and a version: so the program gets the ABI that it asked for.
 */
void *chain_route(const char *name, void *own, void *answer);

#endif
