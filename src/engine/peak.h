/*
 * The peak rate of the link between host and device.
 */
#ifndef HP_ENGINE_PEAK_H
#define HP_ENGINE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Measures the rates in bytes per second; 0: unknown.  Called once, when the process ends.
 * Allocates 16 MiB of pinned memory and 16 MiB on the device, and frees neither.  The legacy stream
 * must be idle, and no capture active.
 */
void peak_measure(bool on_stand_in, uint64_t *ret_h2d, uint64_t *ret_d2h);

#endif
