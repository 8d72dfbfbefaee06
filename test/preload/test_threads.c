/*
 * test_threads.c - the library's threads next to the program's: signals, identities, and every way
 * to end.
 */
#include "clock.h"
#include "filter.h"
#include "promote.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <ucontext.h>

extern char **environ;

/* All signals are blocked, except libc's own two, for cancellation and setuid(). */
static void check_mask(const char *task)
{
	const uint64_t libc = (uint64_t)3 << (32 - 1);
	const uint64_t never = (uint64_t)1 << (SIGKILL - 1) | (uint64_t)1 << (SIGSTOP - 1);
	char text[64];
	uint64_t mask = 0;

	/* While a thread begins or ends, libc blocks its own signals, too. */
	WAIT_FOR((thread_field(task, "SigBlk:\t", text, sizeof(text)),
		  mask = strtoull(text, NULL, 16), (mask & libc) == 0));
	CHECK_EQ(mask | libc | never, UINT64_MAX);
}

/* The fields of the kernel's struct sigaction that are the same on every machine. */
struct kernel_action {
	void *handler;
	char rest[64];
};

/* Counts signals with a handler in the kernel; libc hides those below SIGRTMIN. */
static int handled(void)
{
	int count = 0;

	for (int number = 1; number < NSIG; number++) {
		struct kernel_action action = { .handler = NULL };

		syscall(SYS_rt_sigaction, number, NULL, &action, (size_t)NSIG / 8);
		if (action.handler == (void *)SIG_DFL || action.handler == (void *)SIG_IGN ||
		    (number >= 32 && number < SIGRTMIN))
			continue;
		printf("# signal %d is handled in %s\n", number, preload_file_of(action.handler));
		count++;
	}
	return count;
}

TEST_WITH(signals_are_the_programs, "HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off",
	  "HOTPIN_LOG_FILE=/dev/null")
{
	if (SANITIZED_THREADS)
		CHECK_SKIP("the sanitizer's thread blocks all signals");
	begin();
	free(promoted(4 * MIB));
	/* The housekeeper, the reader of the profile, and the one for _exit(). */
	CHECK_EQ(thread_each_other(check_mask), preloaded() ? 3 : 0);
	CHECK(SANITIZED || handled() == 0);
}

/*
 * A program that blocks signals in all its threads, and collects them.  A process-directed one goes
 * to any thread that does not block it.
 */
TEST(signals_are_collected)
{
	static const int signals[] = { SIGABRT, SIGTRAP, SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	begin();
	free(promoted(4 * MIB));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		CHECK_EQ(kill(getpid(), signals[i]), 0);
		CHECK_EQ(sigwaitinfo(&all, NULL), signals[i]);
	}
}

static _Atomic int opened;

/* Counts a file that a thread of the program opens, and opens it by another system call. */
static void on_open(int number, siginfo_t *info, void *context_of)
{
	greg_t *registers = ((ucontext_t *)context_of)->uc_mcontext.gregs;
	struct open_how how = { .flags = (uint64_t)registers[REG_RDX] };

	(void)number;
	(void)info;
	opened++;
	if (how.flags & O_CREAT)
		how.mode = (uint64_t)registers[REG_R10];
	long fd = syscall(SYS_openat2, registers[REG_RDI], registers[REG_RSI], &how, sizeof(how));
	registers[REG_RAX] = fd < 0 ? -errno : fd;
}

