/*
 * Measures which of two ways to carry out a copy is faster in this process.
 *
 * Each way is measured TRIAL_SAMPLES times, the first one first.  Then copies take the faster way,
 * and the other way is measured again at every TRIAL_EVERY-th copy, because a machine becomes busy
 * or idle.  A way that takes more than twice as long is measured less often, so that all these
 * measurements cost at most 1 / TRIAL_EVERY of the time of the copies, up to an excess of
 * TRIAL_EXCESS.  A zeroed trial is ready.
 *
 * Any thread, no lock.  If two threads learn at once, one of the two samples may be lost.
 */
#ifndef HP_ENGINE_TRIAL_H
#define HP_ENGINE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIAL_SAMPLES 3
#define TRIAL_EVERY   64
#define TRIAL_EXCESS  1024 /* the most that an excess lengthens the interval */

struct trial {
	/*
	 * For each way: ns for 1 MiB, and the number of samples; then the number of copies that
	 * asked.
	 */
	_Atomic uint32_t rate[2], samples[2], asked;
};

/* Returns true if the next copy is to take the second way. */
bool trial_takes_second(struct trial *trial);

/* Learns that a copy of `bytes`, 1 MiB or more, took `ns` by the first or the second way. */
void trial_learn(struct trial *trial, bool second, size_t bytes, uint64_t ns);

#endif
