/*
 * touched.c - a few dozen pages are asked for, evenly spread: 0.2 us each.
 *
 * What was swapped out counts as not there.  A kernel that will not say (mincore is forbidden in
 * some sandboxes) is taken to have said yes: registering is right in any case.
 */
#include "host/touched.h"
#include "base/kernel.h"

#include <errno.h>

#define SAMPLES 64
#define PAGE    ((size_t)4096)

unsigned touched_percent(uintptr_t base, size_t room)
{
	int saved = errno;
	size_t step = (room - PAGE) / (SAMPLES - 1);
	unsigned there = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		uintptr_t page = (base + i * step) & -PAGE;
		unsigned char in_core = 1;

		if (hp_in_core((void *)page, PAGE, &in_core) != 0 || (in_core & 1) != 0)
			there++;
	}
	errno = saved;
	return there * 100 / SAMPLES;
}
