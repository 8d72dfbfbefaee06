/*
 * test_busy.c - freed blocks are pinned while the device is busy or cannot be queried: the library
 * does not delay the program, and nothing hangs.
 */
#include "resident.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static char small[KIB];
static CUstream forever;
static CUdeviceptr word;

/* Other threads may look at the word in the driver. */
static void write_word(uint32_t value)
{
	__atomic_store_n((uint32_t *)standin_host(word), value, __ATOMIC_RELAXED);
}

static void prepare_forever(void)
{
	OK(cuMemAlloc_v2(&word, 4));
	write_word(0);
	OK(cuStreamCreate(&forever, CU_STREAM_NON_BLOCKING));
}

/* Makes a stream wait for a value that nobody writes, like a kernel that never ends. */
static void run_forever(void)
{
	prepare_forever();
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
	CHECK_EQ(standin_pending(forever), 1);
}

/* Copies, allocates and frees next to it for two seconds; returns the slowest round. */
static uint64_t work_on(void)
{
	uint64_t end = test_clock_ns() + 2 * TEST_S, slowest = 0;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (test_clock_ns() < end && check_failures == 0) {
		uint64_t begun = test_clock_ns();
		char *block = malloc(2 * MIB);

		fill(block, 64 * KIB, 5);
		OK(cuMemcpyHtoDAsync_v2(there, block, MIB, stream));
		OK(cuMemcpyDtoHAsync_v2(block + MIB, there, 64 * KIB, stream));
		OK(cuStreamSynchronize(stream));
		CHECK(holds(block + MIB, 64 * KIB, 5));
		free(block);
		uint64_t took = test_clock_ns() - begun;
		slowest = took > slowest ? took : slowest;
		test_clock_step(30 * TEST_MS);
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
	int asked = standin_calls("cuEventQuery");
	free_all();
	/* First silence, in which the device may be queried, then work. */
	rest(4);
	CHECK(work_on() < TEST_S / 2);
	asked = standin_calls("cuEventQuery") - asked;
	printf("# asked %d times in 6 s\n", asked);
	CHECK(asked < 600);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	CHECK_EQ(standin_pending(forever), 1);

	/* The kernel ends. */
	write_word(1);
	CHECK_EQ(standin_step(forever, 1), 1);
	/*
	 * The ring stays pinned, and a freed block may be kept until ten seconds have passed
	 * without an allocation: that is two times 32 MiB.  A sanitizer needs memory of its own,
	 * also for the stacks of threads.
	 */
	CHECK(SANITIZED || shrinks_to(base + 64 * MIB, 12));
}

/* The blocks were pinned in a context without work; the device has work. */
static bool let_go;
static _Atomic bool all_returned;

/*
 * Ends the kernel if the main thread waits for it, so that the test fails instead of hanging.
 * Three seconds of the test clock pass while no thread can continue otherwise.  A thread that polls
 * the device can always continue, so there is also a limit by the kernel's clock.
 */
static void *let_go_at_last(void *unused)
{
	uint64_t left_ns = 3 * TEST_S;
	time_t end_s = check_now_s() + check_limit(20);

	(void)unused;
	while (!all_returned && left_ns > 0 && check_now_s() < end_s) {
		check_give_a_chance();
		if (!test_clock_settled() || all_returned)
			continue;
		test_clock_pass(STEP_NS);
		left_ns -= STEP_NS;
	}
	let_go = !all_returned;
	write_word(1);
	return NULL;
}

/*
 * Without the library each upload returns: it is on a stream, and of a size that the driver copies
 * immediately.
 */
TEST_AFTER(more_uploads_than_the_ring_holds, begin())
{
	const size_t bytes = MIB, count = 40;
	CUstream streams[40];

	char *block = malloc(count * bytes);
	fill(block, count * bytes, 1);
	CHECK_EQ(heat(block, count * bytes), preloaded());
	prepare_forever();
	for (size_t i = 0; i < count; i++) {
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuStreamWaitValue32_v2(streams[i], word, 1, CU_STREAM_WAIT_VALUE_EQ));
	}
	pthread_t other = check_thread(let_go_at_last, NULL);
	for (size_t i = 0; i < count; i++) {
		fill(block + i * bytes, bytes, 2 + (unsigned)i);
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, block + i * bytes, bytes, streams[i]));
		memset(block + i * bytes, 0xee, bytes);
	}
	all_returned = true;
	pthread_join(other, NULL);
	CHECK(!let_go);
	for (size_t i = 0; i < count; i++)
		CHECK(device_holds(there + i * bytes, bytes, 2 + (unsigned)i));
	free(block);
}

