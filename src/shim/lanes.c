/*
 * lanes.c - which lane a synchronous copy would come back early on, if it may at all.
 */
#define _GNU_SOURCE
#include "base/options.h"
#include "base/protections.h"
#include "copy/ring.h"
#include "real/libc.h"
#include "shim/copy.h"
#include "shim/deferring.h"
#include "shim/libc.h"

#include <errno.h>
#include <pthread.h>

uint32_t shim_thread(void)
{
	static _Atomic uint32_t threads;
	static __thread uint32_t number __attribute__((tls_model("initial-exec")));

	if (number == 0)
		number = atomic_fetch_add(&threads, 1) + 1;
	return number;
}

/*
 * A thread ends.  Natively its copies are over by then, and its own stream with them.  The driver
 * waits for that stream in a destructor of a key, and with a copy on it that wait may never end:
 * threads hung in it after the row 7 tests of test/gpu/defer (H200, driver 580.159).  Key 0 comes
 * before all others (glibc, __nptl_deallocate_tsd()); whatever those copy waits as natively.
 *
 * No thread_local object: to register one's destructor takes the lock that dlopen() holds while it
 * runs constructors, which may wait for this thread, and the process dies where memory is short.
 */
static __thread enum {
	END_UNSEEN,
	END_ATTENDED,
	END_BEGUN
} its_end __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static _Atomic bool ends_are_seen; /* end_key is made, and the first of all */

static void begin_end(void *unused)
{
	(void)unused;
	its_end = hp_keeps(thread_has_ended) ? END_BEGUN : END_UNSEEN;
	shim_defer_join_own();
}

void shim_watch_ends(void)
{
	if (pthread_key_create(&end_key, begin_end) == 0)
		atomic_store(&ends_are_seen, end_key == 0);
}

/*
 * A program that deletes a key which it never made, a zero, is told so: the key that it made next
 * would be ours, and its destructor be called with what we have put there.
 */
HP_EXPORT int pthread_key_delete(pthread_key_t key)
{
	bool is_ours = atomic_load(&ends_are_seen) && key == end_key;

	if ((is_ours && hp_keeps(thread_ends_key)) ||
	    (real_libc.pthread_key_delete == NULL &&
	     (!shim_libc_find() || real_libc.pthread_key_delete == NULL)))
		return EINVAL;
	return real_libc.pthread_key_delete(key);
}

/* Will its own stream be waited for when this thread ends? */
static bool attends_its_end(void)
{
	if (!hp_keeps(thread_ends))
		return true;
	if (its_end == END_UNSEEN && atomic_load(&ends_are_seen) &&
	    pthread_setspecific(end_key, &its_end) == 0)
		its_end = END_ATTENDED;
	return its_end == END_ATTENDED;
}

/*
 * A synchronous copy writes out what kernels have printed.  The size of what they print into can be
 * set to what it is until one that can print has been launched (cuda.h, cuCtxSetLimit; H200, driver
 * 580.159: 0.1 us, also while kernels run).
 */
static bool prints(void)
{
	size_t bytes = 0;

	return !REAL_HAS(cuCtxGetLimit) || !REAL_HAS(cuCtxSetLimit) ||
	       REAL(cuCtxGetLimit)(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE) != CUDA_SUCCESS ||
	       REAL(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, bytes) != CUDA_SUCCESS;
}

static bool has_functions(void)
{
	return REAL_HAS(cuCtxGetCurrent) && REAL_HAS(cuCtxPushCurrent_v2) &&
	       REAL_HAS(cuCtxPopCurrent_v2) && REAL_HAS(cuEventCreate) &&
	       REAL_HAS(cuEventDestroy_v2) && REAL_HAS(cuEventRecord) && REAL_HAS(cuEventQuery) &&
	       REAL_HAS(cuEventSynchronize) && REAL_HAS(cuStreamWaitEvent) &&
	       REAL_HAS(cuMemcpyHtoDAsync_v2) && REAL_HAS(cuEventRecord_ptsz) &&
	       REAL_HAS(cuStreamWaitEvent_ptsz) && REAL_HAS(cuMemcpyHtoDAsync_v2_ptsz);
}

static struct ledger_lane *make_lane(CUcontext context, uint32_t thread)
{
	CUevent event = NULL, spare = NULL;

	if (!has_functions() || REAL(cuEventCreate)(&event, ring_event_flags()) != CUDA_SUCCESS)
		return NULL;
	struct ledger_lane *lane = ledger_make(context, thread, event, &spare);
	if (spare != NULL)
		REAL(cuEventDestroy_v2)(spare);
	return lane;
}

struct ledger_lane *shim_defer_lane(bool per_thread)
{
	CUcontext context = NULL;

	if (!hp_options->async || shim_somebody_captures() || (per_thread && !attends_its_end()))
		return NULL;
	if (exposure_any()) {
		exposure_count();
		return NULL;
	}
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return NULL;
	uint32_t thread = per_thread ? shim_thread() : 0;
	struct ledger_lane *lane = ledger_find(context, thread);
	/* An open lane has seen no kernel since its last copy. */
	if (lane != NULL && ledger_state_of(atomic_load(&lane->word)) == LEDGER_OPEN)
		return lane;
	if (hp_keeps(exposed_printf) && prints()) {
		exposure_raise(REAL_SEEN_PRINTF);
		exposure_count();
		return NULL;
	}
	return lane != NULL ? lane : make_lane(context, thread);
}

struct ledger_lane *shim_defer_seen(bool per_thread, ledger_word *ret_word)
{
	CUcontext context = NULL;
	struct ledger_lane *lane = NULL;
	uint32_t thread = per_thread ? shim_thread() : 0;

	if (REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS)
		lane = ledger_find(context, thread);
	return lane != NULL && ledger_look(lane, thread, ret_word) ? lane : NULL;
}
