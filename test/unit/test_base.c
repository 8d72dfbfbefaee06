/*
 * test_base.c - the log, the arena and the locks.
 */
#include "base/arena.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/procfile.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int capture(void)
{
	int file = memfd_create("log", 0);

	dup2(file, STDERR_FILENO);
	hp_options_load(NULL);
	hp_log_open(NULL);
	return file;
}

static const char *captured(int file)
{
	static char text[4096];
	ssize_t bytes = pread(file, text, sizeof(text) - 1, 0);

	text[bytes > 0 ? bytes : 0] = '\0';
	return text;
}

TEST(log_writes_one_line)
{
	int file = capture();
	char expected[64];

	errno = ENOTTY;
	hp_warn("pin budget %d MiB used", 12);
	CHECK_EQ(errno, ENOTTY);
	snprintf(expected, sizeof(expected), "hotpin[%d] warn: pin budget 12 MiB used\n", getpid());
	CHECK(strcmp(captured(file), expected) == 0);
}

TEST(log_respects_the_level)
{
	int file = capture();

	hp_info("not at the default level");
	hp_debug("nor this");
	CHECK(captured(file)[0] == '\0');
	hp_options_load((char *const[]){ (char *)"HOTPIN_LOG=debug", NULL });
	hp_debug("now");
	CHECK(strstr(captured(file), "debug: now\n") != NULL);
}

TEST(log_cuts_long_lines)
{
	int file = capture();
	char giant[2000];

	memset(giant, 'x', sizeof(giant) - 1);
	giant[sizeof(giant) - 1] = '\0';
	hp_warn("%s", giant);
	hp_warn("next");
	const char *text = captured(file), *end = strchr(text, '\n');
	CHECK(end != NULL && end - text < 512 && end - text > 500);
	CHECK(strncmp(end, "\nhotpin[", 8) == 0);
}

TEST(log_leaves_a_recycled_stderr_alone)
{
	int file = capture(), data = memfd_create("data", 0);

	dup2(data, STDERR_FILENO);
	hp_warn("not into the program's data");
	CHECK_EQ(lseek(data, 0, SEEK_END), 0);
	CHECK(captured(file)[0] == '\0');
	CHECK_EQ(hp_log_write("x", 1), -EBADF);
	close(STDERR_FILENO);
	errno = ENOTTY;
	hp_warn("nor anywhere");
	CHECK_EQ(errno, ENOTTY);
}

TEST(log_goes_to_a_file)
{
	char *path = check_path("log");
	int keep = open(path, O_CREAT | O_RDWR, 0600), file = capture();

	CHECK_EQ(hp_log_open(path), 0);
	hp_warn("to the file");
	CHECK(strstr(captured(keep), "warn: to the file\n") != NULL);
	CHECK(captured(file)[0] == '\0');
	CHECK_EQ(hp_log_open("/proc/none/folder/log"), -ENOENT);
}

TEST(log_lines_cannot_drive_a_terminal)
{
	int file = capture();

	hp_warn("a\033[31mb\nc\177d \xc2\x9b"
		"31m \x9b \xe2\x80\xae \xc3\xa9");
	CHECK(strstr(captured(file), "warn: a?[31mb?c?d ??31m ? ??? \xc3\xa9\n") != NULL);
}

TEST(log_without_a_stderr_stays_silent)
{
	char *path = check_path("data");

	close(STDERR_FILENO);
	hp_options_load(NULL);
	hp_log_open(NULL);
	/* The next file that the program opens gets the number. */
	int data = open(path, O_CREAT | O_RDWR, 0600);
	CHECK_EQ(data, STDERR_FILENO);
	hp_warn("into nobody's data");
	CHECK_EQ(hp_log_write("x", 1), -EBADF);
	CHECK_EQ(lseek(data, 0, SEEK_END), 0);
}

TEST(log_file_takes_no_standard_number)
{
	char *path = check_path("log");
	int keep = open(path, O_CREAT | O_RDWR, 0600);

	close(STDIN_FILENO);
	close(STDERR_FILENO);
	hp_options_load(NULL);
	CHECK_EQ(hp_log_open(path), 0);
	CHECK_EQ(open("/dev/null", O_RDONLY), STDIN_FILENO);
	CHECK_EQ(open("/dev/null", O_WRONLY), STDERR_FILENO);
	hp_warn("to the file");
	CHECK(strstr(captured(keep), "warn: to the file\n") != NULL);
}

TEST(log_survives_a_full_disk)
{
	int full = open("/dev/full", O_WRONLY);

	if (full < 0)
		CHECK_SKIP("no /dev/full");
	dup2(full, STDERR_FILENO);
	hp_options_load(NULL);
	hp_log_open(NULL);
	errno = ENOTTY;
	hp_warn("lost");
	CHECK_EQ(errno, ENOTTY);
	CHECK_EQ(hp_log_write("x", 1), -ENOSPC);
}

static bool all_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

TEST(arena_gives_zeroed_aligned_memory)
{
	for (size_t bytes = 1; bytes <= (size_t)4 << 20; bytes = bytes * 3 / 2 + 1) {
		unsigned char *first = hp_arena_alloc(bytes);

		CHECK(first != NULL && (uintptr_t)first % 16 == 0 && all_zero(first, bytes));
		memset(first, 0xa5, bytes);
		hp_arena_free(first, bytes);
		unsigned char *second = hp_arena_alloc(bytes);
		CHECK(second != NULL && all_zero(second, bytes));
		hp_arena_free(second, bytes);
	}
	hp_arena_free(NULL, 100);
}

