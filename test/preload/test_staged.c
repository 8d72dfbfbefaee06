/*
 * test_staged.c - sequences of copies through the staging ring: threads, captures, contexts,
 * inaccessible pages.  test_routes.c tests single copies.
 *
 * Assertions that do not depend on staging() also hold without the library.
 */
#include "thread.h"
#include "promote.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static char array[24 * MIB];
static char other[24 * MIB];

/* True if the ring, the only registration here, was used. */
static bool named_ring(void)
{
	return standin_calls("cuMemcpyDtoH") + standin_calls("cuMemcpyHtoDAsync") +
			       standin_calls("cuMemcpyDtoHAsync") >
		       0 &&
	       strstr(standin_log_text(), "registered") != NULL;
}

/* Makes `call` and checks that it used the ring if the library acts. */
#define THROUGH_RING(call)                                                 \
	do {                                                               \
		standin_log_reset();                                       \
		OK(call);                                                  \
		CHECK_EQ(standin_calls("cuEventRecord") > 0, preloaded()); \
	} while (0)

/* The same for a copy that is one driver call. */
#define BY_ONE_CALL(call)                                    \
	do {                                                 \
		standin_log_reset();                         \
		OK(call);                                    \
		CHECK_EQ(standin_calls("cuEventRecord"), 0); \
		CHECK_EQ(standin_calls("cuEventQuery"), 0);  \
		CHECK_EQ(named_ring(), preloaded());         \
	} while (0)

/*
 * The range extends into reserved addresses after a mapping: the driver reports one range, but
 * refuses the copy.
 */
TEST_WITH(mapped_in_part, STAGED)
{
	const CUmemAllocationProp of = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	const CUmemAccessDesc access = { .location = of.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	begin();
	OK(cuMemCreate(&handle, 16 * MIB, &of, 0));
	OK(cuMemAddressReserve(&at, 32 * MIB, 0, 0, 0));
	OK(cuMemMap(at, 16 * MIB, 0, handle, 0));
	OK(cuMemSetAccess(at, 16 * MIB, &access, 1));
	OK(cuMemsetD8_v2(at, 0x11, 16 * MIB));
	OK(cuCtxSynchronize());
	memset(array, 0x22, sizeof(array));
	CHECK_EQ(cuMemcpyHtoD_v2(at, array, sizeof(array)), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(*(char *)standin_host(at), 0x11);
	CHECK_EQ(cuMemcpyDtoH_v2(array, at, sizeof(array)), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(array[0], 0x22);
	/* Two adjacent mappings are one range. */
	OK(cuMemCreate(&handle, 16 * MIB, &of, 0));
	OK(cuMemMap(at + 16 * MIB, 16 * MIB, 0, handle, 0));
	OK(cuMemSetAccess(at + 16 * MIB, 16 * MIB, &access, 1));
	THROUGH_RING(cuMemcpyHtoD_v2(at + MIB, array, sizeof(array)));
	OK(cuCtxSynchronize());
	CHECK_EQ(*(char *)standin_host(at + 20 * MIB), 0x22);
}

static void *capture(void *arg)
{
	CUgraph graph;
	CUstream stream = arg;

	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 30; i++) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
		OK(cuMemcpyHtoDAsync_v2(there, array, 64, stream));
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
	}
	return NULL;
}

/* The library records no event on the legacy stream while a blocking stream is captured. */
TEST_AFTER_WITH(capture, begin(), STAGED)
{
	CUstream stream, ordered;
	CUgraph graph;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&ordered, 0));
	OK(cuStreamBeginCapture_v2(ordered, CU_STREAM_CAPTURE_MODE_GLOBAL));
	standin_log_reset();
	OK(cuMemcpyHtoDAsync_v2(there, array, 8 * MIB, ordered));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	OK(cuStreamEndCapture(ordered, &graph));
	/* The per-thread stream during captures of another thread, in any order. */
	pthread_t thread = check_thread(capture, stream);
	for (int i = 0; i < 30; i++) {
		fill(array + MIB, MIB, (unsigned)i);
		OK(cuMemcpyHtoDAsync_v2_ptsz(there + MIB, array + MIB, MIB, NULL));
		OK(cuMemcpyDtoHAsync_v2_ptsz(other, there + MIB, MIB, NULL));
		CHECK(holds(other, MIB, (unsigned)i));
	}
	pthread_join(thread, NULL);
}

static CUdeviceptr flag;

static void *run_download(void *arg)
{
	(void)arg;
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyDtoH_v2(other, there, sizeof(other)));
	return NULL;
}

static _Atomic bool capture_begins;

