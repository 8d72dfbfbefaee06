/*
 * burn.c - uses CPU time in known functions, in several ways; all but one without CUDA.
 *
 *     burn plain|threads|fork|files|cuda|_exit|pthread_exit|SYS_exit
 *     burn plain PROGRAM ARGUMENT..                  executes PROGRAM at the end
 *
 * It counts CPU time and not wall time, so it does the same on a busy machine.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* Uploads around host code, in a driver that only this function loads. */
static int use_cuda(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuInit) *init = driver != NULL ? dlsym(driver, "cuInit") : NULL;
	__typeof__(cuDevicePrimaryCtxRetain) *retain =
		driver != NULL ? dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;
	__typeof__(cuCtxSetCurrent) *set = driver != NULL ? dlsym(driver, "cuCtxSetCurrent") : NULL;
	__typeof__(cuMemAlloc_v2) *allocate =
		driver != NULL ? dlsym(driver, "cuMemAlloc_v2") : NULL;
	__typeof__(cuMemcpyHtoD_v2) *up = driver != NULL ? dlsym(driver, "cuMemcpyHtoD_v2") : NULL;
	CUdeviceptr memory;
	CUcontext context;

	if (up == NULL || init(0) != CUDA_SUCCESS || retain(&context, 0) != CUDA_SUCCESS ||
	    set(context) != CUDA_SUCCESS || allocate(&memory, sizeof(sink)) != CUDA_SUCCESS)
		return 1;
	for (int i = 0; i < 2; i++) {
		up(memory, (const void *)&sink, sizeof(sink));
		burn(i == 0 ? smooth_rows : read_input, 0.3);
	}
	return 0;
}

/* Opens files for more than two turns of the thread that samples.  Returns 4 if numbers change. */
static int open_files(void)
{
	double end = cpu_s() + 1.2;
	int ends[2], first = open("/dev/null", O_RDONLY);
	char byte;

	/* A pipe that is closed here is closed. */
	if (pipe(ends) < 0 || close(ends[1]) < 0 || read(ends[0], &byte, 1) != 0)
		return 5;
	close(ends[0]);
	close(first);
	while (cpu_s() < end) {
		int file = open("/dev/null", O_RDONLY);

		if (file != first || dup(file) != first + 1)
			return 4;
		close(first + 1);
		close(first);
	}
	return 0;
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
	if (strcmp(way, "cuda") == 0)
		return use_cuda();
	if (strcmp(way, "files") == 0)
		return open_files();
	if (strcmp(way, "pthread_exit") == 0) {
		pthread_create(&threads[0], NULL, burn_apart, NULL);
		printf("flushed");
		pthread_exit(NULL);
	}
	/* With the first thread, the process of a plain run ends. */
	if (strcmp(way, "SYS_exit") == 0)
		syscall(SYS_exit, 3);
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
