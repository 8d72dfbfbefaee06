/*
 * spawn.c - starts a process that never uses the device.
 *
 *	spawn COUNT PROGRAM [ARGUMENT...]
 *
 * `spawn` is the time from the start of one child to its end.  The child inherits the environment,
 * including LD_PRELOAD.
 */
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (count == 0) {
		fprintf(stderr, "usage: spawn COUNT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	double *seconds = calloc(count, sizeof(*seconds));
	for (size_t i = 0; i < count; i++) {
		double begin = bench_now();
		int status;
		pid_t child;

		if (posix_spawn(&child, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
		    waitpid(child, &status, 0) != child || status != 0) {
			fprintf(stderr, "spawn: %s failed\n", argv[2]);
			return 1;
		}
		seconds[i] = bench_now() - begin;
	}
	bench_report("spawn", "", seconds, count, count / 10);
	return 0;
}
