/*
 * The stubs that thunk.S generates from driver.def.
 */
#ifndef HP_SHIM_DRIVER_THUNK_H
#define HP_SHIM_DRIVER_THUNK_H

#include "real/real.h"

/* The exported stub or wrapper of each row. */
extern void *const shim_exports[REAL_ROW_COUNT];

/* SHIM_UNKNOWN_MOST stubs of SHIM_UNKNOWN_BYTES each, for functions that driver.def lacks. */
extern const char shim_unknown_stubs[];

#endif
