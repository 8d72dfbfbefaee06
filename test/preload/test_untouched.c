/*
 * test_untouched.c - the library never uses signals or libc's input and output, also while copies
 * are deferred and blocks are pinned.
 */
#include "promote.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* Makes uploads that return early, and downloads into a pinned block. */
static void use_the_device(void)
{
	char *block;

	begin();
	block = promoted(4 * MIB);
	for (unsigned i = 0; i < 20; i++) {
		fill(block, 4 * MIB, i);
		OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
		OK(cuMemcpyHtoD_v2(there, block, 4 * KIB));
		memset(block, 0, 4 * MIB);
		OK(cuMemcpyDtoH_v2(block, there, 4 * MIB));
		CHECK(holds(block, 4 * MIB, i));
	}
	free(block);
}

static void check_signals(void)
{
	sigset_t before = { 0 }, after = { 0 };

	CHECK_EQ(handled(), 0);
	sigprocmask(SIG_BLOCK, NULL, &before);
	use_the_device();
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK_EQ(handled(), 0);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

TEST(no_signal_is_handled)
{
	check_signals();
}

TEST_WITH(no_signal_is_handled_with_a_profile, "HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off",
	  "HOTPIN_LOG_FILE=/dev/null")
{
	check_signals();
}

/* A mode of earlier versions, which handled SIGSEGV, is now a warning. */
#define REMOVED "HOTPIN_ASYNC=all", "HOTPIN_LOG_FILE=/dev/null"

TEST_WITH(no_signal_is_handled_in_a_removed_mode, REMOVED)
{
	check_signals();
}

/* A child of vfork() has its parent's memory, but its own signal actions. */
TEST_WITH(actions_of_a_child_stay_its_own, REMOVED)
{
	use_the_device();
	pid_t child = vfork();
	if (child == 0) {
		signal(SIGSEGV, SIG_IGN);
		_exit(signal(SIGSEGV, SIG_DFL) == SIG_IGN ? 3 : 4);
	}
	CHECK_EQ(check_status(child), 3);
	CHECK_EQ(handled(), 0);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
}

/* Only a preloaded function would precede libc's. */
TEST(calls_go_straight_to_libc)
{
	static const char *const names[] = {
		"read",         "write",      "pread",       "pwrite",           "readv",
		"writev",       "preadv",     "pwritev",     "preadv2",          "pwritev2",
		"send",         "recv",       "sendto",      "recvfrom",         "sendmsg",
		"recvmsg",      "sendmmsg",   "recvmmsg",    "splice",           "vmsplice",
		"sendfile",     "getrandom",  "fread",       "fwrite",           "fputs",
		"puts",         "printf",     "fprintf",     "aio_read",         "aio_write",
		"mq_send",      "mq_receive", "msgsnd",      "msgrcv",           "ioctl",
		"fcntl",        "poll",       "select",      "epoll_wait",       "readlink",
		"clone",        "execve",     "posix_spawn", "syscall",          "sigaction",
		"signal",       "sigset",     "sigprocmask", "sigsuspend",       "pthread_sigmask",
		"timer_create", "setcontext", "swapcontext", "process_vm_readv",
	};

	use_the_device();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(RTLD_DEFAULT, names[i]);

		if (!CHECK(found == NULL || !preload_is_in(found, OURS)))
			printf("# %s\n", names[i]);
	}
	CHECK(preload_is_in(dlsym(RTLD_DEFAULT, "writev"), "libc.so"));
	CHECK_EQ(preload_is_in(dlsym(RTLD_DEFAULT, "malloc"), OURS), getenv("LD_PRELOAD") != NULL);
}

PRELOAD_MAIN()
