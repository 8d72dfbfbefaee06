/*
 * The driver functions that tests call: the symbol, and the name and version for
 * cuGetProcAddress().
 *
 * A test looks them up itself, in the way of a program or of a runtime.
 */
#ifndef HP_HARNESS_DRIVER_H
#define HP_HARNESS_DRIVER_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/* clang-format off */
#define DRIVER_FUNCTIONS(X) \
	X(cuArrayCreate_v2, "cuArrayCreate", 3020) \
	X(cuArrayDestroy, "cuArrayDestroy", 2000) \
	X(cuCtxCreate_v2, "cuCtxCreate", 3020) \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 4000) \
	X(cuCtxGetCurrent, "cuCtxGetCurrent", 4000) \
	X(cuCtxGetLimit, "cuCtxGetLimit", 3010) \
	X(cuCtxPopCurrent_v2, "cuCtxPopCurrent", 4000) \
	X(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000) \
	X(cuCtxRecordEvent, "cuCtxRecordEvent", 12050) \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000) \
	X(cuCtxSetLimit, "cuCtxSetLimit", 3010) \
	X(cuCtxSynchronize, "cuCtxSynchronize", 2000) \
	X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000) \
	X(cuDeviceGetCount, "cuDeviceGetCount", 2000) \
	X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020) \
	X(cuDeviceGetName, "cuDeviceGetName", 2000) \
	X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000) \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000) \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000) \
	X(cuEventCreate, "cuEventCreate", 2000) \
	X(cuEventDestroy_v2, "cuEventDestroy", 4000) \
	X(cuEventElapsedTime, "cuEventElapsedTime", 2000) \
	X(cuEventQuery, "cuEventQuery", 2000) \
	X(cuEventRecord, "cuEventRecord", 2000) \
	X(cuEventSynchronize, "cuEventSynchronize", 2000) \
	X(cuGraphAddHostNode, "cuGraphAddHostNode", 10000) \
	X(cuGraphAddKernelNode_v2, "cuGraphAddKernelNode", 12000) \
	X(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000) \
	X(cuGraphAddMemsetNode, "cuGraphAddMemsetNode", 10000) \
	X(cuGraphCreate, "cuGraphCreate", 10000) \
	X(cuGraphDestroy, "cuGraphDestroy", 10000) \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000) \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040) \
	X(cuGraphLaunch, "cuGraphLaunch", 10000) \
	X(cuInit, "cuInit", 2000) \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010) \
	X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010) \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000) \
	X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000) \
	X(cuLaunchHostFunc, "cuLaunchHostFunc", 10000) \
	X(cuLaunchKernel, "cuLaunchKernel", 4000) \
	X(cuLaunchKernelEx, "cuLaunchKernelEx", 11060) \
	X(cuMemAddressFree, "cuMemAddressFree", 10020) \
	X(cuMemAddressReserve, "cuMemAddressReserve", 10020) \
	X(cuMemAdvise, "cuMemAdvise", 8000) \
	X(cuMemAllocAsync, "cuMemAllocAsync", 11020) \
	X(cuMemAllocHost_v2, "cuMemAllocHost", 3020) \
	X(cuMemAllocManaged, "cuMemAllocManaged", 6000) \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020) \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020) \
	X(cuMemCreate, "cuMemCreate", 10020) \
	X(cuMemFreeAsync, "cuMemFreeAsync", 11020) \
	X(cuMemFreeHost, "cuMemFreeHost", 2000) \
	X(cuMemFree_v2, "cuMemFree", 3020) \
	X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020) \
	X(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", 10020) \
	X(cuMemGetInfo_v2, "cuMemGetInfo", 3020) \
	X(cuMemHostAlloc, "cuMemHostAlloc", 2020) \
	X(cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020) \
	X(cuMemHostGetFlags, "cuMemHostGetFlags", 2030) \
	X(cuMemHostRegister_v2, "cuMemHostRegister", 6050) \
	X(cuMemHostUnregister, "cuMemHostUnregister", 4000) \
	X(cuMemMap, "cuMemMap", 10020) \
	X(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000) \
	X(cuMemRangeGetAttribute, "cuMemRangeGetAttribute", 8000) \
	X(cuMemRangeGetAttributes, "cuMemRangeGetAttributes", 8000) \
	X(cuMemRelease, "cuMemRelease", 10020) \
	X(cuMemSetAccess, "cuMemSetAccess", 10020) \
	X(cuMemUnmap, "cuMemUnmap", 10020) \
	X(cuMemcpy, "cuMemcpy", 4000) \
	X(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020) \
	X(cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020) \
	X(cuMemcpy2D_v2, "cuMemcpy2D", 3020) \
	X(cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 3020) \
	X(cuMemcpy3D_v2, "cuMemcpy3D", 3020) \
	X(cuMemcpyAsync, "cuMemcpyAsync", 4000) \
	X(cuMemcpyAtoD_v2, "cuMemcpyAtoD", 3020) \
	X(cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", 3020) \
	X(cuMemcpyAtoH_v2, "cuMemcpyAtoH", 3020) \
	X(cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000) \
	X(cuMemcpyDtoA_v2, "cuMemcpyDtoA", 3020) \
	X(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020) \
	X(cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020) \
	X(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020) \
	X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020) \
	X(cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", 3020) \
	X(cuMemcpyHtoA_v2, "cuMemcpyHtoA", 3020) \
	X(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020) \
	X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020) \
	X(cuMemcpyPeer, "cuMemcpyPeer", 4000) \
	X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000) \
	X(cuMemsetD16_v2, "cuMemsetD16", 3020) \
	X(cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020) \
	X(cuMemsetD2D8_v2, "cuMemsetD2D8", 3020) \
	X(cuMemsetD32Async, "cuMemsetD32Async", 3020) \
	X(cuMemsetD32_v2, "cuMemsetD32", 3020) \
	X(cuMemsetD8Async, "cuMemsetD8Async", 3020) \
	X(cuMemsetD8_v2, "cuMemsetD8", 3020) \
	X(cuModuleGetFunction, "cuModuleGetFunction", 2000) \
	X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020) \
	X(cuModuleLoadData, "cuModuleLoadData", 2000) \
	X(cuModuleUnload, "cuModuleUnload", 2000) \
	X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000) \
	X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000) \
	X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000) \
	X(cuStreamAddCallback, "cuStreamAddCallback", 5000) \
	X(cuStreamAttachMemAsync, "cuStreamAttachMemAsync", 6000) \
	X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010) \
	X(cuStreamCreate, "cuStreamCreate", 2000) \
	X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050) \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000) \
	X(cuStreamEndCapture, "cuStreamEndCapture", 10000) \
	X(cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo", 11030) \
	X(cuStreamGetFlags, "cuStreamGetFlags", 5050) \
	X(cuStreamGetId, "cuStreamGetId", 12000) \
	X(cuStreamIsCapturing, "cuStreamIsCapturing", 10000) \
	X(cuStreamQuery, "cuStreamQuery", 2000) \
	X(cuStreamSynchronize, "cuStreamSynchronize", 2000) \
	X(cuStreamWaitEvent, "cuStreamWaitEvent", 3020) \
	X(cuStreamWaitValue32_v2, "cuStreamWaitValue32", 11070) \
	X(cuStreamWriteValue32_v2, "cuStreamWriteValue32", 11070) \
	X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010)
/* clang-format on */

#define FIELD(symbol, name, version) __typeof__(symbol) *symbol;
struct driver {
	DRIVER_FUNCTIONS(FIELD)
};
#undef FIELD

/*
 * Looks up all of them as a runtime does, in both flavors: in cu[0] NULL is the legacy stream, in
 * cu[1] the thread's own.  Returns the name of one that the driver lacks, which is NULL then.
 */
const char *driver_ask(__typeof__(cuGetProcAddress_v2) *get, struct driver cu[2]);

#endif
