/*
 * Which of two ways to carry out a copy is the faster one in this process: measured, not assumed.
 *
 * Each way is measured TRIAL_SAMPLES times, the first one first.  Then the faster one is taken, and
 * the other one is measured again at every TRIAL_EVERY-th copy, because a machine becomes busy or
 * idle.  A zeroed trial is ready.
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

struct trial {
	/* By way: ns for 1 MiB, and how often it was measured; the copies that asked. */
	_Atomic uint32_t rate[2], samples[2], asked;
};

/* Returns true if the next copy is to take the second way. */
bool trial_takes_second(struct trial *trial);

/* A copy of `bytes`, 1 MiB or more, took `ns` by the first or the second way. */
void trial_learn(struct trial *trial, bool second, size_t bytes, uint64_t ns);

#endif
