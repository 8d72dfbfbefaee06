/*
 * conform_life.c - contexts and what ends with them, limits, handles for other processes, faults.
 */
#include "conform.h"

#include <stdio.h>
#include <string.h>

#define TELL(name, call) fact(name, "%d", (int)(call))

static void current_elsewhere(void *told)
{
	CUcontext context = NULL;

	(void)told;
	TELL("another_thread.current", cu[0].cuCtxGetCurrent(&context));
	fact("another_thread.has_it", "%s", context == primary ? "yes" : "no");
}

SECTION(contexts)
{
	CUcontext made, got = NULL;
	CUdeviceptr at;
	CUevent event;
	char *p = pages(4 * PAGE, 1);
	char byte[64] = { 0 };
	unsigned flags;
	int active = 7;

	begin();
	elsewhere(current_elsewhere, NULL);
	MUST(cu[0].cuCtxCreate_v2(&made, 0, 0));
	TELL("created.current", cu[0].cuCtxGetCurrent(&got));
	fact("created.is_current", "%s", got == made ? "yes" : "no");
	MUST(cu[0].cuMemAlloc_v2(&at, MIB));
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	MUST(cu[0].cuMemHostRegister_v2(p + PAGE, PAGE, CU_MEMHOSTREGISTER_PORTABLE));
	MUST(cu[0].cuEventCreate(&event, 0));
	MUST(cu[0].cuMemsetD8_v2(at, 7, MIB));
	MUST(cu[0].cuCtxSynchronize());
	MUST(cu[0].cuCtxSetCurrent(primary));
	TELL("others_memory.up", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	TELL("others_memory.down", cu[0].cuMemcpyDtoH_v2(byte, at, 64));
	TELL("others_memory.memset", cu[0].cuMemsetD8_v2(at, 1, 64));
	TELL("others_memory.copy", cu[0].cuMemcpyDtoD_v2(there, at, 64));
	TELL("others_memory.uva", cu[0].cuMemcpy(there, at, 64));
	TELL("others_memory.peer", cu[0].cuMemcpyPeer(there, primary, at, made, 64));
	TELL("others_registration.register", cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	TELL("others_registration.up", cu[0].cuMemcpyHtoD_v2(there, p, PAGE));
	busy(unbound);
	fact("others_registration.async_up", "%s",
	     returned(cu[0].cuMemcpyHtoDAsync_v2(there, p, PAGE, unbound)));
	settle();
	busy(unbound);
	fact("others_portable_registration.async_down", "%s",
	     returned(cu[0].cuMemcpyDtoHAsync_v2(p + PAGE, there, PAGE, unbound)));
	settle();
	busy(unbound);
	fact("others_registration.async_down", "%s",
	     returned(cu[0].cuMemcpyDtoHAsync_v2(p, there, PAGE, unbound)));
	settle();
	MUST(cu[0].cuMemHostRegister_v2(p + 2 * PAGE, PAGE, 0));
	MUST(cu[0].cuCtxSetCurrent(made));
	TELL("others_registration.unregister", cu[0].cuMemHostUnregister(p + 2 * PAGE));
	TELL("others_memory.free", cu[0].cuMemFree_v2(there + THERE_BYTES / 2));
	TELL("destroy", cu[0].cuCtxDestroy_v2(made));
	got = made;
	TELL("destroyed.current", cu[0].cuCtxGetCurrent(&got));
	fact("destroyed.is_current", "%s",
	     got == NULL      ? "none"
	     : got == primary ? "the one before"
			      : "it");
	MUST(cu[0].cuCtxSetCurrent(primary));
	TELL("destroyed.registration", cu[0].cuMemHostUnregister(p));
	TELL("destroyed.register_again", cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	TELL("destroyed.memory", cu[0].cuMemcpyHtoD_v2(at, byte, 64));
	TELL("state", cu[0].cuDevicePrimaryCtxGetState(0, &flags, &active));
	fact("state.is", "%d", active);
}

static void on_another_thread(void *told)
{
	CUdeviceptr at;

	(void)told;
	TELL("another_thread.cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
}

SECTION(reset)
{
	char *p = pages(PAGE, 1), byte[64] = { 0 };
	CUcontext again, got = NULL;
	CUdeviceptr at;
	unsigned flags;
	int active = 7;

	begin();
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	TELL("reset", cu[0].cuDevicePrimaryCtxReset_v2(0));
	TELL("state", cu[0].cuDevicePrimaryCtxGetState(0, &flags, &active));
	fact("state.is", "%d", active);
	TELL("current", cu[0].cuCtxGetCurrent(&got));
	fact("current.is", "%s", got == primary ? "it" : got == NULL ? "none" : "another");
	TELL("cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	TELL("cuMemcpyHtoD", cu[0].cuMemcpyHtoD_v2(there, byte, 64));
	TELL("cuCtxSynchronize", cu[0].cuCtxSynchronize());
	TELL("retain", cu[0].cuDevicePrimaryCtxRetain(&again, 0));
	fact("retain.is", "%s", again == primary ? "the same handle" : "another handle");
	TELL("set_current", cu[0].cuCtxSetCurrent(again));
	elsewhere(on_another_thread, NULL);
	TELL("again.cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	TELL("again.old_memory", cu[0].cuMemcpyHtoD_v2(there + MIB, byte, 64));
	TELL("again.registration", cu[0].cuMemHostUnregister(p));
	TELL("again.register", cu[0].cuMemHostRegister_v2(p, PAGE, 0));
}

SECTION(release)
{
	char *p = pages(PAGE, 1);
	CUcontext again;
	CUdeviceptr at;
	unsigned flags;
	int active = 7;

	begin();
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	MUST(cu[0].cuDevicePrimaryCtxRetain(&again, 0));
	TELL("first", cu[0].cuDevicePrimaryCtxRelease_v2(0));
	TELL("first.cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	TELL("last", cu[0].cuDevicePrimaryCtxRelease_v2(0));
	TELL("state", cu[0].cuDevicePrimaryCtxGetState(0, &flags, &active));
	fact("state.is", "%d", active);
	TELL("last.cuMemAlloc", cu[0].cuMemAlloc_v2(&at, 64));
	TELL("too_often", cu[0].cuDevicePrimaryCtxRelease_v2(0));
	TELL("retain", cu[0].cuDevicePrimaryCtxRetain(&again, 0));
	TELL("set_current", cu[0].cuCtxSetCurrent(again));
	TELL("again.registration", cu[0].cuMemHostUnregister(p));
}

/* The effect of a launched kernel that can print. */
SECTION(printing)
{
	size_t bytes = 0;

	begin();
	TELL("get", cu[0].cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
	fact("get.is", "%zu", bytes);
	TELL("set", cu[0].cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes));
	busy(unbound);
	fact("set.behind_a_kernel", "%s",
	     returned(cu[0].cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes)));
	settle();
	TELL("launch", launch_printing());
	TELL("set.behind_one_that_prints", cu[0].cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes));
	settle();
	TELL("set.after_one_that_prints", cu[0].cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes));
	TELL("set.stack", cu[0].cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
}

SECTION(handles)
{
	CUipcMemHandle handle;
	CUdeviceptr at = 0, managed;
	void *pinned;

	begin();
	MUST(cu[0].cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL));
	MUST(cu[0].cuMemAllocHost_v2(&pinned, PAGE));
	TELL("get.device", cu[0].cuIpcGetMemHandle(&handle, there));
	TELL("get.inside", cu[0].cuIpcGetMemHandle(&handle, there + MIB));
	TELL("open.in_the_same_process",
	     cu[0].cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	TELL("close.not_opened", cu[0].cuIpcCloseMemHandle(there));
	TELL("get.pinned", cu[0].cuIpcGetMemHandle(&handle, (CUdeviceptr)pinned));
	TELL("get.managed", cu[0].cuIpcGetMemHandle(&handle, managed));
	TELL("get.pageable", cu[0].cuIpcGetMemHandle(&handle, (CUdeviceptr)&handle));
	TELL("get.null", cu[0].cuIpcGetMemHandle(&handle, 0));
}

static void CUDA_CB calls_the_driver(void *told)
{
	*(CUresult *)told = cu[0].cuMemcpyHtoD_v2(there, told, 4);
}

SECTION(host_functions)
{
	CUresult told = CUDA_ERROR_UNKNOWN;

	begin();
	TELL("launch", cu[0].cuLaunchHostFunc(unbound, calls_the_driver, &told));
	MUST(cu[0].cuStreamSynchronize(unbound));
	fact("driver_calls_say", "%d", (int)told);
}
