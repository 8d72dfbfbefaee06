/*
 * Calls a function of the CUDA runtime, and exits if it fails.
 */
#ifndef TRY_H
#define TRY_H

#include <cuda_runtime.h>

#define TRY(call)                                                                       \
	do {                                                                            \
		cudaError_t error_ = (call);                                            \
		if (error_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#endif
