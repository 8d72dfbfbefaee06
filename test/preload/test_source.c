/*
 * test_source.c - uploads of a pinned block that come back before it has been read: who writes to
 * it waits, and what was there when the copy was called is what the device gets.
 */
#include "source.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

static char *block;
static unsigned seed = 10;

/* The bytes of the last upload() are on the device, whatever `call` does to the block. */
#define SURVIVES(call)                                   \
	do {                                             \
		upload(block, BLOCK, ++seed);            \
		call;                                    \
		CHECK(device_holds(there, BLOCK, seed)); \
	} while (0)

TEST_WITH(written, EARLY)
{
	block = source_of(BLOCK);
	SURVIVES(block[0]++);
	SURVIVES(block[BLOCK - 1]++);
	SURVIVES(memset(block, 1, BLOCK));
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync") > 0, preloaded());
}

/* Read, it is open: nobody waits. */
TEST_WITH(only_read, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	CHECK(holds(block, BLOCK, seed));
	CHECK_EQ(is_closed(block), preloaded());
	CHECK(device_holds(there, BLOCK, seed));
}

/* The bus is crossed before the kernel is over: a writer never waits for that. */
static void kernel_goes_on_meanwhile(void)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	int before = standin_pending(NULL);
	memset(block, 1, BLOCK);
	CHECK_EQ(standin_pending(NULL), before);
	CHECK(!preloaded() || before > 0);
	CHECK(device_holds(there, BLOCK, seed));
}

/* Streams of one priority can share a queue of the device's. */
TEST_WITH(kernel_goes_on, EARLY)
{
	int least = 0, greatest = 0;
	char line[64];

	kernel_goes_on_meanwhile();
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	snprintf(line, sizeof(line), "cuStreamCreateWithPriority %u %d", CU_STREAM_NON_BLOCKING,
		 greatest);
	CHECK_EQ(strstr(standin_log_text(), line) != NULL, preloaded());
}

TEST_WITH(kernel_goes_on_without_priority, EARLY, "STANDIN_FAIL=cuStreamCreateWithPriority:1:2")
{
	kernel_goes_on_meanwhile();
}

/* What is on its way to the scratch memory is there before it goes on from there. */
TEST_WITH(legs_come_in_order, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	standin_step(NULL, 100);
	CHECK(device_holds(there, BLOCK, seed));
}

/* An asynchronous one is waited for, or taken in, as ever. */
TEST_WITH(asynchronous, EARLY)
{
	block = source_of(BLOCK);
	fill(block, BLOCK, ++seed);
	standin_log_reset();
	launch(NULL);
	OK(cuMemcpyHtoDAsync_v2(there, block, BLOCK, NULL));
	CHECK(!is_closed(block));
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync"), 0);
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
}

TEST_WITH(another_route, EARLY, "HOTPIN_ROUTE=direct")
{
	block = source_of(BLOCK);
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, block, BLOCK));
	CHECK(!is_closed(block));
}

/* What nobody writes to is opened by itself. */
TEST_WITH(untouched, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	standin_step_all();
	for (int i = 0; i < 100 && is_closed(block); i++)
		pause_ms(2);
	CHECK(!is_closed(block));
	CHECK(device_holds(there, BLOCK, seed));
}

static void *write_it(void *arg)
{
	memset(block + (size_t)arg * (BLOCK / 8), 1, BLOCK / 8);
	return NULL;
}

TEST_WITH(other_threads, EARLY)
{
	pthread_t threads[8];

	block = source_of(BLOCK);
	for (int turn = 0; turn < 3; turn++) {
		upload(block, BLOCK, ++seed);
		for (size_t i = 0; i < 8; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, write_it, (void *)(7 - i)), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		CHECK(device_holds(there, BLOCK, seed));
	}
}

static void on_signal(int number)
{
	(void)number;
	memcpy(block + 3 * MIB, block, 4096);
	block[2 * MIB] = 1;
}

