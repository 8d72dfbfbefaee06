/*
 * test_busy.c - freed blocks are pinned and the device is not idle, or may not be asked: nothing of
 * ours is in the way of the program, and nothing hangs.
 */
#include "resident.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

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

static char small[KIB];
static CUstream forever;
static CUdeviceptr word;

static void prepare_forever(void)
{
	OK(cuMemAlloc_v2(&word, 4));
	*(uint32_t *)standin_host(word) = 0;
	OK(cuStreamCreate(&forever, CU_STREAM_NON_BLOCKING));
}

/* A stream that waits for a value that nobody writes: a kernel that runs on and on. */
static void run_forever(void)
{
	prepare_forever();
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
	/* What we did would be in the way each time, what else the machine does is not. */
	uint64_t slowest = SECOND;
	for (int i = 0; i < 4 && slowest >= SECOND / 2; i++)
		slowest = work_on(preloaded() ? 2 : 0.2);
	CHECK(slowest < SECOND / 2);
	CHECK(others_cpu_ns() - cpu < SECOND / 4);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	CHECK_EQ(standin_pending(forever), 1);

	/* In the end it ends. */
	*(uint32_t *)standin_host(word) = 1;
	CHECK_EQ(standin_step(forever, 1), 1);
	CHECK(shrinks_to(base + 64 * MIB, 10));
}

/* The blocks were pinned in a context that has nothing to do; the device has. */
static bool let_go;
static _Atomic bool all_came_back;

/* Whoever waits for the kernel that never ends shall be told, not hang. */
static void *let_go_at_last(void *unused)
{
	(void)unused;
	for (int i = 0; i < 300 && !all_came_back; i++)
		usleep(10000);
	let_go = !all_came_back;
	*(uint32_t *)standin_host(word) = 1;
	return NULL;
}

/* Each returns natively: one on a stream, of a size that the driver takes in. */
TEST(more_uploads_than_the_ring_holds)
{
	const size_t bytes = MIB, count = 40;
	CUstream streams[40];
	pthread_t other;

	begin();
	char *block = malloc(count * bytes);
	fill(block, count * bytes, 1);
	CHECK_EQ(heat(block, count * bytes), preloaded());
	prepare_forever();
	for (size_t i = 0; i < count; i++) {
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuStreamWaitValue32_v2(streams[i], word, 1, CU_STREAM_WAIT_VALUE_EQ));
	}
	pthread_create(&other, NULL, let_go_at_last, NULL);
	for (size_t i = 0; i < count; i++) {
		fill(block + i * bytes, bytes, 2 + (unsigned)i);
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, block + i * bytes, bytes, streams[i]));
		memset(block + i * bytes, 0xee, bytes);
	}
	all_came_back = true;
	pthread_join(other, NULL);
	CHECK(!let_go);
	for (size_t i = 0; i < count; i++)
		CHECK(device_holds(there + i * bytes, bytes, 2 + (unsigned)i));
	free(block);
}

TEST(a_kernel_of_another_context)
{
	CUcontext other;

	base_line();
	allocate(true);
	OK(cuCtxCreate_v2(&other, 0, 0));
	run_forever();
	OK(cuCtxSetCurrent(context));
	int before = standin_calls("cuMemHostUnregister");
	free_all();
	rest(3);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	OK(cuCtxSetCurrent(other));
	CHECK_EQ(standin_pending(forever), 1);
	*(uint32_t *)standin_host(word) = 1;
}

/* What the device was asked about is done, but new work has come behind it. */
TEST(work_that_comes_meanwhile)
{
	CUstream later;

	base_line();
	allocate(true);
	run_forever();
	int asked = standin_calls("cuCtxRecordEvent");
	int before = standin_calls("cuMemHostUnregister");
	free_all();
	while (preloaded() && standin_calls("cuCtxRecordEvent") == asked)
		usleep(1000);
	OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(later, word, 2, CU_STREAM_WAIT_VALUE_EQ));
	*(uint32_t *)standin_host(word) = 1;
	CHECK_EQ(standin_step(forever, 1), 1);
	rest(2);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	CHECK_EQ(standin_pending(later), 1);
	*(uint32_t *)standin_host(word) = 2;
}

/* All is pinned and due: comes back when some of it is not any more, and the rest is. */
static bool some_is_unpinned(void)
{
	size_t all = standin_registered_bytes();

	for (int i = 0; i < 10000 && all != 0 && standin_registered_bytes() == all; i++)
		usleep(500);
	return standin_registered_bytes() < all;
}

/*
 * It comes while blocks are being unpinned, and ends when the program has made one more call: an
 * unpinning that finds it there would wait for it, and that call for the unpinning.
 */
TEST_WITH(a_kernel_that_comes_meanwhile, "STANDIN_LATE=cuMemHostUnregister:60")
{
	CUstream other;

	begin();
	allocate(true);
	prepare_forever();
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	free_all();
	CHECK_EQ(some_is_unpinned(), preloaded());
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
	usleep(100000);
	OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
	*(uint32_t *)standin_host(word) = 1;
	OK(cuCtxSynchronize());
	/* The others go all the same, afterwards. */
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
}

