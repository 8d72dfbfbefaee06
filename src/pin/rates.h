/*
 * The rates of copies and pins, measured in this process.
 *
 * Any thread, no lock.
 */
#ifndef HP_PIN_RATES_H
#define HP_PIN_RATES_H

#include "pin/cost.h"

/* Shorter copies measure the call rather than the rate, and need not be reported. */
#define PIN_LEARNS_FROM ((size_t)1 << 20)

/* Resets the rates to cost_rates_default. */
void rates_start(void);

struct cost_rates rates_now(void);

/* Learn from a copy of `bytes`, or from registering or unregistering them, which took `ns`. */
void rates_learn_copy(bool to_device, bool pinned, size_t bytes, uint64_t ns);
void rates_learn_pin(bool huge, size_t bytes, uint64_t ns);
void rates_learn_unpin(bool huge, size_t bytes, uint64_t ns);

#endif