TEST_WITH(signal_handlers, EARLY)
{
	block = source_of(BLOCK);
	signal(SIGUSR1, on_signal);
	SURVIVES(raise(SIGUSR1));
}

/* In the midst of libc. */
TEST_WITH(libc_writes, EARLY)
{
	block = source_of(BLOCK);
	SURVIVES(snprintf(block, 100, "%d", 5));
	SURVIVES(strcpy(block + MIB, "text"));
	SURVIVES(memmove(block + 8, block, BLOCK - 8));
}

/* Memory that goes, or changes. */

TEST_WITH(freed, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	free(block);
	char *next = malloc(BLOCK);
	memset(next, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
	free(next);
}

TEST_WITH(grown, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	block = realloc(block, 3 * BLOCK);
	CHECK(holds(block, BLOCK, seed));
	memset(block, 1, 3 * BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
}

/* As the kernel is asked past libc's own functions, too. */
TEST_WITH(changed, EARLY)
{
	block = source_of(BLOCK);
	char *page = (char *)(((uintptr_t)block + BLOCK / 2) & -(uintptr_t)4096);

	SURVIVES(CHECK_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0); page[5] = 1);
	SURVIVES(CHECK_EQ(syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE), 0);
		 page[5] = 1);
	SURVIVES(CHECK_EQ(madvise(page, 4096, MADV_DONTNEED), 0); page[5] = 1);
}

TEST_WITH(mapped_over, EARLY)
{
	block = source_of(BLOCK);
	char *page = (char *)(((uintptr_t)block + BLOCK / 2) & -(uintptr_t)4096);

	upload(block, BLOCK, ++seed);
	CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == page);
	page[5] = 1;
	CHECK(device_holds(there, BLOCK, seed));
}

TEST_WITH(unmapped, EARLY)
{
	block = source_of(BLOCK);
	char *page = (char *)(((uintptr_t)block + BLOCK / 2) & -(uintptr_t)4096);

	upload(block, BLOCK, ++seed);
	CHECK_EQ(munmap(page, 4096), 0);
	CHECK(device_holds(there, BLOCK, seed));
}

/* Calls of the driver that write to it, or name it. */

TEST_WITH(device_writes, EARLY)
{
	block = source_of(BLOCK);
	OK(cuMemsetD8_v2(there + BLOCK, 5, BLOCK));
	SURVIVES(OK(cuMemcpyDtoH_v2(block, there + BLOCK, BLOCK)));
	SURVIVES(OK(cuMemcpyDtoH_v2(block + MIB, there + BLOCK, MIB)));
	SURVIVES(OK(cuMemcpyDtoHAsync_v2(block, there + BLOCK, BLOCK, NULL)));
	SURVIVES(OK(cuMemcpy((CUdeviceptr)block, there + BLOCK, BLOCK)));
	CUstream stream;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SURVIVES(OK(cuMemcpyDtoHAsync_v2(block, there + BLOCK, BLOCK, stream)));
}

TEST_WITH(registered, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	OK(cuMemHostRegister_v2(block, BLOCK, 0));
	CHECK(!is_closed(block));
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
	/* The program's own now: what it writes there is seen by whom it tells. */
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, block, BLOCK));
	CHECK(!is_closed(block));
	OK(cuMemHostUnregister(block));
}

/* Once more, to the same place and to another, before the first has come through. */
TEST_WITH(again, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	OK(cuMemcpyHtoD_v2(there + BLOCK, block, BLOCK));
	CHECK(device_holds(there, BLOCK, seed));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
	for (int i = 0; i < 6; i++) {
		fill(block, BLOCK, ++seed);
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there + BLOCK * (size_t)(i % 2), block, BLOCK));
	}
	CHECK(device_holds(there, BLOCK, seed - 1));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
}

/* What else is done to the destination, in the order of the program's calls. */

/* To another stream the driver's own copy may be under way as well. */
static void up(void)
{
	upload(block, BLOCK, ++seed);
	if (!preloaded())
		OK(cuCtxSynchronize());
}

