/*
 * needs_driver.c - a library that links libcuda, for programs that ask it for the driver's names.
 */
#include <cuda.h>

#pragma GCC visibility push(default)
CUresult needs_driver(void);
#pragma GCC visibility pop

CUresult needs_driver(void)
{
	return cuInit(0);
}
