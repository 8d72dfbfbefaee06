/*
 * test_idle.c - what we keep and pin goes back while the program sleeps, and nothing of ours is in
 * its way, or awake, meanwhile.
 */
#include "promote.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Without stdio, which allocates. */
static size_t resident(void)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) <= 0)
		return SIZE_MAX;
	close(fd);
	return strtoul(strchr(text, ' '), NULL, 10) * 4096;
}

/* Sleeps until no more than `most` is resident, `seconds` at most. */
static bool shrinks_to(size_t most, double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	size_t now;

	while ((now = resident()) > most && now_ns() < end)
		usleep(20000);
	printf("# %zu MiB of %zu resident\n", now / MIB, most / MIB);
	return now <= most;
}

/* Plainly there is nothing to wait for. */
static void rest(double seconds)
{
	usleep((useconds_t)((preloaded() ? seconds : 0.1) * 1e6));
}

#define BLOCKS 8
static char *blocks[BLOCKS];

static void allocate(bool pinned)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(24 * MIB + i * MIB);
		memset(blocks[i], 1, 24 * MIB + i * MIB);
		if (pinned)
			CHECK_EQ(heat(blocks[i], 24 * MIB + i * MIB), preloaded());
	}
}

static void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* The stand-in's device is memory of this process: all of it is there from now on. */
static size_t base_line(void)
{
	char *block = malloc(8 * MIB);

	begin();
	OK(cuMemsetD8_v2(there, 1, 64 * MIB));
	for (int i = 0; i < 10; i++)
		OK(cuMemcpyHtoD_v2(there, block, 8 * MIB));
	free(block);
	rest(2);
	return resident();
}

TEST(pinned_blocks_go_back)
{
	size_t base = base_line();

	allocate(true);
	CHECK(resident() > base + 150 * MIB);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
	/* A little later all pins are gone: none has a floor. */
	for (int i = 0; i < 50 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
}

TEST_WITH(unpinned_blocks_go_back, "HOTPIN_PIN=0")
{
	size_t base = base_line();

	allocate(false);
	CHECK(resident() > base + 150 * MIB);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
}

/* Blocks that were never copied at all, freed before anything else is. */
TEST(untouched_by_copies)
{
	size_t base = base_line();

	allocate(false);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
}

/* Streams that no other waits for, and two contexts: all of them are seen to be idle. */
TEST(with_streams_and_contexts)
{
	size_t base = base_line();
	CUcontext second;
	CUstream stream;

	allocate(true);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyHtoDAsync_v2(there, blocks[0], MIB, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuCtxCreate_v2(&second, 0, 0));
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
}

/* Where the driver cannot be asked, what the program's last calls have shown holds until it sleeps.
 */
TEST_WITH(shown_by_the_program, "STANDIN_FAIL=cuCtxRecordEvent:1:801")
{
	size_t base = base_line();

	allocate(true);
	OK(cuCtxSynchronize());
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
	CHECK(standin_calls("cuCtxRecordEvent") <= 1);
}

/* ---- threads of ours ---- */

/* A number from /proc/self/task/<id>/<file>; 0 where there is none. */
static unsigned long field_of(const char *task, const char *file, const char *name, int base)
{
	char path[64], line[256];
	unsigned long value = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	FILE *status = fopen(path, "r");
	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoul(line + strlen(name), NULL, base);
	if (status != NULL)
		fclose(status);
	return value;
}

/* The stand-in holds pages by io_uring, for which the kernel keeps threads. */
static bool is_kernel_worker(const char *task)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return strncmp(name, "iou-", 4) == 0;
}

/* Calls `look` for every thread but this one; returns their number. */
static int each_other(void (*look)(const char *task))
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
		if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == gettid() ||
		    is_kernel_worker(entry->d_name))
			continue;
		count++;
		look(entry->d_name);
	}
	closedir(tasks);
	return count;
}

static unsigned long switches;

static void add_switches(const char *task)
{
	switches += field_of(task, "status", "voluntary_ctxt_switches:", 10);
	switches += field_of(task, "status", "nonvoluntary_ctxt_switches:", 10);
}

static unsigned long switches_now(void)
{
	switches = 0;
	each_other(add_switches);
	return switches;
}

static uint64_t cpu_ns;

/* /proc/<pid>/task/<tid>/schedstat begins with the time on a processor. */
static void add_cpu(const char *task)
{
	cpu_ns += field_of(task, "schedstat", "", 10);
}