TEST_WITH(destination_written, EARLY)
{
	static char small[4096];
	CUstream stream;

	block = source_of(BLOCK);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	fill(small, sizeof(small), 1);
	up();
	OK(cuMemcpyHtoD_v2(there, small, sizeof(small)));
	CHECK(device_holds(there, sizeof(small), 1));
	up();
	OK(cuMemcpyHtoDAsync_v2(there, small, sizeof(small), stream));
	standin_step(stream, 100);
	CHECK(device_holds(there, sizeof(small), 1));
	up();
	OK(cuMemsetD8Async(there, 7, BLOCK, stream));
	standin_step(stream, 100);
	OK(cuCtxSynchronize());
	unsigned char byte = 0;
	OK(cuMemcpyDtoH_v2(&byte, there + BLOCK - 1, 1));
	CHECK_EQ(byte, 7);
}

TEST_WITH(destination_read, EARLY)
{
	CUstream stream;

	block = source_of(BLOCK);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	up();
	OK(cuMemcpyDtoDAsync_v2(there + BLOCK, there, BLOCK, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
	up();
	OK(cuMemcpyDtoD_v2(there + BLOCK, there, BLOCK));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
}

TEST_WITH(destination_freed, EARLY)
{
	CUdeviceptr mine, next;

	block = source_of(BLOCK);
	for (int turn = 0; turn < 2; turn++) {
		OK(cuMemAlloc_v2(&mine, BLOCK));
		fill(block, BLOCK, ++seed);
		launch(NULL);
		OK(cuMemcpyHtoD_v2(mine, block, BLOCK));
		CHECK_EQ(is_closed(block), preloaded());
		OK(cuMemFree_v2(mine));
		OK(cuMemAlloc_v2(&next, BLOCK));
		OK(cuMemsetD8_v2(next, 9, BLOCK));
		OK(cuCtxSynchronize());
		unsigned char byte = 0;
		OK(cuMemcpyDtoH_v2(&byte, next + BLOCK / 2, 1));
		CHECK_EQ(byte, 9);
		OK(cuMemFree_v2(next));
	}
}

/* Contexts and devices that end, or fail. */

TEST_WITH(context_ends, EARLY)
{
	block = source_of(BLOCK);
	for (int turn = 0; turn < 3; turn++) {
		upload(block, BLOCK, ++seed);
		OK(cuCtxDestroy_v2(context));
		CHECK(!is_closed(block));
		free(block);
		block = source_of(BLOCK);
	}
	SURVIVES(block[0]++);
}

TEST_WITH(device_is_reset, EARLY)
{
	block = source_of(BLOCK);
	OK(cuCtxDestroy_v2(context));
	free(block);
	for (int turn = 0; turn < 2; turn++) {
		CUmodule module;

		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuCtxSetCurrent(context));
		OK(cuMemAlloc_v2(&there, 64 * MIB));
		OK(cuModuleLoadData(&module, "module"));
		OK(cuModuleGetFunction(&noop, module, "standin_noop"));
		block = promoted(BLOCK);
		upload(block, BLOCK, ++seed);
		OK(cuDevicePrimaryCtxReset_v2(0));
		CHECK(!is_closed(block));
		memset(block, 1, BLOCK);
		free(block);
	}
}

STANDIN_EXPORT standin_twin_fn standin_twin_fails;
void standin_twin_fails(const unsigned grid[3], const unsigned size[3], void **args)
{
	(void)grid, (void)size, (void)args;
	standin_twin_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
}
STANDIN_EXPORT const unsigned standin_args_fails[] = { 0 };

/* Nobody waits for ever, and the error is told. */
TEST_WITH(device_fails, EARLY)
{
	CUmodule module;
	CUfunction fails;
	CUstream other;

	block = source_of(BLOCK);
	OK(cuModuleLoadData(&module, "module"));
	OK(cuModuleGetFunction(&fails, module, "fails"));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	upload(block, BLOCK, ++seed);
	OK(cuLaunchKernel(fails, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL));
	standin_step(other, 1);
	memset(block, 1, BLOCK);
	CHECK(block[BLOCK - 1] == 1);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_WITH(bad_arguments, EARLY)
{
	block = source_of(BLOCK);
	launch(NULL);
	CHECK_EQ(cuMemcpyHtoD_v2(0x1234, block, BLOCK), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyHtoD_v2(there + 62 * MIB, block, BLOCK), CUDA_ERROR_INVALID_VALUE);
	CHECK(!is_closed(block));
	SURVIVES(block[0]++);
}

/* Nothing of what is refused arrives. */
TEST_WITH(refused_as_a_whole, EARLY, "HOTPIN_EARLY=always")
{
	block = source_of(2 * BLOCK);
	CUdeviceptr last = there + 64 * MIB - BLOCK;
	OK(cuMemsetD8_v2(last, 7, BLOCK));
	for (int i = 0; i < 10; i++) {
		unsigned char byte = 0;

		CHECK_EQ(cuMemcpyHtoD_v2(last, block, 2 * BLOCK), CUDA_ERROR_INVALID_VALUE);
		OK(cuMemcpyDtoH_v2(&byte, last, 1));
		CHECK_EQ(byte, 7);
	}
}

/* Any of our own calls may fail: then the upload is what it always was. */
#define FAILS(id, wish)                                           \
	TEST_WITH(id, EARLY, "STANDIN_FAIL=" wish)                \
	{                                                         \
		block = source_of(BLOCK);                         \
		for (int i = 0; i < 8; i++) {                     \
			fill(block, BLOCK, ++seed);               \
			launch(NULL);                             \
			OK(cuMemcpyHtoD_v2(there, block, BLOCK)); \
			memset(block, 1, BLOCK);                  \
			CHECK(device_holds(there, BLOCK, seed));  \
		}                                                 \
	}
FAILS(no_ticket, "cuStreamWriteValue32:1:801,cuStreamWriteValue32:8:801")
FAILS(no_copy_on, "cuMemcpyDtoDAsync:1:1")
FAILS(no_order, "cuStreamWaitEvent:1:400")
FAILS(no_stream, "cuStreamCreateWithPriority:1:2,cuStreamCreate:1:2")
FAILS(no_priority, "cuStreamCreateWithPriority:1:2")
FAILS(no_event, "cuEventCreate:3:2,cuEventCreate:11:2,cuEventCreate:12:2")
FAILS(no_memory, "cuMemAlloc:2:2")
#undef FAILS

/* A part of it that is on its way is waited for, and the next one waits as ever. */
static void fails_midway(const char *call)
{
	block = source_of(BLOCK);
	/* The last of the copies that had it pinned came back early, too. */
	CHECK_EQ(standin_calls(call), preloaded());
	standin_log_reset();
	for (int i = 0; i < 2; i++) {
		fill(block, BLOCK, ++seed);
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		CHECK_EQ(standin_calls(call), preloaded());
		/* What the ring has is still on its way. */
		standin_step(NULL, 100);
		CHECK_EQ(standin_step_all(), 0);
		CHECK(!is_closed(block));
		CHECK(device_holds(there, BLOCK, seed));
	}
}

TEST_WITH(failed_midway, EARLY, "STANDIN_FAIL=cuMemcpyDtoDAsync:2:1")
{
	fails_midway("cuMemcpyDtoDAsync");
}

TEST_WITH(failed_before_it_moves_on, EARLY, "STANDIN_FAIL=cuStreamWaitEvent:2:400")
{
	fails_midway("cuStreamWaitEvent");
}

/* Where there is no scratch memory the driver is not asked for it again. */
static void without_scratch(int allocations)
{
	block = source_of(BLOCK);
	for (int i = 0; i < 3; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		CHECK(!is_closed(block));
	}
	CHECK_EQ(standin_calls("cuMemGetInfo"), preloaded());
	CHECK_EQ(standin_calls("cuMemAlloc"), 1 + allocations * preloaded());
}

TEST_WITH(asked_once_for_memory, EARLY, "STANDIN_FAIL=cuMemAlloc:2:2")
{
	without_scratch(1);
}

/* The device has 16 GiB. */
TEST_WITH(not_what_the_program_may_need, EARLY, "HOTPIN_SCRATCH=2G")
{
	without_scratch(0);
}

#define NO_EVENT(n) "cuEventCreate:" n ":2"
TEST_WITH(no_events_for_its_parts, EARLY,
	  "STANDIN_FAIL=" NO_EVENT("3") "," NO_EVENT("4") "," NO_EVENT("5") "," NO_EVENT("6"))
{
	without_scratch(0);
}
#undef NO_EVENT

/* Room for one; the second finds none, and the bytes are right. */
static void with_little_scratch(void)
{
	char *other = NULL;

	block = source_of(BLOCK);
	other = promoted(BLOCK);
	upload(block, BLOCK, ++seed);
	fill(other, BLOCK, 5);
	OK(cuMemcpyHtoD_v2(there + BLOCK, other, BLOCK));
	memset(other, 1, BLOCK);
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
	CHECK(device_holds(there + BLOCK, BLOCK, 5));
}

TEST_WITH(scratch_for_one, EARLY, "HOTPIN_SCRATCH=6M")
{
	with_little_scratch();
}

TEST_WITH(no_scratch, EARLY, "HOTPIN_SCRATCH=0")
{
	block = source_of(BLOCK);
	for (int i = 0; i < 3; i++) {
		fill(block, BLOCK, ++seed);
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		CHECK(!is_closed(block));
		memset(block, 1, BLOCK);
		CHECK(device_holds(there, BLOCK, seed));
	}
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync"), 0);
	/* The ring, once it is there, does not wait for the kernel either. */
	bool waits = true;
	for (int i = 0; i < 20 && waits; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		waits = standin_pending(NULL) == 0;
	}
	CHECK(!waits || !preloaded());
}

/* Many under way at once. */
TEST_WITH(many, EARLY)
{
	enum { BLOCKS = 7 };
	char *blocks[BLOCKS];

	blocks[0] = source_of(BLOCK);
	for (int i = 1; i < BLOCKS; i++)
		blocks[i] = promoted(BLOCK);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < BLOCKS; i++)
			fill(blocks[i], BLOCK, seed + (unsigned)i);
		launch(NULL);
		for (int i = 0; i < BLOCKS; i++)
			OK(cuMemcpyHtoD_v2(there + BLOCK * (size_t)i, blocks[i], BLOCK));
		for (int i = BLOCKS; i-- > 0;)
			memset(blocks[i], 1, BLOCK);
		for (int i = 0; i < BLOCKS; i++)
			CHECK(device_holds(there + BLOCK * (size_t)i, BLOCK, seed + (unsigned)i));
		seed += BLOCKS;
	}
}

