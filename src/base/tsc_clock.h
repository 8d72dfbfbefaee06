/*
 * The time of hp_now_ns(), read from the CPU's time-stamp counter, which costs less.
 *
 * On a virtual machine of two cores clock_gettime() took 22 ns and rdtsc 9.5 ns; the profile reads
 * the time twice for each call of the driver.
 */
#ifndef HP_BASE_TSC_CLOCK_H
#define HP_BASE_TSC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the counter.  0: this CPU has none.  <x86intrin.h> would take longest to compile. */
static inline uint64_t hp_tsc_read(void)
{
	return __builtin_ia32_rdtsc();
}

/*
 * Returns a time within 1 us of hp_now_ns(), which may be earlier than a time that another thread
 * has read before.  Returns hp_now_ns() itself before hp_tsc_clock_start(), for the first 0.2 s
 * afterwards, and if the kernel does not use this counter for its own clock.  Any thread.
 */
uint64_t hp_tsc_now_ns(void);

/*
 * Two readings of the counter as times of the same clock; `from` was read after
 * hp_tsc_clock_start(), and not after `to`.  Only if hp_tsc_is_usable() is true.  Any thread.
 */
struct hp_tsc_span {
	uint64_t from_ns, to_ns;
};
struct hp_tsc_span hp_tsc_span(uint64_t from, uint64_t to); /* thunk.S calls it, too */

/* True if the counter can be used: constant after hp_tsc_clock_start(). */
bool hp_tsc_is_usable(void);

/* Determines whether the counter can be used.  Called once in a process. */
void hp_tsc_clock_start(void);

/* Compares the counter with the clock again.  Called by one thread, about twice a second. */
void hp_tsc_clock_adjust(void);

/*
 * Returns the counter's rate, in ns for each 2^32 ticks, from the time that passed on both clocks.
 * 0: too little time has passed, or no CPU has such a rate (0.5 to 10 GHz).  Pure.
 */
uint64_t hp_tsc_rate(uint64_t ticks, uint64_t ns);

/* Returns the ns that so many ticks take at that rate.  Pure. */
static inline uint64_t hp_tsc_ns(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> 32);
}

#endif
