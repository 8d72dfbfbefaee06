/*
 * The first use of the device, and the end of a process that has used it.
 */
#ifndef HP_SHIM_LOAD_DEVICE_H
#define HP_SHIM_LOAD_DEVICE_H

/* Called when cuInit() has succeeded.  Only the first call has an effect. */
void shim_device_found(void);

#endif