TEST_WITH(captures, EARLY)
{
	CUstream stream;
	CUgraph graph;

	block = source_of(BLOCK);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	upload(block, BLOCK, ++seed);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(!is_closed(block));
	CHECK(kernel_may_write(block + 5));
	OK(cuMemcpyHtoD_v2(there + BLOCK, block, BLOCK));
	CHECK(!is_closed(block));
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(device_holds(there, BLOCK, seed));
}

/* Which uploads wait as ever. */

static void waits(void)
{
	/* More often than one that was written to too early before would wait for that. */
	for (int i = 0; i < 24; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		CHECK(!is_closed(block));
	}
	fill(block, BLOCK, ++seed);
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, block, BLOCK));
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
}

TEST_WITH(exposed, EARLY)
{
	void *pinned;

	block = source_of(BLOCK);
	OK(cuMemAllocHost_v2(&pinned, 4096));
	waits();
	OK(cuMemFreeHost(pinned));
	SURVIVES(block[0]++);
}

TEST_WITH(not_asked_for, "HOTPIN_ASYNC=h2d")
{
	block = source_of(BLOCK);
	waits();
}

TEST_WITH(switched_off, EARLY, "HOTPIN_EARLY=off")
{
	block = source_of(BLOCK);
	waits();
}

/* With nothing before it there is nothing to overlap with. */
TEST_WITH(idle, EARLY)
{
	block = source_of(BLOCK);
	for (int i = 0; i < 3; i++) {
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		CHECK(!is_closed(block));
	}
}

