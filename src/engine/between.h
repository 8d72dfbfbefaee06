/*
 * Copies between two addresses that can each be host or device memory.
 */
#ifndef HP_ENGINE_BETWEEN_H
#define HP_ENGINE_BETWEEN_H

#include "engine/request.h"

/*
 * Fills in direction, host, far and other for a copy from `src` to `dst`.  Asks the driver only for
 * the profile, or if the copy could gain (COPY_DIRECTION_LEAST).
 */
void request_between(struct copy_request *request, CUdeviceptr dst, CUdeviceptr src);

/* True if `address` is in a device's memory.  Asks the driver (counted). */
bool address_is_on_device(CUdeviceptr address);

#endif
