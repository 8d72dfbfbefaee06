/*
 * test_life.c - profiling with other tools, refusals, lost records, hangs, forks, and threads.
 */
#include "stage.h"
#include "check.h"
#include "thread.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

static const char *const summary[] = { "HOTPIN_PROFILE=summary", NULL };

/* Like WAIT_FOR(), and tells whether the condition came true. */
#define COMES_TRUE(condition)        \
	({                           \
		WAIT_FOR(condition); \
		(condition);         \
	})

static void copy_pair(uint64_t at)
{
	mock_copy(CUPTI_MEMCPY, CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, 1000, stage_base + at,
		  stage_base + at + MICRO);
	stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, at, 2 * MICRO);
}

TEST(off_does_nothing)
{
	int others = thread_each_other(NULL);

	stage_begin(false, (const char *const[]){ "HOTPIN_PROFILE=off", NULL });
	CHECK(!trace_active());
	copy_pair(SECOND);
	trace_flush();
	stage_end();
	CHECK(mock_cupti.log[0] == '\0');
	CHECK(stage_text[0] == '\0' && stage_json[0] == '\0');
	CHECK_EQ(thread_each_other(NULL), others);
}

TEST(out_alone_writes_json_and_no_table)
{
	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=off", NULL });
	CHECK(trace_active());
	copy_pair(SECOND);
	stage_end();
	CHECK(stage_text[0] == '\0');
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "bytes"), 1000);
}

TEST(summary_alone_writes_a_table_and_no_json)
{
	stage_begin(false, summary);
	copy_pair(SECOND);
	stage_end();
	CHECK(strstr(stage_text, "H2D copies") != NULL);
	CHECK(stage_json[0] == '\0');
}

/* A refusal at any step is undone in reverse and reported, and the program runs as before. */
TEST(refused_at_each_step)
{
	static const struct {
		int code;
		const char *words;
	} errors[] = {
		{ CUPTI_TAKEN, "in use by another tool" },
		{ CUPTI_MAX_LIMIT_REACHED, "in use by another tool" },
		{ CUPTI_DISABLED, "in use by another tool" },
		{ CUPTI_NOT_COMPATIBLE, "in use by another tool" },
		{ CUPTI_INSUFFICIENT_PRIVILEGES, "try --cap-add SYS_ADMIN" },
		{ CUPTI_VGPU_PRIVILEGES, "not permitted" },
		{ CUPTI_CONFIDENTIAL, "does not support this kind of device" },
		{ CUPTI_WSL, "does not support this kind of device" },
		{ CUPTI_NOT_INITIALIZED, "CUPTI refused" },
		{ CUPTI_UNKNOWN, "CUPTI refused" },
	};
	static const struct {
		uint32_t kind; /* 0: at the callbacks */
		const char *log;
	} steps[] = {
		{ 0, "register " },
		{ 10, "register +10 " },
		{ 1, "register +10 +1 -10 " },
		{ 22, "register +10 +1 +22 -1 -10 " },
		{ 2, "register +10 +1 +22 +2 -22 -1 -10 " },
	};

	for (size_t i = 0; i < 10 * 5; i++) {
		int error = errors[i % 10].code;
		char number[16];

		if (!CHECK_CHILD(0))
			continue;
		snprintf(number, sizeof(number), " %d)", error);
		if (steps[i / 10].kind == 0)
			mock_cupti.register_result = error;
		else
			mock_cupti.enable_result[steps[i / 10].kind] = error;
		stage_begin(true, summary);
		CHECK(trace_active());
		copy_pair(SECOND);
		stage_end();
		CHECK(strcmp(mock_cupti.log, steps[i / 10].log) == 0);
		CHECK(strstr(stage_text, errors[i % 10].words) != NULL);
		CHECK(strstr(stage_text, number) != NULL);
		CHECK_EQ(mock_cupti.forbidden_calls, 0);
		CHECK(strstr(stage_json, "\"kind\": \"interpose\"") != NULL);
		CHECK_EQ(stage_row("hotpin", "h2d", "pageable", "bytes"), 1000);
		_exit(check_failures != 0);
	}
}

