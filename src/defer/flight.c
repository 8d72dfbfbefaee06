/*
 * flight.c - the few uploads whose sources are closed, lock-free: signal handlers end them.
 */
#include "defer/flight.h"
#include "defer/touch.h"

static struct flight flights[FLIGHTS];

struct flight *flight_take(uint32_t pieces, uint32_t site, uint64_t most_ns)
{
	for (struct flight *flight = flights; flight < flights + FLIGHTS; flight++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&flight->left, &none, pieces))
			continue;
		atomic_store(&flight->spent_ns, 0);
		flight->site = site;
		flight->most_ns = most_ns;
		return flight;
	}
	return NULL;
}

void flight_spend(struct flight *flight, uint64_t ns)
{
	atomic_fetch_add(&flight->spent_ns, ns);
}

void flight_landed(struct flight *flight)
{
	uint32_t site = flight->site;
	bool pays = atomic_load(&flight->spent_ns) <= flight->most_ns;

	if (atomic_fetch_sub(&flight->left, 1) == 1)
		touch_note(site, pays);
}

void flight_after_fork_child(void)
{
	for (struct flight *flight = flights; flight < flights + FLIGHTS; flight++)
		atomic_store(&flight->left, 0);
}
