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

/* Runs in the profiled process; its exit status tells whether CUDA succeeded. */
__attribute__((noinline)) static int work(void)
{
	size_t bytes = 1 << 20;
	char *host = malloc(bytes), *freed = malloc(bytes);
	CUcontext context;
	CUdeviceptr there;
	CUstream stream;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&there, bytes) != CUDA_SUCCESS || cuStreamCreate(&stream, 0) != CUDA_SUCCESS)
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
	CUcontext context;
	CUdeviceptr word;
	CUstream stream;

	alarm(check_limit(20));
	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&word, 4) != CUDA_SUCCESS || cuMemsetD32(word, 0, 1) != CUDA_SUCCESS ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
		return 1;
	return cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS;
}

/* Copies a buffer until it has been pinned for a while. */
static int work_that_pins(void)
{
	/* Blocks of this size are never left to the housekeeper. */
	size_t bytes = 8 << 20;
	char *host = malloc(bytes);
	CUcontext context;
	CUdeviceptr there;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&there, bytes) != CUDA_SUCCESS)
		return 1;
	memset(host, 1, bytes);
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
	CUcontext context;
	CUdeviceptr there;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&there, bytes) != CUDA_SUCCESS ||
	    cuMemHostRegister(host, bytes, 0) != CUDA_SUCCESS)
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
	CUcontext context;
	CUdeviceptr there;
	void *block, *kept;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, NULL, 0, 0) != CUDA_SUCCESS ||
	    cuMemAlloc(&there, 1 << 20) != CUDA_SUCCESS)
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

static const char *job = "work", *more = ""; /* arguments */

/* Runs this program under hotpin, and reads its profile into `ret`. */
static int profile(char *ret, size_t room)
{
	char *path = check_path("profile.json"), self[4096], command[16384];
	ssize_t length_of_self = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length_of_self > 0 ? length_of_self : 0] = '\0';
	snprintf(command, sizeof(command),
		 "LD_PRELOAD=%s LD_LIBRARY_PATH=%s HOTPIN_PROFILE=trace HOTPIN_CUPTI=off "
		 "HOTPIN_OUT='%s' '%s' %s %s 2>/dev/null",
		 getenv("PRELOAD_SO"), getenv("PRELOAD_PATH"), path, self, job, more);
	int status = system(command);
	FILE *file = fopen(path, "r");
	size_t length = file != NULL ? fread(ret, 1, room - 1, file) : 0;

	ret[length] = '\0';
	if (file != NULL)
		fclose(file);
	unlink(path);
	return status;
}

/* Returns the number after "name": in the profile, or -1. */
static long count_of(const char *json, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"%s\": ", name);
	const char *found = strstr(json, key);
	return found != NULL ? atol(found + strlen(key)) : -1;
}

/* Returns the number of calls of the driver function `name`; -1: never. */
static long calls_of(const char *json, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"name\": \"%s\"", name);
	const char *found = strstr(json, key);
	return found != NULL ? count_of(found, "count") : -1;
}

TEST(calls_are_counted_once)
{
	static char json[1 << 18];

	CHECK_EQ(profile(json, sizeof(json)), 0);
	CHECK_EQ(calls_of(json, "cuMemcpy"), COPIES);
	CHECK_EQ(calls_of(json, "cuMemcpyAsync"), 1);
	CHECK_EQ(calls_of(json, "cuMemcpyHtoD_v2"), 1);
	CHECK_EQ(calls_of(json, "cuInit"), 1);
	CHECK_EQ(count_of(json, "launches"), 0);
	/* hotpin's own calls are not counted, and without device times there is no peak. */
	CHECK_EQ(calls_of(json, "cuMemcpyHtoDAsync_v2"), -1);
	CHECK(strstr(json, "\"peak_source\": null") != NULL);
}

/* Counts "offset": entries before `end` with a number in [from, to). */
static int offsets_between(const char *json, const char *end, long from, long to)
{
	static const char key[] = "\"offset\": ";
	int found = 0;

	while ((json = strstr(json, key)) != NULL && json < end) {
		long offset = atol(json += strlen(key));

		found += offset >= from && offset < to;
	}
	return found;
}

extern const char __executable_start[];

TEST(copies_are_attributed_to_their_calls)
{
	static char json[1 << 18];
	long at = (long)((const char *)copies_here - __executable_start);

	CHECK_EQ(profile(json, sizeof(json)), 0);
	const char *sites = strstr(json, "\"sites\": ["), *buffers = strstr(json, "\"buffers\": [");
	const char *gaps = strstr(json, "\"gaps\": ");
	if (!CHECK(sites != NULL && buffers > sites && gaps > buffers))
		return;
	/* Both calls lie within some hundred bytes of code. */
	CHECK_EQ(offsets_between(sites, buffers, at, at + 160), 2);
	CHECK_EQ(count_of(json, "sites_lost"), 0);

	/* The block that work() allocated, and its copies. */
	at = (long)((const char *)work - __executable_start);
	CHECK_EQ(offsets_between(buffers, gaps, at, at + 400), 1);
	CHECK(strstr(buffers, "\"largest_bytes\": 1048576,") != NULL);
	CHECK(strstr(json, "test_counts\"") != NULL || strstr(json, "preload_counts\"") != NULL);
}