/* Others that see the device idle, over and over, do not make work wait for two turns. */
static _Atomic bool seen_enough;

static void *see_it_idle(void *arg)
{
	OK(cuCtxSetCurrent(context));
	while (!atomic_load(&seen_enough))
		OK(cuCtxSynchronize());
	return arg;
}

TEST_WITH(work_waits_once, "STANDIN_LATE=cuMemHostUnregister:3")
{
	pthread_t threads[12];
	CUstream other;
	int most = 0;

	begin();
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	/* Of all that could run, who unpins does. */
	setpriority(PRIO_PROCESS, 0, 19);
	for (int round = 0; round < 5; round++) {
		allocate(true);
		atomic_store(&seen_enough, false);
		for (int i = 0; i < 12; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, see_it_idle, NULL), 0);
		free_all();
		for (int i = 0; i < 3000 && standin_registered_bytes() != 0; i++) {
			int before = standin_calls("cuMemHostUnregister");
			OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
			int meanwhile = standin_calls("cuMemHostUnregister") - before;
			most = meanwhile > most ? meanwhile : most;
			usleep(3000);
		}
		atomic_store(&seen_enough, true);
		for (int i = 0; i < 12; i++)
			pthread_join(threads[i], NULL);
		CHECK_EQ(standin_registered_bytes(), 0);
	}
	/*
	 * 64 MiB are nine pieces.  Who has waited for them may be slow to reach the driver where
	 * the machine is busy, but not for as long again.
	 */
	printf("# at most %d in one call\n", most);
	CHECK(most < 18);
}

/* Blocks are pinned in a context that has nothing to do; what runs forever is of this one. */
static CUcontext busy;
static CUstream beside; /* of it, too */

static void begin_with_two(void)
{
	begin();
	OK(cuCtxCreate_v2(&busy, 0, 0));
	prepare_forever();
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSetCurrent(context));
	allocate(true);
}

static void put_kernel(void)
{
	*(uint32_t *)standin_host(word) = 0;
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
}

/* The program's next call, `us` later, comes back though the kernel waits for it. */
static void call_after(unsigned us)
{
	pthread_t patient;

	all_came_back = false;
	CHECK_EQ(pthread_create(&patient, NULL, let_go_at_last, NULL), 0);
	usleep(us);
	OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, beside));
	all_came_back = true;
	pthread_join(patient, NULL);
	CHECK(!let_go);
}

/*
 * Work comes between two turns, and another thread sees at once that its own context has nothing to
 * do: the device has.
 */
TEST_WITH(a_kernel_between_two_turns, "STANDIN_LATE=cuMemHostUnregister:15")
{
	pthread_t idle;

	begin_with_two();
	OK(cuCtxSetCurrent(busy));
	CHECK_EQ(pthread_create(&idle, NULL, see_it_idle, NULL), 0);
	free_all();
	CHECK_EQ(some_is_unpinned(), preloaded());
	while (standin_registered_bytes() != 0 && !let_go) {
		put_kernel();
		call_after(60000);
		*(uint32_t *)standin_host(word) = 1;
		OK(cuCtxSynchronize());
		usleep(20000);
	}
	atomic_store(&seen_enough, true);
	pthread_join(idle, NULL);
}

/* Likewise while the device is being asked, which has said by then that it is idle. */
TEST_WITH(a_kernel_behind_the_question, "STANDIN_SLOW=cuEventDestroy:100")
{
	pthread_t idle;

	begin_with_two();
	OK(cuCtxSetCurrent(busy));
	int before = standin_calls("cuEventDestroy");
	free_all();
	for (int i = 0; preloaded() && i < 5000 && standin_calls("cuEventDestroy") == before; i++)
		usleep(500);
	put_kernel();
	CHECK_EQ(pthread_create(&idle, NULL, see_it_idle, NULL), 0);
	call_after(300000);
	atomic_store(&seen_enough, true);
	pthread_join(idle, NULL);
}

/* What waits for a copy first comes to a device that is being unpinned from by then. */
TEST_WITH(a_kernel_behind_a_copy, "STANDIN_LATE=cuMemHostUnregister:20",
	  "STANDIN_SLOW=cuEventSynchronize:1250")
{
	begin_with_two();
	free_all();
	OK(cuMemcpyHtoD_v2(there, small, sizeof(small)));
	OK(cuCtxSetCurrent(busy));
	put_kernel();
	call_after(60000);
	printf("# %zu bytes are still pinned\n", standin_registered_bytes());
}

static _Atomic bool comes;

static void *put_kernel_late(void *arg)
{
	OK(cuCtxSetCurrent(busy));
	uint64_t begun_ns = now_ns();
	comes = true;
	put_kernel();
	*(uint64_t *)arg = now_ns() - begun_ns;
	return NULL;
}