TEST(another_tool_by_its_variables)
{
	static const char *const variables[][2] = {
		{ "NSYS_PROFILING_SESSION_ID", "1" },
		{ "CUDA_INJECTION64_PATH", "/opt/x.so" },
		{ "NVTX_INJECTION64_PATH", "/opt/x.so" },
		{ "LD_PRELOAD", "/opt/nvidia/nsight-compute/x.so" },
		{ "LD_PRELOAD", "/opt/libsanitizer-collection.so" },
	};

	for (int i = 0; i < 10; i++) {
		if (!CHECK_CHILD(0))
			continue;
		setenv(variables[i / 2][0], variables[i / 2][1], 1);
		stage_begin(true, i % 2 == 0 ? summary
					     : (const char *const[]){ "HOTPIN_PROFILE=summary",
								      "HOTPIN_CUPTI=force", NULL });
		unsetenv(variables[i / 2][0]);
		copy_pair(SECOND);
		stage_end();
		CHECK_EQ(mock_cupti.log[0] == '\0', i % 2 == 0);
		CHECK_EQ(strstr(stage_text, "left to another tool") != NULL, i % 2 == 0);
		CHECK_EQ(stage_row("cupti", "h2d", "pageable", "bytes"), i % 2 == 0 ? -1 : 1000);
		_exit(check_failures != 0);
	}
}

/*
 * `hotpin run` sets the first for the program's stages.  The others are copies in some folder;
 * `--library` names the last one.
 */
TEST(our_own_library_is_no_other_tool)
{
	static const char *const variables[][2] = {
		{ "NVTX_INJECTION64_PATH", "/usr/lib/x86_64-linux-gnu/libhotpin.so" },
		{ "LD_PRELOAD", "/opt/x.so:/home/u/nsight/libhotpin.so" },
		{ "LD_PRELOAD", "/home/u/nsight/libhotpin.so.0.1.0:/opt/x.so" },
	};

	for (int i = 0; i < 3; i++) {
		if (!CHECK_CHILD(0))
			continue;
		setenv(variables[i][0], variables[i][1], 1);
		stage_begin(true, summary);
		unsetenv(variables[i][0]);
		copy_pair(SECOND);
		stage_end();
		CHECK_EQ(stage_row("cupti", "h2d", "pageable", "bytes"), 1000);
		_exit(check_failures != 0);
	}
}

#define LAUNCHING 200

static pthread_barrier_t all_there;

static void *launch(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&all_there);
	trace_launched(TRACE_LAUNCH_KERNEL);
	mock_kernel("k", 0, stage_base + SECOND, stage_base + SECOND + MICRO);
	pthread_barrier_wait(&all_there);
	return NULL;
}

/* Each thread has its own buffer, and CUPTI returns none in the meantime. */
TEST(as_many_buffers_as_threads)
{
	mock_cupti.late = true;
	pthread_barrier_init(&all_there, NULL, LAUNCHING);
	stage_begin(true, summary);
	check_in_threads(LAUNCHING, launch);
	mock_cupti.late = false;
	stage_end();
	CHECK_EQ(mock_cupti.buffers_requested, LAUNCHING);
	CHECK_EQ(stage_number("records", "buffers_discarded"), 0);
	CHECK_EQ(stage_number("kernel_runs", "count"), LAUNCHING);
	CHECK_EQ(stage_number("host", "launches"), LAUNCHING);
	CHECK_EQ(mock_cupti.dirty_buffers, 0);
	CHECK(stage_number("split", "kernel_ns") > 0);
}

static void *copy_once(void *arg)
{
	copy_pair((uint64_t)(uintptr_t)arg * 100 * MICRO);
	return NULL;
}

