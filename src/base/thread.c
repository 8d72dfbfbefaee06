/*
 * thread.c - threads of the library.
 *
 * The program's signals go to the program's threads, also those that a fault raises: another
 * process may send them, to a program that waits for them in sigwait() or signalfd().  So a fault
 * of such a thread ends the process without the program's handler (signal(7)), and stage/move.c
 * checks memory before a worker touches it.  glibc's own two signals, for pthread_cancel() and
 * setuid(), stay unblocked, because pthread_sigmask() never blocks them.  A plain system call would
 * block them, and setuid() would hang.
 */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_MOST ((size_t)1 << 28)
#define NAMED_MOST 64 /* copy workers and four others */

static _Atomic pid_t named[NAMED_MOST]; /* kernel ids of the live threads; 0: a free entry */

static _Atomic int starting; /* threads that are not in `named` yet */

static void rename_one(pid_t from, pid_t to)
{
	for (size_t i = 0; i < NAMED_MOST; i++) {
		pid_t expected = from;

		if (atomic_compare_exchange_strong(&named[i], &expected, to))
			return;
	}
}

static void *run(void *body)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	rename_one(0, tid);
	atomic_fetch_sub(&starting, 1);
	/* A canceled thread would keep the locks that it holds, hotpin's and the driver's. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	((void *(*)(void *))body)(NULL);
	rename_one(tid, 0);
	return NULL;
}

int hp_thread_start(void *(*body)(void *), size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int saved = errno, error = EINVAL;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&starting, 1);
	/* glibc places the program's thread-local variables on the stack; they may be larger. */
	for (size_t bytes = stack_bytes; error == EINVAL && bytes <= STACK_MOST; bytes *= 4) {
		pthread_attr_setstacksize(&attributes, bytes);
		error = pthread_create(&thread, &attributes, run, (void *)body);
	}
	if (error != 0)
		atomic_fetch_sub(&starting, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	errno = saved;
	return -error;
}

bool hp_threads_are_starting(void)
{
	return atomic_load(&starting) != 0;
}

bool hp_thread_is_ours(pid_t tid)
{
	for (size_t i = 0; i < NAMED_MOST; i++)
		if (atomic_load_explicit(&named[i], memory_order_relaxed) == tid)
			return true;
	return false;
}

void hp_threads_after_fork_child(void)
{
	for (size_t i = 0; i < NAMED_MOST; i++)
		atomic_store(&named[i], 0);
	atomic_store(&starting, 0);
}

/* The pairs of a thread that are open. */
static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread int state_before __attribute__((tls_model("initial-exec")));

void hp_uncancellable_begin(void)
{
	if (depth++ == 0)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
}

void hp_uncancellable_end(void)
{
	int state = state_before;

	assert(depth != 0);
	/* A pending asynchronous request ends the thread in this call. */
	if (--depth == 0)
		pthread_setcancelstate(state, NULL);
}