static void read_hash(const char *arguments, char *ret, size_t room)
{
	static char json[1 << 18];

	more = arguments;
	CHECK_EQ(profile(json, sizeof(json)), 0);
	const char *found = strstr(json, "\"arguments_hash\": \"");
	snprintf(ret, room, "%.5s", found != NULL ? found + strlen("\"arguments_hash\": \"") : "");
}

TEST(arguments_are_told_apart)
{
	char once[6], again[6], other[6], joined[6];

	read_hash("a b", once, sizeof(once));
	read_hash("a b", again, sizeof(again));
	read_hash("a c", other, sizeof(other));
	read_hash("ab", joined, sizeof(joined));
	/* More of a hash would give the arguments away. */
	CHECK(strspn(once, "0123456789abcdef") == 4 && once[4] == '"');
	CHECK(strcmp(once, again) == 0);
	CHECK(strcmp(once, other) != 0 && strcmp(once, joined) != 0);
}

/* The profile is written. */
TEST(what_never_ends_is_not_waited_for)
{
	static char json[1 << 18];

	job = "concurrent";
	CHECK_EQ(profile(json, sizeof(json)), 0);
	CHECK(strstr(json, "\"state\": \"ended\"") != NULL);
}

/* The time of pinning counts as time inside the call. */
TEST(a_call_that_pins_takes_as_long)
{
	static char json[1 << 18];

	job = "pins";
	setenv("STANDIN_SLOW", "cuMemHostRegister:150", 1);
	CHECK_EQ(profile(json, sizeof(json)), 0);
	CHECK(count_of(json, "spent_ns") >= 150000000);
	CHECK(count_of(json, "copy_calls_ns") >= count_of(json, "spent_ns"));
}

/* hotpin does not ask the driver which of its blocks the program has registered in part. */
TEST(registered_memory_is_not_called_pageable)
{
	static char json[1 << 18];

	job = "registers";
	CHECK_EQ(profile(json, sizeof(json)), 0);
	const char *transfers = strstr(json, "\"transfers\": [");
	if (!CHECK(transfers != NULL))
		return;
	CHECK(strstr(transfers, "\"memory\": \"unknown\"") != NULL);
	CHECK(strstr(transfers, "\"memory\": \"pageable\"") == NULL);
	for (const char *at = transfers; (at = strstr(at, "\"could_save_ns\"")) != NULL; at++)
		CHECK_EQ(count_of(at, "could_save_ns"), 0);
}

/* Returns the part of the profile on a buffer with these words in it; "": there is none. */
static const char *buffer_with(const char *json, const char *words)
{
	const char *found = strstr(json, words);

	return found != NULL ? found : "";
}

TEST(memory_that_the_program_pins_has_an_owner)
{
	static char json[1 << 18];
	long at = (long)((const char *)work_that_holds - __executable_start);

	job = "holds";
	CHECK_EQ(profile(json, sizeof(json)), 0);
	const char *buffers = strstr(json, "\"buffers\": ["), *gaps = strstr(json, "\"gaps\": ");
	if (!CHECK(buffers != NULL && gaps > buffers))
		return;
	CHECK_EQ(offsets_between(buffers, gaps, at, at + 800), 3);
	const char *freed =
		buffer_with(buffers, "\"bytes\": 3145728,\n\t\t\t\t\"powers_of_two\": 3");
	CHECK_EQ(count_of(freed, "used_bytes"), COPIES * 700000);
	CHECK_EQ(count_of(freed, "most_bytes"), 1 << 20);
	CHECK_EQ(count_of(freed, "held_bytes"), 0);
	CHECK(count_of(freed, "host_ns") > 0);
	const char *kept =
		buffer_with(buffers, "\"bytes\": 3145728,\n\t\t\t\t\"powers_of_two\": 0");
	CHECK_EQ(count_of(kept, "unused_blocks"), 1);
	CHECK_EQ(count_of(kept, "held_bytes"), 3 << 20);
	const char *registered = buffer_with(buffers, "\"registered\": true");
	CHECK_EQ(count_of(registered, "most_bytes"), 1 << 16);
	CHECK_EQ(count_of(registered, "held_bytes"), 0);
}

int main(int argc, char **argv)
{
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
