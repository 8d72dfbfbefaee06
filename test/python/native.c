/*
 * native.c - a thread that copies and runs no Python, for profiled.py.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
int native_copy(int (*use)(void *context), int (*copy)(uint64_t to, const void *from, size_t bytes),
		void *context, uint64_t to, const void *from, size_t bytes, int times);
#pragma GCC visibility pop

static struct {
	int (*use)(void *context);
	int (*copy)(uint64_t to, const void *from, size_t bytes);
	void *context;
	uint64_t to;
	const void *from;
	size_t bytes;
	int times, failed;
} work;

static void *run(void *unused)
{
	(void)unused;
	work.failed = work.use(work.context);
	for (int i = 0; i < work.times && work.failed == 0; i++)
		work.failed = work.copy(work.to, work.from, work.bytes);
	return NULL;
}

/* Copies in a thread of its own, and waits for it. */
int native_copy(int (*use)(void *context), int (*copy)(uint64_t to, const void *from, size_t bytes),
		void *context, uint64_t to, const void *from, size_t bytes, int times)
{
	pthread_t thread;

	work.use = use;
	work.copy = copy;
	work.context = context;
	work.to = to;
	work.from = from;
	work.bytes = bytes;
	work.times = times;
	int status = pthread_create(&thread, NULL, run, NULL);
	status = status != 0 ? status : pthread_join(thread, NULL);
	return status != 0 ? status : work.failed;
}
