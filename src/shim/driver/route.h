/*
 * Hands out hotpin's function in place of each driver function.
 *
 * The address that the driver returned decides, never a name and a version: so the program gets the
 * ABI that it asked for.
 */
#ifndef HP_SHIM_DRIVER_ROUTE_H
#define HP_SHIM_DRIVER_ROUTE_H

#include "shim/driver/frame.h"

/* Returns what the program gets for the driver's `address`: hotpin's function, or `address`. */
void *route_of(void *address);

/* The driver's function behind each stub for a function that driver.def does not list. */
extern void *_Atomic route_unknown[SHIM_UNKNOWN_MOST];

#endif
