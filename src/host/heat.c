/*
 * heat.c - rent, price and banks.
 *
 * Buying as soon as the demand reaches the price keeps a season under twice its best, whatever the
 * program does next ("Competitive snoopy caching", Karlin, Manasse, Rudolph and Sleator, 1988).
 * Whatever departs from that (buying sooner, renting on while somebody pins in the background) is
 * covered in advance, so that the sum holds at every moment: paid + banked <= 2 * best + what the
 * common bank started with.
 */
#include "host/heat.h"
#include "base/bounds.h"

#define MIB_SHIFT         20

#define FORK_LEAST        ((size_t)32 << 20)
#define FORK_LOOK_NS      ((uint64_t)50000000)
#define FORK_BYTES_PER_NS 8

const struct heat_rates heat_rates_default = {
	.pageable_h2d = 62242, /* 3.99 ms per 64 MiB, the floor apart */
	.pageable_d2h = 60367, /* 3.87 */
	.pinned_h2d = 18961,   /* 1.22 */
	.pinned_d2h = 18961,
	.pin_small = 41484,   /* 2.7 */
	.pin_huge = 14453,    /* 0.97 */
	.unpin_small = 17969, /* 1.15 */
	.unpin_huge = 17969,
	.pin_floor_ns = 45000,
	.copy_floor_ns = 6500,
};

static uint64_t at_rate(uint32_t rate, size_t bytes)
{
	return (uint64_t)(((unsigned __int128)bytes * rate) >> MIB_SHIFT);
}

uint64_t heat_gain_ns(const struct heat_rates *rates, bool to_device, size_t bytes)
{
	uint32_t pageable = to_device ? rates->pageable_h2d : rates->pageable_d2h;
	uint32_t pinned = to_device ? rates->pinned_h2d : rates->pinned_d2h;

	return pageable > pinned ? at_rate(pageable - pinned, bytes) : 0;
}

uint64_t heat_price_ns(const struct heat_rates *rates, size_t room, bool huge)
{
	return rates->pin_floor_ns + at_rate(huge ? rates->pin_huge : rates->pin_small, room) +
	       at_rate(huge ? rates->unpin_huge : rates->unpin_small, room);
}

/* What has been paid above twice the best that could be said of the season were it over now. */
static uint64_t overdrawn(uint64_t paid, uint64_t demand, uint64_t price)
{
	return hp_above(paid, 2 * hp_least(demand, price));
}

struct heat_choice heat_choose(const struct heat_season *season, uint64_t gain, uint64_t price,
			       bool hot, bool behind, const struct heat_funds *funds)
{
	const struct heat_choice rent = { .verdict = HEAT_RENT };
	uint64_t demand = season->rent + gain;
	bool early = demand < price;

	/* Nothing to gain, whatever was paid before. */
	if (gain == 0 || (early && !hot))
		return rent;

	/* Pinning first spares this copy its rent; in the background it is paid. */
	uint64_t first = hp_above(overdrawn(season->rent + price, demand, price), season->drawn);
	uint64_t later = hp_above(overdrawn(demand + price, demand, price), season->drawn);
	uint64_t has = early ? funds->own : funds->own + funds->common;

	if (behind && gain < price / 2 && later <= has)
		return (struct heat_choice){ HEAT_PIN_BEHIND, later, early };
	if (early && first > has)
		return rent;
	return (struct heat_choice){ HEAT_PIN, early ? first : 0, early };
}

uint64_t heat_bought(struct heat_season *season, uint64_t gain, uint64_t price)
{
	uint64_t demand = season->rent + gain;
	uint64_t spare =
		hp_above(2 * hp_least(demand, price) + season->drawn, season->rent + price);

	season->owed = hp_above(price, demand);
	season->rent = season->drawn = 0;
	return spare;
}

uint64_t heat_spared(struct heat_season *season, uint64_t gain)
{
	uint64_t met = hp_least(season->owed, gain);

	season->owed -= met;
	return 2 * met;
}

bool heat_still_worth(const struct heat_season *season, uint64_t price)
{
	return season->rent + season->drawn >= price;
}

uint64_t heat_not_bought(struct heat_season *season, uint64_t price)
{
	uint64_t spare = hp_above(2 * hp_least(season->rent, price) + season->drawn, season->rent);

	*season = (struct heat_season){ 0 };
	return spare;
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

#define FREE_REFUSALS 8
#define WAIT_LEAST_NS ((uint64_t)50000000)
#define WAIT_DOUBLES  8

uint64_t heat_wait_ns(unsigned refusals)
{
	if (refusals < FREE_REFUSALS)
		return 0;

	unsigned doubles = refusals - FREE_REFUSALS;
	return WAIT_LEAST_NS << (doubles < WAIT_DOUBLES ? doubles : WAIT_DOUBLES);
}

#define LEAN_LEAST_NS ((uint64_t)20000000)
#define LEAN_SHIFT    3
#define LEAN_STEPS    3

uint64_t heat_lean_ns(unsigned times)
{
	unsigned steps = times > LEAN_STEPS ? LEAN_STEPS : times - 1;

	return LEAN_LEAST_NS << LEAN_SHIFT * steps;
}

bool heat_may_oust(uint64_t rent, uint64_t since_ns, uint64_t copied_ns, uint64_t prices)
{
	return copied_ns < since_ns && rent >= prices;
}

uint64_t heat_fork_patience_ns(size_t pinned)
{
	return pinned < FORK_LEAST ? 0 : FORK_LOOK_NS + pinned / FORK_BYTES_PER_NS;
}