/* From here on, a thread that opens a file raises SIGSYS: it ends the process if blocked there. */
static void trap_opens(void)
{
	struct sigaction action = { .sa_sigaction = on_open, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	if (!filter_call(SYS_openat, SECCOMP_RET_TRAP))
		CHECK_SKIP("filters of system calls are not permitted");
}

/*
 * A program gets the lowest free number, also while another thread copies.  So the library opens no
 * file: not to stage a copy, not to look at the memory that is left, not to make staging memory.
 */
TEST_WITH(no_file_is_opened, "HOTPIN_THREADS=3")
{
	static char array[64 * MIB];

	if (SANITIZED_THREADS)
		CHECK_SKIP("the sanitizer opens files");
	begin();
	char *block = promoted(64 * MIB);
	trap_opens();
	for (int turn = 0; turn < 8; turn++) {
		int before = opened;
		OK(cuMemcpyHtoD_v2(there, array, 16 * MIB));
		OK(cuMemcpyDtoH_v2(array, there, 16 * MIB));
		CHECK_EQ(opened, before);
		/* The housekeeper looks each second. */
		test_clock_pass(1200 * TEST_MS);
		check_pause(CHECK_PAUSE_LONG);
	}
	free(block);
}

/* Nor do malloc() and free() of a program that is linked with CUDA, also before its first call. */
TEST(no_file_is_opened_for_memory)
{
	char *blocks[12];

	if (SANITIZED_THREADS)
		CHECK_SKIP("the sanitizer opens files");
	trap_opens();
	int before = opened;
	for (int i = 0; i < 12; i++)
		memset(blocks[i] = malloc(4 * MIB), i, 4 * MIB);
	for (int i = 0; i < 12; i++)
		free(blocks[i]);
	CHECK_EQ(opened, before);
}

/* The files that the parent keeps open are about the parent. */
TEST(the_child_of_fork_reads_no_file)
{
	begin();
	free(promoted(4 * MIB));
	if (!filter_call(SYS_pread64, SECCOMP_RET_KILL_PROCESS))
		CHECK_SKIP("filters of system calls are not permitted");
	if (CHECK_CHILD(7)) {
		free(malloc(64 * MIB));
		_exit(7);
	}
}

static char wanted[64];

static void check_user(const char *task)
{
	char text[64];

	thread_field(task, "Uid:\t", text, sizeof(text));
	CHECK_EQ(strcmp(text, wanted), 0);
}

/* setuid() makes every thread change its identity, by a signal, and returns when all have. */
static void become(int result, const char *uids)
{
	CHECK_EQ(result, 0);
	snprintf(wanted, sizeof(wanted), "%s", uids);
	thread_each_other(check_user);
}

TEST_WITH(identities_of_all_threads, "HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off",
	  "HOTPIN_LOG_FILE=/dev/null")
{
	if (getuid() != 0)
		CHECK_SKIP("not root");
	alarm(check_limit(20));
	begin();
	free(promoted(4 * MIB));
	become(seteuid(65534), "0\t65534\t0\t65534\n");
	become(seteuid(0), "0\t0\t0\t0\n");
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setegid(65534), 0);
	CHECK_EQ(setgid(65534), 0);
	become(setresuid(65534, 65534, 65534), "65534\t65534\t65534\t65534\n");
	CHECK_EQ(setuid(0) != 0, 1);
	CHECK_EQ(holds(promoted(4 * MIB), 4 * MIB, 1), true);
}

/* A block is freed, and the housekeeper is in the call that unpins it. */
static void begin_and_wait(enum standin_place place)
{
	alarm(check_limit(60));
	begin();
	char *block = promoted(8 * MIB);
	standin_hold("cuMemHostUnregister", place, 0);
	free(block);
	if (preloaded())
		PASS_UNTIL(standin_held() == 1, 20 * TEST_MS);
}

/* Threads that wait with a deadline reach it. */
static _Atomic bool enough_passed;

static void *let_time_pass(void *unused)
{
	while (!enough_passed) {
		if (thread_is_blocked(getpid()))
			test_clock_pass(20 * TEST_MS);
		check_pause(CHECK_PAUSE_LONG);
	}
	return unused;
}

/* Lets the call continue when the main thread waits for it. */
static void *release(void *unused)
{
	WAIT_FOR(thread_is_blocked(getpid()));
	standin_release();
	return unused;
}

/*
 * exit() while the housekeeper is inside the driver: no thread may be there when the driver ends.
 */
TEST(exit_while_it_is_inside)
{
	enum { CHILDREN = 4 };
	pid_t children[CHILDREN];
	int said[2];
	char text[256];

	CHECK_EQ(pipe(said), 0);
	for (unsigned i = 0; i < CHILDREN; i++) {
		fflush(stdout);
		children[i] = fork();
		if (children[i] != 0)
			continue;
		dup2(said[1], STDERR_FILENO);
		begin_and_wait(i % 2 ? STANDIN_AT_CALL : STANDIN_AT_RETURN);
		check_thread(release, NULL);
		exit(check_failures == 0 ? 7 : 1);
	}
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQ(check_status(children[i]), 7);
	close(said[1]);
	ssize_t length = read(said[0], text, sizeof(text) - 1);
	CHECK_EQ(length, 0);
	if (length > 0)
		printf("# %.*s", (int)length, text);
}

