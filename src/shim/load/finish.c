/*
 * finish.c - the profile of a process that leaves by _exit(), which runs no atexit handler:
 * Python's os._exit() does, and many a handler of SIGINT.
 *
 * The calling thread may have been interrupted anywhere, inside the driver or malloc() with their
 * locks held.  So it only wakes a thread that is there for this and waits for it, by system calls
 * and for a limited time.
 */
#include "shim/load/finish.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "shim/export.h"
#include "shim/load/load.h"
#include "trace/trace.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS 2000000000u
#define STACK_BYTES ((size_t)256 << 10)

enum { NOBODY, READY, ASKED, DONE };
static _Atomic uint32_t state; /* of the thread; a futex */
static pid_t owner;            /* written before the thread starts; a child of vfork() sees it */

static void move_to(uint32_t value)
{
	atomic_store(&state, value);
	hp_wake(&state, INT_MAX);
}

static void *finish_when_asked(void *arg)
{
	(void)arg;
	hp_wait_while(&state, READY, UINT64_MAX);
	shim_report();
	move_to(DONE);
	return NULL;
}

static void finish_unknown(void)
{
	shim_finish_at_once(-1);
}

void shim_finish_prepare(void)
{
	owner = getpid();
	atomic_store(&state, READY);
	if (hp_thread_start(finish_when_asked, STACK_BYTES) == 0) {
		/* It ends by an _exit() that is libc's own. */
		at_quick_exit(finish_unknown);
		return;
	}
	atomic_store(&state, NOBODY);
	hp_debug("no thread for the profile of a process that leaves by _exit()");
}

void shim_finish_at_once(int status)
{
	uint32_t expected = READY;

	if (getpid() != owner || !atomic_compare_exchange_strong(&state, &expected, ASKED))
		return;
	if (status >= 0)
		trace_exits_with(status);
	hp_wake(&state, INT_MAX);
	hp_wait_while(&state, ASKED, hp_now_ns() + PATIENCE_NS);
}

/* A process that leaves this way runs no atexit handler. */
HP_EXPORT void _exit(int status)
{
	shim_finish_at_once(status & 0xff);
	for (;;)
		syscall(SYS_exit_group, status);
}

HP_EXPORT void _Exit(int status)
{
	_exit(status);
}