/* It is on its way through the driver when another thread sees its own context idle. */
TEST_WITH(a_kernel_on_its_way, "STANDIN_LATE=cuStreamWaitValue32:2",
	  "STANDIN_SLOW=cuMemHostUnregister:15")
{
	pthread_t other;
	uint64_t took_ns;

	begin_with_two();
	put_kernel();
	free_all();
	/* Looked at in vain for a second, the device is left alone for another. */
	rest(2.5);
	*(uint32_t *)standin_host(word) = 1;
	CHECK_EQ(standin_step(forever, 1), 1);
	size_t all = standin_registered_bytes();
	CHECK_EQ(pthread_create(&other, NULL, put_kernel_late, &took_ns), 0);
	while (!comes)
		usleep(50);
	usleep(200);
	OK(cuCtxSynchronize());
	pthread_join(other, NULL);
	if (took_ns > SECOND / 250)
		CHECK_SKIP("it came later than anybody is waited for");
	OK(cuCtxSetCurrent(busy));
	call_after(60000);
	printf("# of %zu bytes %zu are still pinned\n", all, standin_registered_bytes());
}

/* An unpinning that takes too long, as behind a kernel that nobody has seen, holds up one call. */
TEST_WITH(patience_is_lost_once, "STANDIN_LATE=cuMemHostUnregister:300")
{
	CUstream other;

	begin();
	allocate(true);
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	free_all();
	CHECK_EQ(some_is_unpinned(), preloaded());
	uint64_t begun = now_ns();
	for (int i = 0; i < 3; i++)
		OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
	CHECK(now_ns() - begun < 2 * SECOND);
	/* Between two turns nothing is under way. */
	for (int calls = -1; calls != standin_calls("cuMemHostUnregister");) {
		calls = standin_calls("cuMemHostUnregister");
		usleep(400000);
	}
}

/*
 * The housekeeper looks for up to a second whether the device is idle; a fork() that comes
 * meanwhile has it look anew.
 */
TEST_WITH(fork_ends_a_look, "STANDIN_PIN=soft")
{
	bool anew = !preloaded();

	begin();
	allocate(true);
	run_forever();
	int asked = standin_calls("cuCtxRecordEvent");
	free_all();
	while (preloaded() && standin_calls("cuCtxRecordEvent") == asked)
		usleep(1000);
	/* By now it sleeps longest between two questions. */
	rest(0.2);
	for (int i = 0; i < 4 && !anew; i++) {
		asked = standin_calls("cuCtxRecordEvent");
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		anew = standin_calls("cuCtxRecordEvent") > asked;
		CHECK_EQ(waitpid(child, NULL, 0), child);
	}
	CHECK(anew);
	*(uint32_t *)standin_host(word) = 1;
}

/* While a capture is open nothing that we could ask would not end it. */
TEST(a_long_capture_is_not_broken)
{
	CUstream stream;
	CUgraph graph = NULL;

	base_line();
	allocate(true);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	free_all();
	rest(3);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy_v2(stream));
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK_EQ(standin_registered_bytes(), 0);
}

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
	CUcontext other, again;
	CUstream stream;
	CUevent mine;

	base_line();
	for (int i = 0; i < 3 && check_failures == 0; i++) {
		OK(cuCtxSetCurrent(context));
		allocate(true);
		OK(cuCtxCreate_v2(&other, 0, 0));
		run_forever();
		int asked = standin_calls("cuCtxRecordEvent");
		free_all();
		while (preloaded() && standin_calls("cuCtxRecordEvent") < asked + 2)
			usleep(1000);
		*(uint32_t *)standin_host(word) = 1;
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxCreate_v2(&again, 0, 0));
		OK(cuEventCreate(&mine, CU_EVENT_DISABLE_TIMING));
		rest(0.2);
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuEventRecord(mine, stream));
		CHECK_EQ(cuEventQuery(mine), CUDA_ERROR_NOT_READY);
		OK(cuEventSynchronize(mine));
		OK(cuCtxDestroy_v2(again));
		for (int n = 0; n < 500 && standin_registered_bytes() != 0; n++)
			usleep(20000);
		CHECK_EQ(standin_registered_bytes(), 0);
	}
}

/* A context does not go while the housekeeper is at it: the driver would not survive that. */
TEST_WITH(contexts_that_go_at_once, "STANDIN_SLOW=cuEventCreate:60")
{
	CUcontext other;

	base_line();
	allocate(true);
	OK(cuCtxCreate_v2(&other, 0, 0));
	int asked = standin_calls("cuEventCreate");
	free_all();
	/* The second of the two events, of a context that is current there. */
	while (preloaded() && standin_calls("cuEventCreate") < asked + 2)
		usleep(1000);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 500 && standin_registered_bytes() != 0; i++)
		usleep(20000);
	CHECK(strstr(standin_log_text(), "! cuCtxRecordEvent") == NULL);
}

PRELOAD_MAIN()
