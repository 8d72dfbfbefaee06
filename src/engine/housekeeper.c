/*
 * housekeeper.c - a thread that gives back unused memory and pins, even while the program makes no
 * calls.
 *
 * cuMemHostUnregister() waits for all running kernels and delays launches of other threads.  So
 * hotpin calls it neither from free() nor while the device may have work.  No work may start
 * between two such calls either.  A kernel may run until the program makes its next call; the
 * second unregistration would wait for the kernel, and the program for the unregistration.  So new
 * work waits at the gate.
 *
 * The thread starts with the first context and sleeps until something is due.  It never wakes in a
 * process that has cached and pinned nothing.
 */
#include "engine/housekeeper.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/once.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/forking.h"
#include "engine/gate.h"
#include "engine/idle.h"
#include "engine/section.h"
#include "heap/heap.h"
#include "heap/pressure.h"
#include "heap/reclaim.h"
#include "pin/eviction.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "real/contexts.h"
#include "stage/bounce.h"

#include <limits.h>

#define MS_NS          ((uint64_t)1000000)
#define SECOND_NS      (1000 * MS_NS)
#define STACK_BYTES    ((size_t)256 << 10)

/* Bounce buffers are unmapped once they were idle for this time, at most twice as long. */
#define BOUNCE_NS      (5 * SECOND_NS)

/* The most bytes to unpin before new work may pass: about 1 ms. */
#define BYTES_A_TURN   ((size_t)64 << 20)

/* The clock that dates freed blocks ticks every few milliseconds: heap/cache.h. */
#define TICK_NS        (10 * MS_NS)

/* The interval before a new query after new work came, and the longest one while a kernel runs. */
#define INTERRUPTED_NS (500 * MS_NS)
#define BUSY_MOST_NS   (60 * SECOND_NS)

/*
 * New work waits for unpinning no longer than this: its thread may hold what the unpinning needs.
 */
#define PATIENCE_NS    SECOND_NS
#define TURN_NS        (10 * MS_NS) /* interval at which waiting work checks that limit */

/*
 * After unpinning: the milliseconds that waiting threads have to continue, and the time that they
 * have to reach the driver.
 */
#define YIELD_TURNS    100
#define ARRIVE_NS      (5 * MS_NS)

/* Memory pressure is checked this often while hotpin holds any memory. */
#define PRESSURE_NS    SECOND_NS

static struct hp_once started;
static _Atomic bool runs;      /* true if the thread was created */
static _Atomic uint32_t wakes; /* a futex */
_Atomic bool housekeeper_sleeps;

/* Any thread. */
static _Atomic int submitters;       /* threads in housekeeper_work_submitted() */
static _Atomic uint32_t submissions; /* calls of housekeeper_work_submitted() */

/*
 * The program has shown an idle device, and the thread has not looked yet.  Any thread.  Until then
 * further hints cost next to nothing (doc/measurements.md#hint).
 */
static _Atomic bool hinted;

/*
 * The last query was IDLE_UNASKED: a call that waits shows only that its own context is idle, until
 * a context ends.  Any thread reads.
 */
static _Atomic bool hints_are_vain;
static _Atomic uint32_t vain_generation; /* contexts_generation() before that query */

/* Used by the thread only. */
static uint64_t busy_ns = SECOND_NS, pressure_ns;
static uint64_t look_ns; /* when the device may be queried without a hint, by hp_now_ns() */
static enum pressure_level pressure;
static bool evicted; /* nothing more can be unpinned for that pressure */

/* Any thread. */
static _Atomic bool cannot_ask;   /* the driver cannot tell whether the device is idle */
static _Atomic bool bounces_seen; /* the thread knows of idle bounce buffers */
static _Atomic bool pins_seen;    /* the thread knows of pinned blocks */

static void unpin_end(void)
{
	gate_clear(GATE_UNPIN);
	if (atomic_load(&submitters) == 0)
		return;
	/*
	 * Does not unpin again before the waiting threads have continued, even if another thread
	 * sets GATE_IDLE at once.  A thread that left by longjmp() out of a signal handler stays
	 * counted, so this wait is bounded.
	 */
	gate_clear(GATE_IDLE);
	hp_wake(&gate_word, INT_MAX);
	for (int turns = 0; turns < YIELD_TURNS && atomic_load(&submitters) != 0; turns++)
		hp_sleep_ns(MS_NS);
	/* They also need time to reach the driver. */
	hp_sleep_ns(ARRIVE_NS);
}

/*
 * Holds new work back until unpin_end().  False: work was submitted since `submissions` was `seen`,
 * even if another thread has set GATE_IDLE again.
 */
static bool unpin_begin(uint32_t seen)
{
	uint32_t gate = atomic_load(&gate_word), bit = hp_keeps(unpinned_alone) ? GATE_UNPIN : 0;

	do {
		if ((gate & GATE_IDLE) == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&gate_word, &gate, gate | bit));
	/* A thread that passed the gate before GATE_UNPIN was set has counted itself earlier. */
	if (atomic_load(&submissions) == seen || !hp_keeps(unpinned_while_idle))
		return true;
	unpin_end();
	return false;
}

