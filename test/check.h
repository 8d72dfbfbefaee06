/*
 * A small TAP checker: each test runs in a child of its own with a time limit.  The files of one
 * program share its list of tests.
 *
 *	TEST(adds) { CHECK(1 + 1 == 2); }
 *	CHECK_MAIN()
 *
 * A test passes only if it reaches its end, made at least one CHECK, and none failed.
 * TEST_FOLDER names a new folder for each test; the harness removes it afterwards.
 * TEST_SLOWNESS multiplies every time limit, for a machine that is that many times slower.
 *
 * `program --no-fork adds` runs one test in this process, for a debugger; status 0 is a pass.
 * `program --child adds` does the same for another harness; CHECK_REACHED_ITS_END is a pass.
 */
#ifndef HP_TEST_CHECK_H
#define HP_TEST_CHECK_H

#include "bare.h"

#include <fcntl.h>
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
__attribute__((weak)) int check_made_one;
__attribute__((weak)) int check_manually;

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

/* Like CHECK; prints both numbers if they differ. */
#define CHECK_EQ(left, right) \
	check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)

enum { CHECK_PAUSE_LONG = 20 };

/* Lets other threads run, for longer from turn CHECK_PAUSE_LONG on; by the kernel's clock. */
static inline void check_pause(int turn)
{
	struct timespec pause = { .tv_nsec = turn < CHECK_PAUSE_LONG ? 50000 : 1000000 };

	/* Neither a sleep nor a futex, so that clock.c does not take it for the code under test. */
	bare4(SYS_ppoll, 0, 0, (long)&pause, 0);
}

/* Records that the test checks something.  A plain counter would be a race between threads. */
static inline void check_note(void)
{
	if (!__atomic_load_n(&check_made_one, __ATOMIC_RELAXED))
		__atomic_store_n(&check_made_one, 1, __ATOMIC_RELAXED);
}

/* Not inlined: there are so many calls that inlining doubles the time to compile a test. */
#define CHECK_OUT_OF_LINE __attribute__((noinline, unused))

CHECK_OUT_OF_LINE static int check_that(int holds, const char *text, const char *file, int line)
{
	check_note();
	if (!holds) {
		check_failures++;
		printf("# %s:%d: not so: %s\n", file, line, text);
		fflush(stdout);
	}
	return holds;
}

CHECK_OUT_OF_LINE static int check_equal(long long a, long long b, const char *text,
					 const char *file, int line)
{
	check_note();
	if (a != b) {
		check_failures++;
		printf("# %s:%d: not so: %s (%lld, %lld)\n", file, line, text, a, b);
		fflush(stdout);
	}
	return a == b;
}

/* Makes every thread that waits with a deadline look at the clock again, if clock.c is linked. */
__attribute__((weak)) void check_look_again(void);

/* Returns a time limit in seconds, for this machine. */
static inline unsigned check_limit(unsigned seconds)
{
	const char *slowness = getenv("TEST_SLOWNESS");
	int times = slowness != NULL ? atoi(slowness) : 1;

	return seconds * (unsigned)(times > 0 ? times : 1);
}

/* A condition that takes longer fails the test, before the test's own limit ends it. */
enum { CHECK_PATIENCE_S = 50 };

struct check_wait {
	time_t end_s;
	int turns;
};

/* Uses the kernel's clock, even if the test replaces the others. */
static inline time_t check_now_s(void)
{
	struct timespec now;

	bare4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	return now.tv_sec;
}

static inline struct check_wait check_wait_begin(void)
{
	return (struct check_wait){ .end_s = check_now_s() + check_limit(CHECK_PATIENCE_S) };
}

/* Pauses for a moment.  False after CHECK_PATIENCE_S: the test has failed. */
static inline int check_wait_goes_on(struct check_wait *wait, const char *text, const char *file,
				     int line)
{
	if (check_now_s() > wait->end_s) {
		check_that(0, text, file, line);
		return 0;
	}
	check_pause(wait->turns++);
	if (check_look_again != NULL && wait->turns % 16 == 0)
		check_look_again();
	return 1;
}

/* Waits for an action of another thread, however long it takes on a busy machine. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		struct check_wait wait_ = check_wait_begin();                                      \
		while (!(condition) && check_wait_goes_on(&wait_, #condition, __FILE__, __LINE__)) \
			continue;                                                                  \
	} while (0)

/*
 * An event that must not happen cannot be waited for.  This gives another thread the chance to do
 * it now, so that the test usually fails there.
 */
static inline void check_give_a_chance(void)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 10; i++)
		bare4(SYS_ppoll, 0, 0, (long)&pause, 0);
}

/* Not 0: a test that calls exit(0) in the middle has not passed. */
enum { CHECK_REACHED_ITS_END = 42, CHECK_SKIPPED = 77 };

