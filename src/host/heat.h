/*
 * When is pinning a block worth it?  Pure: ski-rental on rates that are handed in.
 */
#ifndef HP_HOST_HEAT_H
#define HP_HOST_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds per MiB unless the name says otherwise. */
struct heat_rates {
	uint32_t pageable_h2d, pageable_d2h; /* a pageable copy */
	uint32_t pinned;                     /* a copy from or to pinned memory */
	uint32_t pin_small, pin_huge;        /* registering touched memory: 4 KiB, 2 MiB pages */
	uint32_t pin_floor_ns;               /* registering anything at all */
	uint32_t copy_floor_ns;              /* what any copy costs; equal for both kinds */
};

/* Rates to start from, measured on an H200 (PCIe 5 x16); heat_learn() replaces them. */
extern const struct heat_rates heat_rates_default;

/* What one copy of `bytes` costs above what it would cost from pinned memory, ns. */
uint64_t heat_excess_ns(const struct heat_rates *rates, bool to_device, size_t bytes);

/* What pinning `room` bytes costs, ns. */
uint64_t heat_pin_ns(const struct heat_rates *rates, size_t room, bool huge);

/*
 * Pin before this copy?  `excess_ns` is what earlier copies of the block cost too much,
 * `to_device` and `bytes` are the copy at hand.  Ski-rental: yes once rent paid, this copy's rent
 * included, reaches the price; so the total is never more than twice the best in hindsight.
 */
bool heat_worth_pinning(const struct heat_rates *rates, uint64_t excess_ns, bool to_device,
			size_t bytes, size_t room, bool huge);

/* Moves one rate towards what was seen: `bytes` took `ns`.  Smoothed; outliers count little. */
uint32_t heat_learn(uint32_t rate, size_t bytes, uint64_t ns);

#endif
