/*
 * selftest_memory.c - tests of allocations, registrations, attributes and contexts of the stand-in.
 */
#include "pins.h"
#include "selftest.h"

#include <pthread.h>
#include <signal.h>

TEST_AFTER(device_pointers_are_no_host_addresses, start())
{
	unsigned char resident;
	CUdeviceptr at;

	at = device(4096);
	CHECK((void *)(uintptr_t)at != standin_host(at));
	/* Mapped, but without any access. */
	CHECK(mincore((void *)(uintptr_t)(at & ~(CUdeviceptr)4095), 1, &resident) == 0);
	CHECK_EQ(mprotect((void *)(uintptr_t)(at & ~(CUdeviceptr)4095), 4096, PROT_NONE), 0);
}

TEST_AFTER(freed_memory_is_invalid_and_its_address_recycled, start())
{
	unsigned char byte = 0;
	CUdeviceptr a, b;

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

TEST_AFTER(guard_bytes_are_checked_at_free, start())
{
	CUdeviceptr at;

	at = device(100);
	((unsigned char *)standin_host(at))[100] = 1;
	CHECK_EQ(standin_guard_errors(), 0);
	CHECK_EQ(cuMemFree(at), 0);
	CHECK_EQ(standin_guard_errors(), 1);
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

enum { CANNOT_BE_READ = -SIGABRT, CAN_BE_READ = 1 };

/* Returns how a process ends that sets the variable and calls the driver. */
static int end_of(const char *variable, const char *value)
{
	pid_t child = fork();

	if (child == 0) {
		setenv(variable, value, 1);
		CHECK(freopen("/dev/null", "w", stderr) != NULL);
		start();
		_exit(CAN_BE_READ);
	}
	return check_status(child);
}

/* With a fault that never occurs, a test would prove nothing. */
TEST(what_cannot_be_read)
{
	CHECK_EQ(end_of("STANDIN_FAIL", "cuMemHostRegister:1,"), CAN_BE_READ);
	CHECK_EQ(end_of("STANDIN_FAIL", "cuMemHostRegister"), CANNOT_BE_READ);
	CHECK_EQ(end_of("STANDIN_FAIL", "cuMemHostRegister:1,cuMemHostRegistered:1"),
		 CANNOT_BE_READ);
	CHECK_EQ(end_of("STANDIN_FAIL", "cuMemHostRegister:first"), CANNOT_BE_READ);
	CHECK_EQ(end_of("STANDIN_LATE", "cuMemcpyHtoD_v2:1"), CAN_BE_READ);
	CHECK_EQ(end_of("STANDIN_LATE", "cuMemcpyHtoD=1"), CANNOT_BE_READ);
	CHECK_EQ(end_of("STANDIN_SLOW", "cudaMemcpy:1"), CANNOT_BE_READ);
	CHECK_EQ(end_of("STANDIN_HMM", "1"), CAN_BE_READ);
	CHECK_EQ(end_of("STANDIN_HMM", "on"), CANNOT_BE_READ);
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
	int fd = open(check_path("pins"), O_RDWR | O_CREAT, 0600);

	CHECK_EQ(ftruncate(fd, STANDIN_PINS * sizeof(*seen)), 0);
	seen = mmap(NULL, STANDIN_PINS * sizeof(*seen), PROT_READ, MAP_SHARED, fd, 0);
	setenv("STANDIN_PINS", check_path("pins"), 1);
	setenv("STANDIN_PINS_LIMIT", "8K", 1);
	pid_t child = fork();
	if (child == 0)
		exceed(p);
	CHECK_EQ(check_status(child), -SIGABRT);
	CHECK_EQ(seen[0].pid, child);
	CHECK_EQ(seen[0].limit, 8192);
	CHECK_EQ(seen[0].now, 12288);
	CHECK_EQ(seen[0].most, 12288);
	CHECK_EQ(seen[1].pid, 0);
}

TEST_AFTER(the_log_names_objects_by_number, start())
{
	CUdeviceptr at;

	standin_log_reset();
	at = device(100);
	cuMemcpyHtoD(at + 4, "text", 4);
	CHECK(strcmp(standin_log_text(), "cuMemAlloc_v2 100\ncuMemcpyHtoD_v2 dev1+4 host 4\n") ==
	      0);
	CHECK_EQ(standin_calls("cuMemcpyHtoD"), 1);
	CHECK_EQ(standin_calls("cuMemcpyHtoD_v2"), 1);
	CHECK_EQ(standin_calls("cuMemcpyHtoDAsync"), 0);
}

CHECK_MAIN()
