/*
 * The table of closed ranges, for protect.c, which closes and opens, and protect_wait.c.
 */
#ifndef HP_DEFER_PROTECT_TABLE_H
#define HP_DEFER_PROTECT_TABLE_H

#include "defer/protect.h"

#define PROTECT_RANGES_END (protect_ranges + PROTECT_RANGES)

/* How many ranges have been opened. */
extern _Atomic uint32_t protect_opened;

/* Not 0, but in a child with pages of its own. */
extern const _Atomic uint32_t *_Atomic protect_alive;

/*
 * The ranges that this thread is making: what the driver, or a tool that it calls, does in it
 * meanwhile must not wait for it.  A bit for each.
 */
_Static_assert(PROTECT_RANGES <= 64, "a bit for each");
extern __thread uint64_t protect_mine
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline uint64_t protect_bit(const struct protect_range *range)
{
	return (uint64_t)1 << (range - protect_ranges);
}

static inline bool protect_overlaps(const struct protect_range *range, uintptr_t from, size_t bytes)
{
	uintptr_t base = atomic_load(&range->base), end;
	size_t room = atomic_load(&range->bytes);

	if (__builtin_add_overflow(from, bytes, &end))
		end = UINTPTR_MAX;
	return room != 0 && base < end && from < base + room;
}

/* The pages alone: in the table the range is what it was. */
void protect_open_pages(const struct protect_range *range);

/* Rings protect_bell. */
void protect_ring(void);

#endif