/* Lets the copy continue when the main thread waits for it, or has begun the capture. */
static void *release(void *arg)
{
	(void)arg;
	WAIT_FOR(!capture_begins || thread_is_blocked(getpid()));
	*(volatile uint32_t *)standin_host(flag) = 1;
	return NULL;
}

/* A capture begins while a copy on the legacy stream is in flight and must enqueue more there. */
TEST_AFTER_WITH(capture_begins_meanwhile, begin(), STAGED)
{
	CUstream before, ordered;
	CUgraph graph;

	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	fill(array, sizeof(array), 1);
	OK(cuMemcpyHtoD_v2(there, array, sizeof(array)));
	OK(cuStreamCreate(&before, 0));
	OK(cuStreamCreate(&ordered, 0));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32_v2(before, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	pthread_t copying = check_thread(run_download, NULL);
	WAIT_FOR(standin_pending(NULL) != 0);
	capture_begins = true;
	pthread_t releasing = check_thread(release, NULL);
	OK(cuStreamBeginCapture_v2(ordered, CU_STREAM_CAPTURE_MODE_RELAXED));
	capture_begins = false;
	/*
	 * Without the library the copy waits for the end of the capture; the library's copy has
	 * ended by now.
	 */
	if (preloaded())
		pthread_join(copying, NULL);
	OK(cuStreamEndCapture(ordered, &graph));
	if (!preloaded())
		pthread_join(copying, NULL);
	pthread_join(releasing, NULL);
	CHECK(memcmp(array, other, sizeof(array)) == 0);
}

/*
 * The copy workers are the parent's; a child that forks before the first use of CUDA creates its
 * own.
 */
TEST_WITH(forks, STAGED)
{
	if (CHECK_CHILD(0)) {
		begin();
		THROUGH_RING(cuMemcpyHtoD_v2(there, array, 8 * MIB));
		_exit(check_failures);
	}
	begin();
	fill(array, 8 * MIB, 1);
	THROUGH_RING(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	if (CHECK_CHILD(0))
		_exit(0);
	THROUGH_RING(cuMemcpyDtoH_v2(other, there, 8 * MIB));
	CHECK(holds(other, 8 * MIB, 1));
}

/* Staging memory would take from the memory that the program may lock. */
TEST_AFTER_WITH(locked_mappings, begin(), STAGED)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (limit.rlim_cur == RLIM_INFINITY)
		limit.rlim_cur = limit.rlim_max = 64 * MIB;
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (mlockall(MCL_FUTURE | MCL_ONFAULT) != 0)
		CHECK_SKIP("memory cannot be locked");
	fill(array, 8 * MIB, 1);
	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	OK(cuMemcpyDtoH_v2(other, there, 8 * MIB));
	CHECK(!named_ring());
	CHECK(holds(other, 8 * MIB, 1));
}

static pid_t caller;

static void on_fault(int signal)
{
	(void)signal;
	CHECK_EQ(gettid(), caller);
	check_end_here();
}

static void *map_closed(void)
{
	caller = gettid();
	signal(SIGSEGV, on_fault);
	return mmap(NULL, 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* An inaccessible address faults in the thread that called. */
TEST_AFTER_WITH(bad_source, begin(), STAGED)
{
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB)); /* the copy workers are awake */
	OK(cuMemcpyHtoD_v2(there, map_closed(), 8 * MIB));
	CHECK(false);
}

/* A hole in the middle. */
TEST_WITH(hole_in_destination, STAGED)
{
	char *target = map_closed();

	begin();
	OK(cuMemcpyDtoH_v2(array, there, 8 * MIB));
	mprotect(target, 8 * MIB, PROT_READ | PROT_WRITE);
	mprotect(target + 5 * MIB, 4096, PROT_READ);
	OK(cuMemcpyDtoH_v2(target, there, 8 * MIB));
	CHECK(false);
}

static char *lazy;
static _Atomic int filled;

/* A program that provides its pages itself, when they are accessed. */
static void on_lazy(int number, siginfo_t *info, void *context_of)
{
	uintptr_t page = (uintptr_t)info->si_addr & -(uintptr_t)(64 * KIB);
	size_t first = (page - (uintptr_t)lazy) / 8;

	(void)context_of;
	if (gettid() != caller || page - (uintptr_t)lazy >= 8 * MIB ||
	    mprotect((void *)page, 64 * KIB, PROT_READ | PROT_WRITE) != 0)
		_exit(number);
	for (size_t i = 0; i < 8 * KIB; i++)
		((uint64_t *)page)[i] = word_at(first + i, 5);
	filled++;
}

TEST_AFTER_WITH(pages_that_come_when_touched, begin(), STAGED)
{
	struct sigaction action = { .sa_sigaction = on_lazy, .sa_flags = SA_SIGINFO };

	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	lazy = map_closed();
	sigaction(SIGSEGV, &action, NULL);
	OK(cuMemcpyHtoD_v2(there, lazy, 8 * MIB));
	CHECK(device_holds(there, 8 * MIB, 5));
	CHECK_EQ(filled, 128);
	fill(array, 8 * MIB, 6);
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	/* Some pages are present, some are not. */
	for (size_t at = 0; at < 8 * MIB; at += 256 * KIB)
		mprotect(lazy + at, 64 * KIB, PROT_NONE);
	OK(cuMemcpyDtoH_v2(lazy, there, 8 * MIB));
	CHECK(holds(lazy, 8 * MIB, 6));
	CHECK_EQ(filled, 160);
	/* The ring is complete. */
	for (int i = 0; i < 20; i++)
		THROUGH_RING(cuMemcpyHtoD_v2(there, lazy, 8 * MIB));
}

/* Not forced: the ring is created once it pays off, and then stays. */
TEST_AFTER_WITH(earned, begin(), "HOTPIN_THREADS=4", "HOTPIN_HEAP_MIN=0", "HOTPIN_ASYNC=0")
{
	OK(cuMemcpyHtoD_v2(there, array, 16 * MIB));
	CHECK_EQ(standin_registered_bytes(), 0);
	for (int i = 0; i < 6; i++)
		OK(cuMemcpyHtoD_v2(there, array, 16 * MIB));
	CHECK_EQ(standin_registered_bytes(), preloaded() ? 32 * MIB : 0);
	THROUGH_RING(cuMemcpyHtoD_v2(there, array, 16 * MIB));
	THROUGH_RING(cuMemcpyDtoH_v2(array, there, MIB));
	BY_ONE_CALL(cuMemcpyDtoH_v2(array, there, 32 * KIB));
	BY_ONE_CALL(cuMemcpyDtoHAsync_v2(array, there, 64 * KIB - 1, NULL));
	standin_log_reset();
	OK(cuMemcpyDtoH_v2(array, there, 32 * KIB - 1));
	OK(cuMemcpyHtoD_v2(there, array, 64 * KIB - 1));
	CHECK(!named_ring());
	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, array, 256 * KIB));
	OK(cuMemcpyHtoD_v2(there, array, MIB));
	OK(cuMemcpyHtoDAsync_v2(there, array, 8 * MIB - 1, NULL));
	CHECK_EQ(standin_calls("cuEventRecord"), 0);
	/* A larger upload is staged, and the program may change its memory immediately. */
	fill(array, 8 * MIB, 7);
	THROUGH_RING(cuMemcpyHtoDAsync_v2(there, array, 8 * MIB, NULL));
	fill(array, 8 * MIB, 8);
	CHECK(device_holds(there, 8 * MIB, 7));
}

