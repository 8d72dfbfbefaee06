/*
 * heat.c - rent and price of pinning.
 *
 * The rent is what a pageable copy costs above a pinned one; the price is what registering costs.
 * Buying as soon as the rent paid reaches the price keeps the sum under twice the best that
 * hindsight could have chosen, whatever the program does next.
 */
#include "host/heat.h"

#define MIB_SHIFT 20

const struct heat_rates heat_rates_default = {
	.pageable_h2d = 80660, /* 13 GB/s */
	.pageable_d2h = 80660,
	.pinned = 19065,    /* 55 GB/s */
	.pin_small = 52344, /* 3.35 ms per 64 MiB */
	.pin_huge = 21875,  /* 1.4 ms per 64 MiB */
	.pin_floor_ns = 45000,
	.copy_floor_ns = 6500,
};

static uint64_t at_rate(uint32_t rate, size_t bytes)
{
	return (uint64_t)(((unsigned __int128)bytes * rate) >> MIB_SHIFT);
}

uint64_t heat_excess_ns(const struct heat_rates *rates, bool to_device, size_t bytes)
{
	uint32_t pageable = to_device ? rates->pageable_h2d : rates->pageable_d2h;

	return pageable > rates->pinned ? at_rate(pageable - rates->pinned, bytes) : 0;
}

uint64_t heat_pin_ns(const struct heat_rates *rates, size_t room, bool huge)
{
	return rates->pin_floor_ns + at_rate(huge ? rates->pin_huge : rates->pin_small, room);
}

bool heat_worth_pinning(const struct heat_rates *rates, uint64_t excess_ns, bool to_device,
			size_t bytes, size_t room, bool huge)
{
	uint64_t price = heat_pin_ns(rates, room, huge);
	uint64_t rent;

	/* Nothing to gain, whatever was paid before. */
	if (heat_excess_ns(rates, to_device, bytes) == 0)
		return false;
	return __builtin_add_overflow(excess_ns, heat_excess_ns(rates, to_device, bytes), &rent) ||
	       rent >= price;
}

/*
 * What disturbs a time only ever makes it longer (a kernel that the copy had to wait for, another
 * process), so a faster time is believed at once and a slower one slowly; one that is several
 * times slower says nothing about the rate.
 */
#define FASTER_SHIFT   2
#define SLOWER_SHIFT   4
#define OUTLIER_FACTOR 4

uint32_t heat_learn(uint32_t rate, size_t bytes, uint64_t ns)
{
	if (bytes == 0)
		return rate;

	unsigned __int128 seen = ((unsigned __int128)ns << MIB_SHIFT) / bytes;
	if (seen > (unsigned __int128)rate * OUTLIER_FACTOR)
		return rate;

	uint32_t sample = seen > UINT32_MAX ? UINT32_MAX : (uint32_t)seen;
	if (sample < rate)
		rate -= (rate - sample) >> FASTER_SHIFT;
	else
		rate += (sample - rate) >> SLOWER_SHIFT;
	return rate != 0 ? rate : 1;
}
