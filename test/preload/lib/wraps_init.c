/* wraps_init.c - another tool that intercepts the driver, counts calls and forwards them. */
#include <cuda.h>
#include <dlfcn.h>

#pragma GCC visibility push(default)
extern int wraps_init_calls;
int wraps_init_calls;

CUresult cuInit(unsigned flags)
{
	CUresult (*next)(unsigned) = (CUresult(*)(unsigned))dlsym(RTLD_NEXT, "cuInit");

	wraps_init_calls++;
	return next != NULL ? next(flags) : CUDA_ERROR_NOT_FOUND;
}
#pragma GCC visibility pop
