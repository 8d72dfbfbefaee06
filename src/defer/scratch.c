/*
 * scratch.c - first fit among a handful of parts.
 */
#include "defer/scratch.h"

#include <stdbool.h>

#define ALIGN ((size_t)512)

/* Where the first part ends that is in the way of [at, at + bytes); 0: none is. */
static size_t in_the_way(const struct scratch *scratch, size_t at, size_t bytes)
{
	for (int i = 0; i < SCRATCH_PARTS; i++) {
		size_t from = scratch->parts[i].at, end = from + scratch->parts[i].bytes;

		if (end != from && from < at + bytes && at < end)
			return end;
	}
	return 0;
}

int scratch_take(struct scratch *scratch, size_t bytes)
{
	size_t wanted = (bytes + ALIGN - 1) & ~(ALIGN - 1), at = 0, end;
	int part = 0;

	while (part < SCRATCH_PARTS && scratch->parts[part].bytes != 0)
		part++;
	if (part == SCRATCH_PARTS || bytes == 0 || wanted < bytes)
		return -1;
	while ((end = in_the_way(scratch, at, wanted)) != 0)
		at = end;
	/* Every part ends within the room. */
	if (wanted > scratch->room - at)
		return -1;
	scratch->parts[part].at = at;
	scratch->parts[part].bytes = wanted;
	return part;
}

void scratch_give(struct scratch *scratch, int part)
{
	scratch->parts[part].bytes = 0;
}
