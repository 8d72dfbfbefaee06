/*
 * The sizes of CUDA arrays, as the driver describes them.
 */
#ifndef HP_ENGINE_ARRAYS_H
#define HP_ENGINE_ARRAYS_H

#include "real/real.h"

/* Return the bytes of an element, and of a row, of an array; 0: unknown.  Both ask the driver. */
size_t array_element_bytes(CUarray array);
size_t array_row_bytes(CUarray array);

#endif
