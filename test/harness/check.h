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
#ifndef HP_HARNESS_CHECK_H
#define HP_HARNESS_CHECK_H

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Under a sanitizer everything is slower, and memory has shadows. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

/* ThreadSanitizer has a thread of its own, and keeps its notes of memory that was given back. */
#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREADS 1
#elif defined(__has_feature)
#define SANITIZED_THREADS __has_feature(thread_sanitizer)
#else
#define SANITIZED_THREADS 0
#endif

struct check_test {
	const char *name;
	void (*run)(void);
	struct check_test *next;
};

extern struct check_test *check_first, **check_last;
extern int check_failures;
extern int check_made_one;

#define TEST(id)                                                        \
	static void test_##id(void);                                    \
	static struct check_test entry_##id = { #id, test_##id, NULL }; \
	__attribute__((constructor)) static void add_##id(void)         \
	{                                                               \
		*check_last = &entry_##id;                              \
		check_last = &entry_##id.next;                          \
	}                                                               \
	static void test_##id(void)

/* A test after a first step, and before a last one that it makes also if it returns early. */
#define TEST_BETWEEN(id, first, last)   \
	static void between_##id(void); \
	TEST(id)                        \
	{                               \
		first;                  \
		between_##id();         \
		last;                   \
	}                               \
	static void between_##id(void)
#define TEST_AFTER(id, first) TEST_BETWEEN(id, first, )

/* A test that is a call of a function: tests that differ in its arguments are rows of a table. */
#define CASE(id, ...)        \
	TEST(id)             \
	{                    \
		__VA_ARGS__; \
	}

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

/* Like CHECK; prints both numbers if they differ. */
#define CHECK_EQ(left, right) \
	check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)

/* A call of the driver succeeds. */
#define OK(call) CHECK_EQ(call, CUDA_SUCCESS)

/* Both return whether it holds. */
int check_that(int holds, const char *text, const char *file, int line);
int check_equal(long long a, long long b, const char *text, const char *file, int line);

enum { CHECK_PAUSE_LONG = 20 };

/* Lets other threads run, for longer from turn CHECK_PAUSE_LONG on; by the kernel's clock. */
void check_pause(int turn);

/* Makes every thread that waits with a deadline look at the clock again; clock.c has it. */
void check_look_again(void);

/* Returns a time limit in seconds, for this machine. */
unsigned check_limit(unsigned seconds);

/* A condition that takes longer fails the test, before the test's own limit ends it. */
enum { CHECK_PATIENCE_S = 50 };

struct check_wait {
	time_t end_s;
	int turns;
};

/* Uses the kernel's clock, even if the test replaces the others. */
time_t check_now_s(void);

struct check_wait check_wait_begin(void);

/* Pauses for a moment.  False after CHECK_PATIENCE_S: the test has failed. */
int check_wait_goes_on(struct check_wait *wait, const char *text, const char *file, int line);

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
void check_give_a_chance(void);

/* Not 0: a test that calls exit(0) in the middle has not passed. */
enum { CHECK_REACHED_ITS_END = 42, CHECK_SKIPPED = 77 };

/* Returns the exit status of a test that reaches its end now. */
int check_verdict(void);

/* Ends the process like the end of the test, for a handler that cannot return. */
void check_end_here(void);

/*
 * check_folder() returns the test's folder; the path of a file in it is in a buffer that the next
 * call reuses.
 */
const char *check_folder(void);
char *check_path(const char *name);

/* Reads a file, which may be one of /proc, into `ret` and ends it with 0; "" if there is none. */
char *check_read(const char *path, char *ret, size_t room);

/* Makes the file contain the text. */
void check_write(const char *path, const char *text);

/* Creates the folder of one test and exports its name; check_folder_end() removes it. */
void check_folder_begin(char path[256]);
void check_folder_end(const char *path);

/* Interprets the wait status of a finished test.  0: passed, 77: skipped, 1: failed. */
int check_result(int status);

/* Waits for the child.  Returns its exit status, or -N if the signal N has ended it. */
int check_status(pid_t child);

/*
 * Forks.  True in the child, where no check has failed yet; false in its parent after the child's
 * end, whose exit status must be the expected one.
 */
#define CHECK_CHILD(expected) check_child(expected, __FILE__, __LINE__)
bool check_child(int expected, const char *file, int line);

/* Starts a thread.  Without one, the test fails and ends. */
pthread_t check_thread(void *(*run)(void *), void *arg);

/* Calls the function in that many threads at once, each with its number, from 0. */
void check_in_threads(size_t count, void *(*run)(void *));

/* Returns what the function returns in a thread of its own. */
void *check_in_thread(void *(*run)(void *), void *arg);

/* Calls the function in a thread of its own; returns how many bytes of the stack it touches. */
size_t check_stack_used(void *(*run)(void *), void *arg);

/* Runs the test in a child, with a folder.  0: passed, 77: skipped. */
int check_run_forked(const struct check_test *test, unsigned seconds);

/* Ends the running test as skipped; it fails if a check has failed before. */
#define CHECK_SKIP(why)                                         \
	do {                                                    \
		printf("# skipped: %s\n", why);                 \
		fflush(stdout);                                 \
		_exit(check_failures == 0 ? CHECK_SKIPPED : 1); \
	} while (0)

/* Returns the test of that name, or NULL. */
const struct check_test *check_find(const char *name);

/*
 * Prints the result of each test, or only of the one of that name, as `run` returns it: 0: passed,
 * 77: skipped.  Returns 1 if one failed, 2 if there is none.
 */
int check_each(const char *only, int (*run)(const struct check_test *test));

/* Returns the number of open descriptors, of the first 1024. */
int check_descriptors(void);

/* Opens descriptors 0 to 2 if they are closed, so that no file of a test gets such a number. */
void check_fill_descriptors(void);

int check_main(int argc, char **argv);

#define CHECK_MAIN()                           \
	int main(int argc, char **argv)        \
	{                                      \
		return check_main(argc, argv); \
	}

#endif
