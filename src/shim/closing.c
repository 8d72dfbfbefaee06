/*
 * closing.c - what copies need whose host side is closed until they are over (HOTPIN_ASYNC=all).
 *
 * Whoever waits for one in a signal handler cannot ask the driver, so the device says that it is
 * over: behind the copy it writes a word, a ticket, in memory of ours.  An event says the same to
 * the thread that watches, which asks where the device has failed.
 */
#include "shim/closing.h"
#include "base/kernel.h"
#include "base/log.h"
#include "defer/watchdog.h"
#include "real/relaxed.h"
#include "shim/contexts.h"
#include "shim/io.h"
#include "shim/shim.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define TICKETS_BYTES ((size_t)4096)

/* How long a thread that is about to end a context waits for ours to come out of the driver. */
#define PATIENCE_NS   100000000u

/* 0: not yet, 1: a thread is just at it, 2: all is there, -1: never again. */
static _Atomic int state;

/* Written before state is 2. */
static void *tickets;         /* NULL: devices cannot write there */
static _Atomic uint32_t ends; /* contexts that had gone when the tickets were registered */

void shim_fetch_stop(const char *why)
{
	if (atomic_exchange(&state, -1) != -1) {
		protect_forbid();
		hp_info("copies are waited for: %s", why);
	}
}

void shim_fetch_pause(void)
{
	protect_forbid();
	protect_join_all();
	watchdog_settle(PATIENCE_NS);
}

void shim_fetch_resume(void)
{
	protect_allow();
}

void shim_fetch_after_fork_child(void)
{
	/* Forbidden by shim_fetch_pause(): for good, where the parent's device was in use. */
	if (atomic_load(&state) == 0) {
		protect_allow();
		return;
	}
	atomic_store(&state, -1);
	protect_after_fork_child();
	watchdog_after_fork_child();
}

/* The context that it was made in takes a registration along. */
static bool register_tickets(uint32_t now)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = REAL(cuMemHostRegister_v2)(
		tickets, TICKETS_BYTES, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

	relaxed_end(&relaxed);
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return false;
	atomic_store(&ends, now);
	return true;
}

static bool can_write_words(void)
{
	return REAL_HAS(cuStreamWriteValue32_v2) && REAL_HAS(cuStreamWriteValue32_v2_ptsz) &&
	       REAL_HAS(cuMemHostGetDevicePointer_v2);
}

static bool make(void)
{
	tickets = hp_map(NULL, TICKETS_BYTES, PROT_READ | PROT_WRITE, 0);
	if (tickets == MAP_FAILED)
		return false;
	shim_io_know_driver();
	return protect_start(can_write_words() ? tickets : NULL) && watchdog_start();
}

bool shim_close_ready(void)
{
	int none = 0;

	if (atomic_load(&state) == 0 && atomic_compare_exchange_strong(&state, &none, 1)) {
		int expected = 1;

		atomic_compare_exchange_strong(&state, &expected, make() ? 2 : -1);
	}
	return atomic_load(&state) == 2;
}

bool shim_close_allowed(void)
{
	return atomic_load(&state) >= 0;
}

static CUresult write_word(CUdeviceptr at, uint32_t word, CUstream stream, bool per_thread)
{
	return per_thread ? REAL(cuStreamWriteValue32_v2_ptsz)(stream, at, word,
							       CU_STREAM_WRITE_VALUE_DEFAULT)
			  : REAL(cuStreamWriteValue32_v2)(stream, at, word,
							  CU_STREAM_WRITE_VALUE_DEFAULT);
}

bool shim_close_ticket(const struct protect_range *range, CUstream stream, bool per_thread)
{
	void *ticket = protect_ticket(range);
	uint32_t now = contexts_ends();
	CUdeviceptr device;

	if (ticket == NULL || (atomic_load(&ends) != now + 1 && !register_tickets(now + 1)))
		return false;
	return REAL(cuMemHostGetDevicePointer_v2)(&device, ticket, 0) == CUDA_SUCCESS &&
	       write_word(device, protect_number(range), stream, per_thread) == CUDA_SUCCESS;
}

bool shim_close_event(_Atomic(CUevent) *event, _Atomic(CUcontext) *context, uint32_t *ends_then)
{
	CUcontext current;
	CUevent fresh, old = atomic_load(event);
	uint32_t now = contexts_ends();

	if (REAL(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || current == NULL)
		return false;
	if (old != NULL && *ends_then == now && atomic_load(context) == current)
		return true;
	/* With its context an event has gone; which one that was is not worth knowing. */
	if (old != NULL && *ends_then == now)
		REAL(cuEventDestroy_v2)(old);
	atomic_store(event, NULL);
	if (REAL(cuEventCreate)(&fresh, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) !=
	    CUDA_SUCCESS)
		return false;
	*ends_then = now;
	atomic_store(context, current);
	atomic_store(event, fresh);
	return true;
}

/* Those that a thread raises by its own fault stay open, as ever. */
static hp_mask all_but_faults(void)
{
	return ~(HP_MASK_OF(SIGSEGV) | HP_MASK_OF(SIGBUS) | HP_MASK_OF(SIGILL) |
		 HP_MASK_OF(SIGFPE) | HP_MASK_OF(SIGTRAP) | HP_MASK_OF(SIGABRT) |
		 HP_MASK_OF(SIGSYS));
}

struct shim_undisturbed shim_undisturbed_begin(void)
{
	struct shim_undisturbed was;
	hp_mask mask = all_but_faults();

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was.cancellable);
	hp_bare_mask(SIG_BLOCK, &mask, &was.before);
	return was;
}

void shim_undisturbed_end(const struct shim_undisturbed *was)
{
	hp_bare_mask(SIG_SETMASK, &was->before, NULL);
	pthread_setcancelstate(was->cancellable, NULL);
}

/*
 * Copies join what they name when they begin, and the ledger keeps the order between streams.  Of
 * a batch nobody looks, nor of what the driver's threads do for a graph.
 */
static bool needs_nothing(const struct real_driver_fact *fact)
{
	if (fact->class == REAL_ENQUEUE)
		return !shim_starts(fact->name, "cuGraph");
	return fact->class == REAL_COPY && fact->wrapped && strstr(fact->name, "Batch") == NULL;
}

void shim_fetch_gate(const struct real_driver_fact *fact)
{
	if (fact->class == REAL_PASS || fact->class == REAL_LOCAL)
		return;
	if (!needs_nothing(fact))
		protect_join_all();
	if (fact->class == REAL_CAPTURE || fact->class == REAL_LIFE)
		watchdog_settle(PATIENCE_NS);
	if (protect_any())
		return;
	shim_gate_open(SHIM_GATE_FETCHED);
	/* Closed again where another thread has just closed pages. */
	if (protect_any())
		shim_gate_close(SHIM_GATE_FETCHED);
}
