/*
 * Notes the program's own NVTX ranges.
 */
#ifndef HP_TRACE_CALLS_NVTX_H
#define HP_TRACE_CALLS_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* Puts hotpin's functions into the program's table of NVTX functions.  False: there is no table. */
bool nvtx_install(const void *(*get_table)(uint32_t id));

#endif
