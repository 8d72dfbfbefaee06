/*
 * rates.c - the rates of cost.h, each learned on its own by any thread.
 *
 * If two threads learn at once, one of the two samples is lost.
 */
#include "pin/rates.h"
#include "base/options.h"

#include <stdatomic.h>

/* By [pinned][to_device] and by [huge]. */
static _Atomic uint32_t copy_rates[2][2], pin_rates[2], unpin_rates[2];

void rates_start(void)
{
	copy_rates[false][true] = cost_rates_default.pageable_h2d;
	copy_rates[false][false] = cost_rates_default.pageable_d2h;
	copy_rates[true][true] = cost_rates_default.pinned_h2d;
	copy_rates[true][false] = cost_rates_default.pinned_d2h;
	pin_rates[false] = cost_rates_default.pin_small;
	pin_rates[true] = cost_rates_default.pin_huge;
	unpin_rates[false] = cost_rates_default.unpin_small;
	unpin_rates[true] = cost_rates_default.unpin_huge;
}

struct cost_rates rates_now(void)
{
	return (struct cost_rates){
		.pageable_h2d = copy_rates[false][true],
		.pageable_d2h = copy_rates[false][false],
		.pinned_h2d = copy_rates[true][true],
		.pinned_d2h = copy_rates[true][false],
		.pin_small = pin_rates[false],
		.pin_huge = pin_rates[true],
		.unpin_small = unpin_rates[false],
		.unpin_huge = unpin_rates[true],
		.pin_floor_ns = cost_rates_default.pin_floor_ns,
		.copy_floor_ns = cost_rates_default.copy_floor_ns,
	};
}

static void learn(_Atomic uint32_t *rate, size_t bytes, uint64_t ns, uint32_t floor_ns)
{
	if (hp_options->learn && bytes >= PIN_LEARNS_FROM && ns > floor_ns)
		*rate = cost_learn(*rate, bytes, ns - floor_ns);
}

void rates_learn_copy(bool to_device, bool pinned, size_t bytes, uint64_t ns)
{
	learn(&copy_rates[pinned][to_device], bytes, ns, cost_rates_default.copy_floor_ns);
}

void rates_learn_pin(bool huge, size_t bytes, uint64_t ns)
{
	learn(&pin_rates[huge], bytes, ns, cost_rates_default.pin_floor_ns);
}

void rates_learn_unpin(bool huge, size_t bytes, uint64_t ns)
{
	learn(&unpin_rates[huge], bytes, ns, 0);
}