/* A timeline with more threads than tracks, one after the other. */
TEST(five_thousand_short_threads)
{
	int threads = 0;

	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=trace", NULL });
	for (uintptr_t i = 0; i < 5000; i++) {
		check_in_thread(copy_once, (void *)i);
	}
	stage_end();
	CHECK_EQ(stage_number("events", "dropped"), 0);
	CHECK_EQ(stage_number("events", "trackless"), 0);
	CHECK_EQ(stage_count(stage_json, "\n\t\t\t[3,"), 5000);
	for (const char *at = stage_json; (at = strstr(at, "\"threads\": ")) != NULL; at++)
		threads += atoi(at + strlen("\"threads\": "));
	CHECK_EQ(threads, 5000);
}

TEST_AFTER(pool_used_up, stage_begin(true, summary))
{
	CHECK(mock_hog(2000) > 0);
	copy_pair(SECOND);
	stage_end();
	CHECK_EQ(mock_cupti.null_buffers, 0);
	CHECK(stage_number("records", "buffers_discarded") > 10);
	CHECK(strstr(stage_text, "device figures are too low") != NULL);
}

/* CUPTI gives this answer if another tool uses the interface of CUDA 13.3. */
TEST_AFTER(dropped_records_that_cannot_be_asked_for, stage_begin(true, summary))
{
	copy_pair(SECOND);
	mock_cupti.dropped_result = CUPTI_NOT_COMPATIBLE;
	mock_cupti.dropped = 12;
	stage_end();
	CHECK_EQ(stage_number("records", "dropped"), 0);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "bytes"), 1000);
}

/* Up to CUDA 12, versions were counted from 1 on. */
TEST(versions)
{
	static const uint32_t versions[] = { 130001, 130301, 28, 13 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (!CHECK_CHILD(0))
			continue;
		mock_cupti.version = versions[i];
		stage_begin(true, summary);
		copy_pair(SECOND);
		stage_end();
		CHECK_EQ(stage_number("environment", "cupti_version"), versions[i]);
		CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 1);
		CHECK_EQ(mock_cupti.forbidden_calls, 0);
		_exit(check_failures != 0);
	}
}

/* Each look at the clock takes a hundredth of a second, so waits end after so many looks. */
TEST_AFTER(flush_that_hangs, stage_begin(true, summary))
{
	copy_pair(SECOND);
	mock_read();
	mock_cupti.hangs = true;
	copy_pair(2 * SECOND);
	stage_tick_ns = 10 * MILLI;

	uint64_t from = hp_now_ns();
	trace_flush();
	uint64_t first = hp_now_ns();
	CHECK(first - from > 4 * SECOND);
	/* One flush is enough. */
	trace_flush();
	CHECK(hp_now_ns() - first < 4 * SECOND);
	stage_tick_ns = 0;
	stage_end();
	CHECK(strstr(stage_json, "\"truncated\": true") != NULL);
	CHECK(strstr(stage_text, "did not deliver its records within 5 s") != NULL);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 1);
	CHECK_EQ(stage_number("coverage", "hotpin_copies"), 2);
}

TEST(buffers_that_return_late)
{
	mock_cupti.late = true;
	stage_begin(true, summary);
	copy_pair(SECOND);
	stage_end();
	mock_complete();
	CHECK(strstr(stage_text, "1 copies fewer than there were") != NULL ||
	      strstr(stage_text, "recorded nothing") != NULL);
}

TEST_AFTER(flush_before_a_context_goes, stage_begin(true, summary))
{
	copy_pair(SECOND);
	trace_flush();
	CHECK(strstr(mock_cupti.log, "flush0") != NULL);
	stage_end();
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 1);
}

TEST_AFTER(once_a_second_without_being_asked, stage_begin(true, summary))
{
	stage_clock(false);
	copy_pair(SECOND);
	CHECK(COMES_TRUE(mock_cupti.flushes > 0));
	stage_end();
}

/* Returns the current profile, or "". */
static const char *json_so_far(void)
{
	return check_read(check_path("profile.json"), stage_json, sizeof(stage_json));
}

