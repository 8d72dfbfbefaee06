/*
 * fork.c - the handlers of fork().
 *
 * If the parent has used CUDA, CUDA does not work in the child: nothing is pinned or reported
 * there, but the heap continues.  A child that was forked earlier is a process like any other.
 */
#include "shim/load/fork.h"
#include "base/lock.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/unpin.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "engine/tracker.h"
#include "engine/visibility.h"
#include "heap/heap.h"
#include "heap/reclaim.h"
#include "pin/pin.h"
#include "shim/libc/large.h"
#include "stage/memory.h"
#include "stage/workers.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static void before_fork(void)
{
	fork_unpin();
	/* The child counts in the same container, and would copy the pages. */
	if (!hp_locks_are_held())
		heap_trim(0);
	hp_locks_before_fork();
}

static void after_fork_child(void)
{
	bool had_device = atomic_load(&state_device_found);

	hp_locks_after_fork_child();
	hp_threads_after_fork_child();
	atomic_store(&state_process, getpid());
	enqueue_after_fork_child();
	if (had_device) {
		memory_after_fork_child();
		workers_after_fork_child();
	}
	if (hp_locks_are_held() && hp_keeps(forked_in_a_handler)) {
		/* By POSIX such a child may only exit or execute another program. */
		pin_stop("this is the child of a signal handler's fork");
		if (had_device)
			housekeeper_forget();
		return;
	}
	heap_after_fork_child();
	trace_after_fork_child();
	if (!had_device)
		return;
	housekeeper_forget();
	if (hp_keeps(forget_in_the_child))
		tracker_after_fork_child();
	visibility_after_fork_child();
	pin_after_fork_child();
	shim_large_without_device();
}

/*
 * The handlers are registered as early as possible: the first registered runs last before fork()
 * and first after it.  Handlers of others that were registered earlier run while this thread holds
 * all of hotpin's locks.  They may allocate in this thread, but must not wait for another thread
 * that allocates.
 */
bool shim_watch_forks(void)
{
	static _Atomic bool watched, refused;

	if (!atomic_exchange(&watched, true))
		atomic_store(&refused, pthread_atfork(before_fork, hp_locks_after_fork_parent,
						      after_fork_child) != 0);
	return !atomic_load(&refused);
}
