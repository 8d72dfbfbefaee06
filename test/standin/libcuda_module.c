/*
 * libcuda_module.c - the exported module, library and function calls.
 */
#include "bridge.h"

#pragma GCC visibility push(default)

static CUresult live_kernel(const void *handle)
{
	return kernel_get(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

#include "entry_module.def"

#pragma GCC visibility pop
