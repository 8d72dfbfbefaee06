/*
 * Stream captures that live, and the streams that they began on.
 */
#ifndef HP_SHIM_DRIVER_CAPTURE_H
#define HP_SHIM_DRIVER_CAPTURE_H

#include "real/real.h"

#include <stdbool.h>

/*
 * True if the capture that `stream` takes part in began on that stream; where more captures live
 * than are remembered, true may be missing.
 */
bool shim_capture_began_on(CUstream stream);

/* The capture that began on `stream` has ended. */
void shim_capture_ended(CUstream stream);

#endif