TEST(what_is_killed_leaves_its_profile)
{
	pid_t child = fork();
	if (child == 0) {
		stage_begin(true, summary);
		stage_clock(false);
		for (int i = 0; i < 10; i++)
			copy_pair(i * 100 * MILLI);
		mock_complete();
		pause();
	}
	/* The split comes last, because it only has complete work. */
	CHECK(COMES_TRUE(strstr(json_so_far(), "\"transfer_ns\": 10000") != NULL));
	kill(child, SIGKILL);
	CHECK_EQ(check_status(child), -SIGKILL);
	CHECK(strstr(json_so_far(), "\"state\": \"running\"") != NULL);
	CHECK(strcmp(stage_json + strlen(stage_json) - 2, "}\n") == 0);
	CHECK_EQ(stage_number("coverage", "hotpin_copies"), 10);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "busy_ns"), 10 * MICRO);
	/* Its sum also holds for the part so far. */
	CHECK_EQ(stage_number("split", "host_ns") + stage_number("split", "startup_ns") +
			 stage_number("split", "calls_ns") + stage_number("split", "transfer_ns") +
			 stage_number("split", "kernel_ns") + stage_number("split", "overlap_ns"),
		 stage_number(NULL, "wall_ns"));
	CHECK_EQ(stage_number("split", "transfer_ns"), 10 * MICRO);
}

static ino_t profile_inode(void)
{
	struct stat status;

	return stat(check_path("profile.json"), &status) == 0 ? status.st_ino : 0;
}

/* A file that stays open: no later one can have its inode number. */
static ino_t held_inode(void)
{
	struct stat status = { 0 };

	int held = open(check_path("profile.json"), O_RDONLY | O_CLOEXEC);
	CHECK(held >= 0 && fstat(held, &status) == 0);
	return status.st_ino;
}

static bool is_replaced(ino_t before)
{
	return COMES_TRUE(profile_inode() != before);
}

/* The library has looked whether a profile is due before it reads the second buffer. */
static void let_it_look(void)
{
	for (int i = 0; i < 2; i++) {
		copy_pair(SECOND);
		mock_read();
	}
}

/* After a thousand seconds, the profile is rewritten every twenty. */
TEST(a_long_run_is_written_less_often)
{
	stage_begin(true, NULL);
	CHECK(is_replaced(0));
	ino_t first = held_inode();
	let_it_look();
	stage_pass(1000 * SECOND);
	CHECK(is_replaced(first));
	ino_t second = held_inode();
	let_it_look();
	stage_pass(19 * SECOND);
	let_it_look();
	CHECK(profile_inode() == second);
	stage_pass(2 * SECOND);
	CHECK(is_replaced(second));
	stage_end();
}

TEST_AFTER(finish_works_once, stage_begin(true, summary))
{
	copy_pair(SECOND);
	trace_finish();
	stage_end();
	CHECK_EQ(stage_count(stage_text, "Profiling cost"), 1);
	stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, 0, 1);
	trace_flush();
	mock_complete();
}

TEST_AFTER(child_of_fork_is_not_reported, stage_begin(true, summary))
{
	copy_pair(SECOND);
	if (CHECK_CHILD(0)) {
		stage_tick_ns = 10 * MILLI;
		uint64_t from = hp_now_ns();

		mock_after_fork_child();
		trace_after_fork_child();
		CHECK(!trace_active());
		/* CUPTI in the child may still call back. */
		CHECK(mock_hog(1) > 0);
		stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, 0, 1);
		trace_flush();
		trace_finish();
		/* Waiting for a thread that does not exist would take as long as a flush: 5 s. */
		CHECK(hp_now_ns() - from < 4 * SECOND);
		_exit(check_failures != 0);
	}
	copy_pair(2 * SECOND);
	stage_end();
	CHECK_EQ(stage_count(stage_text, "Profiling cost"), 1);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 2);
}

/* A child of vfork shares our memory and ends by our _exit(). */
TEST_AFTER(child_of_vfork_is_not_reported, stage_begin(true, summary))
{
	copy_pair(SECOND);
	pid_t child = vfork();
	if (child == 0) {
		trace_finish();
		_exit(0);
	}
	CHECK_EQ(check_status(child), 0);
	CHECK(trace_active());
	copy_pair(2 * SECOND);
	stage_end();
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 2);
}

