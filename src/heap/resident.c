/*
 * resident.c - samples some pages, evenly spread: 0.2 us each.
 *
 * Swapped pages count as not resident.  If the kernel refuses to say (some sandboxes forbid
 * mincore), the pages count as resident, because registering is correct in any case.
 */
#include "heap/resident.h"
#include "base/kernel.h"

#include <errno.h>

/* One page in so many bytes is sampled, within these bounds. */
#define STEP          ((size_t)4 << 20)
#define SAMPLES_LEAST 8
#define SAMPLES_MOST  64

unsigned resident_percent(uintptr_t from, size_t bytes)
{
	size_t samples = bytes / STEP;
	unsigned there = 0;
	int saved = errno;

	samples = samples < SAMPLES_LEAST ? SAMPLES_LEAST : samples;
	samples = samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
	for (size_t i = 0; i < samples; i++) {
		uintptr_t page = (from + i * ((bytes - 1) / (samples - 1))) & -HP_PAGE_BYTES;
		unsigned char in_core = 1;

		if (hp_in_core((void *)page, HP_PAGE_BYTES, &in_core) != 0 || (in_core & 1) != 0)
			there++;
	}
	errno = saved;
	return there * 100 / (unsigned)samples;
}
