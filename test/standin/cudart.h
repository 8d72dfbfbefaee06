/*
 * cudart.h - shared by the files of the stand-in runtime.
 *
 * The runtime includes nothing of the engine.  It reaches the driver only by name, as NVIDIA's
 * does, so tests exercise everything in between.
 */
#ifndef STANDIN_CUDART_H
#define STANDIN_CUDART_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
#include <stdbool.h>

struct driver {
	__typeof__(cuGetProcAddress_v2) *cuGetProcAddress_v2;
#define FUNC(symbol) __typeof__(symbol) *symbol;
#include "cudart.def"
};

/* Constant once the first call of the runtime has found it. */
extern struct driver driver;
/* Finds the driver and makes a context current in this thread: before every call that needs one. */
cudaError_t runtime_enter(void);
/* Records an error as the last one of this thread, and returns it. */
cudaError_t runtime_leave(cudaError_t error);
cudaError_t runtime_result(CUresult rc);

/* Starts a function of the runtime: gets a context, or returns the error. */
#define RUNTIME_ENTER                                  \
	do {                                           \
		cudaError_t entered = runtime_enter(); \
                                                       \
		if (entered != cudaSuccess)            \
			return runtime_leave(entered); \
	} while (0)

cudaError_t kernel_of(const void *function, CUkernel *ret);
cudaError_t symbol_of(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes);

#endif
