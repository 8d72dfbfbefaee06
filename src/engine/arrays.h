/*
 * The sizes of CUDA arrays, as the driver describes them.
 */
#ifndef HP_ENGINE_ARRAYS_H
#define HP_ENGINE_ARRAYS_H

#include "real/real.h"

/* Bytes of an element of an array, and of one of its rows; 0: not known.  Ask the driver. */
size_t array_element_bytes(CUarray array);
size_t array_row_bytes(CUarray array);

#endif
