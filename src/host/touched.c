/*
 * touched.c - some pages are asked for, evenly spread: 0.2 us each.
 *
 * What was swapped out counts as not there.  A kernel that will not say (mincore is forbidden in
 * some sandboxes) is taken to have said yes: registering is right in any case.
 */
#include "host/touched.h"
#include "base/kernel.h"

#include <errno.h>

/* One page in so many bytes, within these bounds. */
#define STEP          ((size_t)4 << 20)
#define SAMPLES_LEAST 8
#define SAMPLES_MOST  64

#define PAGE          ((size_t)4096)

unsigned touched_percent(uintptr_t from, size_t bytes)
{
	size_t samples = bytes / STEP;
	unsigned there = 0;
	int saved = errno;

	samples = samples < SAMPLES_LEAST ? SAMPLES_LEAST : samples;
	samples = samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
	for (size_t i = 0; i < samples; i++) {
		uintptr_t page = (from + i * ((bytes - 1) / (samples - 1))) & -PAGE;
		unsigned char in_core = 1;

		if (hp_in_core((void *)page, PAGE, &in_core) != 0 || (in_core & 1) != 0)
			there++;
	}
	errno = saved;
	return there * 100 / (unsigned)samples;
}