void housekeeper_work_submitted(void)
{
	const uint32_t both = GATE_IDLE | GATE_UNPIN;
	uint32_t gate = atomic_load(&gate_word);
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;

	atomic_fetch_add(&submitters, 1);
	atomic_fetch_add(&submissions, 1);
	for (;;) {
		/*
		 * GATE_IDLE is clear if a thread has already waited until the limit; later calls do
		 * not wait again.
		 */
		if ((gate & both) == both && hp_now_ns() < end_ns) {
			hp_wait_until(&gate_word, gate, hp_now_ns() + TURN_NS);
			gate = atomic_load(&gate_word);
		} else if (atomic_compare_exchange_weak(&gate_word, &gate,
							gate & ~(uint32_t)GATE_IDLE)) {
			break;
		}
	}
	atomic_fetch_sub(&submitters, 1);
}

static size_t pinned_now(void)
{
	size_t now, most;

	pin_stats(&now, &most);
	return now;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Each tend_..() function does what is due.  It returns the time of its next call, by hp_now_ns();
 * UINT64_MAX: no call is due until another thread wakes the housekeeper.
 */

static uint64_t tend_heap(void)
{
	uint64_t due;

	while ((due = heap_expire(hp_now_ns())) == 0)
		continue;
	return due != UINT64_MAX ? due + TICK_NS : due;
}

static uint64_t tend_bounces(void)
{
	static uint64_t due_ns;

	if (bounce_mapped() == 0) {
		due_ns = 0;
		atomic_store(&bounces_seen, false);
	}
	/*
	 * A thread that mapped a buffer before the store did not wake this thread, so check again.
	 */
	if (bounce_mapped() == 0)
		return UINT64_MAX;
	atomic_store(&bounces_seen, true);

	uint64_t now_ns = hp_now_ns();
	if (due_ns != 0 && now_ns >= due_ns)
		bounce_age();
	if (due_ns == 0 || now_ns >= due_ns)
		due_ns = now_ns + BOUNCE_NS;
	return due_ns;
}

static uint64_t tend_pressure(void)
{
	struct pressure_facts facts;

	atomic_store(&pins_seen, false);
	if (pinned_now() + bounce_mapped() == 0 && !heap_needs_expiry() &&
	    pressure == PRESSURE_NONE)
		return UINT64_MAX;
	atomic_store(&pins_seen, true);
	if (hp_now_ns() < pressure_ns)
		return pressure_ns;
	pressure_look("", &facts);

	enum pressure_level level = pressure_level(&facts);
	if (level != pressure)
		hp_debug("memory is %s", level == PRESSURE_NONE   ? "plentiful again"
					 : level == PRESSURE_SOME ? "getting short"
								  : "short");
	heap_set_memory(&facts);
	if (level != PRESSURE_NONE)
		bounce_give_back();
	pin_set_pressure(level != PRESSURE_NONE);
	pressure = level;
	evicted = evicted && level == PRESSURE_SEVERE;
	pressure_ns = hp_now_ns() + PRESSURE_NS;
	return pressure_ns;
}

/* Registering does not wait for the device, so the device need not be idle. */
static uint64_t tend_pin_queue(void)
{
	while (pin_has_queued() && !fork_waits() && section_begin(SECTION_PINS)) {
		size_t done = pin_queued(BYTES_A_TURN);

		section_end();
		if (done == 0)
			break;
	}
	return pin_has_queued() ? hp_now_ns() + INTERRUPTED_NS : UINT64_MAX;
}

/* True if blocks in use must be unpinned too, because pinned memory cannot be swapped. */
static bool must_evict(void)
{
	return pressure == PRESSURE_SEVERE && !evicted && pinned_now() != 0;
}

static bool must_unpin(void)
{
	return pin_eviction_due() || must_evict();
}

/* Unpins in portions while the device is idle.  It was idle when `submissions` was `seen`. */
static void unpin_what_is_due(uint32_t seen)
{
	while ((must_unpin() || fork_waits()) && unpin_begin(seen)) {
		bool may = section_begin(SECTION_PINS);
		size_t done = may && pin_eviction_due() ? pin_evict_due(BYTES_A_TURN) : 0;

		/*
		 * Freed blocks may be gone by now, and a fork() needs blocks in use unpinned as
		 * well.
		 */
		if (may && done == 0 && (must_evict() || fork_waits()))
			done = pin_evict(BYTES_A_TURN);
		if (may)
			section_end();
		unpin_end();
		if (done != 0)
			continue;
		/* The remaining blocks cannot be unpinned now. */
		evicted = evicted || (may && must_evict());
		return;
	}
}

static enum idle_verdict unpin_if_idle(void)
{
	/* During the query another thread may find its own context idle and set GATE_IDLE again. */
	uint32_t seen = atomic_load(&submissions), generation = contexts_generation();
	enum idle_verdict verdict = idle_query();
	CUcontext list[CONTEXTS_MOST];

	atomic_store(&vain_generation, generation);
	atomic_store(&hints_are_vain, verdict == IDLE_UNASKED);
	/*
	 * If the driver cannot tell, only calls of the program show idleness;
	 * housekeeper_device_idle() sets GATE_IDLE.  Without a context nothing was asked.
	 */
	if (verdict == IDLE_UNKNOWN && contexts_list(list) > 0)
		atomic_store(&cannot_ask, true);
	if (verdict == IDLE_UNKNOWN || verdict == IDLE_YES)
		unpin_what_is_due(seen);
	return verdict;
}

static uint64_t tend_pins(void)
{
	uint64_t due = pin_due_ns();
	bool may_look = atomic_exchange(&hinted, false) || hp_now_ns() >= look_ns;

	if (!must_unpin())
		return due != UINT64_MAX ? due + TICK_NS : due;
	if (!may_look)
		return look_ns;

	enum idle_verdict verdict = unpin_if_idle();
	/* A query that was cut short does not change the interval. */
	if (!must_unpin() || fork_waits())
		return hp_now_ns();
	if (verdict == IDLE_UNKNOWN)
		return UINT64_MAX;
	if (verdict == IDLE_BUSY) {
		look_ns = hp_now_ns() + busy_ns;
		busy_ns = earlier(2 * busy_ns, BUSY_MOST_NS);
	} else {
		look_ns = hp_now_ns() + INTERRUPTED_NS;
		busy_ns = SECOND_NS;
	}
	return look_ns;
}

/* A later request changes `wakes`, so the thread does not sleep. */
static void tend_forks(void)
{
	while (fork_waits()) {
		uint32_t asked = fork_asked();

		unpin_if_idle();
		fork_answer(asked);
	}
}

static void *housekeep(void *arg)
{
	(void)arg;
	for (;;) {
		uint32_t seen = atomic_load(&wakes);

		/*
		 * In this order: a thread that frees a block caches it first, under the lock that
		 * tend_heap() takes, and then reads housekeeper_sleeps.
		 */
		atomic_store(&housekeeper_sleeps, true);
		tend_forks();
		uint64_t next_ns = earlier(earlier(tend_pin_queue(), tend_pressure()),
					   earlier(tend_heap(), tend_pins()));
		next_ns = earlier(next_ns, tend_bounces());
		/* A block that is freed now expires in a second; the thread is awake by then. */
		if (next_ns <= hp_now_ns() + SECOND_NS + TICK_NS)
			atomic_store(&housekeeper_sleeps, false);
		hp_wait_until(&wakes, seen, next_ns);
	}
	return NULL;
}

static void wake(void)
{
	hp_ring(&wakes);
}

void housekeeper_start(void)
{
	if (!hp_once_begin(&started))
		return;
	/* Known before the first query: a hint that comes before it counts. */
	atomic_store(&cannot_ask, !REAL_HAS(cuCtxRecordEvent));
	if (hp_thread_start(housekeep, STACK_BYTES) == 0) {
		atomic_store(&runs, true);
		pin_set_queue(wake);
		heap_set_attended(true);
	} else {
		hp_debug("no thread for unpinning: freed pinned buffers are kept");
	}
	hp_once_end(&started);
}

bool housekeeper_call(void)
{
	if (!atomic_load(&runs))
		return false;
	hp_ring(&wakes);
	return true;
}

void housekeeper_wake(void)
{
	if (heap_needs_expiry() && atomic_exchange(&housekeeper_sleeps, false))
		hp_ring(&wakes);
}

void housekeeper_note_bounce(void)
{
	if (!atomic_exchange(&bounces_seen, true))
		hp_ring(&wakes);
}

void housekeeper_note_copy(void)
{
	if (!atomic_load(&pins_seen) && pinned_now() != 0 && !atomic_exchange(&pins_seen, true))
		hp_ring(&wakes);
}

bool housekeeper_awaits_idle(void)
{
	if (atomic_load_explicit(&hints_are_vain, memory_order_relaxed) &&
	    atomic_load(&vain_generation) == contexts_generation())
		return false;
	/* If the driver cannot be asked, any call may be the last sign of an idle device. */
	if (atomic_load_explicit(&cannot_ask, memory_order_relaxed))
		return pin_eviction_due() || pinned_now() != 0;
	return pin_eviction_due() && !atomic_load_explicit(&hinted, memory_order_relaxed);
}

void housekeeper_device_idle(void)
{
	if (!housekeeper_awaits_idle())
		return;
	gate_set(GATE_IDLE);
	if (pin_eviction_due() && !atomic_exchange(&hinted, true))
		hp_ring(&wakes);
}

void housekeeper_forget(void)
{
	hp_once_reset(&started);
	atomic_store(&runs, false);
	atomic_store(&housekeeper_sleeps, false);
	atomic_store(&submitters, 0);
	fork_forget();
	section_after_fork_child();
	gate_clear(GATE_IDLE);
	gate_clear(GATE_UNPIN);
}