TEST(arena_pieces_do_not_overlap)
{
	enum { PIECES = 3000 };
	static unsigned char *pieces[PIECES];
	static size_t sizes[PIECES];

	srand(1);
	for (int i = 0; i < PIECES; i++) {
		sizes[i] = (size_t)(rand() % 5000) + 1;
		pieces[i] = hp_arena_alloc(sizes[i]);
		memset(pieces[i], i & 0xff, sizes[i]);
		if (i % 3 == 0) {
			int other = rand() % (i + 1);

			hp_arena_free(pieces[other], sizes[other]);
			pieces[other] = hp_arena_alloc(sizes[other]);
			memset(pieces[other], other & 0xff, sizes[other]);
		}
	}
	for (int i = 0; i < PIECES; i++) {
		size_t same = 0;

		while (same < sizes[i] && pieces[i][same] == (i & 0xff))
			same++;
		if (!CHECK_EQ(same, sizes[i]))
			return;
	}
}

TEST(arena_reuses_what_is_freed)
{
	void *first = hp_arena_alloc(1000);

	hp_arena_free(first, 1000);
	CHECK(hp_arena_alloc(900) == first);
}

TEST(arena_counts_refusals)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	CHECK_EQ(hp_count_read(arena_refused), 0);
	if (!SANITIZED) {
		setrlimit(RLIMIT_AS, &limit);
		CHECK(hp_arena_alloc((size_t)64 << 20) == NULL);
		CHECK_EQ(hp_count_read(arena_refused), 1);
	}
	/* A table of hotpin's that cannot grow must not change the program's errno. */
	errno = EDOM;
	CHECK(hp_arena_alloc(SIZE_MAX / 2) == NULL);
	CHECK_EQ(errno, EDOM);
	CHECK(hp_count_read(arena_refused) >= 1);
}

static void *churn(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < 20000; i++) {
		size_t bytes = (size_t)(rand_r(&seed) % 2000) + 1;
		unsigned char *piece = hp_arena_alloc(bytes);

		if (!CHECK(piece[0] == 0 && piece[bytes - 1] == 0))
			break;
		piece[0] = piece[bytes - 1] = 1;
		hp_arena_free(piece, bytes);
		hp_count(pins);
	}
	return NULL;
}

TEST(arena_and_counters_are_thread_safe)
{
	check_in_threads(4, churn);
	CHECK_EQ(hp_count_read(pins), 4 * 20000);
}

/* A child that calls `act` ends with this status. */
static void ends_child(int expected, void (*act)(void))
{
	if (CHECK_CHILD(expected)) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		close(STDERR_FILENO);
		act();
		_exit(0);
	}
}

static void in_order(void)
{
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		hp_lock((enum hp_lock)lock);
	for (int lock = HP_LOCK_COUNT; lock-- > 0;)
		hp_unlock((enum hp_lock)lock);
}

static void backwards(void)
{
	hp_lock(HP_LOCK_arena);
	hp_lock(HP_LOCK_pin);
}

static void twice(void)
{
	hp_lock(HP_LOCK_pin);
	hp_lock(HP_LOCK_pin);
}

static void not_held(void)
{
	hp_unlock(HP_LOCK_pin);
}

TEST(locks_assert_their_order)
{
	ends_child(0, in_order);
#ifndef NDEBUG
	ends_child(-SIGABRT, backwards);
	ends_child(-SIGABRT, twice);
	ends_child(-SIGABRT, not_held);
	CHECK(!hp_lock_held(HP_LOCK_heap));
#else
	(void)backwards;
	(void)twice;
	(void)not_held;
#endif
	hp_lock(HP_LOCK_heap);
	CHECK(hp_lock_held(HP_LOCK_heap));
	hp_unlock(HP_LOCK_heap);
}

static atomic_bool stop;

static void *hold_and_release(void *arg)
{
	while (!atomic_load(&stop)) {
		in_order();
		hp_lock(HP_LOCK_heap);
		hp_unlock(HP_LOCK_heap);
	}
	return arg;
}

/* A child must be able to take every lock, regardless of what other threads held at the fork. */
TEST(locks_over_fork)
{
	pthread_t threads[2];

	for (size_t i = 0; i < HP_LEN(threads); i++)
		pthread_create(&threads[i], NULL, hold_and_release, NULL);
	for (int i = 0; i < 200; i++) {
		hp_locks_before_fork();
		pid_t child = fork();
		if (child == 0) {
			hp_locks_after_fork_child();
			alarm(check_limit(10));
			in_order();
			_exit(0);
		}
		hp_locks_after_fork_parent();
		if (!CHECK_EQ(check_status(child), 0))
			break;
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < HP_LEN(threads); i++)
		pthread_join(threads[i], NULL);
}

TEST(kernels_that_keep_pins_at_fork)
{
	const struct {
		const char *release;
		bool keeps;
	} rows[] = {
		{ "5.9.0", true },
		{ "5.9", true },
		{ "5.10.0-28-amd64", true },
		{ "5.15.167.4-microsoft-standard-WSL2", true },
		{ "6.0.1", true },
		{ "10.1", true },
		{ "5.8.18-generic", false },
		{ "5.0", false },
		{ "4.18.0-553.el8_10.x86_64", false },
		{ "4.99.9", false },
		{ "", false },
		{ "6", false },
		{ ".9", false },
		{ "x.9", false },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++)
		if (!CHECK_EQ(hp_procfile_fork_keeps_pins(rows[i].release), rows[i].keeps))
			printf("# %s\n", rows[i].release);
}

CHECK_MAIN()
