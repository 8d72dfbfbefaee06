/*
 * program.c - does a little of everything that the library intercepts, and prints what it observes.
 *
 * It prints a line for each part: its name, a sum of all bytes, and the return codes and errno
 * values.  The lines must be the same without the library, and with each failure inside it.  The
 * parts are short, because the runner starts this program hundreds of times.
 */
#include "fault.h"
#include "shapes.h"
#include "sizes.h"
#define __CUDA_API_VERSION_INTERNAL
#include "../standin/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The driver does not change errno, so errno is the program's. */
#define CU(name, ...)                             \
	do {                                      \
		tell(#name);                      \
		errno = 4711;                     \
		saw((uint64_t)name(__VA_ARGS__)); \
		saw((uint64_t)errno);             \
		tell(NULL);                       \
	} while (0)

static __thread uint64_t sum;
static char lines[4096];
static size_t used;

static CUcontext context;
static CUdeviceptr there; /* 64 MiB */
static CUstream blocking, free_running;
static CUfunction noop;
static char array[17 * MIB] = { 1 };

static void tell(const char *name)
{
	if (fault_program_calls != NULL)
		fault_program_calls(name);
}

static void saw(uint64_t value)
{
	sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
	sum ^= sum >> 29;
}

static void saw_bytes(const void *at, size_t bytes)
{
	const uint64_t *words = at;
	uint64_t sums[4] = { 0 };

	for (size_t i = 0; i + 4 <= bytes / 8; i += 4)
		for (size_t part = 0; part < 4; part++)
			sums[part] = (sums[part] ^ words[i + part]) * 0x9e3779b97f4a7c15u;
	for (size_t part = 0; part < 4; part++)
		saw(sums[part]);
}

/* No two places and no two seeds have the same values; fills whole words. */
static void fill(char *at, size_t bytes, uint64_t seed)
{
	uint64_t *words = (uint64_t *)at;

	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = (i + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1) * 0x0101010101010101u;
}

static void wait_for_all(void)
{
	tell("cuCtxSynchronize");
	saw(cuCtxSynchronize());
	tell(NULL);
}

static void tell_part(const char *name)
{
	used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%s %016llx\n", name,
				 (unsigned long long)sum);
	sum = 0;
}

/* Uses memory as a program does; only the kernel and libc can refuse. */
static void heap(void)
{
	static const size_t sizes[] = { 100, 300 * KIB, MIB, 5 * MIB, 17 * MIB };
	char *blocks[LEN(sizes)];

	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < LEN(sizes); i++) {
			errno = 4711;
			blocks[i] = i % 2 ? calloc(1, sizes[i]) : malloc(sizes[i]);
			saw((uint64_t)errno);
			saw(blocks[i] != NULL && malloc_usable_size(blocks[i]) >= sizes[i]);
			if (i % 2)
				saw_bytes(blocks[i] + sizes[i] - 64, 64);
			fill(blocks[i], 4096 < sizes[i] ? 4096 : sizes[i], (unsigned)i);
		}
		for (size_t i = 0; i < LEN(sizes); i++) {
			size_t bytes = turn == 0 ? sizes[i] * 3 : sizes[i] / 3;

			blocks[i] = realloc(blocks[i], bytes);
			saw((uint64_t)errno);
			saw_bytes(blocks[i], 32);
		}
		for (size_t i = 0; i < LEN(sizes); i++)
			free(blocks[i]);
	}
	char *aligned = aligned_alloc(2 * MIB, 4 * MIB);
	saw((uintptr_t)aligned % (2 * MIB));
	free(aligned);
	saw((uint64_t)posix_memalign((void **)&aligned, 4096, MIB));
	saw((uintptr_t)aligned % 4096);
	free(aligned);
	saw(malloc((size_t)1 << 60) == NULL);
	saw((uint64_t)errno);
	tell_part("heap");
}

static void device(void)
{
	CUmodule module;
	int count;

	CU(cuInit, 0);
	CU(cuDeviceGetCount, &count);
	saw((uint64_t)count);
	CU(cuCtxCreate_v2, &context, 0, 0);
	CU(cuMemAlloc_v2, &there, 64 * MIB);
	CU(cuStreamCreate, &blocking, 0);
	CU(cuStreamCreate, &free_running, CU_STREAM_NON_BLOCKING);
	CU(cuModuleLoadData, &module, "standin");
	CU(cuModuleGetFunction, &noop, module, "standin_noop");
	tell_part("device");
}

static void up_and_down(char *block, size_t bytes, int turns, unsigned seed)
{
	for (int turn = 0; turn < turns; turn++) {
		fill(block, bytes, seed + (unsigned)turn);
		CU(cuMemcpyHtoD_v2, there, block, bytes);
		memset(block, 0, 64 * KIB);
		CU(cuMemcpyDtoH_v2, block, there, bytes);
		saw_bytes(block, bytes);
	}
}

