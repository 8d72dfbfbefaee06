/*
 * conform_wrong.c - what calls return for invalid arguments.
 *
 * Handles that never existed or were destroyed are not tried: a device's driver dereferences them.
 */
#include "conform.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigjmp_buf back;

static void on_fault(int number)
{
	siglongjmp(back, number);
}

/* The driver may dereference an invalid pointer; that is reported, too. */
#define WRONG(name, call)                                 \
	do {                                              \
		int signal_ = sigsetjmp(back, 1);         \
                                                          \
		if (signal_ == 0)                         \
			fact(name, "%d", (int)(call));    \
		else                                      \
			fact(name, "signal %d", signal_); \
	} while (0)

static void catch_faults(void)
{
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
}

SECTION(wrong_alloc)
{
	CUdeviceptr at = 1;
	void *host = &at;
	size_t pitch;

	begin();
	catch_faults();
	WRONG("cuMemAlloc.nothing", cu[0].cuMemAlloc_v2(&at, 0));
	WRONG("cuMemAlloc.too_much", cu[0].cuMemAlloc_v2(&at, (size_t)1 << 50));
	WRONG("cuMemAlloc.nowhere", cu[0].cuMemAlloc_v2(NULL, 64));
	WRONG("cuMemAllocPitch.element", cu[0].cuMemAllocPitch_v2(&at, &pitch, 64, 4, 3));
	WRONG("cuMemAllocPitch.nothing", cu[0].cuMemAllocPitch_v2(&at, &pitch, 0, 4, 4));
	WRONG("cuMemAllocManaged.nothing", cu[0].cuMemAllocManaged(&at, 0, 1));
	WRONG("cuMemAllocManaged.flags", cu[0].cuMemAllocManaged(&at, 64, 0));
	WRONG("cuMemAllocHost.nothing", cu[0].cuMemAllocHost_v2(&host, 0));
	fact("cuMemAllocHost.nothing.is", "%s", host == NULL ? "nowhere" : "somewhere");
	WRONG("cuMemHostAlloc.flags", cu[0].cuMemHostAlloc(&host, 64, 0x100));
	WRONG("cuMemAllocAsync.nothing", cu[0].cuMemAllocAsync(&at, 0, unbound));
	fact("cuMemAllocAsync.nothing.is", "%s", at == 0 ? "nowhere" : "somewhere");
	WRONG("cuMemHostRegister.flags", cu[0].cuMemHostRegister_v2(pages(PAGE, 0), PAGE, 0x40));
	WRONG("cuMemHostGetFlags.nowhere", cu[0].cuMemHostGetFlags(NULL, &at));
	WRONG("cuMemHostGetDevicePointer.flags",
	      cu[0].cuMemHostGetDevicePointer_v2(&at, pages(PAGE, 0), 1));
	WRONG("cuPointerGetAttribute.number",
	      cu[0].cuPointerGetAttribute(&at, (CUpointer_attribute)999, there));
	WRONG("cuPointerGetAttribute.nowhere",
	      cu[0].cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, there));
	WRONG("cuPointerGetAttributes.none", cu[0].cuPointerGetAttributes(0, NULL, NULL, there));
	WRONG("cuPointerSetAttribute.number",
	      cu[0].cuPointerSetAttribute(&at, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, there));
	WRONG("cuMemGetAddressRange.nowhere",
	      cu[0].cuMemGetAddressRange_v2(NULL, NULL, there + 64));
	WRONG("cuCtxGetLimit.number", cu[0].cuCtxGetLimit(&pitch, (CUlimit)999));
	WRONG("cuCtxSetLimit.number", cu[0].cuCtxSetLimit((CUlimit)999, 64));
}

