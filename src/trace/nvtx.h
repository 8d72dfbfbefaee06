/*
 * The program's own NVTX ranges, which become stages of the profile.
 */
#ifndef HP_TRACE_NVTX_H
#define HP_TRACE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* Puts hotpin's functions into the program's table of NVTX functions.  False: it has none. */
bool nvtx_install(const void *(*get_table)(uint32_t id));

#endif
