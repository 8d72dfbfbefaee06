/*
 * fetching.c - synchronous copies from the device that do not wait (HOTPIN_ASYNC=all).
 *
 * The pages of the destination are closed, the copy is enqueued where the program's call would have
 * run it, and behind it a word in memory of ours, its ticket, and an event.  Errors of earlier work
 * come with the next call then, as CUDA allows; an error of the copy's own arguments comes here,
 * and the program's own function finds it again.
 */
#include "shim/fetching.h"
#include "base/bare.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/options.h"
#include "copy/stage.h"
#include "defer/fetch.h"
#include "defer/protect.h"
#include "defer/touch.h"
#include "defer/watchdog.h"
#include "host/range.h"
#include "real/relaxed.h"
#include "shim/contexts.h"
#include "shim/deferring.h"
#include "shim/fault.h"
#include "shim/io.h"

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
		hp_info("copies from the device are waited for: %s", why);
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
	return REAL_HAS(cuStreamWriteValue32_v2) && REAL_HAS(cuMemHostGetDevicePointer_v2);
}

static bool make(void)
{
	tickets = hp_map(NULL, TICKETS_BYTES, PROT_READ | PROT_WRITE, 0);
	if (tickets == MAP_FAILED)
		return false;
	shim_io_know_driver();
	return protect_start(can_write_words() ? tickets : NULL) && watchdog_start();
}

/* What all of them need.  Made by the first, while others wait as ever. */
static bool is_ready(void)
{
	int none = 0;

	if (atomic_load(&state) == 0 && atomic_compare_exchange_strong(&state, &none, 1)) {
		int expected = 1;

		atomic_compare_exchange_strong(&state, &expected, make() ? 2 : -1);
	}
	return atomic_load(&state) == 2;
}

/* Behind the copy, in the order of its stream. */
static bool send_ticket(const struct protect_range *range)
{
	void *ticket = protect_ticket(range);
	uint32_t now = contexts_ends();
	CUdeviceptr device;

	if (ticket == NULL || (atomic_load(&ends) != now + 1 && !register_tickets(now + 1)))
		return false;
	return REAL(cuMemHostGetDevicePointer_v2)(&device, ticket, 0) == CUDA_SUCCESS &&
	       REAL(cuStreamWriteValue32_v2)(NULL, device, protect_number(range),
					     CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
}

/* One that is of the current context.  Whoever waits for it sleeps. */
static bool has_event(struct protect_range *range)
{
	CUcontext context;
	CUevent event = atomic_load(&range->event);
	uint32_t now = contexts_ends();

	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	if (event != NULL && range->ends == now && atomic_load(&range->context) == context)
		return true;
	/* With its context an event has gone; which one that was is not worth knowing. */
	if (event != NULL && range->ends == now)
		REAL(cuEventDestroy_v2)(event);
	atomic_store(&range->event, NULL);
	if (REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) !=
	    CUDA_SUCCESS)
		return false;
	range->ends = now;
	atomic_store(&range->context, context);
	atomic_store(&range->event, event);
	return true;
}

static struct protect_range *claim(const struct shim_copy *copy, bool trial)
{
	struct protect_range *range =
		protect_claim(copy->block->base, copy->block->room, copy->block->site, trial);

	if (range == NULL)
		hp_count(fetches_refused);
	return range;
}

/* Closed before the copy is enqueued: afterwards it would be too late to refuse. */
static bool enqueue(struct shim_copy *copy, struct ledger_lane *lane)
{
	struct stage_copy stage = shim_stage_describe(copy);
	struct protect_range *range = claim(copy, false);

	if (range == NULL)
		return false;
	if (!has_event(range) ||
	    stage_enqueue(&stage, 0, (void *)copy->host, copy->bytes) != CUDA_SUCCESS) {
		protect_drop(range);
		return false;
	}
	range->has_ticket = send_ticket(range);
	copy->result = REAL(cuEventRecord)(atomic_load(&range->event), NULL);
	if (copy->result == CUDA_SUCCESS && !range->spoiled) {
		ledger_add(lane);
		shim_gate_close(SHIM_GATE_FETCHED);
		protect_arm(range);
		return true;
	}
	/* Nobody could say when it is over, or everybody has seen into it. */
	copy->result = shim_stream_wait(NULL, false);
	protect_drop(range);
	return true;
}