TEST_WITH(idle_always, EARLY, "HOTPIN_EARLY=always")
{
	block = source_of(BLOCK);
	standin_log_reset();
	for (int i = 0; i < 3; i++) {
		fill(block, BLOCK, ++seed);
		for (int k = 0; k < 50; k++) {
			OK(cuMemcpyHtoD_v2(there, block, BLOCK));
			if (!preloaded() || is_closed(block))
				break;
		}
		CHECK_EQ(is_closed(block), preloaded());
		memset(block, 1, BLOCK);
		CHECK(device_holds(there, BLOCK, seed));
	}
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync"), 0);
}

/* Others may have a right to write to the rest. */
TEST_WITH(parts, EARLY)
{
	const size_t bytes = 2 * BLOCK;

	block = source_of(bytes);
	for (int i = 0; i < 3; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, bytes - 8));
		CHECK(!is_closed(block));
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block + 8, bytes - 8));
		CHECK(!is_closed(block));
	}
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, block, bytes));
	CHECK_EQ(is_closed(block), preloaded());
}

TEST_WITH(signal_blocked, EARLY)
{
	sigset_t set;

	block = source_of(BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	upload(block, BLOCK, ++seed);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK(!is_closed(block));
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
	waits();
}

/* Past libc; and for good, whoever has it later. */
TEST_WITH(signal_taken, EARLY)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} plain = { 0 }, before;

	block = source_of(BLOCK);
	char *other = promoted(BLOCK);
	SURVIVES(block[0]++);
	upload(block, BLOCK, ++seed);
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGSEGV, &plain, &before, 8), 0);
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there + BLOCK, other, BLOCK));
	CHECK(!is_closed(block) && !is_closed(other));
	waits();
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGSEGV, &before, NULL, 8), 0);
	waits();
}

