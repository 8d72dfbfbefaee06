/*
 * test_process.c - forks in signal handlers and during copies, exec without an environment, and
 * every way to end a process, with blocks of the library.
 */
#include "promote.h"

#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

extern char **environ;

static volatile sig_atomic_t forks, failures;

static void fork_in_handler(int signal)
{
	int status = 0, saved = errno;
	pid_t child = fork();

	(void)signal;
	if (child == 0)
		_exit(7);
	if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		failures++;
	forks++;
	errno = saved;
}

/* In a single-threaded process, fork() may interrupt libc's own malloc(): it waits for nothing. */
TEST(fork_in_a_handler)
{
	struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	char *blocks[64] = { NULL };
	unsigned seed = 1;

	alarm(check_limit(80)); /* ends a test that hangs */
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	while (forks < 200) {
		seed = seed * 1103515245 + 12345;
		char **at = &blocks[seed >> 16 & 63];

		free(*at);
		*at = malloc(256 * KIB + (seed >> 8) % (3 * MIB));
	}
	setitimer(ITIMER_PROF, &never, NULL);
	alarm(0);
	CHECK_EQ(failures, 0);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
}

/* The page of the name is missing when its range begins: the profile reads it with a lock held. */
static char *name, *pinned_block;
static bool was_pinned, is_pinned;

static void fork_where_it_faults(int signal)
{
	(void)signal;
	mprotect(name, 4096, PROT_READ | PROT_WRITE);
	strcpy(name, "late");
	was_pinned = standin_pinned(pinned_block) != 0;
	fork_in_handler(0);
	is_pinned = standin_pinned(pinned_block) != 0;
}

/* fork() unpins first, unless this could need a lock of the code that it interrupted. */
TEST_AFTER_WITH(fork_where_a_lock_is_held, begin(), "NVTX_INJECTION64_PATH=@",
		"HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null")
{
	pinned_block = promoted(48 * MIB);
	name = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, fork_where_it_faults);
	nvtxRangePushA(name);
	nvtxRangePop();
	CHECK_EQ(forks, preloaded());
	CHECK_EQ(failures, 0);
	CHECK_EQ(was_pinned, preloaded());
	CHECK_EQ(is_pinned, preloaded());
	free(pinned_block);
}

static volatile bool enough;

/* The same while they copy and pin. */
static void *copy_on(void *arg)
{
	CUdeviceptr mine;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&mine, 4 * MIB));
	while (!enough) {
		char *block = malloc(2 * MIB);

		OK(cuMemcpyHtoD_v2(mine, block, 2 * MIB));
		free(block);
	}
	return arg;
}

TEST_AFTER_WITH(fork_while_others_copy, begin(), "HOTPIN_PIN_BUDGET=6M")
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, copy_on, NULL);
	for (int i = 0; i < 40; i++) {
		if (CHECK_CHILD(7)) {
			alarm(check_limit(20));
			free(malloc(2 * MIB));
			free(malloc(100));
			_exit(7);
		}
	}
	enough = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static char *const say_seven[] = { "sh", "-c", "exit 7", NULL };

TEST(exec_with_an_empty_environment)
{
	static char *const nothing[] = { NULL };

	if (CHECK_CHILD(7)) {
		execve("/bin/sh", say_seven, nothing);
		_exit(1);
	}
}

/* A program may clear its environment before our first call. */
TEST(no_environment)
{
	clearenv();
	environ = NULL;
	begin();
	char *block = malloc(4 * MIB);
	fill(block, 4 * MIB, 3);
	for (int i = 0; i < 5; i++)
		OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
	CHECK(device_holds(there, 4 * MIB, 3));
}

/* Every way to end, with pending work, and pinned and freed blocks; the status is the program's. */
static void use_and_leave(void (*leave)(int), int expected)
{
	char *late;

	if (CHECK_CHILD(expected)) {
		CUstream stream;

		begin();
		char *block = promoted(4 * MIB);
		free(promoted(3 * MIB));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuMemcpyHtoDAsync_v2(there, block, 4 * MIB, stream));
		OK(cuMemcpyHtoDAsync_v2(there, block, 100, stream));
		late = malloc(100);
		free(late);
		leave(check_failures == 0 ? 7 : 1);
	}
}

static void leave_by_signal(int status)
{
	signal(SIGTERM, SIG_DFL);
	kill(getpid(), SIGTERM);
	pause();
	_exit(status);
}

static void leave_by_exec(int status)
{
	execv("/bin/sh", say_seven);
	_exit(status + 1);
}

static void *leave_from_here(void *arg)
{
	exit(*(int *)arg);
}

static void leave_by_thread(int status)
{
	check_in_thread(leave_from_here, &status);
}

static void leave_main(int status)
{
	static int kept;

	kept = status;
	check_thread(leave_from_here, &kept);
	pthread_exit(NULL);
}

static void ends(void)
{
	use_and_leave(exit, 7);
	use_and_leave(_exit, 7);
	use_and_leave(_Exit, 7);
	use_and_leave(quick_exit, 7);
	use_and_leave(leave_by_signal, -SIGTERM);
	use_and_leave(leave_by_exec, 7);
	use_and_leave(leave_by_thread, 7);
	use_and_leave(leave_main, 7);
}

CASE_WITH(every_end_with_a_profile,
	  ("HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"), ends())

PRELOAD_MAIN()