SECTION(wrong_copy)
{
	static char host[4096];
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = host,
			      .srcPitch = 64,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = 64,
			      .WidthInBytes = 64,
			      .Height = 4 };

	begin();
	catch_faults();
	box.dstDevice = there;
	WRONG("cuMemcpyHtoD.from_null", cu[0].cuMemcpyHtoD_v2(there, NULL, 64));
	WRONG("cuMemcpyHtoD.to_null", cu[0].cuMemcpyHtoD_v2(0, host, 64));
	WRONG("cuMemcpyHtoD.to_number", cu[0].cuMemcpyHtoD_v2(4096, host, 64));
	WRONG("cuMemcpyHtoD.to_stack", cu[0].cuMemcpyHtoD_v2((CUdeviceptr)&box, host, 64));
	WRONG("cuMemcpyHtoD.all_null", cu[0].cuMemcpyHtoD_v2(0, NULL, 0));
	WRONG("cuMemcpyHtoD.too_long", cu[0].cuMemcpyHtoD_v2(there, host, THERE_BYTES + 1));
	WRONG("cuMemcpyHtoD.longer_than_memory",
	      cu[0].cuMemcpyHtoD_v2(there, host, (size_t)1 << 46));
	WRONG("cuMemcpyDtoH.to_null", cu[0].cuMemcpyDtoH_v2(NULL, there, 64));
	WRONG("cuMemcpyDtoH.from_null", cu[0].cuMemcpyDtoH_v2(host, 0, 64));
	WRONG("cuMemcpyDtoH.from_number", cu[0].cuMemcpyDtoH_v2(host, 4096, 64));
	WRONG("cuMemcpyDtoH.too_long", cu[0].cuMemcpyDtoH_v2(host, there, THERE_BYTES + 1));
	WRONG("cuMemcpyDtoD.from_number", cu[0].cuMemcpyDtoD_v2(there, 4096, 64));
	WRONG("cuMemcpyDtoD.overlaps", cu[0].cuMemcpyDtoD_v2(there, there + 32, 64));
	WRONG("cuMemcpyDtoD.onto_itself", cu[0].cuMemcpyDtoD_v2(there, there, 64));
	WRONG("cuMemcpy.null", cu[0].cuMemcpy(0, 0, 64));
	WRONG("cuMemcpy.nothing", cu[0].cuMemcpy(0, 0, 0));
	WRONG("cuMemcpyHtoDAsync.from_null", cu[0].cuMemcpyHtoDAsync_v2(there, NULL, 64, unbound));
	WRONG("cuMemcpyHtoDAsync.to_number", cu[0].cuMemcpyHtoDAsync_v2(4096, host, 64, unbound));
	WRONG("cuMemcpyDtoHAsync.to_null", cu[0].cuMemcpyDtoHAsync_v2(NULL, there, 64, unbound));
	WRONG("cuMemcpyDtoHAsync.too_long",
	      cu[0].cuMemcpyDtoHAsync_v2(host, there, THERE_BYTES + 1, unbound));
	WRONG("cuMemcpyPeer.no_context", cu[0].cuMemcpyPeer(there + MIB, NULL, there, NULL, 64));
	WRONG("cuMemcpy2D.right", cu[0].cuMemcpy2D_v2(&box));
	box.srcPitch = 63;
	WRONG("cuMemcpy2D.pitch", cu[0].cuMemcpy2D_v2(&box));
	box.srcPitch = 64;
	box.Height = 0;
	WRONG("cuMemcpy2D.no_rows", cu[0].cuMemcpy2D_v2(&box));
	box.Height = 4;
	box.WidthInBytes = 0;
	WRONG("cuMemcpy2D.no_width", cu[0].cuMemcpy2D_v2(&box));
	box.WidthInBytes = 64;
	box.srcHost = NULL;
	WRONG("cuMemcpy2D.from_null", cu[0].cuMemcpy2D_v2(&box));
	box.srcHost = host;
	box.srcMemoryType = (CUmemorytype)9;
	WRONG("cuMemcpy2D.type", cu[0].cuMemcpy2D_v2(&box));
	box.srcMemoryType = CU_MEMORYTYPE_HOST;
	box.srcXInBytes = 8;
	WRONG("cuMemcpy2D.beyond_its_pitch", cu[0].cuMemcpy2D_v2(&box));
	box.srcXInBytes = 0;
	box.dstDevice = there + THERE_BYTES - 128;
	WRONG("cuMemcpy2D.beyond_its_memory", cu[0].cuMemcpy2D_v2(&box));
}

