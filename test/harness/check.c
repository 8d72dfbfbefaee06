/*
 * check.c - the list of tests, their verdicts, folders and time limits.
 *
 * Pauses and limits use the kernel's clock, because a test may have replaced the others.
 */
#include "check.h"
#include "bare.h"

#include <pthread.h>

static int manually;

struct check_test *check_first, **check_last = &check_first;
int check_failures;
int check_made_one;

/* Only a program that links clock.c has it. */
__attribute__((weak)) void check_look_again(void);

static void pause_ns(long ns)
{
	struct timespec pause = { .tv_nsec = ns };

	/* Neither a sleep nor a futex, so that clock.c does not take it for the code under test. */
	bare4(SYS_ppoll, 0, 0, (long)&pause, 0);
}

void check_pause(int turn)
{
	pause_ns(turn < CHECK_PAUSE_LONG ? 50000 : 1000000);
}

/* Records that the test checks something.  A plain counter would be a race between threads. */
static void note_check(void)
{
	if (!__atomic_load_n(&check_made_one, __ATOMIC_RELAXED))
		__atomic_store_n(&check_made_one, 1, __ATOMIC_RELAXED);
}

int check_that(int holds, const char *text, const char *file, int line)
{
	note_check();
	if (!holds) {
		check_failures++;
		printf("# %s:%d: not so: %s\n", file, line, text);
		fflush(stdout);
	}
	return holds;
}

int check_equal(long long a, long long b, const char *text, const char *file, int line)
{
	note_check();
	if (a != b) {
		check_failures++;
		printf("# %s:%d: not so: %s (%lld, %lld)\n", file, line, text, a, b);
		fflush(stdout);
	}
	return a == b;
}

unsigned check_limit(unsigned seconds)
{
	const char *slowness = getenv("TEST_SLOWNESS");
	int times = slowness != NULL ? atoi(slowness) : 1;

	return seconds * (unsigned)(times > 0 ? times : 1);
}

time_t check_now_s(void)
{
	struct timespec now;

	bare4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	return now.tv_sec;
}

struct check_wait check_wait_begin(void)
{
	return (struct check_wait){ .end_s = check_now_s() + check_limit(CHECK_PATIENCE_S) };
}

int check_wait_goes_on(struct check_wait *wait, const char *text, const char *file, int line)
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

void check_give_a_chance(void)
{
	for (int i = 0; i < 10; i++)
		pause_ns(2000000);
}

int check_verdict(void)
{
	if (check_failures == 0 && !check_made_one)
		printf("# the test made no check\n");
	fflush(stdout);
	return check_failures != 0 || !check_made_one ? 1 : CHECK_REACHED_ITS_END;
}

void check_end_here(void)
{
	int verdict = check_verdict();

	_exit(verdict == CHECK_REACHED_ITS_END && manually ? 0 : verdict);
}

const char *check_folder(void)
{
	const char *folder = getenv("TEST_FOLDER");

	return folder != NULL ? folder : "/proc/none";
}

char *check_path(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", check_folder(), name);
	return path;
}

char *check_read(const char *path, char *ret, size_t room)
{
	size_t length = 0;
	ssize_t more;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && length < room - 1 &&
	       (more = read(fd, ret + length, room - 1 - length)) > 0)
		length += (size_t)more;
	if (fd >= 0)
		close(fd);
	ret[length] = '\0';
	return ret;
}

void check_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

int check_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

void check_folder_begin(char path[256])
{
	const char *top = getenv("TMPDIR");

	snprintf(path, 256, "%.200s/hotpin-test-XXXXXX", top != NULL ? top : "/tmp");
	if (mkdtemp(path) == NULL)
		path[0] = '\0';
	/* No test may take the root for its folder. */
	setenv("TEST_FOLDER", path[0] != '\0' ? path : "/proc/none", 1);
}

void check_folder_end(const char *path)
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

