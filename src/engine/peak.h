/*
 * The peak rate of the link between host and device.
 */
#ifndef HP_ENGINE_PEAK_H
#define HP_ENGINE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes a second either way, 0 where it cannot be known.  Once, when the process ends: takes 16 MiB
 * of pinned memory and as much of the device's, and keeps them.  The legacy stream must have
 * nothing to do, and no capture may live.
 */
void peak_measure(bool on_stand_in, uint64_t *ret_h2d, uint64_t *ret_d2h);

#endif