/* The queried work is complete, but new work follows it. */
TEST_AFTER(work_that_comes_meanwhile, base_line())
{
	CUstream later;

	char *block = promoted(8 * MIB);
	run_forever();
	int asked = standin_calls("cuCtxRecordEvent");
	int before = standin_calls("cuMemHostUnregister");
	free(block);
	if (preloaded())
		PASS_UNTIL(standin_calls("cuCtxRecordEvent") > asked, TEST_MS);
	OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(later, word, 2, CU_STREAM_WAIT_VALUE_EQ));
	write_word(1);
	CHECK_EQ(standin_step(forever, 1), 1);
	rest(2);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	CHECK_EQ(standin_pending(later), 1);
	write_word(2);
}

/* All blocks are pinned and due.  Returns when some are unpinned, but not all. */
static bool some_is_unpinned(void)
{
	size_t all = standin_registered_bytes();

	if (all != 0)
		PASS_UNTIL(standin_registered_bytes() < all, 5 * TEST_MS);
	return standin_registered_bytes() < all;
}

/*
 * The kernel comes while blocks are being unpinned, and ends after the program's next call.
 * Unpinning would wait for the kernel, and that call for the unpinning.
 */
TEST_AFTER_WITH(a_kernel_that_comes_meanwhile, begin(), "STANDIN_LATE=cuMemHostUnregister:60",
		"HOTPIN_RING=0")
{
	CUstream other;

	allocate(true);
	prepare_forever();
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	free_all();
	CHECK_EQ(some_is_unpinned(), preloaded());
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
	test_clock_step(TEST_MS);
	OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
	write_word(1);
	OK(cuCtxSynchronize());
	/* The others are unpinned afterwards. */
	PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
}

TEST_AFTER_WITH(work_waits_once, begin(), "STANDIN_LATE=cuMemHostUnregister:3", "HOTPIN_RING=0")
{
	CUstream other;
	int most = 0;

	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	allocate(true);
	free_all();
	while (some_is_unpinned() && check_failures == 0) {
		int before = standin_calls("cuMemHostUnregister");
		OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
		int meanwhile = standin_calls("cuMemHostUnregister") - before;
		most = meanwhile > most ? meanwhile : most;
		OK(cuStreamSynchronize(other));
	}
	CHECK_EQ(standin_registered_bytes(), 0);
	/*
	 * 64 MiB are nine registrations.  On a busy machine, a thread that has waited for them may
	 * be slow to reach the driver, but not for as long again.
	 */
	printf("# at most %d in one call\n", most);
	CHECK(most < 18);
}

/* Blocks are pinned in a context without work; the endless kernel is in this one. */
static CUcontext busy;
static CUstream concurrent; /* of it, too */

/* The context `busy` is current. */
static void prepare_two(void)
{
	prepare_forever();
	OK(cuStreamCreate(&concurrent, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSetCurrent(context));
	allocate(true);
}

static void begin_with_two(void)
{
	begin();
	OK(cuCtxCreate_v2(&busy, 0, 0));
	prepare_two();
}

static void put_kernel(void)
{
	write_word(0);
	OK(cuStreamWaitValue32_v2(forever, word, 1, CU_STREAM_WAIT_VALUE_EQ));
}

/* The program's next call returns although the kernel waits for it. */
static void call_later(void)
{
	all_returned = false;
	pthread_t patient = check_thread(let_go_at_last, NULL);
	/* Long enough for the end of one unregistration. */
	for (int i = 0; i < 3; i++) {
		check_give_a_chance();
		test_clock_pass(STEP_NS);
	}
	OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, concurrent));
	all_returned = true;
	pthread_join(patient, NULL);
	CHECK(!let_go);
}

