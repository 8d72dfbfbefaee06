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

#define LOOK_MOST     ((size_t)2 << 20)
#define DENSE_PART    8

bool resident_densely(uintptr_t from, uintptr_t to)
{
	unsigned char in_core[LOOK_MOST / HP_PAGE_BYTES];
	uintptr_t first = (from + HP_PAGE_BYTES - 1) & -HP_PAGE_BYTES, end = to & -HP_PAGE_BYTES;
	size_t bytes = end > first ? end - first : 0, there = 0;
	int saved = errno;

	bytes = bytes < LOOK_MOST ? bytes : LOOK_MOST;
	if (bytes == 0 || hp_in_core((void *)first, bytes, in_core) != 0) {
		errno = saved;
		return false;
	}
	for (size_t i = 0; i < bytes / HP_PAGE_BYTES; i++)
		there += in_core[i] & 1;
	return there >= bytes / HP_PAGE_BYTES - bytes / HP_PAGE_BYTES / DENSE_PART;
}

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
