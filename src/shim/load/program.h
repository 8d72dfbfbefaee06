/*
 * Predicts whether the program will use CUDA.
 */
#ifndef HP_SHIM_LOAD_PROGRAM_H
#define HP_SHIM_LOAD_PROGRAM_H

#include <stdbool.h>

/*
 * True if the executable holds kernels, or if libcudart or libcuda is loaded.  False if it is not
 * known yet: an interpreter may load CUDA later.  Called once, by shim_start(); takes about 20 us.
 */
bool program_uses_cuda(void);

#endif