/* Work comes between two turns. */
TEST_AFTER_WITH(a_kernel_between_two_turns, begin_with_two(), "STANDIN_LATE=cuMemHostUnregister:15",
		"HOTPIN_RING=0")
{
	OK(cuCtxSetCurrent(busy));
	free_all();
	for (int i = 0; i < 3 && !let_go; i++) {
		CHECK_EQ(some_is_unpinned(), preloaded());
		put_kernel();
		call_later();
		write_word(1);
		OK(cuCtxSynchronize());
	}
}

/* Work comes during the query of the device, which has already reported that it is idle. */
TEST_AFTER_WITH(a_kernel_after_the_idle_query, begin_with_two(), "STANDIN_SLOW=cuEventDestroy:100")
{
	OK(cuCtxSetCurrent(busy));
	int before = standin_calls("cuEventDestroy");
	free_all();
	if (preloaded())
		PASS_UNTIL(standin_calls("cuEventDestroy") > before, TEST_MS);
	put_kernel();
	call_later();
}

/* While another thread waits in the driver for a copy, freed blocks become due. */
static void *let_age(void *unused)
{
	(void)unused;
	WAIT_FOR(test_clock_sleeping() != 0);
	for (int i = 0; i < 60 && standin_calls("cuMemHostUnregister") == 0; i++) {
		test_clock_pass(STEP_NS);
		check_pause(CHECK_PAUSE_LONG);
	}
	return NULL;
}

/* Work that waits for a copy first reaches the device while blocks are being unpinned. */
TEST_AFTER_WITH(a_kernel_behind_a_copy, begin_with_two(), "STANDIN_LATE=cuMemHostUnregister:60",
		"STANDIN_SLOW=cuEventSynchronize:400")
{
	pthread_t aging;

	free_all();
	OK(cuMemcpyHtoD_v2(there, small, sizeof(small)));
	OK(cuCtxSetCurrent(busy));
	if (preloaded())
		CHECK_EQ(pthread_create(&aging, NULL, let_age, NULL), 0);
	put_kernel();
	if (preloaded())
		pthread_join(aging, NULL);
	call_later();
	printf("# %zu bytes are still pinned\n", standin_registered_bytes());
}

static void *put_kernel_late(void *arg)
{
	OK(cuCtxSetCurrent(busy));
	put_kernel();
	return arg;
}

/* Blocks have been due for some time when the last kernel ends. */
static void make_due_later(void)
{
	begin_with_two();
	put_kernel();
	free_all();
	rest(2.5);
	write_word(1);
	CHECK_EQ(standin_step(forever, 1), 1);
}

/* The housekeeper's pause lasts while this thread runs, so it does not wait in the kernel. */
static void begin_pause(void)
{
	for (unsigned looks = 0; preloaded() && test_clock_napping() == 0; looks++)
		if (looks % 1000 == 0)
			test_clock_pass(4 * TEST_MS);
}

/* Work is on its way through the driver when the pause begins. */
static void arrive_during_pause(void)
{
	standin_hold("cuStreamWaitValue32", STANDIN_AT_CALL, 0);
	pthread_t other = check_thread(put_kernel_late, NULL);
	WAIT_FOR(standin_held() != 0);
	begin_pause();
	standin_release();
	pthread_join(other, NULL);
	OK(cuCtxSetCurrent(busy));
	call_later();
}

CASE_WITH(a_kernel_on_its_way, ("STANDIN_SLOW=cuMemHostUnregister:15", "HOTPIN_RING=0"),
	  make_due_later();
	  arrive_during_pause())

