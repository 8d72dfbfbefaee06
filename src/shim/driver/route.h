/*
 * Hands out hotpin's function in place of each driver function.
 *
 * The address that the driver returned decides, never a name and a version: so the program gets the
 * ABI that it asked for.
 */
#ifndef HP_SHIM_DRIVER_ROUTE_H
#define HP_SHIM_DRIVER_ROUTE_H

/*
 * Returns what the program gets for a look-up of `name` that means the driver's function `own`, and
 * that the next library answers with `answer`: hotpin's function in front of it, or `answer`.
 */
void *route_of(const char *name, void *own, void *answer);

#endif
