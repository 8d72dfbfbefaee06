/*
 * The program that lives through every way in which pinned memory could go stale or be noticed.
 *
 * One test a case, named after the row of the hazard table in hazards.c: row03_munmap.  Whatever
 * a test sees must be the same without the library and with it, on the stand-in driver and on a
 * device; what differs from device to device it reports with SEE(), for hazards.py to compare.
 * Under the library each first makes sure that the block really is pinned, by asking the driver
 * behind its back: a hazard that was never there proves nothing.
 *
 * The driver is found as a runtime finds it: dlopen(), dlsym(), cuGetProcAddress().
 */
#ifndef HP_TEST_GPU_HAZARDS_H
#define HP_TEST_GPU_HAZARDS_H

#include "../preload/device.h"
#include "../pattern.h"

#include <errno.h>

#define KIB              ((size_t)1 << 10)
#define MIB              ((size_t)1 << 20)
#define PAGE             ((size_t)4096)

/* Of most blocks; a device is lent THERE_BYTES of memory at `there`. */
#define BYTES            (4 * MIB)
#define THERE_BYTES      (64 * MIB)

#define OK(call)         CHECK_EQ(call, CUDA_SUCCESS)

/* A test with a process of its own: it ends contexts, or the process, or wants an environment. */
#define ALONE(id)        TEST_WITH(id, "HAZARDS=alone")

/* Compared between a run without the library and one with it. */
#define SEE(what, value) hazard_see(what, (long long)(value))

/* Ends the test: the hazard cannot be had here. */
#define SKIP(why)                  \
	do {                       \
		hazard_skip = why; \
		return;            \
	} while (0)

/* symbol, the name and version that cuGetProcAddress() knows it by */
#define DRIVER_FUNCTIONS(X)                                                  \
	X(cuInit, "cuInit", 2000)                                            \
	X(cuDeviceGetCount, "cuDeviceGetCount", 2000)                        \
	X(cuDeviceGetName, "cuDeviceGetName", 2000)                          \
	X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000)                \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)        \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000)  \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000)      \
	X(cuCtxCreate_v2, "cuCtxCreate", 3020)                               \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 4000)                             \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)                          \
	X(cuCtxGetCurrent, "cuCtxGetCurrent", 4000)                          \
	X(cuCtxSynchronize, "cuCtxSynchronize", 2000)                        \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020)                                 \
	X(cuMemFree_v2, "cuMemFree", 3020)                                   \
	X(cuMemAllocHost_v2, "cuMemAllocHost", 3020)                         \
	X(cuMemFreeHost, "cuMemFreeHost", 2000)                              \
	X(cuMemHostRegister_v2, "cuMemHostRegister", 6050)                   \
	X(cuMemHostUnregister, "cuMemHostUnregister", 4000)                  \
	X(cuMemHostGetFlags, "cuMemHostGetFlags", 2030)                      \
	X(cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020)   \
	X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020)             \
	X(cuMemAdvise, "cuMemAdvise", 8000)                                  \
	X(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000)                    \
	X(cuMemRangeGetAttribute, "cuMemRangeGetAttribute", 8000)            \
	X(cuMemRangeGetAttributes, "cuMemRangeGetAttributes", 8000)          \
	X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000)              \
	X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000)            \
	X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000)              \
	X(cuMemcpy, "cuMemcpy", 4000)                                        \
	X(cuMemcpyAsync, "cuMemcpyAsync", 4000)                              \
	X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020)                             \
	X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020)                             \
	X(cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020)                             \
	X(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020)                   \
	X(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020)                   \
	X(cuMemcpy2D_v2, "cuMemcpy2D", 3020)                                 \
	X(cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020)               \
	X(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020)                       \
	X(cuMemcpy3D_v2, "cuMemcpy3D", 3020)                                 \
	X(cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 3020)                       \
	X(cuMemsetD8_v2, "cuMemsetD8", 3020)                                 \
	X(cuMemsetD8Async, "cuMemsetD8Async", 3020)                          \
	X(cuModuleLoadData, "cuModuleLoadData", 2000)                        \
	X(cuModuleGetFunction, "cuModuleGetFunction", 2000)                  \
	X(cuLaunchKernel, "cuLaunchKernel", 4000)                            \
	X(cuStreamCreate, "cuStreamCreate", 2000)                            \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000)                       \
	X(cuStreamSynchronize, "cuStreamSynchronize", 2000)                  \
	X(cuStreamQuery, "cuStreamQuery", 2000)                              \
	X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010)            \
	X(cuStreamEndCapture, "cuStreamEndCapture", 10000)                   \
	X(cuStreamIsCapturing, "cuStreamIsCapturing", 10000)                 \
	X(cuGraphCreate, "cuGraphCreate", 10000)                             \
	X(cuGraphDestroy, "cuGraphDestroy", 10000)                           \
	X(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000)               \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040) \
	X(cuGraphLaunch, "cuGraphLaunch", 10000)                             \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000)                   \
	X(cuGraphAddKernelNode_v2, "cuGraphAddKernelNode", 12000)            \
	X(cuGraphAddHostNode, "cuGraphAddHostNode", 10000)                   \
	X(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000)                     \
	X(cuCtxPopCurrent_v2, "cuCtxPopCurrent", 4000)                       \
	X(cuMemGetInfo_v2, "cuMemGetInfo", 3020)                             \
	X(cuMemHostAlloc, "cuMemHostAlloc", 2020)                            \
	X(cuMemAllocManaged, "cuMemAllocManaged", 6000)                      \
	X(cuMemAllocAsync, "cuMemAllocAsync", 11020)                         \
	X(cuMemFreeAsync, "cuMemFreeAsync", 11020)                           \
	X(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020)                   \
	X(cuMemcpyPeer, "cuMemcpyPeer", 4000)                                \
	X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000)                      \
	X(cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020)                      \
	X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010)                      \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000)                \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010)                  \
	X(cuModuleUnload, "cuModuleUnload", 2000)                            \
	X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020)                   \
	X(cuLaunchKernelEx, "cuLaunchKernelEx", 11060)                       \
	X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000)      \
	X(cuLaunchHostFunc, "cuLaunchHostFunc", 10000)                       \
	X(cuStreamAddCallback, "cuStreamAddCallback", 5000)                  \
	X(cuStreamWaitEvent, "cuStreamWaitEvent", 3020)                      \
	X(cuStreamWriteValue32_v2, "cuStreamWriteValue32", 11070)            \
	X(cuStreamWaitValue32_v2, "cuStreamWaitValue32", 11070)              \
	X(cuEventCreate, "cuEventCreate", 2000)                              \
	X(cuEventDestroy_v2, "cuEventDestroy", 4000)                         \
	X(cuEventRecord, "cuEventRecord", 2000)                              \
	X(cuEventQuery, "cuEventQuery", 2000)                                \
	X(cuEventSynchronize, "cuEventSynchronize", 2000)                    \
	X(cuEventElapsedTime, "cuEventElapsedTime", 2000)                    \
	X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010)