/* A call that takes too long is not waited for. */
TEST(exit_while_it_is_stuck)
{
	if (CHECK_CHILD(7)) {
		begin_and_wait(STANDIN_AT_RETURN);
		check_thread(let_time_pass, NULL);
		uint64_t begun = test_clock_ns();
		fflush(stdout);
		if (fork() == 0)
			_exit(0);
		/* By the test clock, which passes while a thread waits. */
		CHECK(test_clock_ns() - begun < 8 * TEST_S);
		exit(check_failures == 0 ? 7 : 1);
	}
}

/*
 * If the housekeeper cannot leave the driver because of an endless kernel, the process ends
 * nevertheless.
 */
TEST(exit_during_a_kernel_that_never_ends)
{
	for (int i = 0; i < 3; i++) {
		if (CHECK_CHILD(7)) {
			CUdeviceptr word;
			CUstream stream;

			alarm(check_limit(30));
			begin();
			char *block = promoted(8 * MIB);
			OK(cuMemAlloc_v2(&word, 4));
			*(uint32_t *)standin_host(word) = 0;
			OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
			OK(cuStreamWaitValue32_v2(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
			free(block);
			test_clock_pass(TEST_S + (unsigned)i * 200 * TEST_MS);
			check_thread(let_time_pass, NULL);
			exit(7);
		}
	}
}

/* The child of a fork has only its own thread, regardless of what the housekeeper was doing. */
TEST_AFTER(children_of_a_fork, begin())
{
	for (int i = 0; i < 25; i++) {
		free(promoted(4 * MIB));
		test_clock_pass(50 * TEST_MS);
		if (CHECK_CHILD(7)) {
			alarm(check_limit(20));
			CHECK_EQ(thread_each_other(NULL), 0);
			for (int n = 0; n < 20; n++) {
				char *block = malloc(3 * MIB);

				memset(block, 1, 3 * MIB);
				free(block);
			}
			/* It must not wait for a housekeeper that its own capture blocks. */
			cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED);
			cuCtxDestroy_v2(context);
			exit(check_failures == 0 ? 7 : 1);
		}
	}
}

/* Forked while the housekeeper is inside the driver, which it never leaves in the child. */
TEST(a_fork_while_it_is_inside)
{
	begin_and_wait(STANDIN_AT_RETURN);
	pthread_t passing = check_thread(let_time_pass, NULL);
	if (CHECK_CHILD(7)) {
		alarm(check_limit(20));
		cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED);
		_exit(7);
	}
	enough_passed = true;
	pthread_join(passing, NULL);
	standin_release();
}

/* Children that share our memory until exec() change nothing for us. */
TEST(children_of_a_spawn)
{
	static char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
	char *kept = malloc(8 * MIB);

	begin();
	fill(kept, 8 * MIB, 1);
	heat(kept, 8 * MIB);
	for (int i = 0; i < 40; i++) {
		pid_t child;

		free(promoted(4 * MIB));
		test_clock_pass(30 * TEST_MS);
		CHECK_EQ((posix_spawn)(&child, "/bin/sh", NULL, NULL, arguments, environ), 0);
		CHECK_EQ(check_status(child), 7);
	}
	CHECK(holds(kept, 8 * MIB, 1));
	CHECK_EQ(standin_pinned(kept) != 0, preloaded());
	CHECK_EQ(thread_each_other(NULL), preloaded() + SANITIZED_THREADS);
}

static void *download(void *block)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyDtoH_v2(block, there, MIB));
	return NULL;
}

/*
 * A copy is the last one inside a block that waits to be pinned, and leaves it to the housekeeper
 * while nothing may be pinned.  A context that ends waits for that block.
 */
TEST_AFTER(a_block_is_left_to_it_during_a_capture, begin())
{
	CUstream stream;
	CUcontext second;
	CUgraph graph = NULL;

	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = malloc(64 * MIB);
	memset(block, 1, 64 * MIB);
	standin_hold("cuMemcpyDtoH", STANDIN_AT_RETURN, 0);
	pthread_t other = check_thread(download, block);
	WAIT_FOR(standin_held() == 1);
	for (int i = 0; i < 60; i++)
		OK(cuMemcpyHtoD_v2(there, block, MIB));
	WAIT_FOR(test_clock_settled());
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	standin_release();
	pthread_join(other, NULL);
	OK(cuCtxDestroy_v2(second));
	OK(cuStreamEndCapture(stream, &graph));
	free(block);
}

PRELOAD_MAIN()
