/*
 * A small TAP checker: each test runs in a child of its own with a time limit.  The files of one
 * program share its list of tests.
 *
 *	TEST(adds) { CHECK(1 + 1 == 2); }
 *	CHECK_MAIN()
 *
 * `program --no-fork adds` runs one test in this process, for a debugger.
 */
#ifndef HP_TEST_CHECK_H
#define HP_TEST_CHECK_H

#include "../src/base/bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct check_test {
	const char *name;
	void (*run)(void);
	struct check_test *next;
};

__attribute__((weak)) struct check_test *check_first, **check_last = &check_first;
__attribute__((weak)) int check_failures;

#define TEST(id)                                                        \
	static void test_##id(void);                                    \
	static struct check_test entry_##id = { #id, test_##id, NULL }; \
	__attribute__((constructor)) static void add_##id(void)         \
	{                                                               \
		*check_last = &entry_##id;                              \
		check_last = &entry_##id.next;                          \
	}                                                               \
	static void test_##id(void)

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

/* As CHECK, and shows both numbers when they differ. */
#define CHECK_EQ(left, right) \
	check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)

enum { CHECK_PAUSE_LONG = 20 };

/* Lets other threads run, for longer from turn CHECK_PAUSE_LONG on; by the kernel's clock. */
static inline void check_pause(int turn)
{
	struct timespec pause = { .tv_nsec = turn < CHECK_PAUSE_LONG ? 50000 : 1000000 };

	hp_bare4(SYS_nanosleep, (long)&pause, 0, 0, 0);
}

static inline int check_that(int holds, const char *text, const char *file, int line)
{
	if (!holds) {
		check_failures++;
		printf("# %s:%d: not so: %s\n", file, line, text);
		fflush(stdout);
	}
	return holds;
}

static inline int check_equal(long long a, long long b, const char *text, const char *file,
			      int line)
{
	if (a != b) {
		check_failures++;
		printf("# %s:%d: not so: %s (%lld, %lld)\n", file, line, text, a, b);
		fflush(stdout);
	}
	return a == b;
}

/* Has every thread that waits with a deadline look at the clock again, where clock.c is linked. */
__attribute__((weak)) void check_look_again(void);

/* A condition that takes longer fails the test: sooner than the test's own limit ends it. */
enum { CHECK_PATIENCE_S = 50 };

struct check_wait {
	time_t end_s;
	int turns;
};

/* By the kernel's clock, whatever the test has made of the others. */
static inline time_t check_now_s(void)
{
	struct timespec now;

	hp_bare4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	return now.tv_sec;
}

static inline struct check_wait check_wait_begin(void)
{
	return (struct check_wait){ .end_s = check_now_s() + CHECK_PATIENCE_S };
}

/* Pauses for a moment.  False: that was long enough, and the test has failed. */
static inline int check_wait_goes_on(struct check_wait *wait, const char *text, const char *file,
				     int line)
{
	if (check_now_s() > wait->end_s) {
		check_that(0, text, file, line);
		return 0;
	}
	check_pause(wait->turns++);
	if (check_look_again != NULL)
		check_look_again();
	return 1;
}

/* Waits for what another thread does, however long it takes on a busy machine. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		struct check_wait wait_ = check_wait_begin();                                      \
		while (!(condition) && check_wait_goes_on(&wait_, #condition, __FILE__, __LINE__)) \
			continue;                                                                  \
	} while (0)

/*
 * What must not happen cannot be waited for.  Another thread has the chance to do it now, so that a
 * test most often fails where it does.
 */
static inline void check_give_a_chance(void)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 10; i++)
		hp_bare4(SYS_nanosleep, (long)&pause, 0, 0, 0);
}

/* Not 0: a test that calls exit(0) on its way has not passed. */
enum { CHECK_REACHED_ITS_END = 42 };

/* Runs the test in a child.  0: passed, 77: skipped. */
static inline int check_run_forked(const struct check_test *test, unsigned seconds)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		alarm(seconds);
		test->run();
		fflush(stdout);
		_exit(check_failures != 0 ? 1 : CHECK_REACHED_ITS_END);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 1;
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == CHECK_REACHED_ITS_END)
		return 0;
	else if (WEXITSTATUS(status) == 0)
		printf("# left before its end, with status 0\n");
	return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : 1;
}

/* Ends the running test as skipped. */
#define CHECK_SKIP(why)                         \
	do {                                    \
		printf("# skipped: %s\n", why); \
		fflush(stdout);                 \
		_exit(77);                      \
	} while (0)

static inline int check_main(int argc, char **argv)
{
	const char *limit = getenv("CHECK_SECONDS");
	unsigned seconds = limit != NULL ? (unsigned)atoi(limit) : 60;
	int count = 0, failed = 0;

	if (argc == 3 && strcmp(argv[1], "--no-fork") == 0) {
		for (struct check_test *test = check_first; test != NULL; test = test->next)
			if (strcmp(test->name, argv[2]) == 0)
				count++, test->run();
		if (count == 0)
			printf("# there is no test %s\n", argv[2]);
		return count == 0 ? 2 : check_failures != 0;
	}
	for (struct check_test *test = check_first; test != NULL; test = test->next)
		count++;
	printf("1..%d\n", count);
	failed = count == 0;
	count = 0;
	for (struct check_test *test = check_first; test != NULL; test = test->next) {
		int status = check_run_forked(test, seconds);

		count++;
		failed += status != 0 && status != 77;
		printf("%s %d - %s%s\n", status == 0 || status == 77 ? "ok" : "not ok", count,
		       test->name, status == 77 ? " # SKIP" : "");
	}
	return failed != 0;
}

#define CHECK_MAIN()                           \
	int main(int argc, char **argv)        \
	{                                      \
		return check_main(argc, argv); \
	}

#endif
