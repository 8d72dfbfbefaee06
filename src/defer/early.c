/*
 * early.c - which way an upload of a pinned block takes, and what it may cost.
 *
 * What is true of a destination that is closed must be true of a source: all of the block is the
 * copy's, so that nobody has a right to write there while it runs, and it is of 2 MiB pages, which
 * cost 0.1 us each to close and open (4 KiB pages: more than the bus takes for them).
 */
#include "defer/early.h"
#include "base/kernel.h"

enum early_way early_choose(const struct early_facts *facts)
{
	if (facts->wish == EARLY_OFF || facts->block != FETCH_FINE)
		return EARLY_NOT;
	if (facts->behind_work)
		return EARLY_SCRATCH;
	/* The bus is free: what is gained is the time that it takes, and the faults are paid. */
	return facts->wish == EARLY_ALWAYS ? EARLY_DIRECT : EARLY_NOT;
}

size_t early_piece(size_t room)
{
	size_t pages = (room + HP_HUGE_PAGE_BYTES - 1) / HP_HUGE_PAGE_BYTES;

	return (pages + EARLY_PIECES - 1) / EARLY_PIECES * HP_HUGE_PAGE_BYTES;
}

/* An H200's ring takes 16 MiB in 0.3 to 0.4 ms. */
uint64_t early_patience_ns(size_t bytes)
{
	return bytes / 100;
}
