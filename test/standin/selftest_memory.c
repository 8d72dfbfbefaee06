/*
 * selftest_memory.c - tests of allocations, registrations, attributes and contexts of the stand-in.
 */
#include "pins.h"
#include "selftest.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

TEST(calls_need_init_and_context)
{
	CUcontext ctx = NULL;
	CUdeviceptr at;

	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxCreate(&ctx, NULL, 0, 0), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), 0);
	CHECK_EQ(cuCtxDestroy(ctx), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_INVALID_CONTEXT);
}

static void *lives_on(void *ctx)
{
	CUdeviceptr at;

	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxSetCurrent((CUcontext)ctx), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), 0);
	CHECK_EQ(cuDevicePrimaryCtxReset(0), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	return NULL;
}

TEST(a_reset_context_is_destroyed_everywhere)
{
	CUcontext ctx = start();
	CUdeviceptr at;
	pthread_t thread;

	pthread_create(&thread, NULL, lives_on, ctx);
	pthread_join(thread, NULL);
	CHECK_EQ(cuMemAlloc(&at, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
	CHECK_EQ(cuMemAlloc(&at, 16), 0);
}

TEST(primary_state_and_push_pop)
{
	CUcontext ctx, got = NULL;
	unsigned flags;
	int active = 7;

	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
	CHECK_EQ(active, 0);
	ctx = start();
	CHECK_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
	CHECK_EQ(active, 1);
	CHECK_EQ(cuCtxPushCurrent(ctx), 0);
	CHECK_EQ(cuCtxPopCurrent(&got), 0);
	CHECK(got == ctx);
	CHECK_EQ(cuCtxGetCurrent(&got), 0);
	CHECK(got == ctx);
	CHECK_EQ(cuDevicePrimaryCtxRelease(0), 0);
	CHECK_EQ(cuDevicePrimaryCtxRelease(0), 0 + CUDA_ERROR_INVALID_CONTEXT);
}

TEST(device_pointers_are_no_host_addresses)
{
	unsigned char resident;
	CUdeviceptr at;

	start();
	at = device(4096);
	CHECK((void *)(uintptr_t)at != standin_host(at));
	/* Mapped, but without any access. */
	CHECK(mincore((void *)(uintptr_t)(at & ~(CUdeviceptr)4095), 1, &resident) == 0);
	CHECK_EQ(mprotect((void *)(uintptr_t)(at & ~(CUdeviceptr)4095), 4096, PROT_NONE), 0);
}

TEST(freed_memory_is_invalid_and_its_address_recycled)
{
	unsigned char byte = 0;
	CUdeviceptr a, b;

	start();
	a = device(1000);
	CHECK_EQ(cuMemFree(a), 0);
	CHECK_EQ(cuMemcpyHtoD(a, &byte, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
	CHECK(standin_host(a) == NULL);
	b = device(1000);
	CHECK(a == b);
	CHECK_EQ(cuMemFree(b + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemFree(0), 0);
}

TEST(copies_beyond_an_allocation_are_refused)
{
	unsigned char bytes[64];
	CUdeviceptr at;

	start();
	at = device(32);
	CHECK_EQ(cuMemcpyHtoD(at, bytes, 33), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyHtoD(at + 16, bytes, 17), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyHtoD(at, bytes, 0), 0);
	CHECK_EQ(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)bytes, bytes, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemsetD8(at, 1, 33), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemsetD32(at + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST(guard_bytes_are_checked_at_free)
{
	CUdeviceptr at;

	start();
	at = device(100);
	((unsigned char *)standin_host(at))[100] = 1;
	CHECK_EQ(standin_guard_errors(), 0);
	CHECK_EQ(cuMemFree(at), 0);
	CHECK_EQ(standin_guard_errors(), 1);
}

TEST(device_memory_runs_out)
{
	size_t avail, total, before;
	CUdeviceptr at;

	start();
	CHECK_EQ(cuMemGetInfo(&before, &total), 0);
	CHECK_EQ(cuMemAlloc(&at, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAlloc(&at, 0), CUDA_ERROR_INVALID_VALUE);
	at = device(1 << 20);
	CHECK_EQ(cuMemGetInfo(&avail, &total), 0);
	CHECK_EQ(before - avail, 1 << 20);
}

TEST(registrations_overlap_and_neighbor)
{
	unsigned char *p = pages(3 * 4096, 1);

	start();
	CHECK_EQ(cuMemHostRegister(p + 100, 1000, 0), 0);
	CHECK_EQ(standin_registered_bytes(), 1000);
	CHECK_EQ(cuMemHostRegister(p, 101, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(cuMemHostRegister(p + 1099, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(cuMemHostRegister(p, 100, 0), 0);
	CHECK_EQ(cuMemHostRegister(p + 1100, 100, 0), 0);
	CHECK_EQ(standin_registrations(), 3);
	CHECK_EQ(cuMemHostUnregister(p + 101), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostUnregister(p + 100), 0);
	CHECK_EQ(cuMemHostUnregister(p + 100), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_EQ(standin_registered_bytes(), 200);
	CHECK_EQ(cuMemHostRegister(p, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostRegister(NULL, 10, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(unmapped_memory_cannot_be_registered)
{
	unsigned char *p = pages(8192, 1);

	start();
	munmap(p, 8192);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(registrations_go_with_their_context)
{
	unsigned char *p = pages(4096, 1);
	CUcontext ctx;

	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuCtxCreate(&ctx, NULL, 0, 0), 0);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuCtxDestroy(ctx), 0);
	CHECK_EQ(standin_registrations(), 0);
	start();
	CHECK_EQ(cuMemHostUnregister(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST(dma_stays_on_the_pages_that_were_registered)
{
	unsigned char *p = pages(1 << 20, 7), out = 0;
	CUdeviceptr at;

	start();
	at = device(4096);
	CHECK_EQ(cuMemHostRegister(p, 1 << 20, 0), 0);
	if (standin_pinned(p) != 2)
		CHECK_SKIP("no io_uring here: registrations hold no pages");
	munmap(p, 1 << 20);
	CHECK(mmap(p, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == p);
	memset(p, 9, 1 << 20);
	CHECK_EQ(cuMemcpyHtoD(at, p + 8192, 4096), 0);
	CHECK_EQ(peek(at), 7);
	CHECK_EQ(cuMemsetD8(at, 3, 4096), 0);
	CHECK_EQ(cuMemcpyDtoH(p, at, 4096), 0);
	CHECK_EQ(p[0], 9);
	CHECK_EQ(cuMemHostUnregister(p), 0);
	CHECK_EQ(cuMemcpyDtoH(&out, at, 1), 0);
	CHECK_EQ(out, 3);
}

TEST(dma_passes_page_protection)
{
	unsigned char *p = pages(8192, 5);
	CUdeviceptr at;

	start();
	at = device(8192);
	CHECK_EQ(cuMemHostRegister(p, 8192, 0), 0);
	mprotect(p, 8192, PROT_NONE);
	CHECK_EQ(cuMemcpyHtoD(at, p, 8192), 0);
	CHECK_EQ(peek(at + 8191), 5);
	CHECK_EQ(cuMemsetD8(at, 6, 8192), 0);
	CHECK_EQ(cuMemcpyDtoH(p, at, 8192), 0);
	mprotect(p, 8192, PROT_READ);
	CHECK_EQ(p[0], 6);
	CHECK_EQ(p[8191], 6);
}

TEST(a_copy_that_leaves_its_registration)
{
	unsigned char *p = pages(4 * 4096, 4);
	CUdeviceptr at;
	CUstream s;

	start();
	at = device(4 * 4096);
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuMemHostRegister(p + 4096, 4096, 0), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p, 4096, s), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p, 4097, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p + 4096, 8192, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyDtoHAsync(p + 100, at, 4096, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyHtoD(at, p, 4 * 4096), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyDtoH(p + 100, at, 4096), CUDA_ERROR_INVALID_VALUE);
	/* The start decides: a range that ends in a registration is pageable. */
	CHECK_EQ(cuMemHostUnregister(p), 0);
	CHECK_EQ(cuMemcpyHtoD(at, p, 2 * 4096), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p, 2 * 4096, s), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(peek(at + 2 * 4096 - 1), 4);
}

/* A box whose offsets lead into a registration. */
TEST(a_box_that_begins_before_its_registration)
{
	unsigned char *p = pages(4 * 4096, 4);

	start();
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = p,
			      .srcY = 1,
			      .srcPitch = 4096,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = device(2 * 4096),
			      .dstPitch = 4096,
			      .WidthInBytes = 4096,
			      .Height = 2 };
	CHECK_EQ(cuMemcpy2D(&box), 0);
	CHECK_EQ(cuMemHostRegister(p + 4096, 2 * 4096, 0), 0);
	CHECK_EQ(cuMemcpy2D(&box), CUDA_ERROR_INVALID_VALUE);
	box.srcHost = p + 4096;
	box.srcY = 0;
	CHECK_EQ(cuMemcpy2D(&box), 0);
	box.srcHost = p;
	box.srcY = box.Height = 1;
	CHECK_EQ(cuMemcpy2D(&box), 0);
}

TEST(unregistering_waits_for_the_device)
{
	unsigned char *p = pages(4096, 1);
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), 0);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(standin_pending(s), 1);
	CHECK_EQ(cuMemHostUnregister(p), 0);
	CHECK_EQ(standin_pending(s), 0);
}

TEST(attributes_of_pageable_and_pinned_memory)
{
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	unsigned char *p = pages(4096, 1);
	unsigned type = 77, flags;
	CUdeviceptr at = 78, base;
	void *values[] = { &type, &at }, *host;
	size_t bytes;

	start();
	CHECK_EQ(cuPointerGetAttribute(&type, names[0], (CUdeviceptr)p), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(type, 77);
	CHECK_EQ(cuPointerGetAttributes(2, names, values, (CUdeviceptr)p), 0);
	CHECK_EQ(type, 0);
	CHECK_EQ(at, 0);
	CHECK_EQ(cuMemHostGetFlags(&flags, p), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostGetDevicePointer(&at, p, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)p), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuPointerGetAttributes(2, names, values, (CUdeviceptr)p + 5), 0);
	CHECK_EQ(type, CU_MEMORYTYPE_HOST);
	CHECK_EQ(at, (CUdeviceptr)p + 5);
	CHECK_EQ(cuMemHostGetDevicePointer(&at, p, 0), 0);
	CHECK_EQ(cuMemHostAlloc(&host, 100, 0), 0);
	CHECK_EQ(cuPointerGetAttribute(&type, names[0], (CUdeviceptr)host), 0);
	CHECK_EQ(type, CU_MEMORYTYPE_HOST);
	CHECK_EQ(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostUnregister(host), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemFreeHost(host), 0);
}

TEST(a_forked_child_is_not_initialized)
{
	CUdeviceptr at;
	pid_t child;
	int status;

	start();
	child = fork();
	if (child == 0)
		_exit(cuMemAlloc(&at, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK_EQ(cuMemAlloc(&at, 16), 0);
}

TEST(faults_on_demand)
{
	unsigned char *p = pages(4096, 1);

	setenv("STANDIN_FAIL", "cuMemHostRegister:2,cuMemAlloc_v2:1:999", 1);
	start();
	CHECK_EQ(cuMemHostRegister(p, 100, 0), 0);
	CHECK_EQ(cuMemHostRegister(p + 100, 100, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemHostRegister(p + 100, 100, 0), 0);
	CHECK_EQ(cuMemAlloc(&(CUdeviceptr){ 0 }, 16), CUDA_ERROR_UNKNOWN);
	CHECK_EQ(standin_registrations(), 2);
}

/* Returns the signal that ends a process which sets the variable and calls the driver. */
static int signal_of(const char *variable, const char *value)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		setenv(variable, value, 1);
		CHECK(freopen("/dev/null", "w", stderr) != NULL);
		start();
		_exit(1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* With a fault that never occurs, a test would prove nothing. */
TEST(what_cannot_be_read)
{
	CHECK_EQ(signal_of("STANDIN_FAIL", "cuMemHostRegister:1,"), 0);
	CHECK_EQ(signal_of("STANDIN_FAIL", "cuMemHostRegister"), SIGABRT);
	CHECK_EQ(signal_of("STANDIN_FAIL", "cuMemHostRegister:1,cuMemHostRegistered:1"), SIGABRT);
	CHECK_EQ(signal_of("STANDIN_FAIL", "cuMemHostRegister:first"), SIGABRT);
	CHECK_EQ(signal_of("STANDIN_LATE", "cuMemcpyHtoD_v2:1"), 0);
	CHECK_EQ(signal_of("STANDIN_LATE", "cuMemcpyHtoD=1"), SIGABRT);
	CHECK_EQ(signal_of("STANDIN_SLOW", "cudaMemcpy:1"), SIGABRT);
	CHECK_EQ(signal_of("STANDIN_HMM", "1"), 0);
	CHECK_EQ(signal_of("STANDIN_HMM", "on"), SIGABRT);
}

/* Registers one page more than the limit allows: a process of its own, as abort() ends it. */
static void exceed(unsigned char *p)
{
	start();
	CHECK_EQ(cuMemHostRegister(p, 8192, CU_MEMHOSTREGISTER_PORTABLE), 0);
	CHECK_EQ(cuMemHostUnregister(p), 0);
	CHECK_EQ(cuMemHostRegister(p, 4096, CU_MEMHOSTREGISTER_PORTABLE), 0);
	/* Other flags do not count. */
	CHECK_EQ(cuMemHostRegister(p + 4096, 12288, 0), 0);
	if (check_failures == 0)
		cuMemHostRegister(p + 16384, 8192, CU_MEMHOSTREGISTER_PORTABLE);
	_exit(1);
}

TEST(a_limit_of_portable_registrations)
{
	struct standin_pins *seen;
	unsigned char *p = pages(32768, 1);
	int status = 0, fd = open(check_path("pins"), O_RDWR | O_CREAT, 0600);

	CHECK_EQ(ftruncate(fd, STANDIN_PINS * sizeof(*seen)), 0);
	seen = mmap(NULL, STANDIN_PINS * sizeof(*seen), PROT_READ, MAP_SHARED, fd, 0);
	setenv("STANDIN_PINS", check_path("pins"), 1);
	setenv("STANDIN_PINS_LIMIT", "8K", 1);
	pid_t child = fork();
	if (child == 0)
		exceed(p);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_EQ(seen[0].pid, child);
	CHECK_EQ(seen[0].limit, 8192);
	CHECK_EQ(seen[0].now, 12288);
	CHECK_EQ(seen[0].most, 12288);
	CHECK_EQ(seen[1].pid, 0);
}

TEST(the_log_names_objects_by_number)
{
	CUdeviceptr at;

	start();
	standin_log_reset();
	at = device(100);
	cuMemcpyHtoD(at + 4, "text", 4);
	CHECK(strcmp(standin_log_text(), "cuMemAlloc_v2 100\ncuMemcpyHtoD_v2 dev1+4 host 4\n") ==
	      0);
	CHECK_EQ(standin_calls("cuMemcpyHtoD"), 1);
	CHECK_EQ(standin_calls("cuMemcpyHtoD_v2"), 1);
	CHECK_EQ(standin_calls("cuMemcpyHtoDAsync"), 0);
}

TEST(arrays_hold_rows)
{
	CUDA_ARRAY_DESCRIPTOR desc = { 8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	unsigned char in[32], out[32] = { 0 };
	CUDA_MEMCPY2D c = { 0 };
	CUarray array;

	start();
	for (int i = 0; i < 32; i++)
		in[i] = (unsigned char)i;
	CHECK_EQ(cuArrayCreate(&array, &desc), 0);
	CHECK_EQ(cuMemcpyHtoA(array, 0, in, 32), 0);
	CHECK_EQ(cuMemcpyHtoA(array, 1, in, 32), CUDA_ERROR_INVALID_VALUE);
	c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c.srcArray = array;
	c.srcXInBytes = 2;
	c.srcY = 1;
	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.dstHost = out;
	c.dstPitch = 4;
	c.WidthInBytes = 3;
	c.Height = 2;
	CHECK_EQ(cuMemcpy2D(&c), 0);
	CHECK_EQ(out[0], 10);
	CHECK_EQ(out[3], 0);
	CHECK_EQ(out[4], 18);
	c.WidthInBytes = 7;
	CHECK_EQ(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuArrayDestroy(array), 0);
	CHECK_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

CHECK_MAIN()