/* What the other threads have used of the processors. */
static uint64_t others_cpu_ns(void)
{
	cpu_ns = 0;
	each_other(add_cpu);
	return cpu_ns;
}

static void nothing(const char *task)
{
	(void)task;
}

/* With nothing kept and nothing pinned nobody wakes up. */
TEST(an_idle_process_sleeps)
{
	base_line();
	allocate(true);
	free_all();
	CHECK_EQ(each_other(nothing), preloaded());
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	rest(2);
	unsigned long before = switches_now();
	rest(4);
	CHECK_EQ(switches_now(), before);

	/* What is freed then goes back all the same. */
	size_t base = resident();
	allocate(false);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 2));
}

/* ---- a device that is never idle ---- */

static CUstream forever;
static CUdeviceptr word;

/* A stream that waits for a value that nobody writes: a kernel that runs on and on. */
static void run_forever(void)
{
	OK(cuMemAlloc_v2(&word, 4));
	*(uint32_t *)standin_host(word) = 0;
	OK(cuStreamCreate(&forever, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
	CHECK_EQ(standin_pending(forever), 1);
}

/* Copies, allocations and frees beside it, for `seconds`; returns the slowest round. */
static uint64_t work_on(double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), slowest = 0;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (now_ns() < end && check_failures == 0) {
		uint64_t begun = now_ns();
		char *block = malloc(2 * MIB);

		fill(block, 64 * KIB, 5);
		OK(cuMemcpyHtoDAsync_v2(there, block, MIB, stream));
		OK(cuMemcpyDtoHAsync_v2(block + MIB, there, 64 * KIB, stream));
		OK(cuStreamSynchronize(stream));
		CHECK(holds(block + MIB, 64 * KIB, 5));
		free(block);
		uint64_t took = now_ns() - begun;
		slowest = took > slowest ? took : slowest;
		usleep(30000);
	}
	OK(cuStreamDestroy_v2(stream));
	return slowest;
}

TEST(a_kernel_that_never_ends)
{
	size_t base = base_line();

	allocate(true);
	run_forever();
	int before = standin_calls("cuMemHostUnregister");
	uint64_t cpu = others_cpu_ns();
	free_all();
	/* Silence first, in which the device may be asked, then work. */
	rest(4);
	CHECK(work_on(preloaded() ? 2 : 0.2) < SECOND / 2);
	CHECK(others_cpu_ns() - cpu < SECOND / 10);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	CHECK_EQ(standin_pending(forever), 1);

	/* In the end it ends. */
	*(uint32_t *)standin_host(word) = 1;
	CHECK_EQ(standin_step(forever, 1), 1);
	CHECK(shrinks_to(base + 64 * MIB, 10));
}

/* ---- captures ---- */

static volatile bool enough;

/* Holds a capture open most of the time, of a mode that forbids nothing to others. */
static void *capture_on(void *arg)
{
	int *good = arg;

	OK(cuCtxSetCurrent(context));
	while (!enough) {
		CUstream stream;
		CUgraph graph = NULL;

		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		usleep(60000);
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
		OK(cuStreamDestroy_v2(stream));
		++*good;
		/* The device is asked after 5 ms of silence: let it, now and then. */
		usleep(*good % 4 == 0 ? 8000 : 1000);
	}
	return NULL;
}

TEST(captures_are_not_broken)
{
	pthread_t thread;
	int good = 0;

	base_line();
	allocate(true);
	pthread_create(&thread, NULL, capture_on, &good);
	free_all();
	rest(5);
	enough = true;
	pthread_join(thread, NULL);
	CHECK(!preloaded() || good > 40);
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
}

/* A context that goes while it is asked: its handles are somebody else's at once. */
TEST(contexts_that_go_meanwhile)
{
	base_line();
	allocate(true);
	free_all();
	rest(0.9); /* what was freed is due after a second */
	for (int i = 0; i < (preloaded() ? 60 : 5) && check_failures == 0; i++) {
		CUcontext other;
		CUstream stream;
		CUevent event;
		CUmodule module;
		CUfunction noop;

		OK(cuCtxCreate_v2(&other, 0, 0));
		OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuModuleLoadData(&module, "standin"));
		OK(cuModuleGetFunction(&noop, module, "standin_noop"));
		OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
		usleep(12000 + (unsigned)i * 700);
		OK(cuEventRecord(event, stream));
		OK(cuEventQuery(event) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : 1);
		OK(cuEventSynchronize(event));
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxSetCurrent(context));
	}
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
}

PRELOAD_MAIN()
