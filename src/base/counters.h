/*
 * Counts of events.
 */
#ifndef HP_BASE_COUNTERS_H
#define HP_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

enum hp_counter {
#define COUNTER(name, text) HP_COUNT_##name,
#include "base/counters.def"
	HP_COUNTER_COUNT
};

/* Any thread, relaxed: no thread waits for a count. */
extern _Atomic uint64_t hp_counters[HP_COUNTER_COUNT];

/* The name of each counter in JSON, and its text; by enum hp_counter. */
extern const char *const hp_counter_names[HP_COUNTER_COUNT];
extern const char *const hp_counter_texts[HP_COUNTER_COUNT];

#define hp_count(name) hp_count_add(name, 1)
#define hp_count_one(counter) \
	atomic_fetch_add_explicit(&hp_counters[(counter)], 1, memory_order_relaxed)
#define hp_count_add(name, n) \
	atomic_fetch_add_explicit(&hp_counters[HP_COUNT_##name], (n), memory_order_relaxed)
#define hp_count_read(name) \
	atomic_load_explicit(&hp_counters[HP_COUNT_##name], memory_order_relaxed)

#endif
