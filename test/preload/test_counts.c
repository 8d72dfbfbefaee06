/*
 * test_counts.c - compares the calls in a profile of HOTPIN_PROFILE=trace with those that the
 * program made.
 */
#include "preload.h"

#include <cuda.h>

#define COPIES 3

/* Two places that copy, in one function. */
__attribute__((noinline)) static int copies_here(CUdeviceptr there, char *host, size_t bytes)
{
	CUresult first = cuMemcpyDtoH(host, there, bytes);
	CUresult second = cuMemcpyDtoH(host, there, bytes / 2);

	return first != CUDA_SUCCESS || second != CUDA_SUCCESS;
}

/* What follows runs in the profiled process, whose exit status tells whether CUDA succeeded. */
static bool begin(CUdeviceptr *ret, size_t bytes)
{
	CUcontext context;

	return cuInit(0) == CUDA_SUCCESS && cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS &&
	       cuMemAlloc(ret, bytes) == CUDA_SUCCESS;
}

__attribute__((noinline)) static int work(void)
{
	size_t bytes = 1 << 20;
	char *host = malloc(bytes), *freed = malloc(bytes);
	CUdeviceptr there;
	CUstream stream;

	if (!begin(&there, bytes) || cuStreamCreate(&stream, 0) != CUDA_SUCCESS)
		return 1;
	memset(host, 1, bytes);
	for (int i = 0; i < COPIES; i++)
		if (cuMemcpy(there, (CUdeviceptr)host, bytes) != CUDA_SUCCESS)
			return 2;
	for (int i = 0; i < COPIES; i++)
		if (copies_here(there, host, bytes) != 0)
			return 4;
	if (cuMemcpyAsync(there, (CUdeviceptr)host, bytes, stream) != CUDA_SUCCESS)
		return 3;
	/* A copy of freed memory is a fault of the program, but must not crash. */
	free(freed);
	cuMemcpyHtoD(there, freed, 4096);
	return cuCtxSynchronize() != CUDA_SUCCESS;
}

/* Exits while its device runs work that never ends. */
static int work_during_a_kernel(void)
{
	CUdeviceptr word;
	CUstream stream;

	alarm(check_limit(20));
	if (!begin(&word, 4) || cuMemsetD32(word, 0, 1) != CUDA_SUCCESS ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
		return 1;
	return cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS;
}

/* Copies a buffer until it has been pinned for a while. */
static int work_that_pins(void)
{
	/* Blocks of this size are never left to the housekeeper. */
	size_t bytes = 8 << 20;
	char *host = memset(malloc(bytes), 1, bytes);
	CUdeviceptr there;

	if (!begin(&there, bytes))
		return 1;
	for (int i = 0; i < 20; i++)
		if (cuMemcpyHtoD(there, host, bytes) != CUDA_SUCCESS)
			return 2;
	return 0;
}

/* Copies memory that it has registered. */
static int work_that_registers(void)
{
	size_t bytes = 8 << 20;
	char *host = malloc(bytes);
	CUdeviceptr there;

	if (!begin(&there, bytes) || cuMemHostRegister(host, bytes, 0) != CUDA_SUCCESS)
		return 1;
	for (int i = 0; i < COPIES; i++)
		if (cuMemcpyDtoHAsync(host, there, bytes, NULL) != CUDA_SUCCESS)
			return 2;
	return cuCtxSynchronize() != CUDA_SUCCESS;
}

/* Pins memory of its own: blocks that it frees, one that it keeps, one that it registers. */
__attribute__((noinline)) static int work_that_holds(void)
{
	static char registered[1 << 16];
	CUdeviceptr there;
	void *block, *kept;

	if (!begin(&there, 1 << 20))
		return 1;
	for (int i = 0; i < COPIES; i++)
		if (cuMemAllocHost(&block, 1 << 20) != CUDA_SUCCESS ||
		    cuMemcpyHtoD(there, block, 700000) != CUDA_SUCCESS ||
		    cuMemFreeHost(block) != CUDA_SUCCESS)
			return 2;
	/* A call that fails pins nothing. */
	return cuMemHostAlloc(&kept, 3 << 20, 0x8000) == CUDA_SUCCESS ||
	       cuMemHostAlloc(&kept, 3 << 20, 0) != CUDA_SUCCESS ||
	       cuMemHostRegister(registered, sizeof(registered), 0) != CUDA_SUCCESS ||
	       cuMemHostUnregister(registered) != CUDA_SUCCESS;
}

#define EARLY 2 /* of the ways below: those that cannot wait */

/* Makes the call number `way` between a download and the end of its memory. */
static int make_call(int way, CUstream stream, CUevent event, CUdeviceptr there)
{
	static char pageable[4096];
	CUcontext current;
	CUdeviceptr more_memory;

	switch (way) {
	case 0:
		return 0;
	case 1:
		return cuCtxGetCurrent(&current) != CUDA_SUCCESS;
	case 2:
		return cuStreamSynchronize(stream) != CUDA_SUCCESS;
	case 3:
		return cuEventSynchronize(event) != CUDA_SUCCESS;
	case 4:
		return cuCtxSynchronize() != CUDA_SUCCESS;
	case 5:
		cuStreamQuery(stream);
		return 0;
	case 6:
		cuEventQuery(event);
		return 0;
	case 7:
		return cuStreamWaitEvent(stream, event, 0) != CUDA_SUCCESS;
	case 8:
		return cuMemcpyHtoD(there, pageable, sizeof(pageable)) != CUDA_SUCCESS;
	case 9:
		return cuMemcpyDtoHAsync(pageable, there, sizeof(pageable), stream) != CUDA_SUCCESS;
	case 10:
		return cuMemAlloc(&more_memory, 4096) != CUDA_SUCCESS;
	default:
		return -1;
	}
}

/* Frees or unregisters memory after a download into it, and ends after another one. */
static int work_that_does_not_wait(void)
{
	static char registered[1 << 16];
	CUcontext context;
	CUdeviceptr there;
	CUstream stream;
	CUevent event;
	void *block;
	int failed = 0;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&there, 1 << 20) != CUDA_SUCCESS ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
	    cuEventCreate(&event, 0) != CUDA_SUCCESS ||
	    cuMemHostRegister(registered, sizeof(registered), 0) != CUDA_SUCCESS ||
	    cuMemcpyDtoHAsync(registered, there, sizeof(registered), stream) != CUDA_SUCCESS ||
	    cuMemHostUnregister(registered) != CUDA_SUCCESS)
		return 1;
	for (int way = 0; failed == 0; way++) {
		if (cuMemAllocHost(&block, 1 << 20) != CUDA_SUCCESS ||
		    cuMemcpyDtoHAsync(block, there, 700000, stream) != CUDA_SUCCESS)
			return 2;
		failed = make_call(way, stream, event, there);
		/* The last block is held. */
		if (failed == 0 && cuMemFreeHost(block) != CUDA_SUCCESS)
			return 3;
	}
	return failed > 0;
}