static void taken_over_by(long number)
{
	char room[256] = { 0 };

	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	int fd = (int)syscall(number, number == SYS_userfaultfd ? O_CLOEXEC : 1, room);
	CHECK(!is_closed(block));
	CHECK(device_holds(there, BLOCK, seed));
	waits();
	close(fd);
}

/* To a network card, or to other processes. */
TEST_WITH(given_away, EARLY)
{
	block = source_of(BLOCK);
	upload(block, BLOCK, ++seed);
	CHECK_EQ(ioctl(1, _IOWR('F', 1, char[8]), block), -1);
	CHECK(device_holds(there, BLOCK, seed));
	upload(block, BLOCK, ++seed);
	CHECK_EQ(ioctl(1, _IOWR(0x1b, 1, char[8]), NULL), -1);
	CHECK(!is_closed(block));
	CHECK(device_holds(there, BLOCK, seed));
	waits();
}

/* XPMEM's. */
TEST_WITH(given_to_others, EARLY)
{
	block = source_of(BLOCK);
	CHECK_EQ(ioctl(1, _IOWR('x', 1, char[8]), NULL), -1);
	waits();
}

TEST_WITH(given_away_past_libc, EARLY)
{
	block = source_of(BLOCK);
	CHECK_EQ(syscall(SYS_ioctl, 1, _IOWR(0x1b, 1, char[8]), NULL), -1);
	waits();
}

TEST_WITH(user_faults, EARLY)
{
	taken_over_by(SYS_userfaultfd);
}

TEST_WITH(kernel_rings, EARLY)
{
	taken_over_by(SYS_io_uring_setup);
}

