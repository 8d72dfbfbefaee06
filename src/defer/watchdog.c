/*
 * watchdog.c - the thread that looks after closed ranges.
 *
 * It may be inside the driver only for the sake of a range that is closed: then its context lives,
 * because whoever ends one joins first, and waits for the thread to come out.
 */
#include "defer/watchdog.h"
#include "base/bare.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/thread.h"
#include "defer/protect.h"
#include "defer/touch.h"

#define STACK_BYTES  ((size_t)256 << 10)

/* Between two looks at a ticket; at an event, which is a call into the driver. */
#define LOOK_NS      100000u
#define LOOK_MOST_NS 2000000u
#define ASK_NS       20000000u

/* A source is opened by those who write to it; what is left of it then, at once. */
#define SOURCE_NS    1000000u

static _Atomic int thread_state; /* 0: none, 1: runs, -1: could not be had */
static _Atomic bool inside;      /* the driver */

static bool is_closed_still(const struct protect_range *range, uint32_t word)
{
	return atomic_load(&range->word) == word;
}

/* Does its event say that the copy is over, or that it never will be?  Waits if somebody does. */
static bool ask(struct protect_range *range, uint32_t word)
{
	bool is_wanted = atomic_load(&range->wanted) == protect_number_of(word);
	CUresult result = CUDA_ERROR_NOT_READY;

	atomic_store(&inside, true);
	if (is_closed_still(range, word)) {
		struct flight *flight = atomic_load(&range->flight);
		CUevent event = atomic_load(flight != NULL ? &flight->event : &range->event);

		REAL(cuCtxSetCurrent)
		(atomic_load(flight != NULL ? &flight->context : &range->context));
		result = is_wanted ? REAL(cuEventSynchronize)(event) : REAL(cuEventQuery)(event);
		REAL(cuCtxSetCurrent)(NULL);
	}
	atomic_store(&inside, false);
	/* Where the range has been given away meanwhile, the answer was about another copy. */
	return result != CUDA_ERROR_NOT_READY && is_closed_still(range, word);
}

static void open_untouched(struct protect_range *range, uint32_t word)
{
	protect_note_touch(range, protect_number_of(word));
	protect_open(range, word);
}

/* Does what is due; when to look again: hp_now_ns(). */
static uint64_t tend(struct protect_range *range, uint64_t now_ns)
{
	uint32_t word = atomic_load(&range->word), number = protect_number_of(word);
	uint64_t closed_ns = atomic_load(&range->closed_ns);

	if (protect_state_of(word) != PROTECT_CLOSED)
		return UINT64_MAX;
	if (atomic_load(&range->trial)) {
		if (now_ns < closed_ns + TOUCH_TRIAL_NS)
			return closed_ns + TOUCH_TRIAL_NS;
		open_untouched(range, word);
		return UINT64_MAX;
	}

	bool is_wanted = atomic_load(&range->wanted) == number;
	uint64_t age_ns = now_ns > closed_ns ? now_ns - closed_ns : 0;
	if (atomic_load(&range->flight) != NULL && !is_wanted && age_ns < SOURCE_NS)
		return closed_ns + SOURCE_NS;
	bool come = protect_has_come(range, number);
	if (!come && (is_wanted || !range->has_ticket || age_ns >= ASK_NS) && ask(range, word)) {
		atomic_store(&range->over, number);
		come = true;
	}
	if (come) {
		open_untouched(range, word);
		return UINT64_MAX;
	}
	/* Later and later: a tenth more of its age each time. */
	uint64_t pause_ns = age_ns / 8 + LOOK_NS;
	return now_ns + (pause_ns < LOOK_MOST_NS ? pause_ns : LOOK_MOST_NS);
}

static void *watch(void *arg)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)arg;
	protect_watch();
	if (REAL_HAS(cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	for (;;) {
		uint32_t seen = atomic_load(&protect_bell);
		uint64_t now_ns = hp_now_ns(), next_ns = UINT64_MAX;

		for (int i = 0; i < PROTECT_RANGES; i++) {
			uint64_t due_ns = tend(&protect_ranges[i], now_ns);

			next_ns = due_ns < next_ns ? due_ns : next_ns;
		}
		now_ns = hp_now_ns();
		if (next_ns == UINT64_MAX)
			hp_bare_wait(&protect_bell, seen, (uint64_t)3600 * 1000000000u);
		else if (next_ns > now_ns)
			hp_bare_wait(&protect_bell, seen, next_ns - now_ns);
	}
	return NULL;
}

bool watchdog_start(void)
{
	int expected = 0;

	if (atomic_compare_exchange_strong(&thread_state, &expected, 1) &&
	    hp_thread_start(watch, STACK_BYTES) != 0)
		atomic_store(&thread_state, -1);
	return atomic_load(&thread_state) == 1;
}

void watchdog_settle(unsigned long patience_ns)
{
	uint64_t end_ns = hp_now_ns() + patience_ns;

	while (atomic_load(&inside) && hp_now_ns() < end_ns)
		hp_bare_wait(&protect_bell, atomic_load(&protect_bell), 50000);
}

void watchdog_after_fork_child(void)
{
	atomic_store(&thread_state, 0);
	atomic_store(&inside, false);
}
