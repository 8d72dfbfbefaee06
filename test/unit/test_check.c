/*
 * test_check.c - the checker itself: what must not pass does not.
 */
#include "check.h"

#include <signal.h>

static void leave(void)
{
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
	CHECK_SKIP("as asked");
}

static void pass(void)
{
}

static int result_of(void (*run)(void))
{
	struct check_test test = { "made up", run, NULL };

	return check_run_forked(&test, 10);
}

TEST(only_the_end_of_a_test_is_a_pass)
{
	CHECK_EQ(result_of(pass), 0);
	CHECK_EQ(result_of(skip), 77);
	CHECK_EQ(result_of(leave), 1);
	CHECK_EQ(result_of(fail), 1);
	CHECK_EQ(result_of(crash), 1);
}

TEST(a_name_that_is_not_there)
{
	char *arguments[] = { "test_check", "--no-fork", "nothing of that name", NULL };

	CHECK_EQ(check_main(3, arguments), 2);
}

CHECK_MAIN()