static char json[1 << 18];

/* Reads a profile of this program into `json`; its exit status must be 0. */
static void profile(const char *job)
{
	CHECK_EQ(preload_profile("HOTPIN_PROFILE=trace", job, json, sizeof(json)), 0);
}

/* Returns the number of calls of the driver function `name`; -1: never. */
static long calls_of(const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"name\": \"%s\"", name);
	const char *found = strstr(json, key);
	return found != NULL ? preload_number(found, "count") : -1;
}

TEST(calls_are_counted_once)
{
	profile("work");
	CHECK_EQ(calls_of("cuMemcpy"), COPIES);
	CHECK_EQ(calls_of("cuMemcpyAsync"), 1);
	CHECK_EQ(calls_of("cuMemcpyHtoD_v2"), 1);
	CHECK_EQ(calls_of("cuInit"), 1);
	CHECK_EQ(preload_number(json, "launches"), 0);
	/* hotpin's own calls are not counted, and without device times there is no peak. */
	CHECK_EQ(calls_of("cuMemcpyHtoDAsync_v2"), -1);
	CHECK(strstr(json, "\"peak_source\": null") != NULL);
}

/* Counts "offset": entries before `end` with a number in [from, to). */
static int offsets_between(const char *from_here, const char *end, long from, long to)
{
	static const char key[] = "\"offset\": ";
	int found = 0;

	while ((from_here = strstr(from_here, key)) != NULL && from_here < end) {
		long offset = atol(from_here += strlen(key));

		found += offset >= from && offset < to;
	}
	return found;
}

extern const char __executable_start[];

TEST(copies_are_attributed_to_their_calls)
{
	long at = (long)((const char *)copies_here - __executable_start);

	profile("work");
	const char *sites = strstr(json, "\"sites\": ["), *buffers = strstr(json, "\"buffers\": [");
	const char *gaps = strstr(json, "\"gaps\": ");
	if (!CHECK(sites != NULL && buffers > sites && gaps > buffers))
		return;
	/* Both calls lie within some hundred bytes of code. */
	CHECK_EQ(offsets_between(sites, buffers, at, at + 160), 2);
	CHECK_EQ(preload_number(json, "sites_lost"), 0);

	/* The block that work() allocated, and its copies. */
	at = (long)((const char *)work - __executable_start);
	CHECK_EQ(offsets_between(buffers, gaps, at, at + 400), 1);
	CHECK(strstr(buffers, "\"largest_bytes\": 1048576,") != NULL);
	CHECK(strstr(json, "test_counts\"") != NULL || strstr(json, "preload_counts\"") != NULL);
}

static void read_hash(const char *arguments, char *ret, size_t room)
{
	static const char key[] = "\"arguments_hash\": \"";

	profile(arguments);
	const char *found = strstr(json, key);
	snprintf(ret, room, "%.5s", found != NULL ? found + strlen(key) : "");
}

