/*
 * route.c - driver functions and the stubs in front of them.  Lock-free.
 */
#define _GNU_SOURCE
#include "shim/driver/route.h"
#include "base/counters.h"
#include "real/real.h"
#include "shim/driver/chain.h"
#include "shim/driver/thunk.h"
#include "shim/driver/unknown.h"
#include "trace/trace.h"

void *route_of(const char *name, void *own, void *answer)
{
	int row = real_driver_row_at(own);

	if (row < 0)
		return real_driver_contains(own) ? unknown_stub(name, answer) : answer;
	chain_use(row, answer);
	/* Calls that cannot matter do not pass hotpin, unless a profile times them. */
	if (real_driver_facts[row].class == REAL_PASS && !trace_wanted())
		return answer;
	hp_count(names_routed);
	return shim_exports[row];
}
