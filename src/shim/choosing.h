/*
 * Which way does a copy take?
 */
#ifndef HP_SHIM_CHOOSING_H
#define HP_SHIM_CHOOSING_H

#include "shim/copy.h"

/*
 * For a copy that has a host side and is not empty: finds its block, which is in use from then on,
 * pins that if it pays now, and sets place and route.  Calls the driver.
 */
void shim_choose(struct shim_copy *copy);

/* Takes the plan's fallback: the route cannot be carried out. */
void shim_fall_back(struct shim_copy *copy);

/* A copy to the host has come right behind an upload of this thread that came back early. */
void shim_upload_followed(void);

/* Would it be faster if its block were pinned?  One that comes back early gains little. */
bool shim_gains_from_pinning(const struct shim_copy *copy);

#endif