/* Returns the exit status of a test that reaches its end now. */
static inline int check_verdict(void)
{
	if (check_failures == 0 && !check_made_one)
		printf("# the test made no check\n");
	fflush(stdout);
	return check_failures != 0 || !check_made_one ? 1 : CHECK_REACHED_ITS_END;
}

/* Ends the process like the end of the test, for a handler that cannot return. */
static inline void check_end_here(void)
{
	int verdict = check_verdict();

	_exit(verdict == CHECK_REACHED_ITS_END && check_manually ? 0 : verdict);
}

/*
 * check_folder() returns the test's folder; the path of a file in it is in a buffer that the next
 * call reuses.
 */
static inline const char *check_folder(void)
{
	const char *folder = getenv("TEST_FOLDER");

	return folder != NULL ? folder : "/proc/none";
}

static inline char *check_path(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", check_folder(), name);
	return path;
}

/* Creates the folder of one test and exports its name; check_folder_end() removes it. */
static inline void check_folder_begin(char path[256])
{
	const char *top = getenv("TMPDIR");

	snprintf(path, 256, "%.200s/hotpin-test-XXXXXX", top != NULL ? top : "/tmp");
	if (mkdtemp(path) == NULL)
		path[0] = '\0';
	setenv("TEST_FOLDER", path, 1);
}

static inline void check_folder_end(const char *path)
{
	int status;
	pid_t child;

	unsetenv("TEST_FOLDER");
	if (path[0] == '\0' || rmdir(path) == 0)
		return;
	child = fork();
	if (child == 0) {
		unsetenv("LD_PRELOAD");
		execlp("rm", "rm", "-rf", path, (char *)NULL);
		_exit(127);
	}
	if (child > 0)
		waitpid(child, &status, 0);
}

/* Interprets the wait status of a finished test.  0: passed, 77: skipped, 1: failed. */
static inline int check_result(int status)
{
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == CHECK_REACHED_ITS_END)
		return 0;
	else if (WEXITSTATUS(status) == 0)
		printf("# left before its end, with status 0\n");
	return WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED ? CHECK_SKIPPED : 1;
}

/* Runs the test in a child, with a folder.  0: passed, 77: skipped. */
static inline int check_run_forked(const struct check_test *test, unsigned seconds)
{
	char folder[256];
	int status;
	pid_t child;

	fflush(stdout);
	check_folder_begin(folder);
	child = fork();
	if (child == 0) {
		check_failures = check_made_one = 0;
		alarm(check_limit(seconds));
		test->run();
		_exit(check_verdict());
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		status = 1 << 8;
	check_folder_end(folder);
	return check_result(status);
}

/* Ends the running test as skipped. */
#define CHECK_SKIP(why)                         \
	do {                                    \
		printf("# skipped: %s\n", why); \
		fflush(stdout);                 \
		_exit(CHECK_SKIPPED);           \
	} while (0)

/* Runs the test of that name in this process.  Returns 1 if it failed, 2 if there is none. */
static inline int check_run_here(const char *name, int passed)
{
	char folder[256] = "";
	int found = 0;

	for (struct check_test *test = check_first; test != NULL; test = test->next) {
		if (strcmp(test->name, name) != 0)
			continue;
		if (!found++ && getenv("TEST_FOLDER") == NULL)
			check_folder_begin(folder);
		test->run();
	}
	if (!found) {
		printf("# there is no test %s\n", name);
		return 2;
	}
	if (folder[0] != '\0')
		check_folder_end(folder);
	return check_verdict() == CHECK_REACHED_ITS_END ? passed : 1;
}

/* Opens descriptors 0 to 2 if they are closed, so that no file of a test gets such a number. */
static inline void check_fill_descriptors(void)
{
	int file;

	do
		file = open("/dev/null", O_RDWR);
	while (file >= 0 && file <= STDERR_FILENO);
	if (file >= 0)
		close(file);
}

static inline int check_main(int argc, char **argv)
{
	int count = 0, failed = 0;

	check_fill_descriptors();
	check_manually = argc == 3 && strcmp(argv[1], "--no-fork") == 0;
	if (check_manually)
		return check_run_here(argv[2], 0);
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return check_run_here(argv[2], CHECK_REACHED_ITS_END);
	for (struct check_test *test = check_first; test != NULL; test = test->next)
		count++;
	printf("1..%d\n", count);
	failed = count == 0;
	count = 0;
	for (struct check_test *test = check_first; test != NULL; test = test->next) {
		int status = check_run_forked(test, 60);

		int good = status == 0 || status == CHECK_SKIPPED;

		count++;
		failed += !good;
		printf("%s %d - %s%s\n", good ? "ok" : "not ok", count, test->name,
		       status == CHECK_SKIPPED ? " # SKIP" : "");
	}
	return failed != 0;
}

#define CHECK_MAIN()                           \
	int main(int argc, char **argv)        \
	{                                      \
		return check_main(argc, argv); \
	}

#endif