/* The driver cannot tell whether the device is idle, and the context `busy` has a kernel. */
static void check_nothing_is_unpinned(void)
{
	put_kernel();
	int before = standin_calls("cuMemHostUnregister");
	free_all();
	rest(4.5);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	OK(cuCtxSetCurrent(busy));
	call_later();
}

CASE_WITH(a_kernel_in_another_context, ("STANDIN_FAIL=cuCtxRecordEvent:1:801", "HOTPIN_RING=0"),
	  begin_with_two();
	  check_nothing_is_unpinned())

static void *destroy(void *arg)
{
	OK(cuCtxDestroy_v2(arg));
	return NULL;
}

/* That context was created while the call returned that had ended another one. */
TEST_AFTER_WITH(a_kernel_in_a_context_at_the_same_address, begin(),
		"STANDIN_FAIL=cuCtxRecordEvent:1:801", "HOTPIN_RING=0")
{
	CUcontext before;

	OK(cuCtxCreate_v2(&before, 0, 0));
	standin_hold("cuCtxDestroy", STANDIN_AT_RETURN, 0);
	pthread_t destroying = check_thread(destroy, before);
	WAIT_FOR(standin_held() == 1);
	OK(cuCtxCreate_v2(&busy, 0, 0));
	CHECK(busy == before);
	standin_release();
	pthread_join(destroying, NULL);
	prepare_two();
	check_nothing_is_unpinned();
}

/* The program has interrupted the pause before that. */
TEST_WITH(a_kernel_after_an_interrupted_pause, "STANDIN_SLOW=cuMemHostUnregister:15",
	  "HOTPIN_RING=0")
{
	make_due_later();
	begin_pause();
	OK(cuMemcpyDtoDAsync_v2(there, there + MIB, KIB, NULL));
	OK(cuStreamSynchronize(NULL));
	test_clock_step(STEP_NS);
	arrive_during_pause();
}

/* Threads share a pinned block; one of them is in the driver, with its copy of a part. */
static char *shared;
static _Atomic bool has_changed;

static void *download_a_part(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyDtoHAsync_v2(shared, there, MIB, NULL));
	return arg;
}

static void *protect_another_part(void *arg)
{
	char *page = (char *)(((uintptr_t)shared + 4 * MIB) & ~(uintptr_t)4095);

	CHECK_EQ(mprotect(page, 4096, PROT_READ), 0);
	has_changed = true;
	return arg;
}

static void capture_uploads(char *const *from, int count)
{
	CUstream stream;
	CUgraph graph;

	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < count; i++)
		OK(cuMemcpyHtoDAsync_v2(there + 4 * MIB, from[i], MIB, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphDestroy(graph));
	has_changed = true;
}

static void *capture_another_part(void *arg)
{
	char *part = shared + 4 * MIB;

	capture_uploads(&part, 1);
	return arg;
}

static pthread_t copier;

static void hold_a_copy(void)
{
	shared = malloc(8 * MIB);
	fill(shared, 8 * MIB, 1);
	CHECK_EQ(heat(shared, 8 * MIB), preloaded());
	standin_hold("cuMemcpyDtoHAsync", STANDIN_AT_CALL, 0);
	CHECK_EQ(pthread_create(&copier, NULL, download_a_part, NULL), 0);
	WAIT_FOR(standin_held() == 1);
}

static void let_copy_go(void)
{
	standin_release();
	pthread_join(copier, NULL);
}

static void change_during_a_copy(void *(*change)(void *))
{
	begin();
	hold_a_copy();
	int before = standin_calls("cuMemHostUnregister");
	pthread_t changer = check_thread(change, NULL);
	WAIT_FOR(has_changed || test_clock_blocked());
	CHECK_EQ(standin_calls("cuMemHostUnregister"), before);
	let_copy_go();
	pthread_join(changer, NULL);
	CHECK_EQ(standin_calls("cuMemHostUnregister") > before, preloaded());
}

CASE(a_page_changes_during_a_copy, change_during_a_copy(protect_another_part))
CASE(a_capture_during_a_copy, change_during_a_copy(capture_another_part))