/* Copies blocks often, until they are pinned if the library acts. */
static void hot(void)
{
	char *block = malloc(2 * MIB), *other = malloc(2 * MIB + 4096);

	up_and_down(block, 2 * MIB, 8, 1);
	fill(block, 2 * MIB, 50);
	for (int i = 0; i < 24; i++)
		CU(cuMemcpyHtoD_v2, there, block, 2 * MIB);
	up_and_down(other, 2 * MIB, 2, 20);
	wait_for_all();
	CU(cuMemcpyHtoDAsync_v2, there, block, 2 * MIB, free_running);
	memset(block, 7, 2 * MIB); /* was pageable: the copy was staged, or the call has waited */
	CU(cuStreamSynchronize, free_running);
	CU(cuMemcpyDtoHAsync_v2, other, there, 2 * MIB, free_running);
	saw(other[5] == 0); /* was pageable: the data has arrived */
	saw_bytes(other, 2 * MIB);
	CU(cuMemcpyDtoHAsync_v2, block, there, 64 * KIB, blocking);
	CU(cuStreamSynchronize, blocking);
	saw_bytes(block, 64 * KIB);
	tell_part("hot");

	/* To the program, a pinned block is pageable. */
	CUmemorytype type = 0;
	CU(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)block);
	saw(type);
	CU(cuMemHostRegister_v2, block, 2 * MIB, 0);
	up_and_down(block, 2 * MIB, 1, 30);
	CU(cuMemHostUnregister, block);
	/* At the same page offset in any allocator's block. */
	char *page = block + 4096 - (uintptr_t)block % 4096;
	saw((uint64_t)madvise(page, 8192, MADV_DONTNEED));
	saw_bytes(page, 4096);
	saw((uint64_t)errno);
	up_and_down(block, 2 * MIB, 6, 31);
	char *aside =
		mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	saw(aside != MAP_FAILED);
	saw((uint64_t)mprotect(page + 64 * KIB, 4096, PROT_READ));
	CU(cuMemcpyHtoD_v2, there, block, 2 * MIB);
	saw((uint64_t)mprotect(page + 64 * KIB, 4096, PROT_READ | PROT_WRITE));
	CU(cuMemcpyDtoH_v2, aside, there, 2 * MIB);
	saw_bytes(aside, 2 * MIB);
	munmap(aside, 2 * MIB);
	block = realloc(block, 6 * MIB);
	up_and_down(block, 6 * MIB, 3, 60);
	saw_bytes(block, 6 * MIB);
	free(block);
	free(other);
	tell_part("hazards");
}

/* Large blocks: pinned, and not worth it; memory that is not ours. */
static void large(void)
{
	char *block = malloc(17 * MIB);

	up_and_down(block, 17 * MIB, 1, 3);
	wait_for_all();
	CU(cuMemcpyDtoHAsync_v2, block + MIB, there, 12 * MIB, blocking);
	CU(cuMemcpyHtoDAsync_v2, there + 17 * MIB, block, 17 * MIB, free_running);
	wait_for_all();
	saw_bytes(block, 17 * MIB);
	CU(cuMemcpyDtoH_v2, array, there + 17 * MIB, 17 * MIB);
	saw_bytes(array, 17 * MIB);
	free(block);
	for (int i = 0; i < 2; i++)
		up_and_down(array, 17 * MIB, 1, 5);
	for (int i = 0; i < 4; i++)
		CU(cuMemcpyDtoH_v2, array + 4096, there, 4 * MIB);
	wait_for_all();
	CU(cuMemcpyDtoHAsync_v2, array, there + 4096, 16 * MIB, free_running);
	CU(cuStreamSynchronize, free_running);
	saw_bytes(array, 17 * MIB);
	tell_part("large");
}

static void rows(void)
{
	char *block = malloc(8 * MIB);
	CUDA_MEMCPY2D up = shape_rows(in_device(there, 4096), in_host(block, 8192), 4096, 900);
	CUDA_MEMCPY2D down = shape_rows(in_host(array, 8192), in_device(there, 4096), 4096, 900);

	up_and_down(block, 8 * MIB, 2, 8);
	for (int i = 0; i < 2; i++) {
		CU(cuMemcpy2D_v2, &up);
		wait_for_all();
		CU(cuMemcpy2DAsync_v2, &up, free_running);
		CU(cuStreamSynchronize, free_running);
		CU(cuMemcpy2D_v2, &down);
		saw_bytes(array, 8 * MIB);
		down.dstHost = block;
		CU(cuMemcpy2D_v2, &down);
		CU(cuMemcpy2DAsync_v2, &down, blocking);
		CU(cuStreamSynchronize, blocking);
		saw_bytes(block, 8 * MIB);
		down.dstHost = array;
	}
	free(block);
	tell_part("rows");
}

