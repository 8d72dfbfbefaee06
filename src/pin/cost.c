/*
 * cost.c - copy cost, pin cost and the decision between them.
 *
 * Pinning as soon as the copy cost reaches the pin cost keeps a block below twice the best choice
 * in hindsight ("Competitive snoopy caching", Karlin, Manasse, Rudolph and Sleator, 1988).
 */
#include "pin/cost.h"
#include "base/options.h"

#define MIB_SHIFT         20

/* A copy that costs more than this part of the pin cost pins the block itself. */
#define BACKGROUND_PART   8

#define FORK_LEAST        ((size_t)32 << 20)
#define FORK_LOOK_NS      ((uint64_t)50000000)
#define FORK_BYTES_PER_NS 8

/* clang-format off */
#define DEFAULT_RATES {                                                           \
	.pageable_h2d = 62242, /* 3.99 ms per 64 MiB, without the floor */         \
	.pageable_d2h = 60367, /* 3.87 */                                          \
	.pinned_h2d = 18961,   /* 1.22 */                                          \
	.pinned_d2h = 18961,                                                       \
	.pin_small = 41484,    /* 2.7 */                                           \
	.pin_huge = 14453,     /* 0.97 */                                          \
	.unpin_small = 17969,  /* 1.15 */                                          \
	.unpin_huge = 17969,                                                       \
	.pin_floor_ns = 45000,                                                     \
	.copy_floor_ns = 6500,                                                     \
}
/* clang-format on */

const struct cost_rates cost_rates_default = DEFAULT_RATES;
struct cost_rates cost_rates_here = DEFAULT_RATES;

static uint64_t at_rate(uint32_t rate, size_t bytes)
{
	return (uint64_t)(((unsigned __int128)bytes * rate) >> MIB_SHIFT);
}

uint64_t cost_of_copy_ns(const struct cost_rates *rates, bool to_device, size_t bytes)
{
	uint32_t pageable = to_device ? rates->pageable_h2d : rates->pageable_d2h;
	uint32_t pinned = to_device ? rates->pinned_h2d : rates->pinned_d2h;

	return pageable > pinned ? at_rate(pageable - pinned, bytes) : 0;
}

uint64_t cost_of_pin_ns(const struct cost_rates *rates, size_t room, bool huge)
{
	return rates->pin_floor_ns + at_rate(huge ? rates->pin_huge : rates->pin_small, room) +
	       at_rate(huge ? rates->unpin_huge : rates->unpin_small, room);
}

enum cost_verdict cost_decide(uint64_t paid, uint64_t copy, uint64_t pin)
{
	uint64_t cost = paid + copy, slack = pin / BACKGROUND_PART;

	if (copy == 0 || cost < pin)
		return COST_STAY_PAGEABLE;
	/* A block that the background thread does not reach in time is pinned by a later copy. */
	return copy <= slack && cost <= pin + slack ? COST_PIN_IN_BACKGROUND : COST_PIN;
}

/* The part of what pageable copies were denied that probes may cost. */
#define PROBE_PART 64

static uint64_t excess(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

uint64_t cost_denied_ns(const struct cost_rates *learned, bool to_device, size_t bytes, size_t room,
			bool huge)
{
	uint64_t gain = cost_of_copy_ns(&cost_rates_default, to_device, bytes);
	uint64_t pin = cost_of_pin_ns(&cost_rates_default, room, huge);
	uint64_t copy = at_rate(to_device ? learned->pageable_h2d : learned->pageable_d2h, bytes);
	uint64_t most = gain < copy ? gain : copy;
	uint64_t denied = excess(gain, cost_of_copy_ns(learned, to_device, bytes)) +
			  excess(cost_of_pin_ns(learned, room, huge), pin);

	return denied < most ? denied : most;
}

bool cost_probe(uint64_t *credit, uint64_t denied, uint64_t pin)
{
	*credit += denied / PROBE_PART;
	if (denied == 0 || *credit < pin)
		return false;
	*credit -= pin;
	return true;
}

bool cost_probe_here(bool to_device, size_t bytes, size_t room, bool huge)
{
	/* Time that pageable copies have saved up for probes, ns.  Any thread may lose a sum. */
	static _Atomic uint64_t saved_up;
	const struct cost_rates *rates = &cost_rates_here;

	if (bytes < COST_LEARNS_FROM)
		return false;
	uint64_t credit = saved_up;
	bool probes = cost_probe(&credit, cost_denied_ns(rates, to_device, bytes, room, huge),
				 cost_of_pin_ns(rates, room, huge));

	saved_up = credit;
	return probes;
}

/*
 * Interference, such as a running kernel or another process, only makes a copy longer.  So a faster
 * sample changes the rate quickly, a slower one slowly, and one that is several times slower not at
 * all.
 */
#define FASTER_SHIFT   2
#define SLOWER_SHIFT   4
#define OUTLIER_FACTOR 4

uint32_t cost_learn(uint32_t rate, size_t bytes, uint64_t ns)
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

static void learn(_Atomic uint32_t *rate, size_t bytes, uint64_t ns, uint32_t floor_ns)
{
	if (hp_options->learn && bytes >= COST_LEARNS_FROM && ns > floor_ns)
		*rate = cost_learn(*rate, bytes, ns - floor_ns);
}

void cost_learn_copy(bool to_device, bool pinned, size_t bytes, uint64_t ns)
{
	struct cost_rates *here = &cost_rates_here;
	_Atomic uint32_t *pageable_rate = to_device ? &here->pageable_h2d : &here->pageable_d2h;
	_Atomic uint32_t *pinned_rate = to_device ? &here->pinned_h2d : &here->pinned_d2h;

	learn(pinned ? pinned_rate : pageable_rate, bytes, ns, here->copy_floor_ns);
}

void cost_learn_pin(bool huge, size_t bytes, uint64_t ns)
{
	struct cost_rates *here = &cost_rates_here;

	learn(huge ? &here->pin_huge : &here->pin_small, bytes, ns, here->pin_floor_ns);
}

void cost_learn_unpin(bool huge, size_t bytes, uint64_t ns)
{
	struct cost_rates *here = &cost_rates_here;

	learn(huge ? &here->unpin_huge : &here->unpin_small, bytes, ns, 0);
}

#define FREE_REFUSALS 8
#define WAIT_LEAST_NS ((uint64_t)50000000)
#define WAIT_DOUBLES  8

uint64_t cost_retry_ns(unsigned refusals)
{
	if (refusals < FREE_REFUSALS)
		return 0;

	unsigned doubles = refusals - FREE_REFUSALS;
	return WAIT_LEAST_NS << (doubles < WAIT_DOUBLES ? doubles : WAIT_DOUBLES);
}

#define LEAN_LEAST_NS ((uint64_t)20000000)
#define LEAN_SHIFT    3
#define LEAN_STEPS    3

uint64_t cost_lean_ns(unsigned times)
{
	unsigned steps = times > LEAN_STEPS ? LEAN_STEPS : times - 1;

	return LEAN_LEAST_NS << LEAN_SHIFT * steps;
}

uint64_t cost_fork_patience_ns(size_t pinned)
{
	return pinned < FORK_LEAST ? 0 : FORK_LOOK_NS + pinned / FORK_BYTES_PER_NS;
}