SECTION(wrong_batch)
{
	static char host[4096];
	CUdeviceptr to[2] = { 0, 0 }, from[2] = { (CUdeviceptr)host, (CUdeviceptr)host };
	size_t bytes[2] = { 64, 64 }, index = 0;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

	begin();
	catch_faults();
	to[0] = there;
	to[1] = there + MIB;
	if (cu[0].cuMemcpyBatchAsync_v2 == NULL)
		return;
#define BATCH(n, on) cu[0].cuMemcpyBatchAsync_v2(to, from, bytes, n, &how, &index, 1, on)
	WRONG("right", BATCH(2, unbound));
	WRONG("of_null_stream", BATCH(2, NULL));
	WRONG("of_legacy_stream", BATCH(2, CU_STREAM_LEGACY));
	WRONG("of_own_stream", BATCH(2, CU_STREAM_PER_THREAD));
	if (cu[1].cuMemcpyBatchAsync_v2 != NULL)
		WRONG("of_null_stream_ptsz",
		      cu[1].cuMemcpyBatchAsync_v2(to, from, bytes, 2, &how, &index, 1, NULL));
	WRONG("of_none", BATCH(0, unbound));
	index = 1;
	WRONG("index", BATCH(2, unbound));
	index = 0;
	bytes[1] = 0;
	WRONG("nothing", BATCH(2, unbound));
	bytes[1] = 64;
#undef BATCH
}

SECTION(wrong_memset)
{
	begin();
	catch_faults();
	WRONG("cuMemsetD8.null", cu[0].cuMemsetD8_v2(0, 1, 64));
	WRONG("cuMemsetD8.number", cu[0].cuMemsetD8_v2(4096, 1, 64));
	WRONG("cuMemsetD8.too_long", cu[0].cuMemsetD8_v2(there, 1, THERE_BYTES + 1));
	WRONG("cuMemsetD16.odd", cu[0].cuMemsetD16_v2(there + 1, 1, 64));
	WRONG("cuMemsetD32.odd", cu[0].cuMemsetD32_v2(there + 2, 1, 64));
	WRONG("cuMemsetD2D8.pitch", cu[0].cuMemsetD2D8_v2(there, 8, 1, 64, 4));
	WRONG("cuMemsetD2D8.no_rows", cu[0].cuMemsetD2D8_v2(there, 64, 1, 64, 0));
	WRONG("cuMemsetD2D8.one_row", cu[0].cuMemsetD2D8_v2(there, 0, 1, 64, 1));
	WRONG("cuMemsetD8Async.number", cu[0].cuMemsetD8Async(4096, 1, 64, unbound));
}

