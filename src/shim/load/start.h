/*
 * The start of hotpin in a process.
 */
#ifndef HP_SHIM_LOAD_START_H
#define HP_SHIM_LOAD_START_H

#include <stdint.h>

/* Reads the options and starts the heap.  The constructor calls it, or an earlier caller; once. */
void shim_start(void);

/* The time of shim_start(), by hp_now_ns(). */
extern uint64_t shim_began_ns;

#endif
