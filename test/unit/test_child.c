/*
 * test_child.c - the limits of children that work on files of strangers.
 */
#include "system/child.h"
#include "clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Returns what the child prints, up to its end. */
static const char *answer_of(void (*body)(void *arg), unsigned mib)
{
	static char text[256];
	struct child child;

	CHECK(child_start(&child, mib, body, NULL));
	size_t length = child.answers != NULL ? fread(text, 1, sizeof(text) - 1, child.answers) : 0;
	text[length] = '\0';
	child_end(&child);
	return text;
}

static void print_limits(void *arg)
{
	static const __rlimit_resource_t kinds[] = { RLIMIT_CPU, RLIMIT_CORE, RLIMIT_FSIZE };
	struct rlimit limit;

	(void)arg;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (getrlimit(kinds[i], &limit) == 0 && limit.rlim_cur == limit.rlim_max)
			printf("%d ", (int)limit.rlim_cur);
	printf("%u %d %zd", alarm(0), getchar(), write(STDERR_FILENO, "x", 1));
}

TEST(limits_of_time_and_files)
{
	CHECK(strcmp(answer_of(print_limits, 1), "20 0 0 120 -1 1") == 0);
	test_clock_pass(50 * TEST_S);
	CHECK(strcmp(answer_of(print_limits, 1), "20 0 0 70 -1 1") == 0);
}

TEST(all_children_together)
{
	struct child child;

	CHECK(strcmp(answer_of(print_limits, 1), "20 0 0 120 -1 1") == 0);
	test_clock_pass(120 * TEST_S);
	CHECK(!child_start(&child, 1, print_limits, NULL));
	child_end(&child);
}

static void end_by_alarm(void *arg)
{
	(void)arg;
	puts("begins");
	fflush(stdout);
	raise(SIGALRM);
	puts("survives");
}

TEST(an_alarm_ends_it)
{
	sigset_t alarms;

	signal(SIGALRM, SIG_IGN);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, NULL);
	CHECK(strcmp(answer_of(end_by_alarm, 1), "begins\n") == 0);
}

static void print_memory(void *arg)
{
	(void)arg;
	for (size_t mib = 1; mib <= 1024; mib *= 4) {
		void *memory = malloc(mib << 20);

		printf("%c", memory != NULL ? 'y' : 'n');
		free(memory);
	}
}

TEST(memory)
{
#ifndef __SANITIZE_ADDRESS__
	CHECK(strcmp(answer_of(print_memory, 100), "yyyynn") == 0);
	CHECK(strcmp(answer_of(print_memory, 2000), "yyyyyy") == 0);
#else
	CHECK(answer_of(print_memory, 2000)[0] == 'y');
#endif
}

CHECK_MAIN()
