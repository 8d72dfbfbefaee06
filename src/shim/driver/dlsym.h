/*
 * Look-ups of driver functions, by dlsym() and by cuGetProcAddress(): what the program is given.
 */
#ifndef HP_SHIM_DRIVER_DLSYM_H
#define HP_SHIM_DRIVER_DLSYM_H

#include "real/real.h"
#include "shim/driver/frame.h"

#include <stdbool.h>

/* dlsym() behind us; NULL until shim_dlsym_find(), which any thread may call at any time. */
extern real_dlsym_fn shim_dlsym_next;
void *shim_dlsym_find(void);

/*
 * Finds the driver's functions through `handle`; NULL: loads libcuda.so.1.  False: there is none,
 * and nothing has changed.  Any thread, without a lock.
 */
bool shim_find_driver(void *handle);

/* What shim_dlsym_answer() returns for an answer of NULL; NULL itself sends the caller on. */
#define SHIM_DLSYM_NULL ((void *)1)

/*
 * Returns the answer to dlsym(handle, name) for a name cu[A-Z]* asked from `caller`: ours for a
 * driver function that we stand in front of, NULL for all others.
 */
void *shim_dlsym_answer(void *handle, const char *name, const void *caller);

/* What the program gets where the driver answered `address`: ours, or `address` itself. */
void *shim_route(void *address);

/* The driver's function behind each stub for an unknown name. */
extern void *_Atomic shim_unknown_real[SHIM_UNKNOWN_MOST];

/* True if `address` is inside this library. */
bool shim_is_ours(const void *address);

/* True if `caller` is in the driver, or in an NVIDIA tool that needs the driver's own functions. */
bool shim_is_nvidias(const void *caller);

#endif
