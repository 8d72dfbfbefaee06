/*
 * counters.c - counts and names, from counters.def.
 */
#include "base/counters.h"

_Atomic uint64_t hp_counters[HP_COUNTER_COUNT];

const char *const hp_counter_names[HP_COUNTER_COUNT] = {
#define COUNTER(name, text) #name,
#include "base/counters.def"
};

const char *const hp_counter_texts[HP_COUNTER_COUNT] = {
#define COUNTER(name, text) text,
#include "base/counters.def"
};