static void *capture_all_blocks(void *arg)
{
	capture_uploads(blocks, BLOCKS);
	return arg;
}

/* Passes time while all other threads wait.  Returns how long `done` took, 20 s at most. */
static uint64_t pass_until_done(const _Atomic bool *done)
{
	uint64_t begun = test_clock_ns();

	while (!*done && test_clock_ns() - begun < 20 * TEST_S) {
		check_give_a_chance();
		if (test_clock_blocked())
			test_clock_pass(STEP_NS);
	}
	return test_clock_ns() - begun;
}

/* A copy that stays in the driver delays the change of several blocks only once. */
TEST_AFTER(many_blocks_during_a_long_copy, begin())
{
	allocate(true);
	hold_a_copy();
	pthread_t changer = check_thread(capture_all_blocks, NULL);
	CHECK(pass_until_done(&has_changed) < 3 * TEST_S);
	let_copy_go();
	pthread_join(changer, NULL);
}

/* Other threads go on copying, even if the program leaves a change in a signal handler. */
static sigjmp_buf before_it;

static void leave_it(int signal_number)
{
	siglongjmp(before_it, signal_number);
}

static void *protect_and_leave(void *arg)
{
	if (sigsetjmp(before_it, 1) == 0)
		protect_another_part(NULL);
	return arg;
}

static void *upload_others(void *arg)
{
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 3; i++)
		OK(cuMemcpyHtoD_v2(there, blocks[i], 256 * KIB));
	all_returned = true;
	return arg;
}

static void wait_for_uploads(void)
{
	pthread_t other = check_thread(upload_others, NULL);
	CHECK(pass_until_done(&all_returned) < 4 * TEST_S);
	if (all_returned)
		pthread_join(other, NULL);
}

TEST_AFTER(a_change_that_is_left, begin())
{
	allocate(false);
	signal(SIGUSR1, leave_it);
	hold_a_copy();
	pthread_t changer = check_thread(protect_and_leave, NULL);
	WAIT_FOR(has_changed || test_clock_blocked());
	pthread_kill(changer, SIGUSR1);
	pthread_join(changer, NULL);
	let_copy_go();
	wait_for_uploads();
}

/* The block's pin ends with its context, which takes long; copies of other blocks do not wait. */
static CUcontext ending;

static void *end_context(void *arg)
{
	OK(cuCtxDestroy_v2(ending));
	return arg;
}

static void *register_a_part(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemHostRegister_v2(shared, MIB, 0));
	has_changed = true;
	return arg;
}

/* Makes the context `ending`, and the block `shared` that is pinned in it. */
static void begin_with_ending(void)
{
	begin();
	allocate(false);
	OK(cuCtxCreate_v2(&ending, 0, 0));
	CUdeviceptr here = there;
	OK(cuMemAlloc_v2(&there, 64 * MIB));
	shared = malloc(8 * MIB);
	CHECK_EQ(heat(shared, 8 * MIB), preloaded());
	there = here;
	OK(cuCtxSetCurrent(context));
}

static void change_while_a_context_ends(void *(*change)(void *))
{
	begin_with_ending();
	standin_hold("cuCtxDestroy", STANDIN_AT_CALL, 0);
	pthread_t ender = check_thread(end_context, NULL);
	WAIT_FOR(standin_held() == 1);
	pthread_t changer = check_thread(change, NULL);
	WAIT_FOR(has_changed || test_clock_blocked());
	wait_for_uploads();
	test_clock_pass(2 * TEST_S);
	WAIT_FOR(has_changed || test_clock_blocked());
	standin_release();
	pthread_join(ender, NULL);
	pthread_join(changer, NULL);
}

CASE(a_change_while_a_context_ends, change_while_a_context_ends(protect_another_part))
/* The driver would refuse it, as long as it knows the registration of hotpin. */
CASE(a_registration_while_a_context_ends, change_while_a_context_ends(register_a_part))

