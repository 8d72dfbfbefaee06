/*
 * Opens the stand-in driver at run time, and finds its functions by dlsym() as a program does.
 */
#ifndef HP_HARNESS_DEVICE_H
#define HP_HARNESS_DEVICE_H

#include "preload.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define FIND(handle, name) ((__typeof__(name) *)dlsym(handle, #name))

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* Returns libc's own dlsym(): the library does not intercept dlvsym(). */
dlsym_fn native_dlsym(void);

/* Returns the number of calls, by the stand-in's control interface. */
int calls_of(void *driver, const char *name);

/*
 * Creates a context, and copies 4 MiB in both directions four times with functions that `look`
 * finds.
 */
bool device_copies(void *driver, dlsym_fn look);

#endif
