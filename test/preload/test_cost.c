/*
 * test_cost.c - the cost for a process that inherits the library and never uses CUDA.
 *
 * It must be at most 2 ms of CPU time and 1 MiB: point 4 of the promise in src/README.md.  CPU time
 * depends little on other processes.  The median difference of pairs of runs counts, one without
 * and one with the library.
 */
#include "preload.h"

#include <sys/resource.h>
#include <sys/wait.h>

#define PAIRS 101

static double milliseconds(struct timeval time)
{
	return (double)time.tv_sec * 1e3 + (double)time.tv_usec * 1e-3;
}

/* Runs /bin/true; false if it failed. */
static bool run_true(bool with, double *ret_ms)
{
	char setting[4096], *environment[] = { setting, NULL }, *arguments[] = { "true", NULL };
	struct rusage usage = { .ru_utime = { 0 } };
	int status = -1;

	snprintf(setting, sizeof(setting), "LD_PRELOAD=%s", with ? getenv("PRELOAD_SO") : "");
	pid_t child = vfork();
	if (child == 0) {
		execve("/bin/true", arguments, environment);
		_exit(127);
	}
	wait4(child, &status, 0, &usage);
	*ret_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
	return status == 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

TEST(time)
{
	static double difference[PAIRS], alone[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		double with = 0;

		CHECK(run_true(false, &alone[i]) && run_true(true, &with));
		difference[i] = with - alone[i];
	}
	qsort(difference, PAIRS, sizeof(difference[0]), by_size);
	qsort(alone, PAIRS, sizeof(alone[0]), by_size);
	printf("# %.2f ms (quartiles %.2f and %.2f) more than %.2f ms\n", difference[PAIRS / 2],
	       difference[PAIRS / 4], difference[PAIRS * 3 / 4], alone[PAIRS / 2]);
	/* On machines where a process takes very long, the library may, too. */
	CHECK(difference[PAIRS / 2] < (alone[PAIRS / 2] > 2 ? alone[PAIRS / 2] : 2));
}

/* Returns VmHWM, the peak resident memory in KiB, of a process that only reads it. */
static long resident(bool with)
{
	char command[4096], text[64] = "";

	snprintf(command, sizeof(command),
		 "LD_PRELOAD=%s exec /bin/cat /proc/self/status | sed -n 's/VmHWM:[^0-9]*//p'",
		 with ? getenv("PRELOAD_SO") : "");
	FILE *pipe = popen(command, "r");
	if (pipe == NULL || fgets(text, sizeof(text), pipe) == NULL)
		return -1;
	pclose(pipe);
	return atol(text);
}

TEST(memory)
{
	static double more[11];

	for (int i = 0; i < 11; i++) {
		long without = resident(false), with = resident(true);

		CHECK(without > 0 && with > 0);
		more[i] = (double)(with - without);
	}
	qsort(more, 11, sizeof(more[0]), by_size);
	printf("# %.0f KiB\n", more[5]);
	CHECK(more[5] <= 1024);
}

PRELOAD_MAIN()
