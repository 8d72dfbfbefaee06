/*
 * thread.c - threads of our own.
 *
 * Signals are the program's business.  Those that a thread raises by its own fault stay open:
 * blocked, they would end the process past the program's handler (signal(7)).  So do the two that
 * libc sends itself, to cancel a thread and to make setuid() hold in all of them: pthread_sigmask()
 * of glibc leaves them out whatever it is asked, where a bare system call would make setuid() hang.
 */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_MOST ((size_t)1 << 28)
#define NAMED_MOST 64 /* copy workers and four others */

static _Atomic int alive;
static _Atomic pid_t named[NAMED_MOST]; /* the kernel's numbers of those alive; 0: a free place */

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
	/* What a thread of ours holds, a lock or the driver's, would be held for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	((void *(*)(void *))body)(NULL);
	rename_one(tid, 0);
	atomic_fetch_sub(&alive, 1);
	return NULL;
}

int hp_thread_start(void *(*body)(void *), size_t stack_bytes)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS };
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int saved = errno, error = EINVAL;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&alive, 1);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* The program's thread-local memory is part of it (glibc), and may be larger. */
	for (size_t bytes = stack_bytes; error == EINVAL && bytes <= STACK_MOST; bytes *= 4) {
		pthread_attr_setstacksize(&attributes, bytes);
		error = pthread_create(&thread, &attributes, run, (void *)body);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (error != 0)
		atomic_fetch_sub(&alive, 1);
	errno = saved;
	return -error;
}

int hp_threads_alive(void)
{
	return atomic_load(&alive);
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
	atomic_store(&alive, 0);
}