TEST(arguments_are_told_apart)
{
	char once[6], again[6], other[6], joined[6];

	read_hash("work a b", once, sizeof(once));
	read_hash("work a b", again, sizeof(again));
	read_hash("work a c", other, sizeof(other));
	read_hash("work ab", joined, sizeof(joined));
	/* More of a hash would give the arguments away. */
	CHECK(strspn(once, "0123456789abcdef") == 4 && once[4] == '"');
	CHECK(strcmp(once, again) == 0);
	CHECK(strcmp(once, other) != 0 && strcmp(once, joined) != 0);
}

/* The profile is written. */
TEST(what_never_ends_is_not_waited_for)
{
	profile("concurrent");
	CHECK(strstr(json, "\"state\": \"ended\"") != NULL);
}

/* The time of pinning counts as time inside the call. */
TEST(a_call_that_pins_takes_as_long)
{
	setenv("STANDIN_SLOW", "cuMemHostRegister:150", 1);
	profile("pins");
	CHECK(preload_number(json, "spent_ns") >= 150000000);
	CHECK(preload_number(json, "copy_calls_ns") >= preload_number(json, "spent_ns"));
}

/* hotpin does not ask the driver which of its blocks the program has registered in part. */
TEST(registered_memory_is_not_called_pageable)
{
	profile("registers");
	const char *transfers = strstr(json, "\"transfers\": [");
	if (!CHECK(transfers != NULL))
		return;
	CHECK(strstr(transfers, "\"memory\": \"unknown\"") != NULL);
	CHECK(strstr(transfers, "\"memory\": \"pageable\"") == NULL);
	for (const char *at = transfers; (at = strstr(at, "\"could_save_ns\"")) != NULL; at++)
		CHECK_EQ(preload_number(at, "could_save_ns"), 0);
}

/* Returns the part of the profile on a buffer with these words in it; "": there is none. */
static const char *buffer_with(const char *buffers, const char *words)
{
	const char *found = strstr(buffers, words);

	return found != NULL ? found : "";
}

TEST(memory_that_the_program_pins_has_an_owner)
{
	long at = (long)((const char *)work_that_holds - __executable_start);

	profile("holds");
	const char *buffers = strstr(json, "\"buffers\": ["), *gaps = strstr(json, "\"gaps\": ");
	if (!CHECK(buffers != NULL && gaps > buffers))
		return;
	CHECK_EQ(offsets_between(buffers, gaps, at, at + 800), 3);
	const char *freed =
		buffer_with(buffers, "\"bytes\": 3145728,\n\t\t\t\t\"powers_of_two\": 3");
	CHECK_EQ(preload_number(freed, "used_bytes"), COPIES * 700000);
	CHECK_EQ(preload_number(freed, "most_bytes"), 1 << 20);
	CHECK_EQ(preload_number(freed, "held_bytes"), 0);
	CHECK(preload_number(freed, "host_ns") > 0);
	const char *kept =
		buffer_with(buffers, "\"bytes\": 3145728,\n\t\t\t\t\"powers_of_two\": 0");
	CHECK_EQ(preload_number(kept, "unused_blocks"), 1);
	CHECK_EQ(preload_number(kept, "held_bytes"), 3 << 20);
	const char *registered = buffer_with(buffers, "\"registered\": true");
	CHECK_EQ(preload_number(registered, "most_bytes"), 1 << 16);
	CHECK_EQ(preload_number(registered, "held_bytes"), 0);
}

TEST(downloads_that_nothing_waits_for_are_counted)
{
	profile("early");
	const char *pinned = buffer_with(json, "\"registered\": false");
	CHECK_EQ(preload_number(buffer_with(json, "\"registered\": true"), "unwaited_frees"), 0);
	CHECK_EQ(preload_number(pinned, "unwaited_frees"), EARLY);
	CHECK_EQ(preload_number(pinned, "unwaited_at_end"), 1);
	CHECK(preload_number(pinned, "unwaited_site") >= 0);
	/* Outside the capture range, calls are not seen. */
	setenv("HOTPIN_CAPTURE", "nvtx:none", 1);
	profile("early");
	CHECK(strstr(json, "\"unwaited_frees\": 2") == NULL);
	unsetenv("HOTPIN_CAPTURE");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "early") == 0)
		return work_that_does_not_wait();
	if (argc > 1 && strcmp(argv[1], "holds") == 0)
		return work_that_holds();
	if (argc > 1 && strcmp(argv[1], "registers") == 0)
		return work_that_registers();
	if (argc > 1 && strcmp(argv[1], "pins") == 0)
		return work_that_pins();
	if (argc > 1 && strcmp(argv[1], "concurrent") == 0)
		return work_during_a_kernel();
	if (argc > 1 && strcmp(argv[1], "work") == 0)
		return work();
	return check_main(1, argv);
}