static void launch(CUstream stream)
{
	CU(cuLaunchKernel, noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

/* Uploads that may return early, and ways in which the host could observe that. */
static void early(void)
{
	static char small[32 * KIB], middle[512 * KIB];
	char back[1024];

	for (unsigned i = 0; i < 6; i++) {
		launch(NULL);
		fill(small, sizeof(small), i);
		CU(cuMemcpyHtoD_v2, there, small, 16 * KIB + 64 * i);
		memset(small, 0, sizeof(small));
		launch(i % 2 ? blocking : free_running);
		fill(middle, sizeof(middle), i + 10);
		CU(cuMemcpyHtoD_v2, there + MIB, middle, sizeof(middle));
		CU(cuMemcpyDtoDAsync_v2, there + 2 * MIB, there, 64 * KIB, blocking);
		CU(cuMemcpyDtoHAsync_v2, back, there + 2 * MIB, sizeof(back), blocking);
		CU(cuStreamSynchronize, blocking);
		saw_bytes(back, sizeof(back));
		CU(cuMemcpyDtoH_v2, back, there + MIB, sizeof(back));
		saw_bytes(back, sizeof(back));
	}
	CU(cuMemcpyHtoD_v2, there, middle, 4096);
	wait_for_all();
	tell_part("early");
}

static void graphs(void)
{
	char *block = malloc(MIB);
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

	CU(cuThreadExchangeStreamCaptureMode, &mode);
	saw(mode);
	fill(block, MIB, 9);
	for (int i = 0; i < 16; i++)
		CU(cuMemcpyHtoD_v2, there, block, MIB);
	wait_for_all();
	CU(cuStreamBeginCapture_v2, free_running, CU_STREAM_CAPTURE_MODE_RELAXED);
	CU(cuMemcpyHtoDAsync_v2, there, block, MIB, free_running);
	CU(cuStreamEndCapture, free_running, &graph);
	CU(cuGraphInstantiateWithFlags, &exec, graph, 0);
	fill(block, MIB, 10);
	CU(cuGraphLaunch, exec, free_running);
	CU(cuStreamSynchronize, free_running);
	CU(cuMemcpyDtoH_v2, array, there, MIB);
	saw_bytes(array, MIB);
	CU(cuGraphExecDestroy, exec);
	CU(cuGraphDestroy, graph);
	free(block);
	tell_part("graphs");
}

static void *work(void *arg)
{
	size_t number = (size_t)arg;
	CUdeviceptr mine = there + number * 8 * MIB;
	char *block = malloc(MIB + number * 64 * KIB);

	CU(cuCtxSetCurrent, context);
	for (unsigned i = 0; i < 6; i++) {
		fill(block, MIB, i + (unsigned)number);
		CU(cuMemcpyHtoD_v2, mine, block, MIB);
		memset(block, 0, 4096);
		CU(cuMemcpyDtoH_v2, block, mine, MIB);
		saw_bytes(block, MIB);
	}
	free(block);
	return (void *)sum;
}

static void threads(void)
{
	pthread_t others[2];
	void *theirs;

	for (size_t i = 0; i < LEN(others); i++)
		saw((uint64_t)pthread_create(&others[i], NULL, work, (void *)(i + 1)));
	for (size_t i = 0; i < LEN(others); i++) {
		pthread_join(others[i], &theirs);
		saw((uint64_t)theirs);
	}
	tell_part("threads");
}

static void children(void)
{
	extern char **environ;
	char *block = malloc(2 * MIB), *const argv[] = { (char *)"true", NULL };
	int status = -1;
	pid_t child;

	up_and_down(block, 2 * MIB, 6, 40);
	child = fork();
	if (child == 0) {
		char *more = malloc(MIB);

		fill(more, MIB, 1);
		sum = 0;
		saw_bytes(block, 2 * MIB);
		saw_bytes(more, MIB);
		free(more);
		free(block);
		if (sum & 1)
			exit((int)(sum >> 8 & 0x3f));
		_exit((int)(sum >> 8 & 0x3f));
	}
	fill(block, 2 * MIB, 41); /* the child has its own */
	saw(waitpid(child, &status, 0) == child);
	saw((uint64_t)status);
	unsetenv("LD_PRELOAD");
	saw((uint64_t)posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ));
	saw(waitpid(child, &status, 0) == child);
	saw((uint64_t)status);
	up_and_down(block, 2 * MIB, 2, 42);
	free(block);
	tell_part("children");
}

static void another_context(void)
{
	char *block = malloc(2 * MIB);

	up_and_down(block, 2 * MIB, 6, 90);
	CU(cuCtxDestroy_v2, context);
	CU(cuCtxCreate_v2, &context, 0, 0);
	CU(cuMemAlloc_v2, &there, 32 * MIB);
	up_and_down(block, 2 * MIB, 6, 91);
	CU(cuMemFree_v2, there);
	CU(cuMemFree_v2, there);
	CU(cuMemAlloc_v2, &there, 4 * MIB);
	up_and_down(block, 2 * MIB, 1, 92);
	free(block);
	tell_part("context");
}

int main(int argc, char **argv)
{
	errno = 0;
	heap();
	device();
	hot();
	large();
	rows();
	early();
	graphs();
	threads();
	children();
	another_context();
	used += (size_t)snprintf(lines + used, sizeof(lines) - used, "guards %d\n",
				 standin_guard_errors());
	if (write(STDOUT_FILENO, lines, used) != (ssize_t)used)
		return 1;
	if (argc > 1 && strcmp(argv[1], "at_once") == 0)
		_exit(23);
	return 17;
}
