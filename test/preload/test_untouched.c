/*
 * test_untouched.c - the library handles and blocks no signal, also while copies are deferred and
 * blocks are pinned.
 */
#include "promote.h"

#include <signal.h>
#include <sys/syscall.h>

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

CASE(no_signal_is_handled, check_signals())
CASE_WITH(no_signal_is_handled_with_a_profile,
	  ("HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"),
	  check_signals())

PRELOAD_MAIN()