#define FIELD(symbol, name, version) __typeof__(symbol) *symbol;
struct driver {
	DRIVER_FUNCTIONS(FIELD)
};
#undef FIELD

/* As the program finds them, and the same behind the library's back. */
extern struct driver cu, native;

extern CUcontext primary;
extern CUdeviceptr there;
extern CUstream stream; /* a non-blocking one */
extern const char *hazard_skip;

/*
 * Finds the driver, makes the device's primary context current, with `there` and `stream`.  Again
 * in the same process: nothing, but that the context is made current.
 */
void begin(void);

/* The driver by its handle, not yet initialised; begin() calls it. */
void find_driver(void);

/* `there` and `stream` once more, in the context that is current. */
void begin_context(void);

/* A function of the stand-in's (standin.h), or NULL: there is a device. */
void *stand_in(const char *name);

void hazard_see(const char *what, long long value);

/* Is the memory at `at` registered with the driver, by anybody? */
bool is_pinned(const void *at);

/* Work of about so many milliseconds on the stream; on the stand-in it ends when waited for. */
void spin(CUstream on, unsigned ms);

/* Copies from the block until it is pinned, or for as long as should do; then waits. */
bool heat(char *block, size_t bytes);

/* A block of malloc() memory that is pinned wherever the library acts, filled with seed 1. */
char *hot(size_t bytes);

/* The whole pages of a block of BYTES: the first one, and how many bytes they are. */
char *inner(const char *block);
#define INSIDE (BYTES - PAGE)

/* Are the device's bytes at `from`, fetched into memory that nobody pins, those of the seed? */
bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed);

/* Copies of every kind between the block and the device agree about every byte, again and again. */
void agrees(char *block, size_t bytes);

/*
 * The pages of a block of BYTES have just been changed past malloc(): no registration is left on
 * them, the device sees what the program sees; the block is freed, and the next is as it should be.
 */
void changed(char *block);

/* Of a child; 1000 + signal where that ended it. */
int status_of(pid_t child);

#endif
