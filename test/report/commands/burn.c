/*
 * burn.c - a program without CUDA: uses CPU time in known functions, in several ways.
 *
 *     burn plain|threads|fork|_exit [PROGRAM ARGUMENT..]      executes PROGRAM at the end
 *
 * It counts CPU time and not wall time, so it does the same on a busy machine.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static double cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

__attribute__((noinline)) static void smooth_rows(void)
{
	for (int i = 0; i < 100000; i++)
		sink = sink * 0.5 + i;
}

__attribute__((noinline)) static void read_input(void)
{
	for (int i = 0; i < 100000; i++)
		sink = sink * 0.25 + i;
}

static void burn(void (*function)(void), double seconds)
{
	double end = cpu_s() + seconds;

	while (cpu_s() < end)
		function();
}

static void *burn_apart(void *unused)
{
	burn(smooth_rows, 1.0);
	return unused;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t threads[2];

	burn(read_input, 0.1);
	if (strcmp(way, "threads") == 0) {
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, burn_apart, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	if (strcmp(way, "fork") == 0) {
		if (fork() == 0) {
			burn(read_input, 0.3);
			exit(0);
		}
		wait(NULL);
	}
	burn(smooth_rows, 0.3);
	if (strcmp(way, "_exit") == 0)
		_exit(3);
	if (argc > 2) {
		execv(argv[2], argv + 2);
		return 1;
	}
	return 0;
}
