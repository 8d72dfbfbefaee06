/*
 * The size of an element of a CUDA array, as the driver describes it.
 */
#ifndef HP_ENGINE_ARRAYS_H
#define HP_ENGINE_ARRAYS_H

#include "real/real.h"

/* Returns the bytes of an element of an array; 0: unknown.  Asks the driver. */
size_t array_element_bytes(CUarray array);

#endif
