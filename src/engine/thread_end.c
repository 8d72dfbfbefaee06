/*
 * thread_end.c - a key whose destructor runs before all others.
 */
#include "engine/thread_end.h"
#include "base/protections.h"
#include "engine/defer.h"

/*
 * Natively, all synchronous copies of a thread are complete when it ends.  The driver waits for the
 * thread's own stream in the destructor of a key.  With a deferred copy on the stream that wait may
 * never end: threads hung in it after the row 7 tests of test/hazards/defer (H200, driver 580.159).
 * The destructor of key 0 runs before all others (glibc, __nptl_deallocate_tsd()).  Copies in later
 * destructors are not deferred.
 *
 * A thread_local object would not do.  Registering its destructor takes the lock that dlopen()
 * holds while constructors run, and they may wait for this thread; without memory, registering ends
 * the process.
 */
static __thread enum {
	END_UNSEEN,
	END_ATTENDED,
	END_BEGUN
} its_end __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static _Atomic bool ends_are_seen; /* end_key was created, and is the first key */

static void begin_end(void *unused)
{
	(void)unused;
	its_end = hp_keeps(thread_has_ended) ? END_BEGUN : END_UNSEEN;
	defer_join_own();
}

void thread_end_watch(void)
{
	if (pthread_key_create(&end_key, begin_end) == 0)
		atomic_store(&ends_are_seen, end_key == 0);
}

bool thread_end_is_key(pthread_key_t key)
{
	return atomic_load(&ends_are_seen) && key == end_key && hp_keeps(thread_ends_key);
}

bool thread_end_is_attended(void)
{
	if (!hp_keeps(thread_ends))
		return true;
	if (its_end == END_UNSEEN && atomic_load(&ends_are_seen) &&
	    pthread_setspecific(end_key, &its_end) == 0)
		its_end = END_ATTENDED;
	return its_end == END_ATTENDED;
}
