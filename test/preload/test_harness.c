/*
 * test_harness.c - the harness of preload.h itself: a test passes only if it reached its end.
 *
 * With HARNESS_MADE in the environment this program contains the made-up tests below instead.
 */
#include "preload.h"

static void leave(void)
{
	CHECK(1);
	exit(0);
}

static void leave_at_once(void)
{
	_exit(0);
}

static void end_here(void)
{
	CHECK(1);
	check_end_here();
}

static void fail_and_end_here(void)
{
	CHECK(!"so");
	check_end_here();
}

static void check_nothing(void)
{
}

static void fail(void)
{
	CHECK(!"so");
}

static void crash(void)
{
	abort();
}

static void skip(void)
{
	CHECK_SKIP("as asked");
}

static void pass(void)
{
	CHECK(access(check_folder(), W_OK) == 0);
}

static struct check_test made[] = {
	{ "leave", leave, &made[1] },
	{ "leave_at_once", leave_at_once, &made[2] },
	{ "nothing", check_nothing, &made[3] },
	{ "fail", fail, &made[4] },
	{ "crash", crash, &made[5] },
	{ "skip", skip, &made[6] },
	{ "end_here", end_here, &made[7] },
	{ "fail_and_end_here", fail_and_end_here, &made[8] },
	{ "pass", pass, NULL },
};

/* Runs one of them with a separate harness.  Returns the exit status, and the output in `said`. */
static int run(const char *mode, const char *name, char said[4096])
{
	size_t used = 0;
	int ends[2];

	fflush(stdout);
	CHECK_EQ(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		setenv("HARNESS_MADE", "1", 1);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		execl("/proc/self/exe", "/proc/self/exe", mode, name, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], said + used, 4095 - used)) > 0;)
		used += (size_t)got;
	said[used] = '\0';
	close(ends[0]);
	return check_status(child);
}

static void check_verdict_of(const char *name, bool passes)
{
	char said[4096];

	for (int i = 0; i < 3; i++) {
		const char *mode = ((const char *[]){ "on", "off", "plain" })[i];

		CHECK_EQ(run(mode, name, said), passes ? 0 : 1);
		if (!CHECK((strstr(said, "\nok 1 - ") != NULL) == passes &&
			   (strstr(said, "not ok 1 - ") != NULL) == !passes))
			printf("# %s %s: %.*s\n", mode, name, (int)strcspn(said + 5, "\n"),
			       said + 5);
	}
}

TEST(only_the_end_of_a_test_is_a_pass)
{
	check_verdict_of("leave", false);
	check_verdict_of("leave_at_once", false);
	check_verdict_of("fail", false);
	check_verdict_of("crash", false);
	check_verdict_of("fail_and_end_here", false);
	check_verdict_of("end_here", true);
	check_verdict_of("pass", true);
	check_verdict_of("skip", true);
}

CASE(a_test_without_a_check_fails, check_verdict_of("nothing", false))

TEST(status_of_one_test_run_manually)
{
	char said[4096];

	CHECK_EQ(run("--no-fork", "pass", said), 0);
	CHECK_EQ(run("--no-fork", "end_here", said), 0);
	CHECK_EQ(run("--no-fork", "fail", said), 1);
	CHECK_EQ(run("--child", "pass", said), CHECK_REACHED_ITS_END);
	CHECK_EQ(run("--child", "fail", said), 1);
	CHECK_EQ(run("--child", "no test of that name", said), 2);
	CHECK_EQ(run("on", "no test of that name", said), 2);
}

int main(int argc, char **argv)
{
	if (getenv("HARNESS_MADE") != NULL)
		check_first = made;
	return preload_main(argc, argv);
}
