/*
 * test_check.c - the test harness itself: a test passes only if it reached its end and checked
 * something.
 */
#include "check.h"

#include <signal.h>
#include <sys/stat.h>

static void leave(void)
{
	CHECK(1);
	exit(0);
}

static void fail(void)
{
	check_failures++;
}

static void crash(void)
{
	raise(SIGKILL);
}

static void skip(void)
{
	/* It is no skip of this program's. */
	CHECK(freopen("/dev/null", "w", stdout) != NULL);
	CHECK_SKIP("as asked");
}

static void fail_and_skip(void)
{
	check_failures++;
	skip();
}

static void check_nothing(void)
{
}

static void pass(void)
{
	CHECK(1);
}

static void pass_equal(void)
{
	CHECK_EQ(1, 1);
}

static int result_of(void (*run)(void))
{
	struct check_test test = { "made up", run, NULL };
	char *folder = strdup(check_folder());
	int result = check_run_forked(&test, 10);

	setenv("TEST_FOLDER", folder, 1);
	free(folder);
	return result;
}

TEST(only_the_end_of_a_test_is_a_pass)
{
	CHECK_EQ(result_of(pass), 0);
	CHECK_EQ(result_of(pass_equal), 0);
	CHECK_EQ(result_of(skip), 77);
	CHECK_EQ(result_of(leave), 1);
	CHECK_EQ(result_of(fail), 1);
	CHECK_EQ(result_of(fail_and_skip), 1);
	CHECK_EQ(result_of(crash), 1);
}

TEST(a_test_without_a_check_fails)
{
	CHECK_EQ(result_of(check_nothing), 1);
}

static int seen[2];

static void use_folder(void)
{
	struct stat status;

	CHECK(stat(check_folder(), &status) == 0 && S_ISDIR(status.st_mode));
	CHECK_EQ(mkdir(check_path("inside"), 0700), 0);
	CHECK_EQ(mkdir(check_path("inside/again"), 0700), 0);
	CHECK(write(seen[1], check_folder(), strlen(check_folder())) > 0);
}

TEST(each_test_has_a_folder_of_its_own)
{
	char first[256] = "", second[256] = "";

	CHECK_EQ(pipe(seen), 0);
	CHECK_EQ(result_of(use_folder), 0);
	CHECK(read(seen[0], first, sizeof(first) - 1) > 0);
	CHECK_EQ(result_of(use_folder), 0);
	CHECK(read(seen[0], second, sizeof(second) - 1) > 0);
	CHECK(strcmp(first, second) != 0);
	CHECK(access(first, F_OK) != 0 && access(second, F_OK) != 0);
}

static void use_no_folder(void)
{
	CHECK(strcmp(check_folder(), "/proc/none") == 0);
}

TEST(a_test_without_a_folder_writes_nowhere)
{
	setenv("TMPDIR", "/nowhere", 1);
	CHECK_EQ(result_of(use_no_folder), 0);
}

TEST(slowness_lengthens_limits)
{
	setenv("TEST_SLOWNESS", "3", 1);
	CHECK_EQ(check_limit(20), 60);
	setenv("TEST_SLOWNESS", "banana", 1);
	CHECK_EQ(check_limit(20), 20);
	unsetenv("TEST_SLOWNESS");
	CHECK_EQ(check_limit(20), 20);
}

CHECK_MAIN()
