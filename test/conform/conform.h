/*
 * What does this driver do, fact by fact?
 *
 * A fact is a name and a value, printed as `name = value`; facts.def says which value an H200 has
 * for it and where the stand-in is another.  Nothing here depends on how fast a device is: a call
 * has waited if the kernel before it is over, and the stand-in runs nothing that nobody waits for.
 *
 * A section is a process of its own, forked before the driver is there: contexts may end in it.
 */
#ifndef HP_CONFORM_CONFORM_H
#define HP_CONFORM_CONFORM_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define PAGE ((size_t)4096)

/* symbol, the name and version that cuGetProcAddress() knows it by */
#define DRIVER_FUNCTIONS(X)                                                              \
	X(cuInit, "cuInit", 2000)                                                        \
	X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000)                            \
	X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020)                 \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)                    \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000)              \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000)                  \
	X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000)                \
	X(cuCtxCreate_v2, "cuCtxCreate", 3020)                                           \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 4000)                                         \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)                                      \
	X(cuCtxGetCurrent, "cuCtxGetCurrent", 4000)                                      \
	X(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000)                                 \
	X(cuCtxPopCurrent_v2, "cuCtxPopCurrent", 4000)                                   \
	X(cuCtxSynchronize, "cuCtxSynchronize", 2000)                                    \
	X(cuCtxRecordEvent, "cuCtxRecordEvent", 12050)                                   \
	X(cuCtxGetLimit, "cuCtxGetLimit", 3010)                                          \
	X(cuCtxSetLimit, "cuCtxSetLimit", 3010)                                          \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020)                                             \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020)                                   \
	X(cuMemAllocManaged, "cuMemAllocManaged", 6000)                                  \
	X(cuMemFree_v2, "cuMemFree", 3020)                                               \
	X(cuMemAllocHost_v2, "cuMemAllocHost", 3020)                                     \
	X(cuMemHostAlloc, "cuMemHostAlloc", 2020)                                        \
	X(cuMemFreeHost, "cuMemFreeHost", 2000)                                          \
	X(cuMemHostRegister_v2, "cuMemHostRegister", 6050)                               \
	X(cuMemHostUnregister, "cuMemHostUnregister", 4000)                              \
	X(cuMemHostGetFlags, "cuMemHostGetFlags", 2030)                                  \
	X(cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020)               \
	X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020)                         \
	X(cuMemGetInfo_v2, "cuMemGetInfo", 3020)                                         \
	X(cuMemAdvise, "cuMemAdvise", 8000)                                              \
	X(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000)                                \
	X(cuMemRangeGetAttribute, "cuMemRangeGetAttribute", 8000)                        \
	X(cuMemAllocAsync, "cuMemAllocAsync", 11020)                                     \
	X(cuMemFreeAsync, "cuMemFreeAsync", 11020)                                       \
	X(cuMemAddressReserve, "cuMemAddressReserve", 10020)                             \
	X(cuMemAddressFree, "cuMemAddressFree", 10020)                                   \
	X(cuMemCreate, "cuMemCreate", 10020)                                             \
	X(cuMemRelease, "cuMemRelease", 10020)                                           \
	X(cuMemMap, "cuMemMap", 10020)                                                   \
	X(cuMemUnmap, "cuMemUnmap", 10020)                                               \
	X(cuMemSetAccess, "cuMemSetAccess", 10020)                                       \
	X(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", 10020)         \
	X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000)                          \
	X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000)                        \
	X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000)                          \
	X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010)                                  \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000)                            \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010)                              \
	X(cuMemcpy, "cuMemcpy", 4000)                                                    \
	X(cuMemcpyAsync, "cuMemcpyAsync", 4000)                                          \
	X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020)                                         \
	X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020)                                         \
	X(cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020)                                         \
	X(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020)                               \
	X(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020)                               \
	X(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020)                               \
	X(cuMemcpyPeer, "cuMemcpyPeer", 4000)                                            \
	X(cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000)                            \
	X(cuMemcpy2D_v2, "cuMemcpy2D", 3020)                                             \
	X(cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020)                           \
	X(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020)                                   \
	X(cuMemcpy3D_v2, "cuMemcpy3D", 3020)                                             \
	X(cuMemcpyHtoA_v2, "cuMemcpyHtoA", 3020)                                         \
	X(cuMemcpyAtoH_v2, "cuMemcpyAtoH", 3020)                                         \
	X(cuArrayCreate_v2, "cuArrayCreate", 3020)                                       \
	X(cuArrayDestroy, "cuArrayDestroy", 2000)                                        \
	X(cuMemsetD8_v2, "cuMemsetD8", 3020)                                             \
	X(cuMemsetD16_v2, "cuMemsetD16", 3020)                                           \
	X(cuMemsetD32_v2, "cuMemsetD32", 3020)                                           \
	X(cuMemsetD2D8_v2, "cuMemsetD2D8", 3020)                                         \
	X(cuMemsetD8Async, "cuMemsetD8Async", 3020)                                      \
	X(cuModuleLoadData, "cuModuleLoadData", 2000)                                    \
	X(cuModuleUnload, "cuModuleUnload", 2000)                                        \
	X(cuModuleGetFunction, "cuModuleGetFunction", 2000)                              \
	X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020)                               \
	X(cuLaunchKernel, "cuLaunchKernel", 4000)                                        \
	X(cuLaunchHostFunc, "cuLaunchHostFunc", 10000)                                   \
	X(cuStreamAddCallback, "cuStreamAddCallback", 5000)                              \
	X(cuStreamCreate, "cuStreamCreate", 2000)                                        \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000)                                   \
	X(cuStreamGetFlags, "cuStreamGetFlags", 5050)                                    \
	X(cuStreamGetId, "cuStreamGetId", 12000)                                         \
	X(cuStreamSynchronize, "cuStreamSynchronize", 2000)                              \
	X(cuStreamQuery, "cuStreamQuery", 2000)                                          \
	X(cuStreamWaitEvent, "cuStreamWaitEvent", 3020)                                  \
	X(cuStreamWriteValue32_v2, "cuStreamWriteValue32", 11070)                        \
	X(cuStreamIsCapturing, "cuStreamIsCapturing", 10000)                             \
	X(cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo", 11030)                    \
	X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010)                        \
	X(cuStreamEndCapture, "cuStreamEndCapture", 10000)                               \
	X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010) \
	X(cuEventCreate, "cuEventCreate", 2000)                                          \
	X(cuEventDestroy_v2, "cuEventDestroy", 4000)                                     \
	X(cuEventRecord, "cuEventRecord", 2000)                                          \
	X(cuEventQuery, "cuEventQuery", 2000)                                            \
	X(cuEventSynchronize, "cuEventSynchronize", 2000)                                \
	X(cuEventElapsedTime, "cuEventElapsedTime", 2000)                                \
	X(cuGraphCreate, "cuGraphCreate", 10000)                                         \
	X(cuGraphDestroy, "cuGraphDestroy", 10000)                                       \
	X(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000)                           \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040)             \
	X(cuGraphLaunch, "cuGraphLaunch", 10000)                                         \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000)

