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

/*
 * Within 1 us of hp_now_ns(), and so not always later than what another thread has read before.
 * Any thread.  It is hp_now_ns() itself before hp_tsc_clock_start(), for the first 0.2 s after it,
 * and wherever the kernel does not keep its own time by this counter.
 */
uint64_t hp_tsc_now_ns(void);

/* Looks whether the counter can be used; once a process. */
void hp_tsc_clock_start(void);

/* Compares the counter with the clock again.  Called by one thread, about twice a second. */
void hp_tsc_clock_adjust(void);

/*
 * Pure: the counter's rate, in ns for each 2^32 ticks, by what passed on both clocks; 0: that was
 * too little, or is no rate that a CPU has (0.5 to 10 GHz).
 */
uint64_t hp_tsc_rate(uint64_t ticks, uint64_t ns);

/* Pure: so many ns at that rate. */
static inline uint64_t hp_tsc_ns(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> 32);
}

#endif
