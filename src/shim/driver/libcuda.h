/*
 * The driver library: found, kept in the process, or given up.
 */
#ifndef HP_SHIM_DRIVER_LIBCUDA_H
#define HP_SHIM_DRIVER_LIBCUDA_H

#include <stdbool.h>

/*
 * Finds the driver's functions through `handle`; NULL: loads libcuda.so.1.  False: there is no
 * driver, and nothing has changed.  Any thread, without a lock.
 */
bool libcuda_find(void *handle);

/* There is no driver: every function of driver.def returns CUDA_ERROR_NO_DEVICE. */
void libcuda_is_missing(void);

#endif
