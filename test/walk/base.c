/*
 * base.c - the program, its threads that take turns, and the bytes that it writes and reads.
 */
#include "walk.h"

#include "random.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool stand_in;
struct program p;

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "walk: seed %llu, step %d: ", (unsigned long long)p.seed, p.step);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(3);
}

uint64_t hash_of(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash[4] = { count, 1, 2, 3 };

	for (; count >= 32; count -= 32, at += 32) {
		uint64_t words[4];

		__builtin_memcpy(words, at, sizeof(words));
		for (int i = 0; i < 4; i++)
			hash[i] = (hash[i] ^ words[i]) * 0x9e3779b97f4a7c15ull;
	}
	for (; count > 0; count--, at++)
		hash[count % 4] = (hash[count % 4] ^ *at) * 0x9e3779b97f4a7c15ull;
	return random_mix(hash[0]) ^ random_mix(hash[1] + 1) ^ random_mix(hash[2] + 2) ^
	       random_mix(hash[3] + 3);
}

void fill(void *bytes, size_t count, uint64_t key)
{
	unsigned char *at = bytes;

	for (; count >= 8; count -= 8, at += 8, key += 0x9e3779b97f4a7c15ull)
		__builtin_memcpy(at, &key, 8);
	memcpy(at, &key, count);
}

/* ---- threads that take turns ---- */

static struct {
	pthread_t thread;
	bool started;
	sem_t go, done;
	void (*job)(void);
} workers[THREADS];

static void *run_worker(void *number)
{
	int me = (int)(intptr_t)number;

	for (;;) {
		while (sem_wait(&workers[me].go) != 0)
			;
		if (workers[me].job == NULL)
			break;
		workers[me].job();
		sem_post(&workers[me].done);
	}
	return NULL;
}

static void worker_start(int thread)
{
	sem_init(&workers[thread].go, 0, 0);
	sem_init(&workers[thread].done, 0, 0);
	if (pthread_create(&workers[thread].thread, NULL, run_worker, (void *)(intptr_t)thread) !=
	    0)
		fail("no thread");
	workers[thread].started = true;
}

void worker_stop(int thread)
{
	if (!workers[thread].started)
		return;
	workers[thread].job = NULL;
	sem_post(&workers[thread].go);
	pthread_join(workers[thread].thread, NULL);
	workers[thread].started = false;
}

void on_thread(int thread, void (*job)(void))
{
	p.thread = thread;
	if (thread == 0) {
		job();
		return;
	}
	if (!workers[thread].started)
		worker_start(thread);
	workers[thread].job = job;
	sem_post(&workers[thread].go);
	while (sem_wait(&workers[thread].done) != 0)
		;
}