#define FIELD(symbol, name, version) __typeof__(symbol) *symbol;
struct driver {
	DRIVER_FUNCTIONS(FIELD)
};
#undef FIELD

/* By flavour: stream NULL is the legacy stream, or the thread's own.  NULL: there is no such. */
extern struct driver cu[2];

/* What begin() has made. */
extern CUcontext primary;
extern CUdeviceptr there; /* THERE_BYTES */
#define THERE_BYTES (64 * MIB)
extern CUstream blocking, unbound; /* unbound: CU_STREAM_NON_BLOCKING */
extern bool stand_in;

#define SECTION(id)                                                     \
	static void section_##id(void);                                 \
	static struct section entry_##id = { #id, section_##id, NULL }; \
	__attribute__((constructor)) static void add_##id(void)         \
	{                                                               \
		*section_last = &entry_##id;                            \
		section_last = &entry_##id.next;                        \
	}                                                               \
	static void section_##id(void)

struct section {
	const char *name;
	void (*run)(void);
	struct section *next;
};
extern struct section **section_last;

/* Finds the driver; the primary context is current and has the kernels. */
void begin(void);
/* The kernels in the context that is current now. */
void kernels_load(void);

/* A call that the facts rest on; the section ends where it fails. */
#define OK(call) must(call, #call, __FILE__, __LINE__)
void must(CUresult rc, const char *text, const char *file, int line);

/* Reports a fact of the section; the name is what follows the section's. */
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with a name that is put together. */
#define FACT(value, ...)                                     \
	do {                                                 \
		char name_[128];                             \
		snprintf(name_, sizeof(name_), __VA_ARGS__); \
		fact(name_, "%s", value);                    \
	} while (0)
/* "0", or the code of an error; in static memory. */
const char *code(CUresult rc);

/*
 * A kernel of 30 ms on the stream, and whether it is over.  One at a time; the stand-in's is over
 * when somebody has waited for it.
 */
void busy(CUstream on);
bool still_busy(void);
/* How a call came back that was made behind busy(): "returns", "waits", or the code of its error.
 */
const char *came_back(CUresult rc);
/* Waits for the whole context. */
void settle(void);
/* A kernel that copies 8 bytes of the device's. */
void move_word(CUstream on, CUdeviceptr to, CUdeviceptr from);
/* A kernel that could print a line, if its argument were not 0. */
CUresult launch_printing(void);

/* Fresh pages, each byte set. */
char *pages(size_t bytes, int value);
/* One byte of the device's, by way of memory that is pinned. */
int peek(CUdeviceptr at);

/* Runs it on another thread with the context current, and waits for that. */
void elsewhere(void (*job)(void *), void *argument);

#endif