TEST_WITH(traced, EARLY)
{
	int status = -1, stops = 0;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		block = source_of(BLOCK);
		waits();
		_exit(check_failures == 0 ? 42 : 1);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		stops += WSTOPSIG(status) == SIGSEGV;
		ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	CHECK_EQ(stops, 0);
}

/* Processes that come of this one, and its end. */

TEST_WITH(children, EARLY)
{
	block = source_of(BLOCK);
	for (int way = 0; way < 2; way++) {
		int status = -1;

		upload(block, BLOCK, ++seed);
		pid_t child = way == 0 ? fork() : fork_past_libc();
		if (child == 0) {
			memset(block, 1, BLOCK);
			_exit(kernel_may_write(block) ? 5 : 6);
		}
		CHECK(holds(block, BLOCK, seed));
		memset(block, 2, BLOCK);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
		CHECK(device_holds(there, BLOCK, seed));
	}
}

static void at_the_end(void)
{
	bool open = !is_closed(block);

	memset(block, 1, BLOCK);
	bool right = device_holds(there, BLOCK, seed);
	fflush(stdout);
	_exit(open && right ? 42 : 1);
}

TEST_WITH(exits, EARLY)
{
	int status = -1;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		atexit(at_the_end);
		block = source_of(BLOCK);
		upload(block, BLOCK, ++seed);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/* Programs of other shapes. */

/* A block in several registrations, which a call may not name at once. */
TEST_WITH(in_pieces, EARLY)
{
	/* Closed by 4 MiB, registered by 10. */
	const size_t bytes = 36 * MIB;

	block = source_of(bytes);
	CHECK_EQ(standin_registrations() > 2, preloaded());
	for (int i = 0; i < 2; i++) {
		upload(block, bytes, ++seed);
		memset(block, 1, bytes);
		CHECK(device_holds(there, bytes, seed));
	}
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync") > 0, preloaded());
}

/* As device_holds(), by several threads at once. */
static bool it_holds(CUdeviceptr from, unsigned expected)
{
	char *quiet = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(quiet, from, BLOCK));
	bool holds_it = holds(quiet, BLOCK, expected);
	munmap(quiet, BLOCK);
	return holds_it;
}

static void *on_its_own_stream(void *arg)
{
	CUdeviceptr to = *(CUdeviceptr *)arg;
	char *mine;

	OK(cuCtxSetCurrent(context));
	mine = promoted(BLOCK);
	for (unsigned turn = 0; turn < 6; turn++) {
		fill(mine, BLOCK, turn);
		launch(CU_STREAM_PER_THREAD);
		OK(cuMemcpyHtoD_v2_ptds(to, mine, BLOCK));
		memset(mine, 1, BLOCK);
		OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
		CHECK(it_holds(to, turn));
	}
	free(mine);
	return NULL;
}