#define THREADS 8
#define ROUNDS  5000

static void *work(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t at = (thread * ROUNDS + i) * 100 * MICRO;

		copy_pair(at);
		trace_launched(TRACE_LAUNCH_KERNEL);
		mock_kernel("k", 0, stage_base + at + 10 * MICRO, stage_base + at + 20 * MICRO);
		stage_waited(at + 10 * MICRO, 10 * MICRO);
		if (i % 1000 == 0)
			trace_flush();
	}
	return NULL;
}

static const char *name_of(size_t function)
{
	return function == 0 ? "cuCtxGetCurrent" : "cuStreamSynchronize";
}

static void call(size_t function)
{
	static _Atomic uint64_t now_ns;
	uint64_t enter_ns = stage_base + atomic_fetch_add(&now_ns, 2);

	trace_called(function, enter_ns, enter_ns + 1, __builtin_frame_address(0));
}

static sigjmp_buf away;

static void leave(int signal_number)
{
	(void)signal_number;
	siglongjmp(away, 1);
}

/* The call never ends: the stack that it reads is inaccessible, and the handler leaves. */
__attribute__((noinline)) static void call_and_leave(const char *nothing)
{
	if (sigsetjmp(away, 1) == 0)
		trace_called(0, stage_base, stage_base + 1, nothing);
}

/*
 * The program's calls are at any depth.  AddressSanitizer would put an unwritten gap next to the
 * array, where the library looks at written memory.
 */
__attribute__((noinline, no_sanitize("address"))) static void call_deeper(int levels)
{
	volatile char room[256];

	memset((char *)room, levels, sizeof(room));
	if (levels > 0)
		call_deeper(levels - 1);
	else
		call(0);
	room[0] = 1;
}

/*
 * A handler may leave by siglongjmp() while its thread notes a call; later calls are still noted.
 */
TEST(a_handler_leaves_a_call)
{
	struct sigaction action = { .sa_handler = leave };
	const char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stage_clock(true);
	stage_begin_calls("HOTPIN_PROFILE=off", name_of, 1);
	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
	for (int i = 0; i < 4; i++) {
		call_and_leave(nothing);
		call_deeper(i * 4);
	}
	signal(SIGSEGV, SIG_DFL);
	stage_end();
	CHECK(strstr(stage_json, "\"launches\": []") != NULL);
	CHECK(strstr(stage_json, "\"name\": \"cuCtxGetCurrent\"") != NULL);
	/* The interrupted ones were counted before. */
	CHECK_EQ(stage_number("calls", "count"), 8);
}

static _Atomic unsigned handled;

static void call_in_handler(int signal_number)
{
	(void)signal_number;
	for (size_t i = 0; i < 4; i++)
		call(i % 2);
	stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, SECOND, MICRO);
	handled++;
}

static const char *launch_of(size_t function)
{
	return function == 0 ? "cuLaunchKernel" : "cuCtxGetCurrent";
}

/* Its tables may then change, so they are not written, and it writes no report afterwards. */
TEST(reader_that_hangs)
{
	char text[4096] = "";

	stage_clock(true);
	stage_begin_calls("HOTPIN_PROFILE=trace", launch_of, 2);
	mock_kernel("spmv", 0, stage_base + SECOND, stage_base + 2 * SECOND);
	mock_read();
	mock_cupti.stuck = true;
	mock_kernel("spmv", 0, stage_base + 3 * SECOND, stage_base + 4 * SECOND);
	mock_complete();
	stage_tick_ns = 10 * MILLI;
	trace_finish();
	stage_tick_ns = 0;

	unsigned before = mock_cupti.buffers_read;
	mock_cupti.stuck = false;
	WAIT_FOR(mock_cupti.buffers_read > before);
	int file = open(check_path("profile.json"), O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0 && read(file, text, sizeof(text) - 1) > 0);
	close(file);
	CHECK(strstr(text, "\"state\": \"ended\"") != NULL);
	stage_end();
	CHECK(strstr(stage_text, "hotpin's thread did not end within 5 s") != NULL);
	CHECK_EQ(stage_number(NULL, "events"), -2);
	CHECK_EQ(stage_number("launches_rest", "device_ns"), -2);
	CHECK(strstr(stage_json, "the thread that reads samples did not end") != NULL);
}