SECTION(wrong_others)
{
	CUdeviceptr at;
	CUstream stream;
	CUevent event;
	CUmodule module;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec = NULL;
	CUcontext context;
	CUDA_MEMCPY3D box = { 0 };
	static char host[64];

	begin();
	catch_faults();
	MUST(cu[0].cuGraphCreate(&graph, 0));
	WRONG("cuStreamCreate.flags", cu[0].cuStreamCreate(&stream, 0x80));
	WRONG("cuStreamCreate.nowhere", cu[0].cuStreamCreate(NULL, 0));
	WRONG("cuStreamWaitEvent.flags",
	      cu[0].cuEventCreate(&event, 0) ?: cu[0].cuStreamWaitEvent(unbound, event, 0x40));
	WRONG("cuStreamWaitEvent.null", cu[0].cuStreamWaitEvent(unbound, NULL, 0));
	WRONG("cuStreamDestroy.null", cu[0].cuStreamDestroy_v2(NULL));
	WRONG("cuStreamDestroy.legacy", cu[0].cuStreamDestroy_v2(CU_STREAM_LEGACY));
	WRONG("cuStreamBeginCapture.mode",
	      cu[0].cuStreamBeginCapture_v2(unbound, (CUstreamCaptureMode)9));
	WRONG("cuStreamBeginCapture.null",
	      cu[0].cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WRONG("cuStreamEndCapture.none", cu[0].cuStreamEndCapture(unbound, &graph));
	WRONG("cuEventCreate.flags", cu[0].cuEventCreate(&event, 0x100));
	WRONG("cuEventCreate.shared_and_timed", cu[0].cuEventCreate(&event, CU_EVENT_INTERPROCESS));
	WRONG("cuEventRecord.null", cu[0].cuEventRecord(NULL, unbound));
	WRONG("cuEventQuery.null", cu[0].cuEventQuery(NULL));
	WRONG("cuEventSynchronize.null", cu[0].cuEventSynchronize(NULL));
	WRONG("cuEventDestroy.null", cu[0].cuEventDestroy_v2(NULL));
	WRONG("cuEventElapsedTime.null", cu[0].cuEventElapsedTime(NULL, NULL, NULL));
	WRONG("cuLaunchKernel.null",
	      cu[0].cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, unbound, NULL, NULL));
	WRONG("cuLaunchHostFunc.null", cu[0].cuLaunchHostFunc(unbound, NULL, NULL));
	WRONG("cuStreamAddCallback.null", cu[0].cuStreamAddCallback(unbound, NULL, NULL, 0));
	WRONG("cuStreamWriteValue32.number", cu[0].cuStreamWriteValue32_v2(unbound, 4096, 1, 0));
	WRONG("cuStreamWriteValue32.odd", cu[0].cuStreamWriteValue32_v2(unbound, there + 1, 1, 0));
	WRONG("cuModuleLoadData.null", cu[0].cuModuleLoadData(&module, NULL));
	MUST(cu[0].cuGraphCreate(&graph, 0));
	box.srcMemoryType = CU_MEMORYTYPE_HOST;
	box.srcHost = host;
	box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	box.dstDevice = 4096;
	box.WidthInBytes = 64;
	box.Height = box.Depth = 1;
	WRONG("cuGraphAddMemcpyNode.to_number",
	      cu[0].cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, primary));
	WRONG("cuGraphInstantiate.empty", cu[0].cuGraphInstantiateWithFlags(&exec, graph, 0));
	WRONG("cuGraphLaunch.empty", cu[0].cuGraphLaunch(exec, unbound));
	WRONG("cuGraphLaunch.null", cu[0].cuGraphLaunch(NULL, unbound));
	WRONG("cuGraphCreate.flags", cu[0].cuGraphCreate(&graph, 1));
	WRONG("cuCtxSetCurrent.null", cu[0].cuCtxSetCurrent(NULL));
	WRONG("without_a_context.cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	WRONG("without_a_context.cuMemcpyHtoD", cu[0].cuMemcpyHtoD_v2(there, host, 64));
	WRONG("without_a_context.cuMemHostRegister",
	      cu[0].cuMemHostRegister_v2(pages(PAGE, 0), PAGE, 0));
	WRONG("without_a_context.cuPointerGetAttribute",
	      cu[0].cuPointerGetAttribute(&at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, there));
	WRONG("without_a_context.cuStreamSynchronize", cu[0].cuStreamSynchronize(unbound));
	WRONG("without_a_context.cuStreamSynchronize.null", cu[0].cuStreamSynchronize(NULL));
	WRONG("without_a_context.cuCtxSynchronize", cu[0].cuCtxSynchronize());
	WRONG("without_a_context.cuCtxPopCurrent", cu[0].cuCtxPopCurrent_v2(&context));
	WRONG("cuCtxCreate.device", cu[0].cuCtxCreate_v2(&context, 0, 999));
	WRONG("cuDevicePrimaryCtxRetain.device", cu[0].cuDevicePrimaryCtxRetain(&context, 999));
}

SECTION(wrong_before_init)
{
	CUdeviceptr at;
	CUcontext context;

	catch_faults();
	WRONG("cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	WRONG("cuMemcpyHtoD", cu[0].cuMemcpyHtoD_v2(4096, &at, 8));
	WRONG("cuCtxGetCurrent", cu[0].cuCtxGetCurrent(&context));
	WRONG("cuDevicePrimaryCtxRetain", cu[0].cuDevicePrimaryCtxRetain(&context, 0));
	WRONG("cuStreamSynchronize", cu[0].cuStreamSynchronize(NULL));
	WRONG("cuInit.flags", cu[0].cuInit(1));
	WRONG("cuInit", cu[0].cuInit(0));
	WRONG("cuInit.again", cu[0].cuInit(0));
}