/* A copy whose source faults: the handler leaves it while it is inside the block. */
static void *leave_and_end_context(void *page)
{
	OK(cuCtxSetCurrent(context));
	if (preloaded() && sigsetjmp(before_it, 1) == 0)
		cuMemcpyHtoDAsync_v2(there, page, 4 * KIB, NULL);
	OK(cuCtxDestroy_v2(ending));
	has_changed = true;
	return NULL;
}

/* The thread that has left a copy of the block ends the block's context. */
TEST(a_context_ends_after_a_copy_was_left)
{
	begin_with_ending();
	signal(SIGSEGV, leave_it);
	/* Behind the back of hotpin. */
	char *page = (char *)(((uintptr_t)shared + MIB) & ~(uintptr_t)4095);
	CHECK_EQ(syscall(SYS_mprotect, page, 4 * KIB, PROT_NONE), 0);
	pthread_t thread = check_thread(leave_and_end_context, page);
	WAIT_FOR(has_changed);
	pthread_join(thread, NULL);
}

/* Time passes only while the program waits. */
static void *lose_patience(void *unused)
{
	(void)unused;
	while (!all_returned) {
		check_give_a_chance();
		if (test_clock_blocked() && !all_returned)
			test_clock_pass(STEP_NS * 5);
	}
	return NULL;
}

/* An unpinning that takes too long, as after an unnoticed kernel, delays only one call. */
TEST_AFTER_WITH(patience_is_lost_once, begin(), "STANDIN_LATE=cuMemHostUnregister:300")
{
	CUstream other;

	allocate(true);
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	free_all();
	CHECK_EQ(some_is_unpinned(), preloaded());
	uint64_t begun = test_clock_ns();
	pthread_t impatient = check_thread(lose_patience, NULL);
	for (int i = 0; i < 3; i++)
		OK(cuMemcpyDtoDAsync_v2(there, there + MIB, MIB, other));
	all_returned = true;
	pthread_join(impatient, NULL);
	CHECK(test_clock_ns() - begun < 2 * TEST_S);
	/* Nothing is in flight between two turns. */
	WAIT_FOR(test_clock_settled());
}

/* A fork() makes the housekeeper ask at once, without success here. */
TEST_WITH(fork_asks_at_once, "STANDIN_PIN=soft")
{
	bool again = !preloaded();

	begin();
	allocate(true);
	run_forever();
	int asked = standin_calls("cuCtxRecordEvent");
	free_all();
	if (preloaded())
		PASS_UNTIL(standin_calls("cuCtxRecordEvent") > asked, TEST_MS);
	for (int i = 0; i < 4 && !again; i++) {
		asked = standin_calls("cuCtxRecordEvent");
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		again = standin_calls("cuCtxRecordEvent") > asked;
		CHECK_EQ(waitpid(child, NULL, 0), child);
	}
	CHECK(again);
	write_word(1);
}

/* During a capture, any query would invalidate it. */
TEST_AFTER_WITH(a_long_capture_is_not_broken, base_line(), "HOTPIN_RING=0")
{
	CUstream stream;
	CUgraph graph = NULL;

	char *block = promoted(8 * MIB);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	free(block);
	rest(3);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy_v2(stream));
	PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
}

static void *download_behind_a_kernel(void *array)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyDtoHAsync_v2(array, there, 4 * MIB, forever));
	return NULL;
}

static void capture_once(CUstream stream)
{
	CUgraph graph = NULL;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphDestroy(graph));
}

/*
 * Another thread's copy waits for a kernel; it is staged, and on a stream of its own.  The clock
 * stands still, so a wait for the copy would not end.
 */