/* The copy workers fill a new block without contents, which is pinned another time. */
TEST_AFTER_WITH(untouched_block, begin(), "HOTPIN_THREADS=4")
{
	fill(array, 24 * MIB, 1);
	OK(cuMemcpyHtoD_v2(there, array, 24 * MIB));
	OK(cuMemcpyHtoD_v2(there, array, 24 * MIB));
	OK(cuMemcpyHtoD_v2(there, array, 24 * MIB));
	char *fresh = malloc(24 * MIB);
	THROUGH_RING(cuMemcpyDtoH_v2(fresh, there, 24 * MIB));
	CHECK(holds(fresh, 24 * MIB, 1));
	CHECK_EQ(standin_pinned(fresh), 0);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyDtoH_v2(fresh, there, 24 * MIB));
	CHECK_EQ(standin_pinned(fresh) != 0, preloaded());
	CHECK(holds(fresh, 24 * MIB, 1));
}

/* Many buffers: their kind is known, and not queried for each copy. */
TEST_AFTER_WITH(many_pinned_buffers, begin(), "HOTPIN_THREADS=4")
{
	char *pinned[12];

	for (int i = 0; i < 12; i++)
		OK(cuMemHostAlloc((void **)&pinned[i], MIB, 0));
	standin_log_reset();
	for (int i = 0; i < 1200; i++)
		OK(cuMemcpyDtoHAsync_v2(pinned[i % 12], there, MIB, NULL));
	OK(cuCtxSynchronize());
	CHECK(standin_calls("cuPointerGetAttributes") < 120);
}

/* As threadprivate arrays in OpenMP: a thread's stack must hold it. */
__thread char private[MIB];

/* Threads of a process with such memory. */
TEST_AFTER_WITH(large_thread_local_memory, begin(), STAGED)
{
	private[MIB / 2] = 1;
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	/* Three are copy workers. */
	CHECK_EQ(thread_each_other(NULL) > 3, preloaded());
}

PRELOAD_MAIN()