int check_result(int status)
{
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == CHECK_REACHED_ITS_END)
		return 0;
	else if (WEXITSTATUS(status) == 0)
		printf("# left before its end, with status 0\n");
	return WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED ? CHECK_SKIPPED : 1;
}

int check_status(pid_t child)
{
	int status = -1;

	CHECK_EQ(waitpid(child, &status, __WALL), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool check_child(int expected, const char *file, int line)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		check_failures = 0;
		return true;
	}
	check_equal(child < 0 ? -1 : check_status(child), expected, "a child's exit status", file,
		    line);
	return false;
}

pthread_t check_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (!CHECK_EQ(pthread_create(&thread, NULL, run, arg), 0)) {
		fflush(stdout);
		_exit(1);
	}
	return thread;
}

void check_in_threads(size_t count, void *(*run)(void *))
{
	pthread_t *threads = calloc(count, sizeof(*threads));

	for (uintptr_t i = 0; i < count; i++)
		threads[i] = check_thread(run, (void *)i);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

void *check_in_thread(void *(*run)(void *), void *arg)
{
	void *result = NULL;

	CHECK_EQ(pthread_join(check_thread(run, arg), &result), 0);
	return result;
}

size_t check_stack_used(void *(*run)(void *), void *arg)
{
	static char stack[64 << 10] __attribute__((aligned(4096)));
	pthread_attr_t attributes;
	pthread_t thread;
	size_t untouched = 0;

	memset(stack, 0xa5, sizeof(stack));
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, sizeof(stack));
	CHECK_EQ(pthread_create(&thread, &attributes, run, arg), 0);
	pthread_join(thread, NULL);
	while (untouched < sizeof(stack) && stack[untouched] == (char)0xa5)
		untouched++;
	return sizeof(stack) - untouched;
}

int check_run_forked(const struct check_test *test, unsigned seconds)
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

const struct check_test *check_find(const char *name)
{
	const struct check_test *test = check_first;

	while (test != NULL && strcmp(test->name, name) != 0)
		test = test->next;
	return test;
}

/* Runs the test of that name in this process.  Returns 1 if it failed, 2 if there is none. */
static int run_here(const char *name, int passed)
{
	const struct check_test *test = check_find(name);
	char folder[256] = "";

	if (test == NULL) {
		printf("# there is no test %s\n", name);
		return 2;
	}
	if (getenv("TEST_FOLDER") == NULL)
		check_folder_begin(folder);
	test->run();
	if (folder[0] != '\0')
		check_folder_end(folder);
	return check_verdict() == CHECK_REACHED_ITS_END ? passed : 1;
}

int check_each(const char *only, int (*run)(const struct check_test *test))
{
	int count = 0, failed = 0;

	for (const struct check_test *test = check_first; test != NULL; test = test->next)
		count += only == NULL || strcmp(test->name, only) == 0;
	if (count == 0)
		return 2;
	printf("1..%d\n", count);
	count = 0;
	for (const struct check_test *test = check_first; test != NULL; test = test->next) {
		if (only != NULL && strcmp(test->name, only) != 0)
			continue;
		int status = run(test);
		int good = status == 0 || status == CHECK_SKIPPED;

		count++;
		failed += !good;
		printf("%s %d - %s%s\n", good ? "ok" : "not ok", count, test->name,
		       status == CHECK_SKIPPED ? " # SKIP" : "");
	}
	return failed != 0;
}

void check_fill_descriptors(void)
{
	int file;

	do
		file = open("/dev/null", O_RDWR);
	while (file >= 0 && file <= STDERR_FILENO);
	if (file >= 0)
		close(file);
}

static int run_forked(const struct check_test *test)
{
	return check_run_forked(test, 60);
}

int check_main(int argc, char **argv)
{
	check_fill_descriptors();
	manually = argc == 3 && strcmp(argv[1], "--no-fork") == 0;
	if (manually)
		return run_here(argv[2], 0);
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return run_here(argv[2], CHECK_REACHED_ITS_END);
	return check_each(NULL, run_forked);
}
