/*
 * Does the program in this process look as if it will use CUDA?
 */
#ifndef HP_SHIM_LOAD_PROGRAM_H
#define HP_SHIM_LOAD_PROGRAM_H

#include <stdbool.h>

/*
 * True if the executable holds kernels or has libcudart or libcuda loaded.  False means that it is
 * not known yet: an interpreter may load CUDA later.  Called once, by shim_start(); some 20 us.
 */
bool shim_program_uses_cuda(void);

#endif
