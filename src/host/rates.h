/*
 * What do copies and pins cost in this process?
 *
 * Inside host/ only.  Any thread, no lock.
 */
#ifndef HP_HOST_RATES_H
#define HP_HOST_RATES_H

#include "host/heat.h"

/* Back to heat_rates_default. */
void rates_start(void);

struct heat_rates rates_now(void);

/* A copy of `bytes`, or a registration's begin or end, took `ns`. */
void rates_learn_copy(bool to_device, bool pinned, size_t bytes, uint64_t ns);
void rates_learn_pin(bool huge, size_t bytes, uint64_t ns);
void rates_learn_unpin(bool huge, size_t bytes, uint64_t ns);

#endif
