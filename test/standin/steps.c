/*
 * steps.c - STANDIN_STEPS=random: streams that advance by themselves.
 *
 * A thread of the stand-in runs ready operations, one after the other, each chosen at random after
 * a random pause.  At the end of some calls the calling thread does the same, so its work may be
 * complete before the call returns.  Calls that copy pageable memory let other threads run in
 * between.  So work in flight may complete at any time, and memory that is reused too early is met
 * in either state.
 */
#include "engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS  1000000 /* an operation can become ready without a call: by a word in memory */
#define PAUSE_US 200

static bool wanted;        /* guarded by the engine's lock */
static _Atomic bool begun; /* guarded by the engine's lock for writes */
static uint64_t seed;      /* constant after `wanted` was set */
static pthread_t thread;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static bool inside, ends; /* guarded by the engine's lock: it runs an operation; it must end */

/* xorshift64 (G. Marsaglia) */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void steps_load(const char *spec)
{
	const char *number;

	if (spec == NULL || strncmp(spec, "random", 6) != 0)
		return;
	number = strchr(spec, ':');
	seed = number != NULL ? strtoull(number + 1, NULL, 10) : 0;
	wanted = true;
}

/*
 * Only the calling thread accesses pageable memory: a fault there is the program's.  Code of the
 * program may not run on a thread that could hold locks of the program.
 */
static bool thread_may(const struct op *op)
{
	const struct xfer *x = &op->work.copy;

	return op->work.kind != W_COPY ||
	       (x->src.class != SIDE_PAGEABLE && x->dst.class != SIDE_PAGEABLE);
}

static bool caller_may(const struct op *op)
{
	return op->work.kind != W_KERNEL && op->work.kind != W_HOST &&
	       op->work.kind != W_CALLBACK && thread_may(op);
}

/* The lock is held except during pauses. */
static void move(uint64_t *state)
{
	while (!ends) {
		struct timespec until;

		inside = true;
		bool ran = op_run_any(next(state), thread_may);
		inside = false;
		if (ran) {
			unsigned us = (unsigned)(next(state) % PAUSE_US);

			pthread_mutex_unlock(&engine.lock);
			if (us % 2 == 0)
				usleep(us);
			pthread_mutex_lock(&engine.lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (op_any())
			pthread_cond_timedwait(&called, &engine.lock, &until);
		else
			pthread_cond_wait(&called, &engine.lock);
	}
}

static void *run(void *arg)
{
	uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;

	(void)arg;
	pthread_mutex_lock(&engine.lock);
	move(&state);
	pthread_mutex_unlock(&engine.lock);
	return NULL;
}

/* The child of fork() has no such thread, and no owner of the lock. */
static void after_fork_child(void)
{
	wanted = false;
	begun = false;
	pthread_mutex_init(&engine.lock, NULL);
}

void steps_begin(void)
{
	sigset_t all, before;
	Dl_info info;

	if (!wanted || begun)
		return;
	/* A program that closes the driver must not unmap the thread's code. */
	if (dladdr((void *)run, &info) != 0)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	begun = pthread_atfork(NULL, NULL, after_fork_child) == 0 &&
		pthread_create(&thread, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The next number of the calling thread. */
static uint64_t next_mine(void)
{
	static __thread uint64_t state;

	if (state == 0)
		state = (seed + 1) * 0x9e3779b97f4a7c15u ^ (uintptr_t)&state;
	return next(&state);
}

void steps_called(void)
{
	if (!begun || ends || !op_any())
		return;
	pthread_cond_signal(&called);
	if (next_mine() % 4 == 0)
		op_run_any(next_mine(), caller_may);
}

/* Yields several times, so that as many threads as possible meet inside the driver. */
void steps_unlocked(void)
{
	int error = errno;

	for (uint64_t turns = begun ? next_mine() % 16 : 0; turns > 0; turns--)
		sched_yield();
	errno = error;
}

void steps_end(void)
{
	bool wait;

	if (!begun)
		return;
	pthread_mutex_lock(&engine.lock);
	ends = true;
	/*
	 * A function of the program may never return; with a device, it would not be waited for,
	 * either.
	 */
	wait = !inside;
	pthread_cond_signal(&called);
	pthread_mutex_unlock(&engine.lock);
	if (wait)
		pthread_join(thread, NULL);
}