/* Those that a thread raises by its own fault stay open, as ever. */
static hp_mask all_but_faults(void)
{
	return ~(HP_MASK_OF(SIGSEGV) | HP_MASK_OF(SIGBUS) | HP_MASK_OF(SIGILL) |
		 HP_MASK_OF(SIGFPE) | HP_MASK_OF(SIGTRAP) | HP_MASK_OF(SIGABRT) |
		 HP_MASK_OF(SIGSYS));
}

/* A thread that ended in here, or a handler that came between, would find a range half made. */
struct undisturbed {
	hp_mask before;
	int cancellable;
};

static struct undisturbed begin(void)
{
	struct undisturbed was;
	hp_mask mask = all_but_faults();

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was.cancellable);
	hp_bare_mask(SIG_BLOCK, &mask, &was.before);
	return was;
}

static void end(const struct undisturbed *was)
{
	hp_bare_mask(SIG_SETMASK, &was->before, NULL);
	pthread_setcancelstate(was->cancellable, NULL);
}

static bool may_be(const struct shim_copy *copy)
{
	const struct block *block = copy->block;
	struct fetch_facts facts = {
		.allowed = hp_options->async == HP_ASYNC_ALL && atomic_load(&state) >= 0,
		.exposed = exposure_any(),
		.per_thread = copy->per_thread,
		.pinned = copy->place == COPY_PINNED,
		.huge = atomic_load(&block->huge),
		.altered = atomic_load(&block->altered),
		.to = (uintptr_t)copy->host,
		.base = block->base,
		.start = block->start,
		.bytes = copy->bytes,
		.room = block->room,
		.size = block->size,
	};
	enum fetch_refusal refusal = fetch_refuse(&facts);

	if (refusal == FETCH_EXPOSED || refusal == FETCH_PART)
		hp_count(fetches_refused);
	return refusal == FETCH_FINE;
}

static bool is_asked_for(const struct shim_copy *copy)
{
	return copy->direction == TRACE_D2H && !copy->asynchronous && !copy->rows &&
	       !copy->captured && copy->other == NULL && copy->block != NULL && copy->far != 0;
}

bool shim_fetch_deferred(struct shim_copy *copy)
{
	const char *why;

	if (!is_asked_for(copy) || !may_be(copy) || !is_ready())
		return false;

	enum touch_wish wish = touch_next(copy->block->site);
	if (wish == TOUCH_WAIT)
		return false;
	if (!shim_fault_is_ours(&why)) {
		hp_count(fetches_refused);
		shim_fetch_stop(why);
		protect_join_all();
		return false;
	}
	copy->on_trial = wish == TOUCH_TRY;
	if (copy->on_trial)
		return false;

	struct ledger_lane *lane = shim_defer_lane(false);
	if (lane == NULL) {
		hp_count(fetches_refused);
		return false;
	}
	struct undisturbed was = begin();
	if (shim_stage_enter())
		copy->deferred = enqueue(copy, lane);
	shim_stage_leave();
	end(&was);
	if (copy->deferred)
		hp_count(copies_deferred_d2h);
	return copy->deferred;
}

void shim_fetch_ended(struct shim_copy *copy)
{
	struct undisturbed was = begin();
	struct protect_range *range = claim(copy, true);

	if (range != NULL) {
		shim_gate_close(SHIM_GATE_FETCHED);
		protect_arm(range);
	}
	end(&was);
}

static bool starts(const char *name, const char *head)
{
	return strncmp(name, head, strlen(head)) == 0;
}

/*
 * Copies join what they name when they begin, and the ledger keeps the order between streams.  Of
 * a batch nobody looks, nor of what the driver's threads do for a graph.
 */
static bool needs_nothing(const struct real_driver_fact *fact)
{
	if (fact->class == REAL_ENQUEUE)
		return !starts(fact->name, "cuGraph");
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
