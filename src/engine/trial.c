/* trial.c - two rates, and which of them is the lower one. */
#include "engine/trial.h"

#include <stdatomic.h>

static uint32_t load(const _Atomic uint32_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* Returns after how many copies the slower way is measured again. */
static uint32_t interval(uint32_t fast, uint32_t slow)
{
	/* The excess of the slower way, as a multiple of the faster one, rounded up. */
	uint32_t excess = fast != 0 ? (slow - (slow > fast)) / fast : TRIAL_EXCESS;

	return TRIAL_EVERY * (excess < TRIAL_EXCESS ? excess : TRIAL_EXCESS);
}

bool trial_takes_second(struct trial *trial)
{
	if (load(&trial->samples[0]) < TRIAL_SAMPLES)
		return false;
	if (load(&trial->samples[1]) < TRIAL_SAMPLES)
		return true;
	uint32_t asked = atomic_fetch_add_explicit(&trial->asked, 1, memory_order_relaxed) + 1;
	uint32_t first = load(&trial->rate[0]), second = load(&trial->rate[1]);
	bool measures =
		asked % (second < first ? interval(second, first) : interval(first, second)) == 0;

	return (second < first) != measures;
}

/*
 * The least of the first samples: the first of all finds cold caches and sleeping threads.  Later a
 * slower sample counts an eighth, because many copies wait for others.
 */
static uint32_t next_rate(uint32_t rate, uint32_t sample, uint32_t samples)
{
	if (samples == 0 || sample < rate)
		return sample;
	return samples < TRIAL_SAMPLES ? rate : rate + (sample - rate) / 8;
}

void trial_learn(struct trial *trial, bool second, size_t bytes, uint64_t ns)
{
	uint64_t sample = ns / (bytes >> 20);
	uint32_t samples = load(&trial->samples[second]);
	uint32_t rate = load(&trial->rate[second]);

	rate = next_rate(rate, sample < UINT32_MAX ? (uint32_t)sample : UINT32_MAX, samples);
	atomic_store_explicit(&trial->rate[second], rate, memory_order_relaxed);
	if (samples < TRIAL_SAMPLES)
		atomic_store_explicit(&trial->samples[second], samples + 1, memory_order_relaxed);
}