TEST_WITH(per_thread, EARLY)
{
	CUdeviceptr to[2];
	pthread_t threads[2];

	block = source_of(BLOCK);
	for (int i = 0; i < 2; i++) {
		to[i] = there + 16 * MIB * (size_t)(i + 1);
		CHECK_EQ(pthread_create(&threads[i], NULL, on_its_own_stream, &to[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync_v2_ptsz") > 0, preloaded());
}

/* While a thread is at the scratch memory another's upload takes another way. */
static _Atomic bool is_back;

static void *upload_slowly(void *arg)
{
	OK(cuCtxSetCurrent(context));
	launch(NULL);
	OK(cuMemcpyHtoD_v2(there, arg, BLOCK));
	atomic_store(&is_back, true);
	return NULL;
}

TEST_WITH(one_at_a_time, EARLY, "STANDIN_SLOW=cuMemcpyDtoDAsync:300")
{
	char *other;
	pthread_t thread;

	block = source_of(BLOCK);
	other = promoted(BLOCK);
	fill(block, BLOCK, ++seed);
	fill(other, BLOCK, seed + 1);
	launch(NULL);
	CHECK_EQ(pthread_create(&thread, NULL, upload_slowly, block), 0);
	while (preloaded() && !atomic_load(&is_back) && standin_calls("cuMemcpyDtoDAsync") == 0)
		pause_ms(1);
	OK(cuMemcpyHtoD_v2(there + BLOCK, other, BLOCK));
	bool was_closed = is_closed(other);
	/* A machine that is slower than that shows nothing. */
	CHECK(atomic_load(&is_back) || !was_closed);
	memset(other, 1, BLOCK);
	pthread_join(thread, NULL);
	memset(block, 1, BLOCK);
	CHECK(device_holds(there, BLOCK, seed));
	CHECK(device_holds(there + BLOCK, BLOCK, ++seed));
}

static void *in_its_own_context(void *arg)
{
	CUcontext mine;
	CUdeviceptr to;

	OK(cuCtxCreate_v2(&mine, 0, 0));
	OK(cuMemAlloc_v2(&to, BLOCK));
	char *source = malloc(BLOCK);
	for (unsigned turn = 0; turn < 12; turn++) {
		fill(source, BLOCK, turn);
		OK(cuMemsetD8Async(to, 0, BLOCK, NULL));
		OK(cuMemcpyHtoD_v2(to, source, BLOCK));
		memset(source, 1, BLOCK);
		CHECK(it_holds(to, turn));
	}
	OK(cuCtxDestroy_v2(mine));
	free(source);
	return arg;
}

TEST_WITH(contexts, EARLY)
{
	pthread_t threads[3];

	block = source_of(BLOCK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, in_its_own_context, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	SURVIVES(block[0]++);
}

/* fill; upload; kernel, again and again: each kernel reads what was filled for it. */
static unsigned right, wrong;
STANDIN_EXPORT standin_twin_fn standin_twin_reads;
void standin_twin_reads(const unsigned grid[3], const unsigned size[3], void **args)
{
	const char *at = standin_host(there);

	(void)grid, (void)size;
	if (holds(at, BLOCK, *(unsigned *)args[0]))
		right++;
	else
		wrong++;
}
STANDIN_EXPORT const unsigned standin_args_reads[] = { 4, 0 };

TEST_WITH(loop, EARLY)
{
	CUmodule module;
	CUfunction reads;

	block = source_of(BLOCK);
	OK(cuModuleLoadData(&module, "module"));
	OK(cuModuleGetFunction(&reads, module, "reads"));
	for (int turn = 0; turn < 12; turn++) {
		void *args[] = { &seed };

		fill(block, BLOCK, ++seed);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		OK(cuLaunchKernel(reads, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	}
	OK(cuCtxSynchronize());
	CHECK(right == 12 && wrong == 0);
	CHECK_EQ(standin_calls("cuMemcpyDtoDAsync") > 0, preloaded());
}

/* Who writes at once, and has to wait for it, is soon left alone. */
TEST_WITH(unlearned, EARLY)
{
	int early = 0, not_since = 0;

	block = source_of(BLOCK);
	/* On a busy machine it may be there before it is written, which costs nothing. */
	for (int i = 0; i < 100 && (not_since < 8 || early < preloaded()); i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		bool closed = is_closed(block);
		early += closed;
		not_since = closed ? 0 : not_since + 1;
		block[BLOCK - 1]++;
	}
	printf("# %d came back early\n", early);
	CHECK(early >= preloaded());
	CHECK(not_since >= 8);
}

/* And who writes late is not, but for turns that the machine has held up. */
TEST_WITH(learned, EARLY)
{
	int early = 0;

	block = source_of(BLOCK);
	for (int i = 0; i < 16; i++) {
		launch(NULL);
		OK(cuMemcpyHtoD_v2(there, block, BLOCK));
		early += is_closed(block);
		standin_step_all();
		block[BLOCK - 1]++;
		block[0]++;
	}
	CHECK(!preloaded() || early > 8);
}

PRELOAD_MAIN()