/* A program may ask for an error of the loader after its next call. */
TEST(a_call_leaves_the_loaders_error)
{
	stage_begin(true, summary);
	CHECK(dlopen("/nowhere/library.so", RTLD_NOW) == NULL);
	stage_waited(SECOND, MICRO);
	const char *error = dlerror();
	CHECK(error != NULL && strstr(error, "/nowhere/library.so") != NULL);
	stage_end();
}

/* A signal handler may call the driver while its thread notes a call. */
TEST(a_call_interrupts_another)
{
	struct sigaction action = { .sa_handler = call_in_handler, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

	stage_clock(true);
	stage_begin_calls("HOTPIN_PROFILE=off", name_of, 2);
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (handled < 2000) {
		call(0);
		/* Both take a lock. */
		call(1);
		stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, SECOND, MICRO);
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	stage_end();
	CHECK(strstr(stage_json, "cuCtxGetCurrent") != NULL);
	CHECK_EQ(stage_number("host", "threads"), 1);
}

TEST_AFTER(threads, stage_begin(true, summary))
{
	check_in_threads(THREADS, work);
	stage_end();
	CHECK_EQ(stage_row("hotpin", "h2d", "pageable", "count"), THREADS * ROUNDS);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), THREADS * ROUNDS);
	CHECK_EQ(stage_number("kernel_runs", "count"), THREADS * ROUNDS);
	CHECK_EQ(stage_number("host", "waits"), THREADS * ROUNDS);
	CHECK_EQ(stage_number("records", "buffers_discarded"), 0);
	/* One call and one copy a round, and a kernel during a wait. */
	CHECK_EQ(stage_number("split", "transfer_ns"), THREADS * ROUNDS * MICRO);
	CHECK_EQ(stage_number("split", "kernel_ns"), THREADS * ROUNDS * 10 * MICRO);
	CHECK_EQ(stage_number("split", "calls_ns"), THREADS * ROUNDS * MICRO);
	CHECK_EQ(stage_number(NULL, "wall_ns"), 10 * SECOND);
}

TEST_AFTER(memory_is_bounded, stage_begin(true, summary))
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	/* test/unit/test_hour.c tests enough of them to fill the memory. */
	for (uint64_t i = 0; i < 300000; i++) {
		mock_kernel("k", 0, stage_base + i * 10 * MICRO,
			    stage_base + i * 10 * MICRO + 3000);
		if (i % 2 == 0)
			stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1, i * 10 * MICRO, 2000);
		/* The reader keeps up, as it does if a launch takes 2 us. */
		if (i % 20000 == 0)
			mock_read();
	}
	stage_end();
	getrusage(RUSAGE_SELF, &after);
	if (!SANITIZED)
		CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
	CHECK_EQ(stage_number(NULL, "wall_ns"), 10 * SECOND);
	CHECK_EQ(stage_number("records", "buffers_discarded"), 0);
	CHECK_EQ(stage_number("kernel_runs", "count"), 300000);
	CHECK_EQ(stage_row("hotpin", "h2d", "pageable", "count"), 150000);
}

static void check_mask(const char *task)
{
	static const int signals[] = { SIGUSR1, SIGTERM, SIGALRM };
	char mask[64];

	thread_field(task, "SigBlk:\t", mask, sizeof(mask));
	/* A thread that has ended has no mask. */
	for (size_t i = 0; i < 3 && mask[0] != '\0'; i++)
		CHECK(strtoull(mask, NULL, 16) >> (signals[i] - 1) & 1);
}

/* The profile's own threads take none of the program's signals. */
TEST_AFTER(signals_stay_with_the_program, stage_begin(false, summary))
{
	CHECK(thread_each_other(check_mask) >= 2);
	stage_end();
}

CHECK_MAIN()
