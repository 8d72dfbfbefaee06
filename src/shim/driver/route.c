/*
 * route.c - driver functions and the stubs in front of them.  Lock-free.
 */
#define _GNU_SOURCE
#include "shim/driver/route.h"
#include "base/counters.h"
#include "base/log.h"
#include "real/real.h"
#include "shim/driver/chain.h"
#include "shim/driver/thunk_rows.h"
#include "trace/trace.h"

#include <dlfcn.h>
#include <string.h>

void *_Atomic route_unknown[SHIM_UNKNOWN_MOST];

/* The VDPAU functions are old, but their header needs another project's: driver.def lacks them. */
static void count_unknown(const void *address)
{
	Dl_info info;
	const char *name = "a function";

	if (dladdr(address, &info) != 0 && info.dli_sname != NULL)
		name = info.dli_sname;
	if (strstr(name, "VDPAU") != NULL)
		return;
	hp_count(names_unknown);
	hp_debug("%s is new to this version: handed out through a gate", name);
}

/* Returns a stub that settles before it continues to `address`. */
static void *unknown_stub(void *address)
{
	for (size_t i = 0; i < SHIM_UNKNOWN_MOST; i++) {
		void *found = NULL;

		if (atomic_compare_exchange_strong(&route_unknown[i], &found, address)) {
			count_unknown(address);
			found = address;
		}
		if (found == address)
			return (char *)shim_unknown_stubs + SHIM_UNKNOWN_BYTES * i;
	}
	return address;
}

void *route_of(void *own, void *answer)
{
	int row = real_driver_row_at(own);

	if (row < 0)
		return real_driver_contains(own) ? unknown_stub(answer) : answer;
	chain_use(row, answer);
	/* Calls that cannot matter do not pass hotpin, unless a profile times them. */
	if (real_driver_facts[row].class == REAL_PASS && !trace_wanted())
		return answer;
	hp_count(names_routed);
	return shim_exports[row];
}
