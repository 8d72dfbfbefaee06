/*
 * tsc_clock.c - an anchor on both clocks, and the rate between them.
 *
 * One thread adjusts the anchor, and increments a sequence number before and after each write.  A
 * reader that finds an odd number, or a different one after the read, calls hp_now_ns() instead.
 */
#include "base/tsc_clock.h"
#include "base/clock.h"
#include "base/procfile.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cpuid.h>

#define BASELINE_NS 200000000u /* a shorter time gives too inexact a rate */
#define TURNS       5          /* readings of both clocks; the closest pair is used */
#define CLOSE_TICKS 2000u      /* between the readings of a pair, at most */
#define SAME_NS     1000000u

static struct {
	_Atomic uint32_t sequence; /* odd: a write is in progress */
	_Atomic uint64_t ticks, ns, rate;
} anchor; /* written by the thread that adjusts; rate 0: the counter is not used */

/* Constant after hp_tsc_clock_start(). */
static uint64_t first_ticks, first_ns;
static _Atomic bool usable;

/* True if the counter runs at one rate in all frequency and sleep states of the CPU. */
static bool is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8) != 0;
}

/* The kernel has compared the counters of all CPUs, and watches them. */
static bool is_the_kernels_clock(void)
{
	char name[16];
	static const char *const file[] = {
		"/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL
	};

	return hp_procfile_read(name, sizeof(name), file) && strcmp(name, "tsc\n") == 0;
}

/* Another library may have put a clock of its own in front of libc's. */
static bool is_the_kernels_time(void)
{
	struct timespec now;
	uint64_t before_ns = hp_now_ns();

	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0)
		return false;
	uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return ns >= before_ns && ns - before_ns < SAME_NS;
}

/* Reads both clocks, and returns how many ticks that took. */
static uint64_t read_pair(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t before = hp_tsc_read(), ns = hp_now_ns(), took = hp_tsc_read() - before;

	*ret_ticks = before + took / 2;
	*ret_ns = ns;
	return took;
}

/*
 * Reads both clocks at about the same time: the closest pair of TURNS, or the first one that is
 * closer than `enough` ticks.  False: the thread was interrupted each time.
 */
static bool read_both(uint64_t enough, uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t closest = UINT64_MAX, ticks, ns;

	*ret_ticks = *ret_ns = 0;
	for (int i = 0; i < TURNS && closest >= enough; i++) {
		uint64_t took = read_pair(&ticks, &ns);

		if (took >= closest)
			continue;
		closest = took;
		*ret_ticks = ticks;
		*ret_ns = ns;
	}
	return closest < CLOSE_TICKS;
}

uint64_t hp_tsc_rate(uint64_t ticks, uint64_t ns)
{
	if (ns < BASELINE_NS || ticks < ns / 2 || ticks / 10 > ns)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

void hp_tsc_clock_start(void)
{
	if (!is_invariant() || !is_the_kernels_clock() || !is_the_kernels_time())
		return;
	atomic_store(&usable, read_both(0, &first_ticks, &first_ns));
}

void hp_tsc_clock_adjust(void)
{
	uint64_t ticks, ns;

	if (!atomic_load(&usable) || !read_both(0, &ticks, &ns))
		return;
	uint64_t rate = hp_tsc_rate(ticks - first_ticks, ns - first_ns);
	if (rate == 0)
		return;
	atomic_fetch_add(&anchor.sequence, 1);
	/* A reader that sees a new value also sees the odd number. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&anchor.ticks, ticks, memory_order_relaxed);
	atomic_store_explicit(&anchor.ns, ns, memory_order_relaxed);
	atomic_store_explicit(&anchor.rate, rate, memory_order_relaxed);
	atomic_fetch_add(&anchor.sequence, 1);
}

bool hp_tsc_is_usable(void)
{
	return atomic_load(&usable);
}

/*
 * Converts without the anchor, by the time that has passed since the first readings: this is longer
 * than the span, so the result is as close.
 */
__attribute__((noinline)) static struct hp_tsc_span span_since_start(uint64_t from, uint64_t to)
{
	uint64_t ticks, ns;

	read_both(CLOSE_TICKS, &ticks, &ns);
	uint64_t ticks_passed = ticks - first_ticks, ns_passed = ns - first_ns;
	if (ticks_passed == 0)
		return (struct hp_tsc_span){ ns, ns };
	return (struct hp_tsc_span){
		.from_ns = ns -
			   (uint64_t)((unsigned __int128)(ticks - from) * ns_passed / ticks_passed),
		.to_ns =
			ns - (uint64_t)((unsigned __int128)(ticks - to) * ns_passed / ticks_passed),
	};
}

/* Returns the ns from the anchor to a reading, which may be an earlier one. */
static inline uint64_t ns_after(uint64_t ticks, uint64_t counter, uint64_t rate)
{
	return (uint64_t)((__int128)(int64_t)(counter - ticks) * (int64_t)rate >> 32);
}

struct readings {
	uint64_t ticks, ns, rate;
};

/* Reads the anchor.  False: it is not set, or is being written. */
static inline bool read_anchor(struct readings *ret)
{
	uint32_t sequence = atomic_load_explicit(&anchor.sequence, memory_order_acquire);

	ret->ticks = atomic_load_explicit(&anchor.ticks, memory_order_relaxed);
	ret->ns = atomic_load_explicit(&anchor.ns, memory_order_relaxed);
	ret->rate = atomic_load_explicit(&anchor.rate, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return ret->rate != 0 && (sequence & 1) == 0 &&
	       atomic_load_explicit(&anchor.sequence, memory_order_relaxed) == sequence;
}

struct hp_tsc_span hp_tsc_span(uint64_t from, uint64_t to)
{
	struct readings at;

	if (!read_anchor(&at))
		return span_since_start(from, to);
	return (struct hp_tsc_span){ .from_ns = at.ns + ns_after(at.ticks, from, at.rate),
				     .to_ns = at.ns + ns_after(at.ticks, to, at.rate) };
}

uint64_t hp_tsc_now_ns(void)
{
	struct readings at;

	if (!read_anchor(&at))
		return hp_now_ns();
	/* A reading may be some ticks below the anchor's. */
	uint64_t counter = hp_tsc_read(), past = counter > at.ticks ? counter - at.ticks : 0;
	return at.ns + hp_tsc_ns(past, at.rate);
}
