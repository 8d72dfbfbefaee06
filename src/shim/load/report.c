/*
 * report.c - the profile, and the counters in the log.
 */
#include "shim/load/report.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/options.h"
#include "engine/state.h"
#include "heap/heap.h"
#include "trace/trace.h"

void shim_report(void)
{
	static _Atomic bool begun;

	if (atomic_exchange(&begun, true))
		return;
	heap_count();
	trace_finish();
}

/* HOTPIN_LOG=debug prints every counter. */
__attribute__((destructor)) static void on_unload(void)
{
	if (!state_active)
		return;
	if (hp_options->log < HP_DEBUG)
		return;
	heap_count();
	for (int i = 0; i < HP_COUNTER_COUNT; i++) {
		uint64_t count = atomic_load_explicit(&hp_counters[i], memory_order_relaxed);

		if (count != 0)
			hp_debug("%s: %llu", hp_counter_texts[i], (unsigned long long)count);
	}
}
