/*
 * The two calls into the driver that pin and unpin.
 *
 * Inside host/ only.  No lock may be held; errno is kept.
 */
#ifndef HP_HOST_REGISTER_H
#define HP_HOST_REGISTER_H

#include "real/real.h"

/* Can memory be registered at all: has the driver the functions, is a context current? */
bool register_possible(uintptr_t *ret_context);

/* Registers for all contexts.  Never waits for the device. */
CUresult register_begin(uintptr_t base, size_t room);

/* Undoes register_begin(); waits for running kernels.  Needs no current context. */
CUresult register_end(uintptr_t base);

#endif
