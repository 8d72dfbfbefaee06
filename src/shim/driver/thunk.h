/*
 * The stubs that thunk.S makes from driver.def.
 */
#ifndef HP_SHIM_DRIVER_THUNK_H
#define HP_SHIM_DRIVER_THUNK_H

#include "real/real.h"
#include "shim/driver/frame.h"

/* The exported stub or wrapper of each row. */
extern void *const shim_exports[REAL_ROW_COUNT];

/* SHIM_UNKNOWN_MOST stubs of SHIM_UNKNOWN_BYTES each, for names unknown at build time. */
extern const char shim_unknown_stubs[];

#endif