TEST_AFTER_WITH(a_capture_next_to_a_copy, begin(), "HOTPIN_THREADS=2")
{
	static char array[16 * MIB];
	CUstream aside, ordered;

	for (int i = 0; i < 20; i++)
		OK(cuMemcpyDtoH_v2(array, there, sizeof(array)));
	OK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&ordered, CU_STREAM_DEFAULT));
	run_forever();
	standin_log_reset();
	pthread_t copying = check_thread(download_behind_a_kernel, array);
	/* A staged copy records an event after its first piece. */
	WAIT_FOR(standin_pending(forever) > 1 &&
		 (standin_calls("cuEventRecord") > 0 || !preloaded()));
	alarm(check_limit(20));
	capture_once(aside);
	capture_once(ordered);
	write_word(1);
	pthread_join(copying, NULL);
}

/* A block is being unpinned. */
TEST_AFTER_WITH(a_capture_next_to_unpinning, base_line(), "HOTPIN_RING=0")
{
	CUstream aside;

	OK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
	char *block = promoted(8 * MIB);
	standin_hold("cuMemHostUnregister", STANDIN_AT_CALL, 0);
	free(block);
	if (preloaded())
		PASS_UNTIL(standin_held() == 1, 20 * TEST_MS);
	alarm(check_limit(20));
	capture_once(aside);
	standin_release();
	PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
}

static _Atomic bool enough;

/* Keeps a capture active most of the time, in a mode that forbids nothing to other threads. */
static void *capture_on(void *arg)
{
	_Atomic int *good = arg;

	OK(cuCtxSetCurrent(context));
	while (!enough) {
		CUstream stream;
		CUgraph graph = NULL;

		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		test_clock_step(60 * TEST_MS);
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
		OK(cuStreamDestroy_v2(stream));
		++*good;
		/* The device is queried after 5 ms of silence, which some turns allow. */
		test_clock_step(*good % 4 == 0 ? 8 * TEST_MS : TEST_MS);
	}
	return NULL;
}

TEST_AFTER_WITH(captures_are_not_broken, base_line(), "HOTPIN_RING=0")
{
	_Atomic int good = 0;

	allocate(true);
	pthread_t thread = check_thread(capture_on, &good);
	free_all();
	WAIT_FOR(good > 40);
	enough = true;
	pthread_join(thread, NULL);
	PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
}

/*
 * A context ends while it is queried: its handles are reused immediately.  Without the ring, which
 * stays pinned.
 */
TEST_AFTER_WITH(contexts_that_go_meanwhile, base_line(), "HOTPIN_RING=0")
{
	CUcontext other, again;
	CUstream stream;
	CUevent mine;

	for (int i = 0; i < 3 && check_failures == 0; i++) {
		OK(cuCtxSetCurrent(context));
		char *block = promoted(8 * MIB);
		OK(cuCtxCreate_v2(&other, 0, 0));
		run_forever();
		int asked = standin_calls("cuCtxRecordEvent");
		free(block);
		if (preloaded())
			PASS_UNTIL(standin_calls("cuCtxRecordEvent") >= asked + 2, TEST_MS);
		write_word(1);
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxCreate_v2(&again, 0, 0));
		OK(cuEventCreate(&mine, CU_EVENT_DISABLE_TIMING));
		rest(0.2);
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuEventRecord(mine, stream));
		CHECK_EQ(cuEventQuery(mine), CUDA_ERROR_NOT_READY);
		OK(cuEventSynchronize(mine));
		OK(cuCtxDestroy_v2(again));
		PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
	}
}

/* A context must not end while the housekeeper uses it: the driver would crash. */
TEST_AFTER_WITH(contexts_that_go_at_once, base_line(), "STANDIN_SLOW=cuEventCreate:60",
		"HOTPIN_RING=0")
{
	CUcontext other;

	char *block = promoted(8 * MIB);
	OK(cuCtxCreate_v2(&other, 0, 0));
	int asked = standin_calls("cuEventCreate");
	free(block);
	/* The second of the two events, in a context that is current there. */
	if (preloaded())
		PASS_UNTIL(standin_calls("cuEventCreate") >= asked + 2, TEST_MS);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	PASS_UNTIL(standin_registered_bytes() == 0, STEP_NS);
	CHECK(strstr(standin_log_text(), "! cuCtxRecordEvent") == NULL);
}

PRELOAD_MAIN()
