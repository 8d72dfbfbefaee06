/*
 * exit.c - writes the profile.  A process may exit without running atexit handlers, as Python's
 * os._exit() does, and many handlers of SIGINT.
 *
 * Then a signal may have interrupted the calling thread anywhere, also inside the driver or
 * malloc() with their locks held.  So it only wakes a thread that hotpin keeps for this purpose and
 * waits for it, by system calls and for a limited time.
 */
#define _GNU_SOURCE
#include "shim/load/exit.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "engine/state.h"
#include "heap/heap.h"
#include "real/libc.h"
#include "shim/export.h"
#include "trace/trace.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS 2000000000u
#define STACK_BYTES ((size_t)1 << 20) /* the program's handlers of exit() may run there */

/* The states of the thread. */
enum { ABSENT, READY, ASKED, DONE, ENDED };
static _Atomic uint32_t state; /* a futex */
static int ended_with;         /* written before the state is ENDED */
static pid_t owner;            /* written before the thread starts; not a child of vfork() */

void exit_report(void)
{
	static _Atomic bool begun;

	if (atomic_exchange(&begun, true))
		return;
	heap_count();
	trace_finish();
}

void exit_with_program(int status)
{
	uint32_t expected = READY;

	ended_with = status;
	if (atomic_compare_exchange_strong(&state, &expected, ENDED))
		hp_wake(&state, INT_MAX);
}

static void end_process(void)
{
	sigset_t all;

	/* The last thread of pthread_exit() does this in libc. */
	if (ended_with == 0)
		exit(0);
	/* The first thread called the kernel's exit(), or a seccomp filter ended it. */
	if (WIFEXITED(ended_with))
		trace_exits_with(WEXITSTATUS(ended_with));
	exit_report();
	if (WIFSIGNALED(ended_with)) {
		signal(WTERMSIG(ended_with), SIG_DFL);
		sigfillset(&all);
		pthread_sigmask(SIG_UNBLOCK, &all, NULL);
		raise(WTERMSIG(ended_with));
	}
	syscall(SYS_exit_group, WEXITSTATUS(ended_with));
}

static void *report_when_asked(void *arg)
{
	(void)arg;
	hp_wait_while(&state, READY, UINT64_MAX);
	if (atomic_load(&state) == ENDED)
		end_process();
	exit_report();
	atomic_store(&state, DONE);
	hp_wake(&state, INT_MAX);
	return NULL;
}

/* Writes the profile; `status` -1: unknown.  Safe in a signal handler. */
static void report_at_once(int status)
{
	uint32_t expected = READY;

	/* Without a profile there is no system call that a seccomp filter might refuse. */
	if (atomic_load(&state) != READY || getpid() != owner ||
	    !atomic_compare_exchange_strong(&state, &expected, ASKED))
		return;
	if (status >= 0)
		trace_exits_with(status);
	hp_wake(&state, INT_MAX);
	hp_wait_while(&state, ASKED, hp_now_ns() + PATIENCE_NS);
}

static void report_on_quick_exit(void)
{
	report_at_once(-1);
}

void exit_prepare(void)
{
	if (owner == getpid())
		return;
	owner = getpid();
	atomic_store(&state, READY);
	if (hp_thread_start(report_when_asked, STACK_BYTES) == 0) {
		/* quick_exit() ends by libc's own _exit(). */
		at_quick_exit(report_on_quick_exit);
		return;
	}
	atomic_store(&state, ABSENT);
	hp_debug("no thread for the profile of a process that ends by _exit()");
}

/* The constructor has found the next function; before that, libc's would do the same. */
#define EXIT(name)                                       \
	HP_EXPORT void name(int status)                  \
	{                                                \
		report_at_once(status & 0xff);           \
		if (real_libc.name != NULL)              \
			real_libc.name(status);          \
		for (;;)                                 \
			syscall(SYS_exit_group, status); \
	}
EXIT(_exit)
EXIT(_Exit)
#undef EXIT

/* HOTPIN_LOG=debug prints every counter. */
__attribute__((destructor)) static void on_unload(void)
{
	if (!state_active)
		return;
	if (hp_options->log < HP_DEBUG)
		return;
	heap_count();
	for (int i = 0; i < HP_COUNTER_COUNT; i++) {
		uint64_t count = atomic_load_explicit(&hp_counters[i], memory_order_relaxed);

		if (count != 0)
			hp_debug("%s: %llu", hp_counter_texts[i], (unsigned long long)count);
	}
}
